// A graph on its way to becoming a program: values and nodes that the passes rewrite, then steps.
//
//   import -> precision -> fusion -> layout -> lowering (ops/*) -> memory plan
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/plan.hpp"

namespace backplane::cpu {

using backend::kNone;
using Node = backend::FusedNode;  // a bias in its epilogue: [O]; what is added: shape and layout of the result
using backend::PostOp;
using backend::ValueId;
using backend::Verdict;

// Row-major is what crosses the ABI. Feature maps (rank 3 to 5, [N,C,H,W] and alike) may be kept channels-last: element (n,c,h,w) lies at
// ((n*H + h)*W + w)*C + c. `dim` is always the graph's, in the order N C H W.
enum class Layout : uint8_t { row_major, channels_last };

struct Value : backend::Value {
    Layout layout = Layout::row_major;
};

inline bool is_map(const Value& value) { return value.dim.size() >= 3 && value.dim.size() <= 5; }
// Elements of one channel of a map.
int64_t pixels_of(const Value& map);
// Element strides of a dense value in the order of `dim`.
std::vector<int64_t> strides_of(const Value& value);

// Ops of our own, outside the op table.
inline constexpr uint32_t kOpRelayout = 0x10000;  // same dimensions, other layout
inline constexpr uint32_t kOpConvPair = 0x10010;  // `part` is which of Plan::pairs
inline constexpr uint32_t kInDoubles =
    0x20000;  // with an op of the table: that op on f64, which only its own lowering knows

class Run;
class ThreadPool;
using PackFunction = std::function<void(const std::byte* plain, std::byte* packed, ThreadPool& pool)>;

struct Step {
    std::string label;  // for program_info.summary
    std::vector<ValueId> reads, writes, scratch;
    std::function<void(const Run&)> run;
    uint64_t moved = 0;   // bytes that it writes and only moves, for program_info.moved_bytes
    bool copies = false;  // the result is the one operand as it is: nothing to do where both have the same memory
    bool alone =
        false;  // element i of the result comes of element i of each operand of its shape: it may lie on such an operand
};

struct Slot : backend::Slot {
    PackFunction pack;  // when layout is not 0
};

template <typename F>
void each_value(const Step& step, F&& f) {
    for (const ValueId id : step.reads) f(id, false);
    for (const auto* values : {&step.writes, &step.scratch})
        for (const ValueId id : *values) f(id, true);
}

// Made at compile from constants; kept by the program.
struct Resident {
    ValueId value = kNone;
    ValueId from = kNone;  // CONSTANT value, plain bytes
    PackFunction pack;     // empty: the plain bytes
};

// A convolution of few products and the one of a filter for each channel that alone reads it, some rows of the map between at a time: kOpConvPair reads
// the first's input, both filters and what its map is multiplied by row for row (where `masked`), and then what the first's epilogue reads.
struct ConvPair {
    Node first, second;
    bool masked = false;
};

// Heads of an attention that lie side by side in rows of another value: a sample's begin at `offset`, rows are `row` and samples `sample` elements apart.
struct HeadRows {
    ValueId shape =
        kNone;  // what has the heads' dimensions, and is never made; kNone: operand or result are as the op has them
    int64_t offset = 0, sample = 0, row = 0;
};

struct Plan : backend::PlanOf<Value> {
    std::vector<ConvPair> pairs;
    std::vector<std::array<HeadRows, 4>> heads;  // queries, keys, values and result of an attention whose `part` is one more
    std::vector<Step> steps;
    std::vector<Slot> slots;
    std::vector<Resident> residents;
    uint64_t lane_scratch = 0;
    uint32_t threads = 1;       // that are wanted at compile
    bool shares_cores = false;  // there are more threads than cores: two are on one
    std::string notes;

    // A temporary of these dimensions.
    ValueId temporary(uint32_t dtype, std::vector<int64_t> dim, Layout layout = Layout::row_major);
};

// Inserts casts so that every op that computes does so on float32.
void widen_floats(Plan& plan);
// Fuses what follows a convolution or matrix product into it; drops what nobody reads.
void fuse(Plan& plan);
// Attention reads and writes heads where they lie side by side, in place of what Slice and Transpose make of them.
void place_heads(Plan& plan);
// Chooses layouts and inserts the conversions.
void assign_layouts(Plan& plan);
// Gives the new value of each state the state's own memory where no step reads the old content any more when it is written, and adds a copy
// at the end elsewhere.
void place_states(Plan& plan);
// Places every value; fills workspace_bytes and resident_bytes, and when each slot is used.
void plan_memory(Plan& plan);

}  // namespace backplane::cpu
