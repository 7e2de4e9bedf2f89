#include <algorithm>

#include "backplane/model.hpp"
#include "base/file.hpp"
#include "cli/cli.hpp"
#include "cli/model_inputs.hpp"
#include "models/onnx/check_json.hpp"

namespace backplane::cli {

namespace {

struct CheckChoice {
    ModelInputChoice input;
    DeviceChoice choice;
    std::string model;
    bool all = false;
};

std::string joined(const std::vector<std::string>& texts) {
    std::string text;
    for (const std::string& one : texts) text += (text.empty() ? "" : "; ") + one;
    return text;
}

int check(const CheckChoice& o, const Run& run) {
    const Model model = Model::from_onnx(base::path_of(o.model));
    const std::vector<ModelArray> arrays = arrays_for(model, o.input);
    const Context context(context_options(o.choice));
    const std::vector<Device> devices = open_with_fallback(context, o.choice);
    const std::vector<ModelNode> nodes = model.check(devices, inputs_of(arrays));
    size_t folded = 0, nowhere = 0;
    std::map<std::string, size_t> on;
    for (const ModelNode& node : nodes) {
        folded += node.folded ? 1 : 0;
        nowhere += !node.folded && node.device.empty() ? 1 : 0;
        if (!node.device.empty()) ++on[node.device];
    }
    const int exit_code = nowhere == 0 ? kDone : kFailed;
    if (run.json) {
        Json json = model_check_json(nodes);
        json["model"] = o.model;
        json["devices"] = Json::array();
        for (const Device& device : devices) json["devices"].push_back(device.info().id);
        print(json);
        return exit_code;
    }
    std::vector<std::vector<std::string>> rows{{"NODE", "OPERATOR", "RUNS ON", "WHY NOT BEFORE THAT"}};
    for (const ModelNode& node : nodes)
        if (o.all || (!node.folded && !node.why.empty()))
            rows.push_back({node.name, node.op,
                            node.folded           ? "(folded)"
                            : node.device.empty() ? "nothing"
                                                  : node.device,
                            joined(node.why)});
    if (rows.size() > 1) {
        print_table(rows);
        out("\n");
    }
    for (const auto& [device, count] : on) out("{}: {} {}\n", device, count, count == 1 ? "node" : "nodes");
    out("{} {}\n", folded,
        folded == 1 ? "node follows from constants and sizes, or is a part of one beside it"
                    : "nodes follow from constants and sizes, or are a part of one beside them");
    out("{}\n", nowhere == 0 ? "It runs."
                             : std::to_string(nowhere) + (nowhere == 1 ? " node runs nowhere." : " nodes run nowhere."));
    return exit_code;
}

}  // namespace

void add_model_check(const Command& model, Run& run) {
    const Command command = model.subcommand("check", "Which nodes of an ONNX file run on which device, and why not");
    auto o = std::make_shared<CheckChoice>();
    command.option("MODEL", o->model, "An .onnx file").required();
    add_model_input_options(command, o->input);
    command.flag("--all", o->all, "List every node, not those alone that do not run on the first device");
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer(
        "An input may be a shape alone, x=1x3x640x640; one whose content decides what is computed needs it.\n"
        "Nothing is compiled and nothing runs. Exit code 1 when a node runs nowhere.\n"
        "Examples:\n  backplane model check det.onnx --input x=1x3x640x640\n"
        "  backplane model check vad.onnx --input input=1x576 --input state=2x1x128 --input sr=16000 --device cpu");
    command.runs([o, &run] { run.exit_code = check(*o, run); });
}

}  // namespace backplane::cli
