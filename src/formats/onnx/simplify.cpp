#include "formats/onnx/simplify.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "formats/onnx/attributes.hpp"

namespace backplane::formats {
namespace {

using Constants = std::map<std::string, const OnnxTensor*, std::less<>>;

std::vector<float> floats_of(const OnnxTensor& tensor) {
    std::vector<float> values(tensor.bytes().size() / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), tensor.bytes().data(), values.size() * sizeof(float));
    return values;
}

OnnxTensor tensor_of(std::string name, Shape shape, const std::vector<float>& values) {
    const std::span<const std::byte> data = std::as_bytes(std::span(values));
    return {std::move(name), DType::f32, std::move(shape), {data.begin(), data.end()}};
}

// How often each name is taken, in branches too.
void count_uses(const OnnxModel& graph, std::map<std::string, int>& uses) {
    for (const OnnxNode& node : graph.nodes) {
        for (const std::string& name : node.inputs) ++uses[name];
        for (const auto& [name, attribute] : node.attributes)
            if (attribute.graph) count_uses(*attribute.graph, uses);
    }
    for (const OnnxValue& output : graph.outputs) ++uses[output.name];
}

// A number for each channel of a convolution's result, or one for all: y * factor + addend.
struct Affine {
    std::vector<float> factor, addend;  // of one or `channels`
};

class Simplifier {
public:
    Simplifier(OnnxModel& graph, Constants constants, int64_t opset)
        : graph_(graph), constants_(std::move(constants)), opset_(opset) {
        count_uses(graph, uses_);
        for (const OnnxTensor& tensor : graph.initializers) constants_[tensor.name] = &tensor;
    }

    void run() {
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            OnnxNode& node = graph_.nodes[n];
            for (auto& [name, attribute] : node.attributes) {
                if (!attribute.graph) continue;
                OnnxModel body = *attribute.graph;
                Simplifier(body, constants_, opset_).run();
                attribute.graph = std::make_shared<const OnnxModel>(std::move(body));
            }
            for (std::string& name : node.inputs)
                if (const auto other = other_names_.find(name); other != other_names_.end()) rename(name, other->second);
            if (!node.domain.empty() || node.outputs.size() != 1) continue;
            if (is_its_operand(node)) continue;
            if (into_convolution(node)) continue;
            from_before_convolution(node);
            into_hard_sigmoid(node);
            into_product_with_gate(node);
            into_layer_norm(node);
            writers_[node.outputs.front()] = n;
        }
        for (auto& made : made_) graph_.initializers.push_back(std::move(*made));
        sweep();
    }

private:
    [[nodiscard]] const OnnxNode* writer(const std::string& name) const {
        const auto found = writers_.find(name);
        return found == writers_.end() ? nullptr : &graph_.nodes[found->second];
    }
    // The node that writes operand i of another, if it is of this operator.
    [[nodiscard]] const OnnxNode* before(const OnnxNode& node, size_t i, std::string_view op) const {
        const OnnxNode* found = i < node.inputs.size() ? writer(node.inputs[i]) : nullptr;
        return found != nullptr && found->op == op ? found : nullptr;
    }
    [[nodiscard]] const OnnxTensor* constant(const OnnxNode& node, size_t i) const {
        const auto found = i < node.inputs.size() ? constants_.find(node.inputs[i]) : constants_.end();
        return found == constants_.end() || found->second->dtype != DType::f32 ? nullptr : found->second;
    }
    // The one number that a constant of one element is.
    [[nodiscard]] std::optional<float> number(const OnnxNode& node, size_t i) const {
        const OnnxTensor* tensor = constant(node, i);
        if (tensor == nullptr || elements(tensor->shape) != 1) return std::nullopt;
        return floats_of(*tensor).front();
    }
    [[nodiscard]] bool is(const OnnxNode& node, size_t i, double value) const {
        const std::optional<float> found = number(node, i);
        return found && std::abs(*found - value) <= 1e-6 * std::abs(value);
    }

    // ---- what gives its operand as it is ------------------------------------------------------------------------------------

    // An operand of a node becomes what the node that writes it takes, which is nobody's then if this was its last use.
    void rename(std::string& name, const std::string& to) {
        ++uses_[to];
        if (--uses_[name] == 0) --uses_[to];
        name = to;
    }
    // Nodes behind it take the operand; one that is an output of the graph, or taken in a branch, stays.
    bool is_its_operand(const OnnxNode& node) {
        const bool same = node.op == "Identity" || ((node.op == "Mul" || node.op == "Div") && is_scalar(node, 1, 1)) ||
                          ((node.op == "Add" || node.op == "Sub") && is_scalar(node, 1, 0));
        if (!same || node.inputs.empty()) return false;
        other_names_[node.outputs.front()] = node.inputs.front();
        return true;
    }
    [[nodiscard]] bool is_scalar(const OnnxNode& node, size_t i, float value) const {
        const OnnxTensor* tensor = constant(node, i);
        return tensor != nullptr && tensor->shape.empty() && floats_of(*tensor).front() == value;
    }

    // ---- into the convolution before it ------------------------------------------------------------------------------------

    // The numbers of a constant that broadcasts along channels alone; nothing: it does not.
    static std::optional<std::vector<float>> of_channels(const OnnxTensor& tensor, int64_t channels, size_t rank) {
        if (tensor.shape.size() > rank) return std::nullopt;
        if (elements(tensor.shape) != 1) {
            const size_t axis = tensor.shape.size() + 1 - rank;  // of the channels
            if (tensor.shape.size() + 1 < rank || elements(tensor.shape) != channels || tensor.shape[axis] != channels)
                return std::nullopt;
        }
        return floats_of(tensor);
    }

    [[nodiscard]] std::optional<Affine> affine_of(const OnnxNode& node, size_t constant_at, int64_t channels,
                                                  size_t rank) const {
        if (node.op == "BatchNormalization") return normalized(node, channels);
        const OnnxTensor* tensor = constant(node, constant_at);
        std::optional<std::vector<float>> numbers = tensor == nullptr ? std::nullopt : of_channels(*tensor, channels, rank);
        if (!numbers) return std::nullopt;
        if (node.op == "Mul") return Affine{*numbers, {0}};
        if (node.op == "Add") return Affine{{1}, *numbers};
        if (constant_at != 1) return std::nullopt;
        if (node.op == "Div" && std::find(numbers->begin(), numbers->end(), 0.0F) != numbers->end()) return std::nullopt;
        for (float& value : *numbers) value = node.op == "Sub" ? -value : 1 / value;
        return node.op == "Sub" ? Affine{{1}, *numbers} : Affine{*numbers, {0}};
    }

    [[nodiscard]] std::optional<Affine> normalized(const OnnxNode& node, int64_t channels) const {
        if (onnx_integer(node, "training_mode", 0) != 0) return std::nullopt;
        std::vector<std::vector<float>> of;
        for (size_t i = 1; i <= 4; ++i) {
            const OnnxTensor* tensor = constant(node, i);
            if (tensor == nullptr || tensor->shape != Shape{channels}) return std::nullopt;
            of.push_back(floats_of(*tensor));
        }
        const double epsilon = onnx_number(node, "epsilon", 1e-5);
        Affine affine;
        for (size_t c = 0; c < of[0].size(); ++c) {
            const double factor = of[0][c] / std::sqrt(of[3][c] + epsilon);
            affine.factor.push_back(static_cast<float>(factor));
            affine.addend.push_back(static_cast<float>(of[1][c] - of[2][c] * factor));
        }
        return affine;
    }

    // The axis of a filter that its result's channels are. 2: it is not known to be one.
    static size_t channel_axis(const OnnxNode& convolution) {
        if (convolution.op == "Conv") return 0;
        return convolution.op == "ConvTranspose" && onnx_integer(convolution, "group", 1) == 1 ? 1 : 2;
    }

    bool into_convolution(OnnxNode& node) {
        constexpr std::string_view kOps[] = {"Mul", "Add", "Sub", "Div", "BatchNormalization"};
        if (std::find(std::begin(kOps), std::end(kOps), node.op) == std::end(kOps) || node.inputs.size() < 2) return false;
        const size_t at = node.op != "BatchNormalization" && constant(node, 0) != nullptr ? 1 : 0;
        const auto found = writers_.find(node.inputs[at]);
        if (found == writers_.end() || uses_[node.inputs[at]] != 1) return false;
        OnnxNode& convolution = graph_.nodes[found->second];
        const size_t axis = channel_axis(convolution);
        const OnnxTensor* filter = axis == 2 ? nullptr : constant(convolution, 1);
        const bool biased = convolution.inputs.size() > 2 && !convolution.inputs[2].empty();
        const OnnxTensor* bias = biased ? constant(convolution, 2) : nullptr;
        if (filter == nullptr || filter->shape.size() < 3 || (biased && bias == nullptr)) return false;
        const int64_t channels = filter->shape[axis];
        if (biased && bias->shape != Shape{channels}) return false;
        const std::optional<Affine> affine = affine_of(node, 1 - at, channels, filter->shape.size());
        if (!affine) return false;
        rewrite(convolution, *filter, bias, axis, *affine, node.outputs.front());
        convolution.outputs.front() = node.outputs.front();
        writers_[node.outputs.front()] = found->second;
        node.op.clear();  // sweep() takes it away
        node.outputs.clear();
        return true;
    }

    void rewrite(OnnxNode& convolution, const OnnxTensor& filter, const OnnxTensor* bias, size_t axis, const Affine& affine,
                 const std::string& name) {
        const auto channels = static_cast<size_t>(filter.shape[axis]);
        const auto of = [](const std::vector<float>& numbers, size_t c) { return numbers[numbers.size() == 1 ? 0 : c]; };
        std::vector<float> weights = floats_of(filter),
                           addends = bias == nullptr ? std::vector<float>(channels) : floats_of(*bias);
        size_t inner = 1;  // elements of a filter behind its channel axis
        for (size_t d = axis + 1; d < filter.shape.size(); ++d) inner *= static_cast<size_t>(filter.shape[d]);
        for (size_t i = 0; i < weights.size(); ++i) weights[i] *= of(affine.factor, i / inner % channels);
        for (size_t c = 0; c < channels; ++c) addends[c] = addends[c] * of(affine.factor, c) + of(affine.addend, c);
        convolution.inputs.resize(3);
        convolution.inputs[1] = add(tensor_of(name + ".filter", filter.shape, weights));
        convolution.inputs[2] = add(tensor_of(name + ".bias", {filter.shape[axis]}, addends));
    }

    std::string add(OnnxTensor tensor) {
        const std::string base = tensor.name;
        for (size_t n = 2; constants_.count(tensor.name) != 0; ++n) tensor.name = base + std::to_string(n);
        made_.push_back(std::make_unique<OnnxTensor>(std::move(tensor)));
        const std::string& name = made_.back()->name;
        constants_[name] = made_.back().get();
        return name;
    }

    // ---- into the convolution behind it -------------------------------------------------------------------------------------

    // A factor and an addend of all that a convolution reads are numbers of its filter and bias where nothing is padded: what is beside
    // the map would be 0 before them, and is 0 behind them.
    void from_before_convolution(OnnxNode& node) {
        const OnnxTensor* filter = node.op == "Conv" && is_unpadded(node) ? constant(node, 1) : nullptr;
        const bool biased = node.inputs.size() > 2 && !node.inputs[2].empty();
        const OnnxTensor* bias = biased ? constant(node, 2) : nullptr;
        if (filter == nullptr || filter->shape.size() < 3 || (biased && bias == nullptr)) return;
        const int64_t inputs = filter->shape[1] * onnx_integer(node, "group", 1);
        if (biased && bias->shape != Shape{filter->shape[0]}) return;
        Affine all{{1}, {0}};  // of what is left of x
        bool found = false;
        for (std::optional<Affine> one = before_it(node, inputs, filter->shape.size()); one; found = true) {
            all = composed(*one, all, static_cast<size_t>(inputs));
            const OnnxNode& taken = *writer(node.inputs.front());
            rename(node.inputs.front(), taken.inputs[constant(taken, 0) != nullptr ? 1 : 0]);
            one = before_it(node, inputs, filter->shape.size());
        }
        if (found) take_in(node, *filter, bias, all);
    }

    static bool is_unpadded(const OnnxNode& node) {
        const auto pads = node.attributes.find("pads"), how = node.attributes.find("auto_pad");
        const bool set = how != node.attributes.end() && how->second.texts != std::vector<std::string>{"NOTSET"};
        return !set &&
               (pads == node.attributes.end() || std::all_of(pads->second.integers.begin(), pads->second.integers.end(),
                                                             [](int64_t pad) { return pad == 0; }));
    }
    // Of the node that writes what a convolution reads, if nobody else reads it.
    [[nodiscard]] std::optional<Affine> before_it(const OnnxNode& node, int64_t channels, size_t rank) {
        const OnnxNode* found = writer(node.inputs.front());
        if (found == nullptr || (found->op != "Mul" && found->op != "Add" && found->op != "Sub" && found->op != "Div"))
            return std::nullopt;
        if (found->inputs.size() != 2 || uses_[node.inputs.front()] != 1) return std::nullopt;
        const size_t at = constant(*found, 0) != nullptr ? 0 : 1;
        const OnnxTensor* tensor = constant(*found, at);
        // One number for all: with one for each channel x may have a single channel still.
        if (tensor == nullptr || elements(tensor->shape) != 1) return std::nullopt;
        return affine_of(*found, at, channels, rank);
    }
    // y = second(first(x))
    static Affine composed(const Affine& first, const Affine& second, size_t channels) {
        Affine both;
        for (size_t c = 0; c < channels; ++c) {
            const auto of = [c](const std::vector<float>& numbers) { return numbers[numbers.size() == 1 ? 0 : c]; };
            both.factor.push_back(of(first.factor) * of(second.factor));
            both.addend.push_back(of(first.addend) * of(second.factor) + of(second.addend));
        }
        return both;
    }
    void take_in(OnnxNode& node, const OnnxTensor& filter, const OnnxTensor* bias, const Affine& affine) {
        const auto outputs = static_cast<size_t>(filter.shape[0]), inputs = static_cast<size_t>(filter.shape[1]);
        const size_t groups = affine.factor.size() / std::max<size_t>(inputs, 1),
                     inner = static_cast<size_t>(elements(filter.shape)) / std::max<size_t>(outputs * inputs, 1);
        std::vector<float> weights = floats_of(filter),
                           addends = bias == nullptr ? std::vector<float>(outputs) : floats_of(*bias);
        for (size_t o = 0; o < outputs; ++o) {
            double sum = 0;
            for (size_t i = 0; i < inputs; ++i) {
                const size_t channel = o / std::max<size_t>(outputs / std::max<size_t>(groups, 1), 1) * inputs + i;
                for (size_t k = 0; k < inner; ++k) {
                    float& weight = weights[(o * inputs + i) * inner + k];
                    sum += static_cast<double>(weight) * affine.addend[channel];
                    weight *= affine.factor[channel];
                }
            }
            addends[o] += static_cast<float>(sum);
        }
        node.inputs.resize(3);
        node.inputs[1] = add(tensor_of(node.outputs.front() + ".filter", filter.shape, weights));
        node.inputs[2] = add(tensor_of(node.outputs.front() + ".bias", {filter.shape[0]}, addends));
    }

    // ---- activations -------------------------------------------------------------------------------------------------------

    static OnnxAttribute attribute_of(double value) {
        OnnxAttribute attribute;
        attribute.kind = OnnxAttribute::Kind::number;
        attribute.numbers = {value};
        return attribute;
    }
    static OnnxAttribute attribute_of(int64_t value) {
        OnnxAttribute attribute;
        attribute.kind = OnnxAttribute::Kind::integer;
        attribute.integers = {value};
        return attribute;
    }

    // x, where the operand is clip(x + 3, 0, 6); empty: it is not.
    [[nodiscard]] std::string clipped(const OnnxNode& node, size_t i) const {
        const OnnxNode* clip = before(node, i, "Clip");
        if (clip == nullptr) return {};
        const bool operands = opset_ >= 11;
        const std::optional<float> least = operands ? number(*clip, 1) : static_cast<float>(onnx_number(*clip, "min", NAN));
        const std::optional<float> most = operands ? number(*clip, 2) : static_cast<float>(onnx_number(*clip, "max", NAN));
        if (!least || !most || *least != 0 || *most != 6) return {};
        const OnnxNode* sum = before(*clip, 0, "Add");
        if (sum == nullptr) return {};
        for (const size_t k : {0U, 1U})
            if (is(*sum, k, 3)) return sum->inputs[1 - k];
        return {};
    }

    // clip(x + 3, 0, 6) / 6, and x * clip(x + 3, 0, 6) / 6.
    void into_hard_sigmoid(OnnxNode& node) const {
        const bool sixth = (node.op == "Div" && is(node, 1, 6)) || (node.op == "Mul" && is(node, 1, 1.0 / 6));
        if (!sixth) return;
        if (const std::string x = clipped(node, 0); !x.empty()) {
            node.op = "HardSigmoid";
            node.inputs = {x};
            node.attributes = {{"alpha", attribute_of(1.0 / 6)}, {"beta", attribute_of(0.5)}};
            return;
        }
        const OnnxNode* product = before(node, 0, "Mul");
        for (const size_t k : {0U, 1U}) {
            if (product == nullptr || product->inputs.size() != 2) return;
            const std::string x = clipped(*product, k);
            if (x.empty() || product->inputs[1 - k] != x) continue;
            node.op = "HardSwish";
            node.inputs = {x};
            return;
        }
    }

    // x * hard_sigmoid(x) and x * sigmoid(x).
    void into_product_with_gate(OnnxNode& node) const {
        if (node.op != "Mul" || node.inputs.size() != 2) return;
        for (const size_t k : {0U, 1U}) {
            const std::string& x = node.inputs[1 - k];
            const OnnxNode* gate = writer(node.inputs[k]);
            if (gate == nullptr || gate->inputs.empty() || gate->inputs.front() != x) continue;
            const bool hard = gate->op == "HardSigmoid" && std::abs(onnx_number(*gate, "alpha", 0.2) - 1.0 / 6) < 1e-6 &&
                              onnx_number(*gate, "beta", 0.5) == 0.5;
            if (!hard && gate->op != "Sigmoid") continue;
            node.op = hard ? "HardSwish" : "Swish";
            node.inputs = {std::string(x)};
            return;
        }
    }

    // ---- (x - mean) / sqrt(variance + epsilon) * scale + bias ----------------------------------------------------------------

    [[nodiscard]] bool is_mean(const OnnxNode* mean, const std::string& x) const {
        if (mean == nullptr || mean->inputs.empty() || mean->inputs[0] != x || onnx_integer(*mean, "keepdims", 1) != 1)
            return false;
        const auto axes = mean->attributes.find("axes");
        return mean->inputs.size() == 1 && axes != mean->attributes.end() &&
               axes->second.integers == std::vector<int64_t>{-1};
    }
    [[nodiscard]] bool is_square(const OnnxNode* square, const std::string& x) const {
        if (square == nullptr || square->inputs.size() != 2 || square->inputs[0] != x) return false;
        return (square->op == "Mul" && square->inputs[1] == x) || (square->op == "Pow" && is(*square, 1, 2));
    }

    void into_layer_norm(OnnxNode& node) const {
        const OnnxTensor* bias = node.op == "Add" ? constant(node, 1) : nullptr;
        const OnnxNode* scaled = bias == nullptr ? nullptr : before(node, 0, "Mul");
        const OnnxTensor* scale = scaled == nullptr ? nullptr : constant(*scaled, 1);
        if (scale == nullptr || scale->shape.size() != 1 || bias->shape != scale->shape) return;
        const OnnxNode* quotient = before(*scaled, 0, "Div");
        const OnnxNode* centred = quotient == nullptr ? nullptr : before(*quotient, 0, "Sub");
        const OnnxNode* deviation = quotient == nullptr ? nullptr : before(*quotient, 1, "Sqrt");
        if (centred == nullptr || deviation == nullptr) return;
        const std::string& x = centred->inputs.front();
        if (!is_mean(before(*centred, 1, "ReduceMean"), x)) return;
        const OnnxNode* sum = before(*deviation, 0, "Add");
        const std::optional<float> epsilon = sum == nullptr ? std::nullopt : number(*sum, 1);
        const OnnxNode* variance = epsilon ? before(*sum, 0, "ReduceMean") : nullptr;
        if (variance == nullptr || variance->inputs.empty()) return;
        const OnnxNode* square = writer(variance->inputs.front());
        if (!is_mean(variance, variance->inputs.front()) || !is_square(square, quotient->inputs.front())) return;
        OnnxNode norm{"LayerNormalization", "", node.name, {x, scaled->inputs[1], node.inputs[1]}, node.outputs, {}};
        norm.attributes = {{"axis", attribute_of(int64_t{-1})}, {"epsilon", attribute_of(double{*epsilon})}};
        node = std::move(norm);
    }

    // ---- what is left over -------------------------------------------------------------------------------------------------

    static void need(const OnnxNode& node, std::set<std::string>& needed) {
        needed.insert(node.inputs.begin(), node.inputs.end());
        std::map<std::string, int> inside;
        for (const auto& [name, attribute] : node.attributes)
            if (attribute.graph) count_uses(*attribute.graph, inside);
        for (const auto& [name, times] : inside) needed.insert(name);
    }

    void sweep() {
        std::set<std::string> needed;
        for (const OnnxValue& output : graph_.outputs) needed.insert(output.name);
        std::vector<OnnxNode> kept;
        for (size_t n = graph_.nodes.size(); n-- > 0;) {
            OnnxNode& node = graph_.nodes[n];
            const auto wanted = [&](const std::string& name) { return needed.count(name) != 0; };
            if (std::none_of(node.outputs.begin(), node.outputs.end(), wanted)) continue;
            need(node, needed);
            kept.push_back(std::move(node));
        }
        std::reverse(kept.begin(), kept.end());
        graph_.nodes = std::move(kept);
        std::vector<OnnxTensor>& all = graph_.initializers;
        const auto useless = [&](const OnnxTensor& tensor) { return needed.count(tensor.name) == 0; };
        all.erase(std::remove_if(all.begin(), all.end(), useless), all.end());
    }

    OnnxModel& graph_;
    Constants constants_;
    const int64_t opset_;
    std::map<std::string, int> uses_;
    std::map<std::string, size_t> writers_;
    std::map<std::string, std::string> other_names_;  // of what gives its operand as it is: the operand's
    std::vector<std::unique_ptr<OnnxTensor>> made_;
};

}  // namespace

void simplify(OnnxModel& graph, int64_t opset) { Simplifier(graph, {}, opset).run(); }

}  // namespace backplane::formats
