#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>

#include "backplane/audio.hpp"
#include "backplane/transcriber.hpp"
#include "base/file.hpp"
#include "base/replacing_file.hpp"
#include "base/terminal.hpp"
#include "cli/cli.hpp"
#include "cli/targets.hpp"
#include "cli/transcript_text.hpp"
#include "cli/usage.hpp"

namespace backplane::cli {

namespace {

struct TranscribeChoice {
    DeviceChoice choice;
    std::vector<std::string> audio;
    std::string model, format = "text", output, decoder = "auto", language = "auto", dtype = "f32", vad = "auto";
    double window = 30;
    int64_t batch = 0;
    bool timestamps = false, stream = false, progress = false, force = false, exact = false;
};

constexpr const char* kPipe = "-";

SpeechDecoder decoder_of(const std::string& name) {
    if (name == "ctc") return SpeechDecoder::ctc;
    if (name == "rnnt") return SpeechDecoder::rnnt;
    return name == "tdt" ? SpeechDecoder::tdt : SpeechDecoder::automatic;
}
const char* name_of(SpeechDecoder decoder) {
    if (decoder == SpeechDecoder::ctc) return "ctc";
    return decoder == SpeechDecoder::rnnt ? "rnnt" : "tdt";
}

bool is_folder(const std::string& name) {
    return base::status_of(base::path_of(name)).kind == base::FileStatus::Kind::folder;
}

// What is named; of folders the sounds in them, by their names' endings.
std::vector<std::string> files_of(const std::vector<std::string>& names) {
    constexpr std::string_view kEndings[] = {".wav",  ".flac", ".ogg", ".oga", ".opus", ".mp3",
                                             ".aiff", ".aif",  ".au",  ".caf", ".w64"};
    std::vector<std::string> files;
    for (const std::string& name : names) {
        if (name == kPipe || !is_folder(name)) {
            files.push_back(name);
            continue;
        }
        std::string problem;
        const size_t before = files.size();
        for (const auto& file : base::names_in(base::path_of(name), problem)) {
            std::string ending = file.extension().string();
            std::transform(ending.begin(), ending.end(), ending.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
            if (std::find(std::begin(kEndings), std::end(kEndings), ending) != std::end(kEndings))
                files.push_back((base::path_of(name) / file.filename()).string());
        }
        if (!problem.empty()) throw Error(Code::denied, "cannot read the folder '" + name + "': " + problem);
        if (files.size() == before)
            throw Error(Code::not_found,
                        "there is no audio in the folder '" + name + "': name a folder of WAV, FLAC, Ogg, Opus or MP3");
    }
    return files;
}

// Where the transcript of a file goes; empty: to the terminal.
std::string target_of(const TranscribeChoice& o, const std::string& file, size_t files) {
    if (o.output.empty() || (files == 1 && !is_folder(o.output))) return o.output;
    const std::string name = file == kPipe ? "stdin" : base::path_of(file).stem().string();
    return (base::path_of(o.output) / base::path_of(name + "." + ending_of(o.format))).string();
}

void check_targets(const TranscribeChoice& o, const std::vector<std::string>& files) {
    if (std::count(files.begin(), files.end(), kPipe) > 1) throw UsageError("'-' is the one input stream: give it once");
    if (o.output.empty()) return;
    if (files.size() > 1 && !is_folder(o.output))
        throw UsageError("--output '" + o.output + "' must be a folder that is there, for " + std::to_string(files.size()) +
                         " files");
    std::vector<std::string> targets;
    for (const std::string& file : files) {
        targets.push_back(target_of(o, file, files.size()));
        if (std::count(targets.begin(), targets.end(), targets.back()) > 1)
            throw UsageError("two files would be written to '" + targets.back() + "': transcribe them one by one");
        for (const std::string& other : files)
            if (other != kPipe) check_target("--output", targets.back(), other, o.force);
    }
}

void write_file(const std::string& path, const std::string& text) {
    base::ReplacingFile file(base::path_of(path));
    file.write(std::as_bytes(std::span(text)));
    file.commit();
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double times_real_time(double audio, double took) { return audio / std::max(1e-9, took); }
std::string times_text(double audio, double took) {
    return fixed(times_real_time(audio, took), 1).text + " times real time";
}

class Transcription {
public:
    Transcription(const TranscribeChoice& o, Run& run, Transcriber& transcriber, std::string why)
        : o_(o), run_(run), transcriber_(transcriber), why_(std::move(why)) {}

    void all(const std::vector<std::string>& files) {
        if (files.size() == 1)
            one(files.front());
        else
            several(files);
    }

    // PCM as it comes, little-endian, of two bytes a sample.
    void stream() {
        TranscriptStream lines = transcriber_.stream();
        std::vector<std::byte> bytes(static_cast<size_t>(transcriber_.sample_rate()) / 10 * 2);
        std::vector<float> samples;
        size_t odd = 0;  // bytes of a sample that is not whole yet
        for (;;) {
            if (run_.interrupted.load() != 0) throw Error(Code::cancelled, "cancelled");
            const size_t got = std::fread(bytes.data() + odd, 1, bytes.size() - odd, stdin);
            if (got == 0) break;
            const size_t whole = (odd + got) / 2;
            samples.resize(whole);
            for (size_t i = 0; i < whole; ++i) {
                const auto low = std::to_integer<uint16_t>(bytes[2 * i]);
                const auto high = std::to_integer<uint16_t>(bytes[2 * i + 1]);
                samples[i] = static_cast<float>(static_cast<int16_t>(low | high << 8)) / 32768.0F;
            }
            odd = (odd + got) % 2;
            if (odd != 0) bytes[0] = bytes[2 * whole];
            for (const StreamedLine& line : lines.feed(samples)) show(line);
        }
        for (const StreamedLine& line : lines.finish()) show(line);
    }

private:
    using Clock = std::chrono::steady_clock;
    struct Outcome {
        Transcript said;
        double seconds = 0;  // that it took
        std::optional<Error> error;
    };

    [[nodiscard]] std::unique_ptr<AudioReader> open(const std::string& name) const {
        const int64_t rate = transcriber_.sample_rate();
        return name == kPipe ? AudioReader::open_input(rate) : AudioReader::open(base::path_of(name), rate);
    }

    void one(const std::string& name) {
        run_.if_cancelled = ": the file is not done";
        const auto started = Clock::now();
        const auto audio = open(name);
        TranscribeHooks hooks;
        hooks.cancel = &run_.interrupted;
        Outcome outcome;
        {
            Progress progress(name == kPipe ? "transcribing" : base::path_of(name).filename().string(), o_.progress);
            hooks.progress = [&](double seconds) {
                const double length = audio->info().seconds;
                progress.show(length > 0 ? std::min(1.0, seconds / length) : 0, times_text(seconds, seconds_since(started)));
            };
            outcome.said = transcriber_.transcribe([&](std::span<float> into) { return audio->read(into); }, hooks);
        }
        outcome.seconds = seconds_since(started);
        write(name, 1, outcome);
        report(name, 1, outcome);
    }

    // Files are written as they are done; what is said of them comes in their order.
    void several(const std::vector<std::string>& files) {
        const auto started = Clock::now();
        std::vector<Clock::time_point> opened(files.size());  // of a clip, before anything is said of it
        std::map<size_t, Outcome> outcomes;
        size_t asked = 0, told = 0, done = 0;
        Progress progress("transcribing", o_.progress);
        double heard = 0;
        const auto show = [&] {
            progress.show(static_cast<double>(told + outcomes.size()) / static_cast<double>(files.size()),
                          times_text(heard, seconds_since(started)));
        };
        const auto tell = [&](size_t file, Outcome& outcome) {
            progress.hide();
            report(files[file], files.size(), outcome);
        };
        const auto take = [&](size_t file, Outcome outcome) {
            done += outcome.error ? 0 : 1;
            run_.if_cancelled = ": " + std::to_string(done) + " of " + std::to_string(files.size()) + " files are done";
            outcomes.emplace(file, std::move(outcome));
            for (auto next = outcomes.find(told); next != outcomes.end(); next = outcomes.find(++told)) {
                tell(told, next->second);
                outcomes.erase(next);
            }
            show();
        };
        ClipQueue clips;
        clips.next = [&]() -> std::optional<SampleSource> {
            if (asked == files.size()) return {};
            opened[asked] = Clock::now();
            const std::string& name = files[asked++];
            return [audio = std::shared_ptr<AudioReader>(open(name))](std::span<float> into) { return audio->read(into); };
        };
        clips.done = [&](size_t file, Transcript said) {
            Outcome outcome{std::move(said), seconds_since(opened[file]), {}};
            try {
                write(files[file], files.size(), outcome);
            } catch (const Error& error) {
                outcome.error = error;
            }
            take(file, std::move(outcome));
        };
        clips.failed = [&](size_t file, const Error& error) { take(file, {{}, 0, error}); };
        TranscribeHooks hooks;
        hooks.cancel = &run_.interrupted;
        hooks.progress = [&](double seconds) {
            heard = seconds;
            show();
        };
        run_.if_cancelled = ": 0 of " + std::to_string(files.size()) + " files are done";
        try {
            transcriber_.transcribe(clips, hooks);
        } catch (...) {
            for (auto& [file, outcome] : outcomes) tell(file, outcome);
            throw;
        }
    }

    void write(const std::string& name, size_t files, const Outcome& outcome) const {
        const std::string target = target_of(o_, name, files);
        if (!target.empty()) write_file(target, transcript_text(outcome.said, o_.format, o_.timestamps));
    }

    void report(const std::string& name, size_t files, const Outcome& outcome) {
        if (outcome.error) {
            err_lines(outcome.error->what());
            if (run_.json)
                print({{"file", name},
                       {"error", {{"code", backplane::name_of(outcome.error->code())}, {"text", outcome.error->what()}}}});
            run_.exit_code = kFailed;
            return;
        }
        const Transcript& said = outcome.said;
        const double seconds = outcome.seconds;
        const std::string target = target_of(o_, name, files);
        if (run_.json) {
            Json report = transcript_json(said);
            report["file"] = name;
            report["output"] = target;
            report["took_seconds"] = seconds;
            report["times_real_time"] = times_real_time(said.seconds, seconds);
            report["model"] = transcriber_.name();
            report["decoder"] = name_of(transcriber_.decoder());
            report["device"] = transcriber_.device().info().id;
            report["why"] = why_;
            report["notes"] = transcriber_.notes();
            report["pauses_by"] = transcriber_.pauses_by();
            report["ran"] = ran();
            print(report);
            return;
        }
        const std::string took = fixed(said.seconds, 1).text + " s of audio in " + fixed(seconds, 2).text + " s, " +
                                 times_text(said.seconds, seconds);
        if (!target.empty()) {
            out("{}: {}\n", target, took);
        } else {
            if (files > 1 && o_.format == "text") out("{}:\n", name);
            out_lines(transcript_text(said, o_.format, o_.timestamps));
        }
        for (const std::string& note : transcriber_.notes())
            if (std::find(told_.begin(), told_.end(), note) == told_.end()) {
                err("note: {}\n", note);
                told_.push_back(note);
            }
        if (o_.choice.verbose) err("{}: {}\n", name, took);
    }

    // By part of the network and device, of all files so far.
    [[nodiscard]] Json ran() const {
        Json all = Json::array();
        for (const NetworkRuns& n : transcriber_.runs())
            all.push_back({{"part", n.part}, {"device", n.device}, {"runs", n.runs}, {"nodes", n.nodes}});
        return all;
    }

    void show(const StreamedLine& line) const {
        if (run_.json) {
            Json report = transcript_json(line.said);
            report["final"] = line.final;
            print(report);
        } else {
            out("{} {}{}\n", Safe{"[" + fixed(line.said.words.front().start, 2).text + "]"}, line.said.text,
                line.final ? "" : " ...");
        }
        static_cast<void>(base::flush_output());
    }

    const TranscribeChoice& o_;
    Run& run_;
    Transcriber& transcriber_;
    std::string why_;
    std::vector<std::string> told_;  // notes
};

void transcribe(const TranscribeChoice& o, Run& run) {
    run.if_cancelled = ": nothing was transcribed";
    const bool pipe = o.audio.size() == 1 && o.audio.front() == kPipe;
    if (o.stream && (!pipe || !o.output.empty() || o.format != "text"))
        throw UsageError("--stream reads from '-' alone, and its lines go to the terminal: leave --output and --format out");
    const std::vector<std::string> files = files_of(o.audio);
    check_targets(o, files);
    const Context context(context_options(o.choice));
    TranscriberOptions options;
    options.decoder = decoder_of(o.decoder);
    options.language = o.language;
    options.dtype = dtype_from_name(o.dtype);
    options.window = o.window;
    options.batch = o.batch;
    options.exact = o.exact;
    options.vad = o.vad;
    Transcriber transcriber(open_with_fallback(context, o.choice), base::path_of(o.model), options);
    const std::string why = context.why();
    if (o.choice.verbose && !run.json)
        err("{} by {} on {} ({}); {}\n", transcriber.name(), name_of(transcriber.decoder()), transcriber.device().info().id,
            transcriber.device().info().name, why);
    Transcription work(o, run, transcriber, why);
    if (o.stream)
        work.stream();
    else
        work.all(files);
    if (!o.choice.verbose || run.json) return;
    err_lines(transcriber.describe());
    for (const NetworkRuns& n : transcriber.runs())
        err("{} ran on {}: {} runs, {} nodes\n", n.part, n.device, n.runs, n.nodes);
}

}  // namespace

void add_transcribe(const Command& app, Run& run) {
    const Command command = app.subcommand("transcribe", "Write down what is said in audio files, with a Parakeet network");
    auto o = std::make_shared<TranscribeChoice>();
    command.option("AUDIO", o->audio, "Audio files, folders of them, or - for the input stream").required();
    command.option("--model", o->model, "GGUF file, or folder of transformers or model.safetensors in it")
        .type("FILE")
        .required();
    command.option("--format", o->format, "text, srt, vtt, tsv or json").shows_default().one_of(transcript_formats());
    command.option("--output", o->output, "File to write; of several inputs the folder for them").type("PATH");
    command.flag("--timestamps", o->timestamps, "Text has a line for every few words, with its time");
    command.option("--decoder", o->decoder, "ctc, rnnt or tdt, where the network has it")
        .shows_default()
        .one_of({"auto", "ctc", "rnnt", "tdt"});
    command
        .option("--language", o->language,
                "Of what is said, where the network takes one; those that are published find it themselves")
        .type("CODE")
        .shows_default();
    command.option("--dtype", o->dtype, "Of feature maps: f32, with weights as the file has them; or f16, weights too")
        .shows_default()
        .one_of({"f32", "f16"});
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
    command.flag("--stream", o->stream, "Read PCM (16 bit, mono, the network's rate) from -, print lines as they come");
    command.flag("--force", o->force, "Write over an input, or over a file that is read-only");
    command.flag("--progress", o->progress, "Say how far it is, where there is no terminal to show a bar: ten lines");
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer(
        "Other files are still done where one cannot be; then the exit code is 1.\n"
        "Examples:\n  backplane transcribe talk.flac --model parakeet.gguf\n"
        "  backplane transcribe *.mp3 --model parakeet.gguf --format srt --output subtitles/\n"
        "  backplane transcribe meeting.ogg --model parakeet.gguf --vad silero_vad_v6.onnx\n"
        "  arecord -f S16_LE -r 16000 | backplane transcribe - --stream --model parakeet.gguf");
    command.runs([o, &run] { transcribe(*o, run); });
}

}  // namespace backplane::cli
