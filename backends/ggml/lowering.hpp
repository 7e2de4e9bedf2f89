// From the ops of a graph to those of ggml. ops/NAME.cpp holds how each is said in ggml; what cannot be is refused.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backplane/sdk.hpp"
#include "base_library.hpp"
#include "common/graph.hpp"
#include "shapes.hpp"

namespace backplane::ggml {

using backend::kNone;
using backend::Node;

// Thrown by a lowering: BP_WHY_* and words.
struct Refusal {
    uint32_t reason;
    std::string text;
};

// Bytes that a program keeps on the device for a leaf.
struct ConstantBytes {
    Tensor* leaf;
    std::vector<std::byte> bytes;
};

// Builds ggml tensors and a ggml graph for nodes of a graph. Every value is contiguous and holds the elements of its tensor in order; its
// ggml shape is that of the tensor up to four axes, else with leading axes joined.
class Lowering {
public:
    // `native`: let ggml round as it does by itself (activations to the type of the weights), outside the bounds of the conformance table.
    Lowering(const BaseLibrary& base, const sdk::GraphView& view, Context* context, Graph* graph, bool native)
        : base_(base),
          view_(view),
          context_(context),
          graph_(graph),
          native_(native),
          values_(view.tensors()),
          floats_(view.tensors()) {}

    // Throws Refusal.
    void lower(uint32_t node);
    void lower_one(const Node& node);  // of the one or more that it is for backends
    // Writes a value to a leaf of its own; for outputs whose value is a view, or some other tensor's too.
    Tensor* copy_to_leaf(uint32_t tensor);

    // ---- for ops/*.cpp ----
    [[nodiscard]] const BaseLibrary& base() const { return base_; }
    [[nodiscard]] const sdk::GraphView& view() const { return view_; }
    [[nodiscard]] Context* context() const { return context_; }
    [[nodiscard]] bool native() const { return native_; }

    [[nodiscard]] Shape shape(uint32_t tensor) const;
    [[nodiscard]] uint32_t dtype(uint32_t tensor) const { return view_.tensor(tensor).dtype; }

    Tensor* value(uint32_t tensor);        // as it is
    Tensor* float_value(uint32_t tensor);  // decoded to float32; throws Refusal for what is no float
    // A value of exactly four axes.
    Tensor* shaped(Tensor* x, const Shape& four);
    Tensor* input(const Node& node, uint32_t k) { return value(node.inputs[k]); }
    Tensor* float_input(const Node& node, uint32_t k) { return float_value(node.inputs[k]); }

    // The node's first output is `x` (float32 or already of its type), cast to its type.
    void set(const Node& node, Tensor* x);
    // Schedules what has no result of its own: a copy into a part of another tensor.
    void schedule(Tensor* x) { base_.build_forward_expand(graph_, x); }

    Tensor* leaf(int32_t type, const Shape& shape);  // memory of the workspace, written by copies
    Tensor* constant(int32_t type, const Shape& shape, const void* bytes);
    // Copies a block from `from` to `to` (contiguous, of one type), in several copies if it has over four axes.
    void move(Tensor* from, Tensor* to, const Move& what);
    // A new tensor with the axes of x (of this shape) in another order.
    Tensor* transposed(Tensor* x, const Shape& shape, const std::vector<size_t>& order);

    // ---- results ----
    [[nodiscard]] Tensor* known_value(uint32_t tensor) const { return values_[tensor]; }  // null: none
    [[nodiscard]] const std::vector<ConstantBytes>& constants() const { return constants_; }

private:
    Tensor* strided(Tensor* x, const std::vector<Move::Axis>& axes, bool from, int64_t offset);

    const BaseLibrary& base_;
    const sdk::GraphView& view_;
    Context* context_;
    Graph* graph_;
    bool native_;
    std::vector<Tensor*> values_, floats_;
    std::vector<ConstantBytes> constants_;
    uint32_t op_ = 0;    // of the node being lowered
    size_t copies_ = 0;  // it has made
};

// ggml's number of an element type; throws Refusal when it has none.
int32_t ggml_type(uint32_t dtype);
bool is_float(uint32_t dtype);  // f32, f16, bf16: computed in float32

// One lowering for each op there is one for.
using LowerOp = void (*)(Lowering&, const Node&);
LowerOp find_lowering(uint32_t op);  // null: none

// How many ggml tensors a node may need at most: room to reserve.
size_t tensors_of(const sdk::GraphView& view, const bp_node& node);

void lower_unary(Lowering&, const Node&);
void lower_binary(Lowering&, const Node&);
void lower_matmul(Lowering&, const Node&);
void lower_conv(Lowering&, const Node&);
void lower_softmax(Lowering&, const Node&);
void lower_row_norm(Lowering&, const Node&);
void lower_batch_norm(Lowering&, const Node&);
void lower_group_norm(Lowering&, const Node&);
void lower_reduce(Lowering&, const Node&);
void lower_concat(Lowering&, const Node&);
void lower_slice(Lowering&, const Node&);
void lower_pad(Lowering&, const Node&);
void lower_reshape(Lowering&, const Node&);
void lower_transpose(Lowering&, const Node&);
void lower_gather(Lowering&, const Node&);
void lower_cast(Lowering&, const Node&);
void lower_depth_to_space(Lowering&, const Node&);
void lower_resize(Lowering&, const Node&);

}  // namespace backplane::ggml
