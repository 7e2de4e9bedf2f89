#include "backplane/transcriber.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <string_view>
#include <utility>

#include "base/byte_count.hpp"
#include "base/file.hpp"
#include "models/parakeet/batches.hpp"
#include "models/parakeet/clip_words.hpp"
#include "models/parakeet/pauses.hpp"
#include "models/parakeet/recognizer.hpp"
#include "models/parakeet/windows.hpp"
#include "models/parakeet/words.hpp"
#include "models/silero/voice_detector.hpp"

namespace backplane {

namespace {

using namespace parakeet;

constexpr int64_t kBatch = 8;
constexpr double kShorterWindows[] = {20, 15, 10};     // seconds, where memory is short
constexpr const char* kVoiceFile = "silero-vad.onnx";  // beside the network

Head head_of(const Config& config, SpeechDecoder decoder, const std::string& file) {
    const bool tdt = config.transducer && !config.transducer->durations.empty();
    const bool fits = decoder == SpeechDecoder::automatic || (decoder == SpeechDecoder::ctc && config.ctc) ||
                      (decoder == SpeechDecoder::tdt && tdt) ||
                      (decoder == SpeechDecoder::rnnt && config.transducer && !tdt);
    if (!fits)
        throw Error(Code::unsupported, "'" + file + "' has not the decoder that is asked for; it has" +
                                           (config.ctc ? " ctc" : "") + (config.transducer ? (tdt ? " tdt" : " rnnt") : ""));
    if (decoder == SpeechDecoder::automatic) return config.transducer ? Head::transducer : Head::ctc;
    return decoder == SpeechDecoder::ctc ? Head::ctc : Head::transducer;
}

// Letters of a language, then parts of letters and digits behind hyphens (RFC 5646, 2.1): not whether there is such a language.
bool is_language(std::string_view code) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
    const size_t first = std::min(code.find('-'), code.size());
    if (first < 2 || first > 8 || !std::all_of(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(first), is_letter))
        return false;
    for (size_t at = first; at < code.size();) {
        const size_t end = std::min(code.find('-', at + 1), code.size());
        const std::string_view part = code.substr(at + 1, end - at - 1);
        if (part.empty() || part.size() > 8 || !std::all_of(part.begin(), part.end(), is_part)) return false;
        at = end;
    }
    return true;
}

void check_language(const std::string& language, const std::string& file) {
    if (language == "auto") return;
    if (!is_language(language))
        throw Error(Code::invalid, "'" + language + "' is no language: give a code such as 'de' or 'en-GB', or 'auto'");
    throw Error(Code::unsupported, "'" + file +
                                       "' takes no language: a Parakeet network knows its own, or hears which of its own "
                                       "is spoken; leave it at 'auto'");
}

bool is_on_several(const TranscriberOptions& options) {
    return options.layers > 1 || options.rows > 1 || options.frames > 1 || options.decoder_device;
}

Recognizer made(std::vector<Device> devices, const std::filesystem::path& model, const TranscriberOptions& options) {
    if (!(options.window >= 5 && options.window <= 1200))  // no number is neither
        throw Error(Code::invalid,
                    "cannot transcribe in windows of " + std::to_string(options.window) + " seconds: give 5 to 1200");
    if (options.batch < 0 || options.batch > 1024)
        throw Error(Code::invalid,
                    "cannot transcribe " + std::to_string(options.batch) + " windows at once: give 0 to 1024");
    if (is_on_several(options) && (options.memory != 0 || options.streaming == Streaming::always))
        throw Error(Code::invalid,
                    "cannot transcribe with the network on several devices and a budget or streamed weights: leave "
                    "one of the two out");
    ModelFile file = ModelFile::open(model);
    check_language(options.language, file.file());
    const Head head = head_of(file.config(), options.decoder, file.file());
    const parakeet::Places places{options.layers, options.shares, options.rows, options.frames, options.decoder_device};
    return {std::move(devices), std::move(file), options.dtype, head, Lengths::by_device, options.exact, places};
}

// The file of the voice detector that the options ask for; empty: none.
std::filesystem::path voice_file(const std::string& vad, const std::filesystem::path& model) {
    if (vad == "never") return {};
    if (vad != "auto") return base::path_of(vad);
    const bool folder = base::status_of(model).kind == base::FileStatus::Kind::folder;
    const std::filesystem::path beside = (folder ? model : model.parent_path()) / kVoiceFile;
    return base::status_of(beside).kind == base::FileStatus::Kind::regular ? beside : std::filesystem::path();
}

// On the CPU where there is one: the detector is small, and its cell needs the window before.
std::vector<Device> voice_devices(std::vector<Device> devices) {
    std::stable_partition(devices.begin(), devices.end(), [](const Device& d) { return d.info().kind == DeviceKind::cpu; });
    return devices;
}

// What becomes of clips, and how much of them is done.
struct Transcribing {
    const ClipQueue& clips;
    const TranscribeHooks& hooks;
    WaitingWindows waiting;
    std::map<size_t, ClipWords> open;
    size_t reading = 0;   // the clip that parts come of
    bool failed = false;  // that one has
    double seconds = 0;   // done

    void passed(double more) {
        seconds += more;
        if (hooks.progress) hooks.progress(seconds);
    }
    void end_if_done(size_t clip) {
        const auto found = open.find(clip);
        if (found == open.end() || !found->second.is_done()) return;
        Transcript said = found->second.take();
        open.erase(found);
        clips.done(clip, std::move(said));
    }
    void fail(size_t clip, const Error& error) {
        open.erase(clip);
        waiting.drop(clip);
        failed = failed || clip == reading;
        clips.failed(clip, error);
    }
};

}  // namespace

struct Transcriber::Impl {
    Recognizer recognizer;
    TranscriberOptions options;
    std::optional<silero::VoiceDetector> voices;
    std::string voices_from;
    std::vector<std::string> notes;  // of what was decided here

    Impl(std::vector<Device> devices, const std::filesystem::path& model, const TranscriberOptions& given)
        : recognizer(made(devices, model, given)), options(given) {
        open_voices(std::move(devices), model, given);
        keep_within_memory();
    }

    void open_voices(std::vector<Device> devices, const std::filesystem::path& model, const TranscriberOptions& given) {
        const std::filesystem::path file = voice_file(given.vad, model);
        if (file.empty()) return;
        if (rate() != silero::VoiceDetector::kSampleRate) {
            if (given.vad == "auto") return;
            throw Error(Code::unsupported, "cannot find pauses with '" + given.vad + "': it hears 16000 Hz, '" +
                                               recognizer.file().file() + "' is for " + std::to_string(rate()));
        }
        voices_from = file.string();
        voices.emplace(voice_devices(std::move(devices)), silero::VoiceNetwork::open(file));
    }

    // Whether all weights may have no room, by figures that need no plan.
    [[nodiscard]] bool memory_may_be_short() const {
        if (options.memory != 0 || options.streaming == Streaming::always) return true;
        if (options.streaming == Streaming::never) return false;
        const Ledger there = ledger(recognizer.device());
        const std::vector<Heap> heaps = recognizer.device().heaps();
        const bool own = !heaps.empty() && !heaps.front().flags.has(HeapFlag::unified);
        uint64_t least = own ? there.available : 0;
        if (there.limit != 0) least = least == 0 ? there.limit : std::min(least, there.limit);
        uint64_t weights = 0;
        for (const parakeet::Tensor& tensor : recognizer.file().tensors()) weights += elements(tensor.shape) * sizeof(float);
        constexpr uint64_t kBeside = uint64_t{4} << 30;
        return least != 0 && least < 2 * weights + kBeside;
    }

    // Bytes that the voice detector has of the device: it is made, and run once.
    [[nodiscard]] uint64_t voices_take() {
        if (!voices || !(voices->device() == recognizer.device())) return 0;
        const uint64_t before = ledger(recognizer.device()).held;
        silero::VoiceState none;
        const std::vector<float> quiet(silero::VoiceDetector::kWindow * silero::VoiceDetector::kAtOnce);
        static_cast<void>(voices->next(none, quiet));
        const uint64_t after = ledger(recognizer.device()).held;
        return after - std::min(before, after);
    }

    void keep_within_memory() {
        // With a part of the layers each, a device's sessions see to that.
        if (is_on_several(options) || !memory_may_be_short()) return;
        struct Way {
            int64_t batch = 1;
            double window = 0;
        };
        std::vector<Way> sizes;
        for (auto at_once = static_cast<int64_t>(batch()); at_once >= 1; at_once /= 2)
            sizes.push_back({at_once, options.window});
        for (const double shorter : kShorterWindows)
            if (shorter < options.window) sizes.push_back({1, shorter});
        FitOptions how;
        const uint64_t voice_bytes = voices_take();
        if (options.memory != 0)
            how.memory[recognizer.device().info().id] = options.memory - std::min(options.memory - 1, voice_bytes);
        const bool always = options.streaming == Streaming::always, never = options.streaming == Streaming::never;
        const auto kept = [&](Recognizer& network) {
            for (const Way& size : sizes) {
                const std::vector<Fit> ways = network.ways(size.batch, samples(size.window), how);
                const auto first = std::find_if(ways.begin(), ways.end(), [&](const Fit& way) {
                    return way.fits && way.device == network.device().info().id && (way.streamed || !always);
                });
                if (first == ways.end()) continue;
                if (&network != &recognizer) be_in_f16(std::move(network), first->available);
                keep_to(*first, size.batch, size.window);
                return true;
            }
            return false;
        };
        std::optional<Recognizer> half;
        if (options.may_halve) half = in_f16();
        for (const Streaming streaming : {Streaming::never, options.streaming}) {
            if (streaming == Streaming::never && always) continue;
            how.streaming = streaming;
            if (kept(recognizer) || (half && kept(*half))) return;
        }
        // What there is by itself may be more than it says: sessions try, and the next device goes on.
        if (options.memory == 0 && !always) return;
        const auto least = [&](const Recognizer& network) {
            return network.ways(sizes.back().batch, samples(sizes.back().window), how);
        };
        if (!half) half = in_f16();
        const std::vector<Fit> less = half ? least(*half) : std::vector<Fit>();
        if (never) how.streaming = Streaming::automatic;  // what streaming would take is said, too
        throw Error(Code::no_device_memory,
                    std::string("cannot transcribe ") + (always ? "with weights streamed" : "within the memory") +
                        ", one window of " + std::to_string(static_cast<int>(sizes.back().window)) + " seconds at once: " +
                        what_would_fit(least(recognizer), less) + (never ? "; streaming is turned off" : ""));
    }

    // The same network; nothing: it is that already.
    [[nodiscard]] std::optional<Recognizer> in_f16() const {
        if (options.dtype != DType::f32) return {};
        return Recognizer(recognizer.devices(), recognizer.file(), DType::f16, recognizer.head(), Lengths::by_device,
                          options.exact);
    }
    void be_in_f16(Recognizer half, uint64_t room) {
        notes.push_back("all weights in f32 have no room in " + base::byte_count(room) + " of " +
                        recognizer.device().info().id + ": f16 is taken");
        recognizer = std::move(half);
        options.dtype = DType::f16;
    }

    void keep_to(const Fit& way, int64_t at_once, double window) {
        std::string changed;
        if (at_once != static_cast<int64_t>(batch())) changed = std::to_string(at_once) + " windows at once";
        if (window < options.window)
            changed += (changed.empty() ? "" : ", ") + std::string("windows of ") +
                       std::to_string(static_cast<int>(window)) + " seconds";
        if (way.streamed)
            changed += (changed.empty() ? "" : ", ") + base::byte_count(way.moved) +
                       " copied for each run, weights most of it; " + base::byte_count(way.weights) + " of them stay";
        if (!changed.empty())
            notes.push_back("all weights beside " + std::to_string(batch()) + " windows of " +
                            std::to_string(static_cast<int>(options.window)) + " seconds have no room in " +
                            base::byte_count(way.available) + " of " + way.device + ": " + changed);
        options.batch = at_once;
        options.window = window;
        recognizer.keep_to(way, at_once, samples(window));
    }

    [[nodiscard]] int64_t rate() const { return recognizer.config().preprocessor.sample_rate; }
    [[nodiscard]] double seconds(uint64_t samples) const {
        return static_cast<double>(samples) / static_cast<double>(rate());
    }
    [[nodiscard]] size_t samples(double seconds) const { return static_cast<size_t>(seconds * static_cast<double>(rate())); }
    [[nodiscard]] Cutting cutting() { return {rate(), samples(options.window), voices ? &*voices : nullptr}; }
    [[nodiscard]] size_t batch() const {
        if (options.batch > 0) return static_cast<size_t>(options.batch);
        const DeviceKind kind = recognizer.device().info().kind;
        return kind == DeviceKind::cpu || kind == DeviceKind::software ? 1 : kBatch;
    }

    [[nodiscard]] std::vector<ClipWords::Heard> heard(std::span<const Window> windows,
                                                      const std::vector<std::vector<Token>>& tokens) const {
        std::vector<ClipWords::Heard> all;
        for (size_t i = 0; i < windows.size(); ++i) {
            const double start = seconds(windows[i].start);
            all.push_back({words_of(recognizer.file(), tokens[i], recognizer.seconds_per_frame(), start,
                                    seconds(windows[i].samples.size())),
                           start, seconds(windows[i].overlap)});
        }
        return all;
    }
    [[nodiscard]] std::vector<Word> words(const Window& window, const std::atomic<uint32_t>* cancel) {
        const std::span<const float> clip = window.samples;
        return std::move(heard(std::span(&window, 1), recognizer.run(std::span(&clip, 1), cancel)).front().words);
    }

    // Windows that the device has, or why it has not.
    struct UnderWay {
        std::vector<Window> windows;
        Recognizer::Batch batch;
        std::exception_ptr error;
    };
    [[nodiscard]] UnderWay start(std::vector<Window> windows, const std::atomic<uint32_t>* cancel) {
        UnderWay made{std::move(windows), {}, nullptr};
        std::vector<std::span<const float>> clips;
        for (const Window& window : made.windows) clips.emplace_back(window.samples);
        try {
            made.batch = recognizer.start(clips, cancel);
        } catch (...) {
            made.error = std::current_exception();
        }
        return made;
    }
    [[nodiscard]] std::vector<ClipWords::Heard> finish(UnderWay& under_way) {
        if (under_way.error) std::rethrow_exception(under_way.error);
        return heard(under_way.windows, recognizer.finish(under_way.batch));
    }

    // A batch that cannot run is tried window by window.
    void end(Transcribing& work, UnderWay under_way) {
        std::vector<ClipWords::Heard> all;
        std::vector<Window>& windows = under_way.windows;
        try {
            all = finish(under_way);
        } catch (const Error& error) {
            if (error.code() == Code::cancelled) throw;
            if (windows.size() == 1) {
                if (work.open.contains(windows[0].clip)) work.fail(windows[0].clip, error);
                return;
            }
            for (Window& window : windows) {
                if (!work.open.contains(window.clip)) continue;
                std::vector<Window> one;
                one.push_back(std::move(window));
                end(work, start(std::move(one), work.hooks.cancel));
            }
            return;
        }
        double done = 0;
        for (size_t i = 0; i < windows.size(); ++i) {
            const Window& window = windows[i];
            if (!work.open.contains(window.clip)) continue;  // another of its windows has failed
            work.open[window.clip].add(window.number, std::move(all[i]));
            done += seconds(window.passed + window.samples.size() - window.overlap);
        }
        work.passed(done);
        for (const Window& window : windows) work.end_if_done(window.clip);
    }

    // What was read of a clip; of one that has failed before nothing is of use.
    void take(Transcribing& work, ClipPart part) {
        if (std::exchange(work.reading, part.clip) != part.clip) work.failed = false;
        if (work.failed) return;
        if (part.error) return work.fail(part.clip, *part.error);
        ClipWords& clip = work.open[part.clip];
        if (part.window) {
            clip.one_more();
            work.waiting.add(std::move(*part.window));
            return;
        }
        clip.end(seconds(part.samples));
        if (part.passed > 0) work.passed(seconds(part.passed));
        work.end_if_done(part.clip);
    }

    void transcribe(const ClipQueue& clips, const NextPart& next, const TranscribeHooks& hooks) {
        Transcribing work{clips, hooks, {batch(), samples(options.window)}, {}};
        std::deque<UnderWay> under_way;  // as many as keep the devices with a part of the layers at work
        const auto end_first = [&] {
            UnderWay first = std::move(under_way.front());
            under_way.pop_front();
            end(work, std::move(first));
        };
        for (bool more = true;;) {
            std::vector<Window> windows = work.waiting.take(more);
            if (!windows.empty()) {
                under_way.push_back(start(std::move(windows), hooks.cancel));
                if (under_way.size() >= recognizer.at_a_time()) end_first();
            } else if (more) {
                std::optional<ClipPart> part = next();
                more = part.has_value();
                if (more) take(work, std::move(*part));
            } else if (!under_way.empty()) {
                end_first();
            } else {
                return;
            }
        }
    }

    void transcribe(const ClipQueue& clips, const TranscribeHooks& hooks) {
        ClipReader reader(clips.next, cutting(), hooks.cancel);
        ReadAhead ahead(reader, batch() * samples(options.window));
        transcribe(
            clips, [&] { return ahead.next(); }, hooks);
    }

    // On the caller's thread alone; what goes wrong with one of them is thrown.
    std::vector<Transcript> transcribe(std::span<const SampleSource> sources, const TranscribeHooks& hooks) {
        std::vector<Transcript> said(sources.size());
        size_t at = 0;
        ClipQueue clips;
        clips.next = [&]() -> std::optional<SampleSource> {
            if (at == sources.size()) return {};
            return sources[at++];
        };
        clips.done = [&](size_t clip, Transcript one) { said[clip] = std::move(one); };
        clips.failed = [](size_t, const Error& error) { throw Error(error); };
        ClipReader reader(clips.next, cutting(), hooks.cancel);
        transcribe(
            clips, [&] { return reader.next(); }, hooks);
        return said;
    }

    [[nodiscard]] std::string pauses() const {
        if (!voices) return "pauses: by energy\n";
        return "pauses: by Silero VAD of '" + voices_from + "' on " + voices->device().info().id + "\n";
    }
    [[nodiscard]] std::vector<NetworkRuns> runs() const {
        std::vector<NetworkRuns> all = recognizer.runs();
        if (voices) add_runs(all, "pauses", voices->runs());
        return all;
    }
};

Transcriber::Transcriber(std::vector<Device> devices, const std::filesystem::path& model, const TranscriberOptions& options)
    : impl_(new Impl(std::move(devices), model, options)) {}
Transcriber::~Transcriber() = default;
Transcriber::Transcriber(Transcriber&&) noexcept = default;
Transcriber& Transcriber::operator=(Transcriber&&) noexcept = default;

const std::string& Transcriber::name() const noexcept { return impl_->recognizer.config().name; }
int64_t Transcriber::sample_rate() const noexcept { return impl_->rate(); }
SpeechDecoder Transcriber::decoder() const noexcept {
    if (impl_->recognizer.head() == Head::ctc) return SpeechDecoder::ctc;
    return impl_->recognizer.config().transducer->durations.empty() ? SpeechDecoder::rnnt : SpeechDecoder::tdt;
}
const Device& Transcriber::device() const noexcept { return impl_->recognizer.device(); }
std::string Transcriber::pauses_by() const { return impl_->voices ? "silero-vad" : "energy"; }
std::string Transcriber::describe() const { return impl_->pauses() + impl_->recognizer.describe(); }
std::vector<std::string> Transcriber::notes() const {
    std::vector<std::string> all = impl_->notes;
    for (std::string& note : impl_->recognizer.notes()) all.push_back(std::move(note));
    return all;
}
std::vector<NetworkRuns> Transcriber::runs() const { return impl_->runs(); }
std::vector<NetworkTimes> Transcriber::times() const { return impl_->recognizer.times(); }
std::vector<PartTime> Transcriber::part_times() const { return impl_->recognizer.part_times(); }

Transcript Transcriber::transcribe(std::span<const float> samples, const TranscribeHooks& hooks) {
    return std::move(transcribe(std::span(&samples, 1), hooks).front());
}

Transcript Transcriber::transcribe(const SampleSource& samples, const TranscribeHooks& hooks) {
    return std::move(impl_->transcribe(std::span(&samples, 1), hooks).front());
}

std::vector<Transcript> Transcriber::transcribe(std::span<const std::span<const float>> clips,
                                                const TranscribeHooks& hooks) {
    std::vector<SampleSource> sources;
    for (const std::span<const float> clip : clips)
        sources.emplace_back([left = clip](std::span<float> into) mutable {
            const size_t n = std::min(into.size(), left.size());
            std::copy_n(left.begin(), n, into.begin());
            left = left.subspan(n);
            return n;
        });
    return impl_->transcribe(sources, hooks);
}

void Transcriber::transcribe(const ClipQueue& clips, const TranscribeHooks& hooks) { impl_->transcribe(clips, hooks); }

// ---- streams ----------------------------------------------------------------------------------------------------------------

namespace {

constexpr double kPause = 0.6;  // seconds of quiet that end a line
constexpr double kNews = 0.5;   // seconds of new audio between two looks at a line that is not done
constexpr double kLead = 0.3;   // seconds of quiet kept before a line

}  // namespace

struct TranscriptStream::Impl {
    Transcriber::Impl* network = nullptr;
    std::vector<float> there;  // of the line that is not done
    uint64_t start = 0;        // of its first sample
    uint64_t looked = 0;       // samples of it that the last partial line is of
    std::string partial;
    std::vector<StreamedLine> lines;  // not given yet
    const std::atomic<uint32_t>* cancel = nullptr;
    std::optional<VoiceTrack> track;

    explicit Impl(Transcriber::Impl& used) : network(&used) { restart(); }
    void restart() {
        start = 0;
        track.reset();
        if (network->voices) track.emplace(*network->voices, 1);
    }
    [[nodiscard]] std::vector<Silence> silences() {
        if (!track) return {};
        track->hear(there, start, cancel);
        return track->silences(start, there.size());
    }

    [[nodiscard]] Transcript heard(size_t samples) const {
        Window window;
        window.samples.assign(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(samples));
        window.start = start;
        std::vector<Word> words = network->words(window, cancel);
        return {text_of(words), words, network->seconds(samples)};
    }
    void drop(size_t samples) {
        there.erase(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(samples));
        start += samples;
        looked = 0;
        partial.clear();
        if (track) track->forget(start);
    }
    void close(size_t samples) {
        Transcript said = heard(samples);
        drop(samples);
        if (!said.words.empty()) lines.push_back({std::move(said), true});
    }

    // A line that has no more room in the window ends where it is quietest.
    bool close_full() {
        if (there.size() <= network->samples(network->options.window)) return false;
        close(network->cutting().next_cut(there, silences()).at);
        return true;
    }

    void look() {
        const Quiet quiet = track ? silent_ends(silences(), there.size()) : quiet_ends(there, network->rate());
        const size_t lead = network->samples(kLead);
        if (quiet.lead == there.size()) {
            if (there.size() > 2 * lead) drop(there.size() - lead);
            return;
        }
        if (quiet.trail >= network->samples(kPause)) {
            close(there.size() - quiet.trail / 2);
            return;
        }
        if (close_full()) return;
        if (there.size() - looked < network->samples(kNews)) return;
        looked = there.size();
        Transcript said = heard(there.size());
        if (said.words.empty() || said.text == partial) return;
        partial = said.text;
        lines.push_back({std::move(said), false});
    }
};

TranscriptStream Transcriber::stream() { return TranscriptStream(std::make_unique<TranscriptStream::Impl>(*impl_)); }

TranscriptStream::TranscriptStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TranscriptStream::~TranscriptStream() = default;
TranscriptStream::TranscriptStream(TranscriptStream&&) noexcept = default;
TranscriptStream& TranscriptStream::operator=(TranscriptStream&&) noexcept = default;

std::vector<StreamedLine> TranscriptStream::feed(std::span<const float> samples, const std::atomic<uint32_t>* cancel) {
    check_finite(samples);
    const size_t piece = impl_->network->samples(kNews);
    std::vector<float>& there = impl_->there;
    impl_->cancel = cancel;
    try {
        while (!samples.empty()) {
            const auto next = samples.first(std::min(piece, samples.size()));
            samples = samples.subspan(next.size());
            there.insert(there.end(), next.begin(), next.end());
            impl_->look();
        }
    } catch (...) {
        there.insert(there.end(), samples.begin(), samples.end());
        throw;
    }
    return std::exchange(impl_->lines, {});
}

std::vector<StreamedLine> TranscriptStream::finish(const std::atomic<uint32_t>* cancel) {
    impl_->cancel = cancel;
    while (impl_->close_full()) {
    }
    if (!impl_->there.empty()) impl_->close(impl_->there.size());
    impl_->restart();
    return std::exchange(impl_->lines, {});
}

}  // namespace backplane
