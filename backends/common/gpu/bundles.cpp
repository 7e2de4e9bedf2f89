// Maps in bundles: what lies between convolutions on the matrix units of warpgroups is laid out as these read it fastest.
#include <algorithm>

#include "common/gpu/lowering.hpp"
#include "common/gpu/ops/conv.hpp"

namespace backplane::gpu {

namespace {

constexpr int64_t kBundle = 64;

bool may_be_bundled(const Plan& plan, const backend::Readers& readers, ValueId id) {
    const Value& v = plan[id];
    return v.role == BP_ROLE_TEMPORARY && v.dtype == BP_F16 && v.dim.size() == 4 && v.dim[1] % kBundle == 0 &&
           v.elements() != 0 && v.state == kNone && readers.maker(id) != kNone && !plan.is_output(id);
}

class Chooser {
public:
    explicit Chooser(Lowering& to) : to_(to), bundled_(to.plan.values.size()) {
        for (ValueId id = 0; id < bundled_.size(); ++id) bundled_[id] = may_be_bundled(to.plan, to.readers, id);
    }

    // Until all nodes agree: what one does not take so is not so for the others either.
    void choose() {
        do {
            changed_ = false;
            for (const Node& node : to_.plan.nodes) look_at(node);
        } while (changed_);
        for (ValueId id = 0; id < bundled_.size(); ++id) to_.plan[id].bundled = bundled_[id];
        for (const Node& node : to_.plan.nodes) leave_apart(node);
    }

private:
    void refuse(ValueId id) {
        if (id == kNone || !bundled_[id]) return;
        bundled_[id] = false;
        changed_ = true;
    }
    void look_at(const Node& node) {
        if (node.op == BP_OP_concat && node.as<backplane::ops::ConcatAttributes>().axis.value == 1)
            return keep_alike(node, node.inputs);
        if (node.op != BP_OP_conv) {
            for (const ValueId in : node.inputs) refuse(in);
            for (const PostOp& post : node.post) refuse(post.value);
            return refuse(node.output);
        }
        for (size_t k = 1; k < node.inputs.size(); ++k) refuse(node.inputs[k]);
        std::vector<ValueId> added;
        for (const PostOp& post : node.post)
            if (post.kind == PostOp::add) added.push_back(post.value);
        keep_alike(node, added);
        const ValueId in = node.inputs[0];
        if (bundled_[in] && !ops::conv::takes_bundles(to_, node, bundled_[node.output])) refuse(in);
        if (!bundled_[in] && bundled_[node.output] && !ops::conv::makes_bundles(to_, node)) refuse(node.output);
    }
    // All of these and the result, or none.
    void keep_alike(const Node& node, const std::vector<ValueId>& others) {
        const auto is = [&](ValueId id) { return static_cast<bool>(bundled_[id]); };
        if (is(node.output) && std::all_of(others.begin(), others.end(), is)) return;
        if (others.empty()) return;
        for (const ValueId id : others) refuse(id);
        refuse(node.output);
    }
    // Two operands that a convolution alone reads joined: it reads both, where they do not stand together by themselves.
    void leave_apart(const Node& node) {
        if (node.op != BP_OP_concat || !bundled_[node.output] || node.inputs.size() != 2) return;
        Plan& plan = to_.plan;
        const uint32_t reader = to_.readers.only(node.output);
        if (reader == kNone || plan.nodes[reader].op != BP_OP_conv || plan.nodes[reader].inputs[0] != node.output) return;
        uint64_t first = 0;
        uint64_t second = 0;
        const bool together = plan.storage_of(node.inputs[0], &first) == plan.storage_of(node.inputs[1], &second) &&
                              second == first + plan[node.inputs[0]].bytes;
        plan[node.output].in_parts = !together;
    }

    Lowering& to_;
    std::vector<bool> bundled_;
    bool changed_ = false;
};

}  // namespace

void choose_bundles(Lowering& to) {
    if (to.can.warpgroups) Chooser(to).choose();
}

}  // namespace backplane::gpu
