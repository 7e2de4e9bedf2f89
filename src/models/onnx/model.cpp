#include "backplane/model.hpp"

#include <algorithm>
#include <cstring>

#include "formats/onnx/prepare.hpp"
#include "models/onnx/model_state.hpp"

namespace backplane {

namespace {

constexpr int64_t kOldestOpset = 6, kYoungestOpset = 24;

void count(const formats::OnnxModel& graph, ModelInfo& info) {
    for (const formats::OnnxNode& node : graph.nodes) {
        ++info.ops[node.op];
        for (const auto& [name, attribute] : node.attributes) {
            if (attribute.graph) count(*attribute.graph, info);
            if (attribute.tensor) {
                info.parameters += static_cast<uint64_t>(elements(attribute.tensor->shape));
                info.weight_bytes += attribute.tensor->bytes().size();
            }
        }
    }
    for (const formats::OnnxTensor& tensor : graph.initializers) {
        info.parameters += static_cast<uint64_t>(elements(tensor.shape));
        info.weight_bytes += tensor.bytes().size();
    }
}

ModelInfo info_of(const formats::OnnxModel& model) {
    ModelInfo info;
    info.format = "ONNX";
    info.name = model.name;
    info.producer = model.producer;
    info.producer_version = model.producer_version;
    info.description = model.description;
    info.ir_version = model.ir_version;
    info.opset = model.opset;
    info.metadata = model.metadata;
    count(model, info);
    return info;
}

std::vector<ModelValue> values_of(const std::vector<formats::OnnxValue>& values) {
    std::vector<ModelValue> all;
    for (const formats::OnnxValue& value : values)
        all.push_back({value.name, value.is_tensor ? value.dtype : DType::unknown, value.shape, value.symbols,
                       value.has_shape, value.is_unsigned});
    return all;
}

void check_opset(const formats::OnnxModel& model, const std::string& file) {
    if (model.opset == 0 && model.nodes.empty())
        throw Error(Code::corrupt, "cannot read '" + file + "': it is no ONNX model, or one without nodes");
    if (model.opset < kOldestOpset || model.opset > kYoungestOpset)
        throw Error(Code::unsupported, "cannot use '" + file + "': it is of opset " + std::to_string(model.opset) +
                                           ", and opsets " + std::to_string(kOldestOpset) + " to " +
                                           std::to_string(kYoungestOpset) +
                                           " are read: convert it with onnx.version_converter");
}

// Fills in what is read once; `state` has the bytes.
void read(Model::State& state, std::span<const std::byte> bytes, const std::string& file, const formats::OnnxFiles& files) {
    formats::OnnxModel model = formats::parse_onnx(bytes, file, files);
    check_opset(model, file);
    state.info = info_of(model);
    state.network = formats::prepared(std::move(model));
    state.inputs = values_of(state.network.inputs);
    state.outputs = values_of(state.network.outputs);
    state.weights = formats::weights_of(state.network);
}

// The device that runs the nodes of one of ONNX's, by what each device says of each; several, where they are of several.
void place(ModelNode& node, const std::vector<size_t>& of, std::span<const Device> devices,
           const std::vector<std::vector<NodeSupport>>& support) {
    std::set<std::string> runs_on, why;
    bool all = true;
    for (const size_t n : of) {
        bool placed = false;
        for (size_t d = 0; d < devices.size() && !placed; ++d) {
            const NodeSupport& said = support[d][n];
            placed = said.supported;
            if (placed) runs_on.insert(devices[d].info().id);
            if (!placed) why.insert(devices[d].info().id + ": " + (said.text.empty() ? "it does not say why" : said.text));
        }
        all = all && placed;
    }
    for (const std::string& id : runs_on)
        if (all) node.device += (node.device.empty() ? "" : ", ") + id;
    node.why.assign(why.begin(), why.end());
}

}  // namespace

std::span<const std::byte> Model::State::weight(std::string_view name) const {
    const auto found = weights.find(name);
    if (found == weights.end()) return {};
    return aligned.of(name, found->second.first, found->second.second);
}

size_t Model::State::input(std::string_view name) const {
    std::string names;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].name == name) return i;
        names += (i == 0 ? "'" : ", '") + inputs[i].name + "'";
    }
    throw Error(Code::invalid,
                "the model has no input '" + std::string(name) + "'; it has " + (names.empty() ? "none" : names));
}

Model Model::from_onnx(const std::filesystem::path& path) {
    auto state = std::make_shared<State>();
    state->file = formats::MappedFile(path);
    state->folder.emplace(path);
    read(*state, state->file.bytes(), path.string(),
         [&](const std::string& location) { return state->folder->bytes(location); });
    return Model(std::move(state));
}

Model Model::from_onnx(std::span<const std::byte> bytes, const std::string& name) {
    auto state = std::make_shared<State>();
    read(*state, bytes, name, {});
    return Model(std::move(state));
}

const ModelInfo& Model::info() const noexcept { return state_->info; }
const std::vector<ModelValue>& Model::inputs() const noexcept { return state_->inputs; }
const std::vector<ModelValue>& Model::outputs() const noexcept { return state_->outputs; }

Graph Model::graph(std::span<const ModelInput> inputs) const {
    const GivenInputs given(*state_, inputs, false);
    return formats::graph_of(state_->network, given.answers(nullptr));
}

WeightSource Model::weights() const {
    return [state = state_](std::string_view name) { return state->weight(name); };
}

std::vector<ModelNode> Model::check(std::span<const Device> devices, std::span<const ModelInput> inputs) const {
    const GivenInputs given(*state_, inputs, false);
    const formats::OnnxFindings found = formats::findings_of(state_->network, given.answers(nullptr));
    std::vector<std::vector<NodeSupport>> support;
    for (const Device& device : devices) support.push_back(query(device, found.graph));
    std::vector<ModelNode> all;
    for (const formats::OnnxNodeFound& one : found.nodes) {
        ModelNode node{one.name, one.op, "", false, {}};
        if (!one.why.empty())
            node.why = {one.why};
        else if (!one.reached)
            node.why = {"not looked at: it takes what a node above would give"};
        else if (one.nodes.empty())
            node.folded = true;
        else
            place(node, one.nodes, devices, support);
        all.push_back(std::move(node));
    }
    return all;
}

}  // namespace backplane
