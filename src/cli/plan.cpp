#include "backplane/esrgan.hpp"
#include "cli/cli.hpp"
#include "cli/model_files.hpp"

namespace backplane::cli {

namespace {

struct PlanChoice : StoredModelChoice {
    DeviceChoice choice;
    int64_t size = 128;
};

// Nothing runs: no weights are copied, and no memory of the device is taken.
void show_plan(const PlanChoice& o, Run& run) {
    const Esrgan model = open_model(o);
    const Context context(context_options(o.choice));
    SpreadOptions options;
    options.compile.plan_only = true;
    options.compile.cancel = &run.interrupted;
    const SpreadSession session(std::make_shared<SpreadDevices>(open_with_fallback(context, o.choice), model.weights()),
                                model.graph(o.size, o.size), options);
    if (run.json) {
        Json json = Json::parse(session.plan_json());
        json["model"] = model.name();
        json["scale"] = model.scale();
        json["size"] = o.size;
        json["notes"] = session.report().notes;
        return print(json);
    }
    out("{} in {}, {} x {} pixels\n", model.name(), o.dtype, o.size, o.size);
    out_lines(session.describe());
    for (const std::string& note : session.report().notes) out("note: {}\n", note);
}

}  // namespace

void add_plan(const Command& app, Run& run) {
    const Command command = app.subcommand("plan", "Show what would run where, and how many bytes it would take");
    auto o = std::make_shared<PlanChoice>();
    add_stored_model_options(command, *o);
    command.option("--size", o->size, "Width and height of the input in pixels").shows_default().in_range(1, 4096);
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer(
        "Stages in the order of running, the devices of each, best first, and what each device would hold. Nothing runs.\n"
        "Example:\n  backplane plan --model medium --size 256 --device cpu");
    command.runs([o, &run] { show_plan(*o, run); });
}

}  // namespace backplane::cli
