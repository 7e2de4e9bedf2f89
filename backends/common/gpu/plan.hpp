// A graph on its way to becoming a program: values and nodes that the passes rewrite, then dispatches.
//
//   read_graph -> precision -> fusion -> storage -> bundles -> lowering (ops/*) -> memory plan
//
// Every value is dense and row-major, as it crosses the ABI, but for maps between convolutions that want them in bundles.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/plan.hpp"
#include "common/strided.hpp"

namespace backplane::gpu {

using backend::kNone;
using Node = backend::FusedNode;
using backend::PostOp;
using backend::ValueId;
using backend::Verdict;

struct Value : backend::Value {
    // A map whose channels lie 64 together, pixel by pixel, block by block: [n, c, h, w] as [n, c/64, h, w, 64].
    bool bundled = false;
    bool in_parts = false;  // what a Concat would make is read where its operands are
};

// Element strides of a dense value in the order of `dim`.
inline std::vector<int64_t> strides_of(const Value& value) { return backend::strides_of(value.dim); }

// One buffer of a dispatch. The kernel sees an array of elements of `element` bytes.
struct Operand {
    ValueId value = kNone;
    uint32_t element = 4;
    bool written = false;
    bool given = true;  // false: another stands where an op has none, and kernels leave it alone
};

// One kernel, or (kernel kNoKernel) a copy of bytes from operands[0] to operands[1].
inline constexpr uint32_t kNoKernel = UINT32_MAX;
struct Dispatch {
    std::string label;                // for program_info.summary
    uint32_t kernel = kNoKernel;      // a Kernel of kernels_generated.h
    std::vector<uint32_t> constants;  // known when the kernel is built: 0 is the size of the workgroup
    std::vector<Operand> operands;    // in the order the kernel names them
    std::vector<uint32_t> parameters;
    uint32_t groups[3] = {1, 1, 1};
    double work = 0;     // operations, roughly
    uint64_t moved = 0;  // bytes, where moving them is all it does
    bool alone =
        false;  // an element of the result depends on no element of an operand of its shape but the one in its place
    bool copies = false;  // operand 1 becomes the same as operand 0, and that is all it does
};

// Of a weight that pack() lays out the layout is a number of the kernel and all it is told.
struct Slot : backend::Slot {
    Dispatch pack{};  // from plain bytes (operand 0) to these (operand 1)
};

// f(value, is it written) for each operand.
template <typename F>
void each_value(const Dispatch& d, F&& f) {
    for (const Operand& operand : d.operands) f(operand.value, operand.written);
}

// How an operand lies: its extents, and where each element is of what may be another value.
struct View {
    std::vector<int64_t> dim;
    backend::StridedView at;
};

struct Plan : backend::PlanOf<Value> {
    std::vector<Dispatch> dispatches;
    std::vector<Dispatch> once;  // when the program is made: they read and write residents only
    std::vector<Slot> slots;
    std::vector<ValueId> residents;  // constants that dispatches read
    // Of the attention that makes this value: q, k, v and the result, where they are read and written as they lie (ops/attention.hpp).
    std::unordered_map<ValueId, std::array<View, 4>> views;

    [[nodiscard]] uint64_t moved_bytes() const {
        uint64_t sum = 0;
        for (const Dispatch& d : dispatches) sum += d.kernel == kNoKernel ? values[d.operands[1].value].bytes : d.moved;
        return sum;
    }
};

// Fuses what follows a convolution or matrix product into it; drops what nobody reads.
void fuse(Plan& plan);
// Lets depthwise convolutions between two transposes read and write maps whose channels come last (Node::part); needs drop_unread.
inline constexpr uint32_t kChannelsLast = 1;
void keep_channels_last(Plan& plan);
// Lets values share bytes: reshaped values, and operands of a concatenation that can be written where they will stand.
void share_storage(Plan& plan);

}  // namespace backplane::gpu
