// Whole commands: `upscale` of one picture in processes of its own, as a user types it, with no device named and on each that is, in turns.
#include <algorithm>
#include <random>

#include "backplane/image.hpp"
#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "cli/cli.hpp"
#include "cli/model_files.hpp"

namespace backplane::cli {

namespace {

struct WholeChoice : ModelChoice {
    DeviceChoice choice;
    std::string in;
    std::vector<std::string> on{"cpu"};
    int runs = 5;
};

// The JSON behind what a command says on its error stream; of none, or of what was cut off, an empty object.
Json said_in(const std::string& output) {
    const size_t at = output.find("{\n");
    try {
        if (at != std::string::npos) return Json::parse(output.substr(at));
    } catch (const base::JsonError&) {  // NOLINT(bugprone-empty-catch): then the text itself is what there is
    }
    return Json::object();
}

// The same command again and again; the picture it writes goes with this.
class Whole {
public:
    Whole(const WholeChoice& o, std::string device) : device_(std::move(device)) {
        out_ =
            std::filesystem::temp_directory_path() / ("backplane-bench-" + std::to_string(std::random_device{}()) + ".png");
        words_ = {"upscale", o.in, out_.string(), "--force", "--json", "--model", find_model(o).string()};
        for (const std::string& path : o.choice.modules) words_.insert(words_.end(), {"--modules", path});
        for (const std::string& option : o.choice.options) words_.insert(words_.end(), {"--option", option});
        if (!device_.empty()) words_.insert(words_.end(), {"--device", device_});
    }
    ~Whole() { static_cast<void>(base::remove_file(out_)); }
    Whole(const Whole&) = delete;
    Whole& operator=(const Whole&) = delete;

    void once(bool counts, const Run& run) {
        constexpr std::chrono::minutes kMost{5};
        const base::ChildOutcome child = base::run_child(base::executable_file(), words_, kMost, &run.interrupted);
        if (child.cancelled) throw Error(Code::cancelled, "cancelled");
        const Json said = said_in(child.output);
        if (child.exit_code != 0)
            throw Error(Code::not_found, "cannot time upscale" + (device_.empty() ? "" : " --device " + device_) + ": " +
                                             (said.contains("error") ? said["error"]["text"].get<std::string>()
                                                                     : child.problem + child.output));
        if (said.contains("device")) took_ = said["device"].get<std::string>();
        if (counts) seconds_.push_back(child.seconds);
    }
    [[nodiscard]] Json json() const {
        return {{"device", device_},
                {"took", took_},
                {"median_seconds", median(seconds_)},
                {"least_seconds", std::ranges::min(seconds_)}};
    }
    [[nodiscard]] std::vector<std::string> row() const {
        return {device_.empty() ? "none named" : device_, took_, fixed(median(seconds_), 3).text,
                fixed(std::ranges::min(seconds_), 3).text};
    }

private:
    std::string device_, took_;
    std::filesystem::path out_;
    std::vector<std::string> words_;
    std::vector<double> seconds_;
};

void bench_upscale(const WholeChoice& o, Run& run) {
    const ImageInfo picture = ImageReader::open(base::path_of(o.in))->info();
    std::vector<std::unique_ptr<Whole>> commands;
    commands.push_back(std::make_unique<Whole>(o, ""));
    for (const std::string& device : o.on) commands.push_back(std::make_unique<Whole>(o, device));
    // Where no device is named, the first measures the network and the second what processes take (docs/several-devices.md).
    constexpr int kToLearn = 2;
    for (int k = 0; k < kToLearn; ++k) commands.front()->once(false, run);
    for (int k = 0; k <= o.runs; ++k)
        for (const auto& command : commands) command->once(k > 0, run);
    if (run.json) {
        Json all = Json::array();
        for (const auto& command : commands) all.push_back(command->json());
        return print(
            {{"picture", o.in}, {"width", picture.width}, {"height", picture.height}, {"runs", o.runs}, {"commands", all}});
    }
    out("upscale of {} x {} pixels, whole commands in turns, median of {}\n\n", picture.width, picture.height, o.runs);
    std::vector<std::vector<std::string>> rows{{"--device", "TOOK", "SECONDS", "LEAST"}};
    for (const auto& command : commands) rows.push_back(command->row());
    print_table(rows);
}

}  // namespace

void add_bench_upscale(const Command& app, Run& run) {
    const Command command = app.subcommand("upscale", "Time whole commands that enlarge a picture, on each device in turns");
    auto o = std::make_shared<WholeChoice>();
    command.option("IN", o->in, "PNG or JPEG file").required();
    command.option("--on", o->on, "A device, as --device of `upscale` names it; beside these, none named (may be repeated)")
        .once_each()
        .shows_default();
    command.option("--runs", o->runs, "Of which the median is taken, after one that is not counted")
        .shows_default()
        .in_range(1, 1000);
    add_model_options(command, *o);
    add_module_options(command, o->choice);
    add_json_option(command, run);
    command.footer("Example:\n  backplane bench upscale photo.png --model medium --on cuda:0 --on cpu");
    command.runs([o, &run] { bench_upscale(*o, run); });
}

}  // namespace backplane::cli
