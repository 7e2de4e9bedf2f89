#include "cli/transcribe_worker.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "backplane/audio.hpp"
#include "base/elapsed.hpp"
#include "base/file.hpp"
#include "base/replacing_file.hpp"
#include "cli/transcript_text.hpp"

namespace backplane::cli {

namespace {

constexpr const char* kEncoderBatch = "a batch of the encoder";

// Of each part of the network on each of these devices, of the size that ran most often; none that was not timed, by itself.
std::vector<Predicted> predicted_of(const Transcriber& transcriber, const std::vector<Device>& devices,
                                    TranscriptionReport& report, Teaches teaches) {
    const std::vector<NetworkTimes> times = transcriber.times();
    std::vector<Predicted> all;
    for (const NetworkTimes& one : times) {
        const bool most = std::ranges::all_of(times, [&](const NetworkTimes& other) {
            return &other == &one || other.part != one.part || other.device != one.device || other.runs < one.runs ||
                   (other.runs == one.runs && &other > &one);
        });
        const auto device = std::ranges::find_if(devices, [&](const Device& d) { return d.info().id == one.device; });
        if (!most || device == devices.end()) continue;
        const bool decodes = one.part == "decoder";
        Predicted made = predicted_beside(*report.costs,
                                          {decodes ? "a call of the decoder" : kEncoderBatch, *device, one.graph,
                                           decodes ? FitOptions{} : report.how, one.seconds},
                                          report.shown, teaches);
        // What a device holds of both is not told apart.
        if (decodes && one.device == devices.front().info().id) made.planned = made.held = 0;
        all.push_back(std::move(made));
    }
    return all;
}

// Where the encoder's layers are on several devices, what a batch is on each; `by_part`: predicted seconds of these, where they were placed by costs.
std::vector<Predicted> predicted_parts_of(const Transcriber& transcriber, const std::vector<double>& by_part) {
    std::vector<Predicted> all;
    const std::vector<PartTime> times = transcriber.part_times();
    for (size_t p = 0; p < times.size(); ++p) {
        Predicted made;
        made.part = "layers " + std::to_string(p + 1) + " of " + std::to_string(times.size()) + " of the encoder";
        made.device = times[p].device;
        made.seconds = times[p].seconds;
        made.time.known = p < by_part.size();
        if (made.time.known) made.time.seconds = by_part[p];
        if (!made.time.known) made.problem = "nothing is predicted of layers that are placed by name";
        all.push_back(std::move(made));
    }
    return all;
}

// From the least to the most of a file's samples. Within six steps of 16 bits there is dither, nothing to hear: it is a muted
// microphone, or the wrong file.
class Reach {
public:
    void add(std::span<const float> samples) {
        for (const float x : samples) {
            least_ = std::min(least_, x);
            most_ = std::max(most_, x);
        }
    }
    [[nodiscard]] bool silent() const { return most_ - least_ <= 2e-4F; }

private:
    float least_ = std::numeric_limits<float>::infinity(), most_ = -least_;
};

// A file that is being read.
struct Clip {
    size_t file = 0;
    std::chrono::steady_clock::time_point opened;
    std::shared_ptr<const Reach> reach;
};

// What a network makes of samples has no word of the file that they are of, which among many is what counts.
Error of_file(const std::string& name, const Error& error) {
    constexpr std::string_view kWithout = "cannot transcribe: ";
    std::string_view text = error.what();
    if (batch::is_folder(name))
        return Error(Code::not_found, "there is no audio in the folder '" + name + "': name a folder of " + kAudio);
    if (const std::string unread = "cannot read " + name + ": "; text.starts_with(unread))
        return Error(error.code(), "cannot read '" + name + "': " + std::string(text.substr(unread.size())));
    if (name == kPipe || error.code() == Code::cancelled || text.find("'" + name + "'") != std::string_view::npos)
        return error;
    if (text.starts_with(kWithout)) text.remove_prefix(kWithout.size());
    return Error(error.code(), "cannot transcribe '" + name + "': " + std::string(text));
}

Error silent_file(const std::string& name, double seconds) {
    const std::string what = name == kPipe ? "the input stream" : "'" + name + "'";
    return Error(Code::corrupt, "cannot transcribe " + what + ": it is silent: nothing in its " + fixed(seconds, 1).text +
                                    " s is louder than -80 dB");
}

double times_real_time(double audio, double took) { return audio / std::max(1e-9, took); }

}  // namespace

std::string times_text(double audio, double took) {
    return fixed(times_real_time(audio, took), 1).text + " times real time";
}

TranscribeWorker::~TranscribeWorker() {
    const std::lock_guard lock(report_.mutex);
    report_.runs = nullptr;
    try {
        for (const Predicted& one : all_predicted(Teaches::yes))
            if (report_.shown) report_.ran += line_of(one) + "\n";
    } catch (const Error& error) {
        report_.ran += std::string("nothing was predicted: ") + error.what() + "\n";
    }
    report_.described += transcriber_->describe() + "\n";
    for (const NetworkRuns& n : transcriber_->runs())
        report_.ran += n.part + " ran on " + n.device + ": " + std::to_string(n.runs) + " runs, " + std::to_string(n.nodes) +
                       " nodes\n";
}

void TranscribeWorker::serve(batch::Feed& feed) {
    std::mutex mutex;
    std::vector<Clip> clips;  // in the order in which they were asked for
    const auto clip_of = [&](size_t clip) {
        const std::lock_guard lock(mutex);
        return clips[clip];
    };
    ClipQueue queue;
    queue.next = [&]() -> std::optional<SampleSource> {
        const auto file = feed.next();
        if (!file) return {};
        const std::string& name = feed.task(*file).name;
        const auto reach = std::make_shared<Reach>();
        {
            const std::lock_guard lock(mutex);
            clips.push_back({*file, std::chrono::steady_clock::now(), reach});
        }
        const int64_t rate = transcriber_->sample_rate();
        const std::shared_ptr<AudioReader> audio =
            name == kPipe ? AudioReader::open_input(rate) : AudioReader::open(base::path_of(name), rate);
        return [audio, reach](std::span<float> into) {
            const size_t count = audio->read(into);
            reach->add(into.first(count));
            return count;
        };
    };
    double heard = 0;  // of clips that are done
    queue.done = [&](size_t clip, const Transcript& said) {
        heard += said.seconds;
        const auto [file, opened, reach] = clip_of(clip);
        const double seconds = base::seconds_since(opened);
        if (reach->silent()) return feed.failed(file, silent_file(feed.task(file).name, said.seconds), seconds);
        Json report;
        try {
            report = written(feed.task(file), said, seconds);
        } catch (const Error& error) {
            return feed.failed(file, error, seconds);
        }
        feed.done(file, std::move(report), seconds);
    };
    queue.failed = [&](size_t clip, const Error& error) {
        const auto [file, opened, reach] = clip_of(clip);
        feed.failed(file, of_file(feed.task(file).name, error), base::seconds_since(opened));
    };
    TranscribeHooks hooks;
    hooks.cancel = &feed.cancel();
    hooks.progress = [&](double seconds) {
        const double length = feed.task(clip_of(0).file).work;  // of one file this is how far it is; of several nobody asks
        if (length > 0) feed.progress(std::min(1.0, (seconds - heard) / length));
    };
    transcriber_->transcribe(queue, hooks);
}

Json TranscribeWorker::ran() const {
    Json all = Json::array();
    for (const NetworkRuns& n : transcriber_->runs())
        all.push_back({{"part", n.part}, {"device", n.device}, {"runs", n.runs}, {"nodes", n.nodes}});
    return all;
}

Json TranscribeWorker::predicted() const {
    const std::lock_guard lock(report_.mutex);
    if (!report_.shown) return {};
    Json all = Json::array();
    for (const Predicted& one : all_predicted(Teaches::no)) all.push_back(json_of(one));
    return all;
}

std::vector<Predicted> TranscribeWorker::all_predicted(Teaches teaches) const {
    std::vector<Predicted> all = predicted_of(*transcriber_, devices_, report_, teaches);
    for (Predicted& one : predicted_parts_of(*transcriber_, by_part_)) all.push_back(std::move(one));
    return all;
}

Json TranscribeWorker::written(const batch::Task& task, const Transcript& said, double seconds) const {
    Json report = transcript_json(said);
    const std::string text = transcript_text(said, o_.format, o_.timestamps);
    if (task.target.empty())
        report["shown"] = text;
    else
        base::write_text(task.target, text);
    report["file"] = task.name;
    report["output"] = task.target.string();
    report["took_seconds"] = seconds;
    report["times_real_time"] = times_real_time(said.seconds, seconds);
    report["model"] = transcriber_->name();
    report["decoder"] = decoder_name(transcriber_->decoder());
    report["device"] = transcriber_->device().info().id;
    report["why"] = why_;
    report["notes"] = transcriber_->notes();
    report["pauses_by"] = transcriber_->pauses_by();
    report["ran"] = ran();
    report["predicted_parts"] = predicted();
    report["predicted"] = Json();
    for (const Json& one : report["predicted_parts"])
        if (one["part"] == kEncoderBatch) report["predicted"] = one;
    if (!place_.is_null()) report["place"] = place_;
    return report;
}

}  // namespace backplane::cli
