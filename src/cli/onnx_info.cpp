#include "cli/onnx_info.hpp"

#include "backplane/model.hpp"
#include "base/file.hpp"
#include "cli/model_inputs.hpp"

namespace backplane::cli {

namespace {

constexpr size_t kNames = 24;

Json json_of(const std::vector<ModelValue>& values) {
    Json all = Json::array();
    for (const ModelValue& value : values) {
        Json one{{"name", value.name}, {"dtype", element_name(value.dtype, value.is_unsigned)}, {"shape", Json(nullptr)}};
        if (value.has_shape) {
            one["shape"] = Json::array();
            for (size_t d = 0; d < value.shape.size(); ++d) {
                if (value.shape[d] != -1)
                    one["shape"].push_back(value.shape[d]);
                else
                    one["shape"].push_back(value.symbols.size() > d ? value.symbols[d] : "");
            }
        }
        all.push_back(std::move(one));
    }
    return all;
}

void print_values(const char* what, const std::vector<ModelValue>& values) {
    for (const ModelValue& value : values)
        out("{} {} {} {}\n", padded(what, kNames), value.name, element_name(value.dtype, value.is_unsigned),
            shape_text(value));
}

}  // namespace

bool is_onnx(const std::string& path) { return path.size() > 5 && path.rfind(".onnx") == path.size() - 5; }

void show_onnx(const std::string& path, bool all, const Run& run) {
    const Model model = Model::from_onnx(base::path_of(path));
    const ModelInfo& info = model.info();
    uint64_t nodes = 0;
    for (const auto& [op, count] : info.ops) nodes += count;
    if (run.json) {
        Json json{{"path", path},
                  {"format", info.format},
                  {"name", info.name},
                  {"producer", info.producer},
                  {"producer_version", info.producer_version},
                  {"ir_version", info.ir_version},
                  {"opset", info.opset},
                  {"nodes", nodes},
                  {"parameters", info.parameters},
                  {"weight_bytes", info.weight_bytes},
                  {"inputs", json_of(model.inputs())},
                  {"outputs", json_of(model.outputs())},
                  {"ops", Json::object()},
                  {"metadata", Json::object()}};
        for (const auto& [op, count] : info.ops) json["ops"][op] = count;
        for (const auto& [key, value] : info.metadata) json["metadata"][key] = value;
        return print(json);
    }
    const std::string producer = info.producer + (info.producer_version.empty() ? "" : " " + info.producer_version);
    if (!info.name.empty()) out("{} {}\n", padded("name", kNames), info.name);
    if (!producer.empty()) out("{} {}\n", padded("producer", kNames), producer);
    for (const auto& [key, value] : info.metadata) out("{} {}\n", padded(key, kNames), value);
    out("{} ONNX, opset {}, IR version {}\n", padded("format", kNames), info.opset, info.ir_version);
    out("{} {}, of {} operators\n", padded("nodes", kNames), nodes, info.ops.size());
    out("{} {} million, {}\n", padded("parameters", kNames), fixed(static_cast<double>(info.parameters) / 1e6, 2),
        human_bytes(info.weight_bytes));
    print_values("input", model.inputs());
    print_values("output", model.outputs());
    if (!all) return;
    out("\n");
    std::vector<std::vector<std::string>> rows{{"OPERATOR", "NODES"}};
    for (const auto& [op, count] : info.ops) rows.push_back({op, std::to_string(count)});
    print_table(rows);
}

}  // namespace backplane::cli
