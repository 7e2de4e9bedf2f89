#include "backplane/tune.hpp"

#include "backplane/esrgan.hpp"
#include "cli/cli.hpp"
#include "cli/model_files.hpp"
#include "registry/remembered.hpp"

namespace backplane::cli {

namespace {

// What is timed, and looked up, whatever the size of the tiles to come.
constexpr int64_t kTuneSize = 128;

struct TuneChoice : ModelChoice {
    int runs = 5;
    bool software = false;
    DeviceChoice choice;
};

void tune_model(const TuneChoice& o, Run& run) {
    const Esrgan model = Esrgan::open(find_model(o));
    const Context context(context_options(o.choice));
    TuneOptions how;
    how.runs = o.runs;
    how.software = o.software;
    how.cancel = &run.interrupted;
    if (!run.json) how.progress = [](const std::string& device) { err("timing {}\n", device); };
    const std::vector<TuneResult> results = tune(context, model.graph(kTuneSize, kTuneSize), model.weights(), how);
    static_cast<void>(registry::whole_store(context.state_folder()).forget_all());  // what is tuned goes before it
    if (run.json) {
        Json all = Json::array();
        for (const TuneResult& r : results)
            all.push_back(
                {{"device", r.device}, {"milliseconds", r.milliseconds}, {"first_ms", r.first_ms}, {"failure", r.failure}});
        return print({{"model", model.name()}, {"size", kTuneSize}, {"best", results.front().device}, {"devices", all}});
    }
    std::vector<std::vector<std::string>> rows{{"DEVICE", "MEDIAN", "FIRST", "REMARK"}};
    auto ms = [](double value) { return fixed(value, 1).text + " ms"; };
    for (const TuneResult& r : results)
        rows.push_back(r.failure.empty() ? std::vector<std::string>{r.device, ms(r.milliseconds), ms(r.first_ms), ""}
                                         : std::vector<std::string>{r.device, "-", "-", r.failure});
    print_table(rows);
    out("{} is the fastest for {} on this machine, and is what `--device auto` takes for it from now on\n",
        results.front().device, model.name());
}

}  // namespace

std::string tuned_for(const Context& context, const Esrgan& model) {
    return tuned_device(context, model.graph(kTuneSize, kTuneSize));
}

void add_tune(const Command& app, Run& run) {
    const Command command = app.subcommand("tune", "Time a network on every device and remember the fastest");
    auto o = std::make_shared<TuneChoice>();
    add_model_options(command, *o);
    command.option("--runs", o->runs, "How often, on each device").shows_default().in_range(1, 1000);
    command.flag("--software", o->software, "Time software devices, too");
    add_module_options(command, o->choice);
    add_json_option(command, run);
    command.footer("It holds until a device or a driver changes.\nExample:\n  backplane tune --model medium --scale 2");
    command.runs([o, &run] { tune_model(*o, run); });
}

}  // namespace backplane::cli
