#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <memory>

#include "backplane/audio.hpp"
#include "base/file.hpp"
#include "base/terminal.hpp"
#include "cli/cli.hpp"
#include "cli/live_speech.hpp"
#include "cli/targets.hpp"
#include "cli/transcribe_choice.hpp"
#include "cli/transcribe_worker.hpp"
#include "cli/transcript_text.hpp"
#include "cli/usage.hpp"

namespace backplane::cli {

namespace {

SpeechDecoder decoder_of(const std::string& name) {
    if (name == "ctc") return SpeechDecoder::ctc;
    if (name == "rnnt") return SpeechDecoder::rnnt;
    return name == "tdt" ? SpeechDecoder::tdt : SpeechDecoder::automatic;
}

std::vector<batch::Input> inputs_of(const TranscribeChoice& o) {
    constexpr std::string_view kEndings[] = {".wav",  ".flac", ".ogg", ".oga", ".opus", ".mp3",
                                             ".aiff", ".aif",  ".au",  ".caf", ".w64"};
    std::vector<batch::Input> inputs = batch::named_inputs(o.audio, {kEndings, "audio", kAudio});
    if (!o.many.manifest.empty())
        for (batch::Input& input : batch::listed_inputs(o.many.manifest)) inputs.push_back(std::move(input));
    if (inputs.empty()) throw UsageError("transcribe: say which AUDIO, or a list of files with --manifest");
    if (std::count_if(inputs.begin(), inputs.end(), [](const batch::Input& i) { return i.name == kPipe; }) > 1)
        throw UsageError("'-' is the one input stream: give it once");
    return inputs;
}

// Whether the results are files in a folder, of which a journal is kept.
bool is_many(const TranscribeChoice& o, size_t files) {
    return files > 1 || !o.many.manifest.empty() || std::any_of(o.audio.begin(), o.audio.end(), batch::is_folder);
}

// "auto" is the format that the name of the one output file ends in, else text; not in a file that its name says to be something else.
std::string format_of(const TranscribeChoice& o) {
    const std::string& output = o.many.output;
    if (o.format != "auto") return o.format;
    if (batch::is_folder(output)) return "text";
    std::string ending = base::path_of(output).extension().string();
    std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const std::string& format : transcript_formats())
        if (ending == "." + format) return format;
    constexpr std::array<std::string_view, 4> kPlain{"", ".txt", ".md", ".log"};
    if (!is_many(o, o.audio.size()) && std::find(kPlain.begin(), kPlain.end(), ending) == kPlain.end())
        throw UsageError("no format has a name that ends in '" + ending + "', as --output '" + output +
                         "' does: end it in .txt, .srt, .vtt, .tsv or .json, or say which with --format");
    return "text";
}

// Where the transcript of a file goes; empty: to the terminal.
std::filesystem::path target_of(const TranscribeChoice& o, const std::string& file, size_t files) {
    const std::string& output = o.many.output;
    if (output.empty() || (files == 1 && !batch::is_folder(output))) return base::path_of(output);
    const std::string name = file == kPipe ? "stdin" : base::path_of(file).stem().string();
    return base::path_of(output) / base::path_of(name + "." + ending_of(o.format));
}

std::vector<batch::Task> tasks_of(const TranscribeChoice& o, const std::vector<batch::Input>& inputs) {
    std::vector<batch::Task> tasks;
    for (const batch::Input& input : inputs)
        tasks.push_back({input.name, target_of(o, input.name, inputs.size()), input.work});
    check_targets(o.many, tasks);
    for (const batch::Task& task : tasks)
        if (!task.target.empty())
            check_target_beside("--output", task.target.string(), {o.model, o.many.manifest, o.vad}, o.many.force);
    return tasks;
}

// Which are the longest is of interest where several share them, or somebody watches.
void measure(std::vector<batch::Task>& tasks) {
    for (batch::Task& task : tasks) {
        if (task.work > 0 || task.name == kPipe) continue;
        try {
            task.work = AudioReader::open(base::path_of(task.name))->info().seconds;
        } catch (const Error&) {
            // It is said when its turn comes.
        }
    }
}

// Where so many windows of audio are done first.
Placed placed_for(const TranscribeChoice& o, const Context& context, CostModel& costs, double seconds,
                  const std::map<std::string, uint64_t>& budgets, Run& run) {
    parakeet::ModelFile file = parakeet::ModelFile::open(base::path_of(o.model));
    const parakeet::Head head = file.config().transducer ? parakeet::Head::transducer : parakeet::Head::ctc;
    const auto on = [&](const Device& device) {
        return parakeet::Recognizer({device}, file, computed_in(o.dtype), head, parakeet::Lengths::by_device, o.exact);
    };
    const parakeet::Recognizer any = on(context.choose());
    const auto samples = static_cast<size_t>(o.window * static_cast<double>(any.config().preprocessor.sample_rate));
    const int64_t clips = std::max<int64_t>(o.batch, 1);
    const auto windows = static_cast<int64_t>(std::ceil(std::max(seconds, 1.0) / o.window));
    const FitOptions how = fit_options(o.memory, budgets, &run.interrupted);
    const bool whole = !budgets.empty() || how.streaming == Streaming::always;  // layers on several devices take no budget
    PlacedGraph what{any.encoder(clips, samples),
                     {},
                     std::max<int64_t>(1, windows / clips),
                     whole ? size_t{1} : size_t{3},
                     o.place.among()};
    what.ways = [&](const Device& device) { return on(device).ways(clips, samples, how); };
    return place_by_costs(context, o.choice, costs, what, run);
}

std::unique_ptr<Transcriber> open_transcriber(const TranscribeChoice& o, Placed placed,
                                              const std::map<std::string, uint64_t>& budgets) {
    TranscriberOptions options;
    options.decoder = decoder_of(o.decoder);
    options.language = o.language;
    options.dtype = computed_in(o.dtype);
    options.may_halve = o.dtype == "auto";
    options.window = o.window;
    options.batch = o.batch;
    options.exact = o.exact;
    options.vad = o.vad;
    std::vector<Device>& devices = placed.devices;
    options.layers = placed.layers;
    options.rows = placed.rows;
    options.frames = placed.frames;
    options.shares = placed.shares;
    options.decoder_device = placed.decoder;
    options.memory = budget_of(budgets, devices.front().info().id);
    options.streaming = streaming_of(o.memory);
    for (const Device& one : devices)
        if (const uint64_t bytes = budget_of(budgets, one.info().id); bytes != 0) limit_memory(one, bytes);
    return std::make_unique<Transcriber>(std::move(devices), base::path_of(o.model), options);
}

Placed placed_on(const TranscribeChoice& o, const Context& context, CostModel& costs, const std::string& device,
                 double seconds, const std::map<std::string, uint64_t>& budgets, Run& run) {
    if (o.place.is_auto()) return placed_for(o, context, costs, seconds, budgets, run);
    DeviceChoice choice = o.choice;
    if (o.place.place.empty()) choice.device = device;
    Placed placed = open_placed(context, choice, o.place);
    const bool shared = placed.layers > 1 || placed.rows > 1 || placed.frames > 1;
    if (shared && (!o.memory.memory.empty() || streaming_of(o.memory) == Streaming::always))
        throw UsageError("--place '" + o.place.place + "' with --memory or --stream always: leave one of the two out");
    return placed;
}

void say_what_works(const TranscribeChoice& o, const Run& run, const Transcriber& transcriber, const std::string& why) {
    if (o.choice.verbose && !run.json)
        err("{} by {} on {} ({}); {}\n", transcriber.name(), decoder_name(transcriber.decoder()),
            transcriber.device().info().id, transcriber.device().info().name, why);
}

BatchWords words_of(const TranscribeChoice& o, size_t files, const TranscriptionReport& all,
                    std::vector<std::string>& told) {
    BatchWords words;
    words.doing = "transcribing";
    words.speed = times_text;
    words.json = [&all](const batch::News& news) {
        Json json = news.report;
        json.erase("shown");
        if (all.runs) json["ran"] = all.runs();
        return json;
    };
    words.line = [&o, files, &told](const batch::News& news) {
        const Json& report = news.report;
        const double seconds = report["seconds"].get<double>(), took_seconds = report["took_seconds"].get<double>();
        const std::string target = report["output"].get<std::string>();
        std::string took = fixed(seconds, 1).text + " s of audio in " + fixed(took_seconds, 2).text + " s, " +
                           times_text(seconds, took_seconds);
        for (const Json& note : report["notes"])
            if (std::find(told.begin(), told.end(), note.get<std::string>()) == told.end()) {
                told.push_back(note.get<std::string>());
                err("note: {}\n", told.back());
            }
        const Json* const said = report.find("text");
        if (said != nullptr && said->get<std::string>().empty())
            err("note: no word was heard in '{}'\n", base::visible(news.file));
        if (files > 1) took += " on " + news.device;
        if (o.choice.verbose) err("{}: {}\n", news.file, took);
        if (!target.empty()) return base::visible(target) + ": " + took;
        return (files > 1 && o.format == "text" ? base::visible(news.file) + ":\n" : std::string()) +
               report["shown"].get<std::string>();
    };
    return words;
}

void transcribe_files(const TranscribeChoice& o, Run& run) {
    const std::vector<batch::Input> inputs = inputs_of(o);
    std::vector<batch::Task> tasks = tasks_of(o, inputs);
    const bool many = is_many(o, tasks.size());
    batch::Options options;
    if (many) options.ranks = batch::ranks_of(o.many.ranks);
    if (options.ranks.size > 1 && o.many.output.empty())
        throw UsageError(
            options.ranks.launcher + " has started " + std::to_string(options.ranks.size) +
            " processes that share the files: name the folder for all results with --output, or have this one do "
            "everything with --ranks 1");
    if (many && !o.many.output.empty()) options.folder = base::path_of(o.many.output);
    const std::string settings = o.format + "," + o.decoder + "," + o.language + "," + o.dtype + "," + o.vad + "," +
                                 std::to_string(o.window) + (o.timestamps ? ",timestamps" : "") + (o.exact ? ",exact" : "");
    options.how = how_of("transcribe " + settings, base::path_of(o.model));
    options.not_kept = {"text", "words", "shown"};
    if (!o.place.place.empty() && !o.many.devices.empty())
        throw UsageError(
            "--devices shares files out among devices that hold all layers, --place cuts the layers: give one of them");
    const Context context(context_options(o.choice));
    std::string why;
    const std::vector<std::string> devices = !o.place.place.empty() ? std::vector<std::string>{o.place.place}
                                             : many ? devices_for(context, o.choice, o.many, options.ranks, why)
                                                    : std::vector<std::string>{o.choice.device};
    const std::map<std::string, uint64_t> budgets = budgets_of(context, o.memory);
    measure(tasks);
    double seconds = 0;
    for (const batch::Task& task : tasks) seconds += task.work;
    CostModel costs(context);
    const bool alone = devices.size() == 1 && options.ranks.size == 1;
    options.in_order = options.told_in_order = alone || o.many.output.empty();
    TranscriptionReport report;
    report.costs = &costs;
    report.shown = o.choice.verbose || run.json;
    report.how = fit_options(o.memory, budgets);
    std::vector<batch::Station> stations;
    for (const std::string& device : devices)
        stations.push_back(
            {device, [&o, &run, &context, &costs, &report, &why, &budgets, device, alone, seconds] {
                 Placed placed = placed_on(o, context, costs, device, seconds, budgets, run);
                 const Json place = o.place.is_auto() ? placed_json(placed) : Json();
                 const std::string because = !placed.why.empty() ? placed.why : why.empty() ? context.why() : why;
                 const std::vector<Device> its_devices = placed.devices;
                 const std::vector<double> by_part = placed.found ? placed.found->by_part : std::vector<double>();
                 auto transcriber = open_transcriber(o, std::move(placed), budgets);
                 say_what_works(o, run, *transcriber, because);
                 auto worker = std::make_unique<TranscribeWorker>(o, std::move(transcriber), its_devices, because, place,
                                                                  by_part, report);
                 if (alone) report.runs = [at = worker.get()] { return at->ran(); };
                 return worker;
             }});
    std::vector<std::string> told;
    run_batch(tasks, stations, o.many, options, words_of(o, tasks.size(), report, told), run);
    if (!o.choice.verbose || run.json) return;
    err_lines(report.described);
    err_lines(report.ran);
}

void transcribe(const TranscribeChoice& o, Run& run) {
    run.if_cancelled = ": nothing was transcribed";
    if (!o.live && !o.memory.stream.empty()) return transcribe_files(o, run);
    const bool pipe = o.audio.size() == 1 && o.audio.front() == kPipe && o.many.manifest.empty();
    if (!pipe || !o.many.output.empty() || o.format != "text")
        throw UsageError("--live reads from '-' alone, and its lines go to the terminal: leave --output and --format out");
    const Context context(context_options(o.choice));
    CostModel costs(context);
    const std::map<std::string, uint64_t> budgets = budgets_of(context, o.memory);
    Placed placed = placed_on(o, context, costs, o.choice.device, o.window, budgets, run);
    const std::string why = placed.why.empty() ? context.why() : placed.why;
    const auto transcriber = open_transcriber(o, std::move(placed), budgets);
    say_what_works(o, run, *transcriber, why);
    run.if_cancelled = ": what was said until then is transcribed";
    transcribe_live(run, *transcriber);
    if (!o.choice.verbose || run.json) return;
    err_lines(transcriber->describe());
    for (const NetworkRuns& n : transcriber->runs())
        err("{} ran on {}: {} runs, {} nodes\n", n.part, n.device, n.runs, n.nodes);
}

}  // namespace

void add_transcribe(const Command& app, Run& run) {
    const Command command = app.subcommand("transcribe", "Write down what is said in audio files, with a Parakeet network");
    auto o = std::make_shared<TranscribeChoice>();
    command.option("AUDIO", o->audio, "Audio files, folders of them, or - for the input stream");
    command.option("--model", o->model, "GGUF file, or folder of transformers or model.safetensors in it")
        .type("FILE")
        .required();
    std::vector<std::string> formats = transcript_formats();
    formats.insert(formats.begin(), "auto");
    command.option("--format", o->format, "text, srt, vtt, tsv or json; auto: as the name of --output ends (.txt: text)")
        .shows_default()
        .one_of(formats);
    command.option("--output", o->many.output, "File to write; of several inputs the folder for them").type("PATH");
    command.flag("--timestamps", o->timestamps, "Text has a line for every few words, with its time");
    command.option("--decoder", o->decoder, "ctc, rnnt or tdt, where the network has it")
        .shows_default()
        .one_of({"auto", "ctc", "rnnt", "tdt"});
    command
        .option("--language", o->language,
                "Of what is said, where the network takes one; those that are published find it themselves")
        .type("CODE")
        .shows_default();
    command
        .option("--dtype", o->dtype,
                "Of feature maps: f32, with weights as the file has them; or f16, weights too; auto: f32 where it has room, "
                "else f16")
        .shows_default()
        .one_of({"f32", "f16", "auto"});
    command.flag("--exact", o->exact,
                 "Beside weights in blocks (q8_0 ...), no activation is rounded to a byte: half as fast on CPUs");
    command.option("--window", o->window, "Seconds that the network sees at once; longer audio is cut in pauses")
        .shows_default()
        .between(5, 1200);
    command
        .option("--vad", o->vad,
                "What finds pauses: Silero VAD, by its .onnx file; auto: silero-vad.onnx beside the network, where there is "
                "one, "
                "else energy; never: energy")
        .type("FILE")
        .shows_default();
    command.option("--batch", o->batch, "Windows at once; 0: chosen by the device").shows_default().in_range(0, 1024);
    command.flag("--live", o->live, "Read PCM (16 bit, mono, the network's rate) from -, print lines as they come");
    add_memory_options(command, o->memory, true);
    add_batch_options(command, o->many);
    add_device_options(command, o->choice);
    add_place_option(command, o->place);
    add_json_option(command, run);
    command.footer(
        "Other files are still done where one cannot be; then the exit code is 1. Of many files with --output a journal is "
        "kept\n"
        "in that folder: the same command goes on where it was ended. Under srun and mpirun the ranks share the files.\n"
        "Examples:\n  backplane transcribe talk.flac --model parakeet.gguf\n"
        "  backplane transcribe *.mp3 --model parakeet.gguf --format srt --output subtitles/\n"
        "  backplane transcribe --manifest calls.jsonl --model parakeet.gguf --output texts/ --devices discrete,cpu\n"
        "  backplane transcribe calls/ --model parakeet.gguf --output texts/ --place encoder=cuda:0+cuda:1\n"
        "  backplane transcribe talk.flac --model parakeet.gguf --place auto\n"
        "  srun -n 8 backplane transcribe calls/ --model parakeet.gguf --output texts/\n"
        "  backplane transcribe talk.flac --model parakeet.gguf --memory discrete=2GiB\n"
        "  backplane transcribe meeting.ogg --model parakeet.gguf --vad silero_vad_v6.onnx\n"
        "  arecord -f S16_LE -r 16000 | backplane transcribe - --live --model parakeet.gguf");
    command.runs([o, &run] {
        o->format = format_of(*o);
        transcribe(*o, run);
    });
}

}  // namespace backplane::cli
