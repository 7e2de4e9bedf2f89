#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>

#include "base/file.hpp"
#include "base/memory_use.hpp"
#include "cli/bench_run.hpp"
#include "cli/cli.hpp"
#include "cli/place_options.hpp"
#include "cli/random_file.hpp"
#include "models/parakeet/recognizer.hpp"

namespace backplane::cli {

namespace {

struct SpeechChoice {
    DeviceChoice choice;
    PlaceChoice place;
    std::string size = "110m", model, save, dtype = "f32", head = "auto";
    double seconds = 60;
    int64_t batch = 1, clips = 0;
    int runs = 5;
    bool exact = false, encoder = false;

    [[nodiscard]] int64_t all() const { return clips > 0 ? clips : std::max<int64_t>(batch, 1); }
};

struct SpeechTiming {
    double first_ms = 0;  // of the run that prepares
    std::vector<double> ms;
    [[nodiscard]] double median_ms() const { return median(ms); }
    [[nodiscard]] double least_ms() const { return *std::min_element(ms.begin(), ms.end()); }
};

SpeechTiming time_runs(int runs, Run& run, const std::function<void()>& body) {
    SpeechTiming timing;
    for (int k = 0; k <= runs; ++k) {
        if (run.interrupted != 0) throw Error(Code::cancelled, "cancelled");
        const auto start = std::chrono::steady_clock::now();
        body();
        const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        if (k == 0)
            timing.first_ms = ms;
        else
            timing.ms.push_back(ms);
    }
    return timing;
}

parakeet::Head head_of(const SpeechChoice& o, const parakeet::Config& config) {
    if (o.head == "ctc") return parakeet::Head::ctc;
    return o.head == "transducer" || config.transducer ? parakeet::Head::transducer : parakeet::Head::ctc;
}

struct SpeechResult {
    std::string network, dtype;  // of feature maps, or of the matrices where they are in blocks
    int64_t batch = 1;
    std::vector<std::pair<int64_t, double>> tried;  // clips at a time, and milliseconds
    SpeechTiming encoder, whole;
    size_t tokens = 0;
    double gflop = 0;  // of the encoder, all clips
    Peak peak;
    uint64_t resident = 0;
    std::vector<PartTime> parts;  // of layers on several devices, the quickest batch
    std::string plan;
};

// Every batch, as many under way as keep all devices at work.
void each_batch(parakeet::Recognizer& recognizer, std::span<const std::span<const float>> clips, size_t batch, Run& run,
                const std::function<void(parakeet::Recognizer::Batch&)>& finish) {
    std::deque<parakeet::Recognizer::Batch> under_way;
    for (size_t first = 0; first < clips.size() || !under_way.empty(); first += batch) {
        if (first < clips.size())
            under_way.push_back(
                recognizer.start(clips.subspan(first, std::min(batch, clips.size() - first)), &run.interrupted));
        if (first < clips.size() && under_way.size() < recognizer.at_a_time()) continue;
        finish(under_way.front());
        under_way.pop_front();
    }
}

// The encoder, in batches of that many.
SpeechTiming time_encoder(parakeet::Recognizer& recognizer, std::span<const std::span<const float>> clips, int64_t batch,
                          int runs, Run& run) {
    return time_runs(runs, run, [&] {
        each_batch(recognizer, clips, static_cast<size_t>(batch), run, [&](auto& one) { recognizer.finish_encoder(one); });
    });
}

// By a few runs of each size: of one device and of several that work on different batches it is not the same.
int64_t fastest_batch(parakeet::Recognizer& recognizer, std::span<const std::span<const float>> clips, Run& run,
                      std::vector<std::pair<int64_t, double>>& tried) {
    constexpr int64_t kMost = 16;
    constexpr int kRuns = 3;
    int64_t best = 1;
    double least = INFINITY;
    for (int64_t batch = 1; batch <= std::min<int64_t>(kMost, std::ssize(clips)); batch *= 2) {
        const double ms = time_encoder(recognizer, clips, batch, kRuns, run).median_ms();
        tried.emplace_back(batch, ms);
        if (ms >= least) continue;
        least = ms;
        best = batch;
    }
    return best;
}

SpeechResult time_speech(const SpeechChoice& o, const Placed& placed, Run& run) {
    std::unique_ptr<RandomFile> random;
    if (o.model.empty()) random = std::make_unique<RandomFile>(o.size, o.dtype == "q8_0" ? DType::q8_0 : DType::f32, o.save);
    const auto file = parakeet::ModelFile::open(random ? random->path() : base::path_of(o.model));
    const parakeet::Config& config = file.config();
    SpeechResult result;
    result.network = config.name;
    result.dtype = o.dtype;
    if (o.dtype != "f16")
        for (const parakeet::Tensor& tensor : file.tensors())
            if (is_block(tensor.dtype)) result.dtype = name_of(tensor.dtype);
    parakeet::Recognizer recognizer(o.place.place.empty() ? std::vector<Device>{placed.devices.front()} : placed.devices,
                                    file, computed_in(o.dtype), head_of(o, config), parakeet::Lengths::by_device, o.exact,
                                    placed.places());
    std::vector<std::vector<float>> clips;
    for (int64_t k = 0; k < o.all(); ++k)
        clips.push_back(
            parakeet::random_sound(static_cast<size_t>(o.seconds * static_cast<double>(config.preprocessor.sample_rate)),
                                   static_cast<unsigned>(k)));
    const std::vector<std::span<const float>> spans(clips.begin(), clips.end());
    result.batch = o.batch > 0 ? o.batch : fastest_batch(recognizer, spans, run, result.tried);
    const auto batch = static_cast<size_t>(result.batch);
    result.encoder = time_encoder(recognizer, spans, result.batch, o.runs, run);
    if (!o.encoder)
        result.whole = time_runs(o.runs, run, [&] {
            result.tokens = 0;
            each_batch(recognizer, spans, batch, run, [&](auto& one) {
                for (const auto& tokens : recognizer.finish(one)) result.tokens += tokens.size();
            });
        });
    result.plan = recognizer.describe();
    result.parts = recognizer.part_times(result.batch);
    result.gflop =
        static_cast<double>(o.all()) *
        parakeet::encoder_flops(config.encoder, static_cast<int64_t>(clips[0].size()) / config.preprocessor.hop_length) /
        1e9;
    result.resident = base::peak_resident_bytes();
    result.peak = measure_peak(placed.devices.front());
    return result;
}

void bench_speech(const SpeechChoice& o, Run& run) {
    const Context context(context_options(o.choice));
    const Placed placed =
        o.place.place.empty() ? Placed{{open_device(context, o.choice)}, 1} : open_placed(context, o.choice, o.place);
    const Device& device = placed.devices.front();
    const SpeechResult r = time_speech(o, placed, run);
    const double sound = o.seconds * 1000 * static_cast<double>(o.all());
    std::string where = device.info().id;
    for (size_t i = 1; i < std::max<size_t>({placed.layers, placed.rows, placed.frames}); ++i)
        where += "+" + placed.devices[i].info().id;
    const double gflops = r.gflop / r.encoder.median_ms() * 1000;
    if (run.json) {
        Json json{{"network", r.network},
                  {"dtype", r.dtype},
                  {"seconds", o.seconds},
                  {"batch", r.batch},
                  {"clips", o.all()},
                  {"device", where},
                  {"name", device.info().name},
                  {"threads", o.choice.threads},
                  {"exact", o.exact},
                  {"runs", o.runs},
                  {"encoder_ms", r.encoder.median_ms()},
                  {"encoder_least_ms", r.encoder.least_ms()},
                  {"first_ms", r.encoder.first_ms},
                  {"gflops", gflops},
                  {"peak_gflops", r.peak.gflops},
                  {"resident_bytes", r.resident}};
        for (const PartTime& part : r.parts)
            json["parts"].push_back({{"device", part.device}, {"ms", part.seconds * 1e3}, {"passes", part.passes}});
        for (const auto& [batch, ms] : r.tried) json["tried"].push_back({{"batch", batch}, {"encoder_ms", ms}});
        if (!o.encoder) {
            json["whole_ms"] = r.whole.median_ms();
            json["whole_least_ms"] = r.whole.least_ms();
            json["times_real_time"] = sound / r.whole.median_ms();
            json["tokens"] = r.tokens;
        }
        return print(json);
    }
    out("{} in {}, {} of {} s, on {} ({})\n", r.network, r.dtype,
        o.all() == 1 ? "a clip" : std::to_string(o.all()) + " clips", fixed(o.seconds, o.seconds < 10 ? 1 : 0), where,
        device.info().name);
    out("  encoder {} ms median of {} runs (least {}), {} GFLOP/s", fixed(r.encoder.median_ms(), 1), o.runs,
        fixed(r.encoder.least_ms(), 1), fixed(gflops, 0));
    if (r.peak.gflops > 0) out(", {} of the f32 FMA peak of {}", fixed(gflops / r.peak.gflops, 2), fixed(r.peak.gflops, 0));
    out("\n");
    if (!o.encoder)
        out("  sound to tokens {} ms (least {}), {} times real time; {} tokens\n", fixed(r.whole.median_ms(), 1),
            fixed(r.whole.least_ms(), 1), fixed(sound / r.whole.median_ms(), 0), r.tokens);
    if (!r.tried.empty()) {
        std::string tried;
        for (const auto& [batch, ms] : r.tried)
            tried += (tried.empty() ? "" : ", ") + std::to_string(batch) + " in " + fixed(ms, 1).text + " ms";
        out("  clips at a time: {}, which takes least ({})\n", r.batch, tried);
    }
    if (!r.parts.empty()) {
        std::string parts;
        for (const PartTime& part : r.parts)
            parts += (parts.empty() ? "" : ", ") + fixed(part.seconds * 1e3, 2).text + " ms on " + part.device;
        out("  its parts, of the quickest batch: {}\n", parts);
    }
    if (o.choice.verbose) err_lines(r.plan);
    out("  the first run took {} ms; {} of memory at most\n", fixed(r.encoder.first_ms, 0), human_bytes(r.resident));
}

}  // namespace

void add_bench_speech(const Command& app, Run& run) {
    const Command command = app.subcommand("speech", "Time a Parakeet network: its encoder, and sound to tokens");
    auto o = std::make_shared<SpeechChoice>();
    const Argument size = command.option("--size", o->size,
                                         "Of a published network, with random weights, which are written to "
                                         "the folder of temporary files: 110m (0.5 GB), 0.6b (2.5 GB) or 1.1b (4.3 GB)");
    size.shows_default().one_of(parakeet::published_sizes());
    command.option("--model", o->model, "A network's folder or GGUF file instead").type("PATH").excludes(size);
    command.option("--save", o->save, "Keep the random weights in this .gguf file").type("FILE");
    command.option("--seconds", o->seconds, "Of sound in a clip").shows_default().between(0.1, 3600);
    command.option("--batch", o->batch, "Clips at a time; 0: of 1, 2, 4, 8 and 16 what takes least")
        .shows_default()
        .in_range(0, 1024);
    command.option("--clips", o->clips, "Clips in all, in batches one after the other; 0: one batch")
        .shows_default()
        .in_range(0, 65536);
    command
        .option("--dtype", o->dtype,
                "f32; q8_0: matrices in blocks (of random weights; a file has what it has); "
                "f16: feature maps and weights")
        .shows_default()
        .one_of({"f32", "f16", "q8_0"});
    command.flag("--exact", o->exact, "Beside weights in blocks, no activation is rounded to a byte");
    command.flag("--encoder", o->encoder, "Time the encoder alone");
    command.option("--head", o->head, "ctc or transducer").shows_default().one_of({"auto", "ctc", "transducer"});
    command.option("--runs", o->runs, "Of which the median is taken, after one that prepares")
        .shows_default()
        .in_range(1, 1000);
    add_device_options(command, o->choice);
    add_place_option(command, o->place);
    add_json_option(command, run);
    command.footer(
        "GFLOP/s count the products, attention and convolutions of the encoder as written. Random weights do the work of "
        "trained\n"
        "ones; what they say is no words, and how much of it (its time is in the whole) is that of speech.\n"
        "Examples:\n  backplane bench speech --size 110m --threads 2\n"
        "  backplane bench speech --size 0.6b --dtype f16 --seconds 10 --batch 16 --device vulkan\n"
        "  backplane bench speech --size 0.6b --dtype f16 --seconds 30 --clips 64 --batch 0 --place encoder=cuda:0+cuda:1\n"
        "  backplane bench speech --model parakeet-tdt-0.6b-v3.gguf --json");
    command.runs([o, &run] { bench_speech(*o, run); });
}

}  // namespace backplane::cli
