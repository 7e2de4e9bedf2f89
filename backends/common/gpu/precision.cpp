// Element types: a kernel reads and writes f32 or f16, and computes in float32. A node of other types, or of a mixture, gets casts. The
// result of a judgement stays as it is.
#include <map>

#include "common/gpu/lowering.hpp"

namespace backplane::gpu {

namespace {

class Fitter {
public:
    explicit Fitter(Plan& plan) : plan_(plan) {}

    void fit(Node node) {
        const OpLowering* lowering = find_lowering(node.op);
        const uint32_t output_type = plan_[node.output].dtype;
        const Types types = lowering != nullptr ? lowering->types(node) : Types::moves;
        const bool judges = types == Types::judges;
        const uint32_t read = judges ? plan_[node.inputs[0]].dtype : output_type;
        if (types == Types::moves || is_whole(read) || read == BP_BOOL) {
            nodes_.push_back(std::move(node));
            return;
        }
        bool all_half = judges || output_type == BP_F16;
        for (const ValueId in : node.inputs)
            all_half = all_half && (in == kNone || plan_[in].dtype == BP_F16 || is_told(in));
        const uint32_t type = all_half ? BP_F16 : BP_F32;
        for (size_t k = 0; k < node.inputs.size(); ++k) {
            if (node.inputs[k] == kNone) continue;
            const uint32_t given = plan_[node.inputs[k]].dtype;
            const bool as_it_is = (lowering->owns(k) && (given == BP_F16 || is_block(given))) ||
                                  (lowering->takes_blocks(k) && is_block(given));
            if (given != type && !as_it_is && !is_told(node.inputs[k])) node.inputs[k] = cast(node.inputs[k], type, node);
        }
        if (judges || output_type == type) {
            nodes_.push_back(std::move(node));
            return;
        }
        const ValueId out = node.output;
        node.output = plan_.temporary(type, plan_[out].dim);
        Node after = backend::cast_node(node.output, out, output_type, node);
        nodes_.push_back(std::move(node));
        nodes_.push_back(std::move(after));
    }
    std::vector<Node> take() { return std::move(nodes_); }

private:
    // Whole numbers and truths beside operands that are computed with.
    [[nodiscard]] bool is_told(ValueId in) const { return is_whole(plan_[in].dtype) || plan_[in].dtype == BP_BOOL; }

    ValueId cast(ValueId from, uint32_t type, const Node& like) {
        const auto found = made_.find({from, type});
        if (found != made_.end()) return found->second;
        const ValueId to = plan_.temporary(type, plan_[from].dim);
        made_[{from, type}] = to;
        nodes_.push_back(backend::cast_node(from, to, type, like));
        return to;
    }

    Plan& plan_;
    std::vector<Node> nodes_;
    std::map<std::pair<ValueId, uint32_t>, ValueId> made_;
};

}  // namespace

void fit_types(Plan& plan) {
    Fitter fitter(plan);
    for (Node& node : plan.nodes) fitter.fit(std::move(node));
    plan.nodes = fitter.take();
}

}  // namespace backplane::gpu
