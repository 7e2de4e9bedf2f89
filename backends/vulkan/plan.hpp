// A graph on its way to becoming a program: values and nodes that the passes rewrite, then dispatches.
//
//   import -> precision -> fusion -> storage -> lowering (ops/*) -> memory plan
//
// Every value is dense and row-major, as it crosses the ABI.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backplane/sdk.hpp"

namespace backplane::vulkan {

using ValueId = uint32_t;
inline constexpr ValueId kNone = UINT32_MAX;

struct Value {
    uint32_t dtype = BP_F32;
    uint32_t role = BP_ROLE_TEMPORARY;
    std::vector<int64_t> dim;
    std::vector<std::byte> constant;  // role CONSTANT: its bytes
    uint32_t tensor = kNone;          // index in the graph, for what is bound at each run
    ValueId inside = kNone;           // these bytes are part of another value's, `inside_at` bytes from its start
    uint64_t inside_at = 0;
    ValueId state = kNone;  // what a node writes to update this STATE value
    uint64_t bytes = 0;
    uint32_t base = 0;  // where it lies: see memory_plan.cpp
    uint64_t offset = 0;

    [[nodiscard]] int64_t elements() const;
    [[nodiscard]] std::string text() const;  // "f32[1,3,8,8]"
};

// Element strides of a dense value in the order of `dim`.
std::vector<int64_t> strides_of(const Value& value);

// Applied to each element of a node's result before it is stored, in order: what fusion made of the nodes that followed.
struct PostOp {
    enum Kind : uint8_t { bias, unary, scale, add } kind = unary;
    uint32_t op = 0;        // unary: BP_OP_*
    float a = 0, b = 0;     // unary: its attributes; scale: the factor
    ValueId value = kNone;  // bias: one a channel or column; add: same shape as the result
};

struct Node {
    uint32_t op = 0;
    uint32_t index = 0;  // in the graph
    std::string name;
    std::vector<ValueId> inputs;  // kNone: not given
    ValueId output = kNone;
    std::map<uint32_t, int64_t> integers;
    std::map<uint32_t, double> numbers;
    std::map<uint32_t, std::vector<int64_t>> lists;
    std::vector<PostOp> post;

    [[nodiscard]] int64_t integer(uint32_t id, int64_t otherwise) const;
    [[nodiscard]] float number(uint32_t id, double otherwise) const;
    [[nodiscard]] std::vector<int64_t> list(uint32_t id, std::vector<int64_t> otherwise = {}) const;
    [[nodiscard]] ValueId input(size_t k) const { return k < inputs.size() ? inputs[k] : kNone; }
    // "Conv 'block/3' (node 17)"
    [[nodiscard]] std::string text() const;
};

// One storage buffer of a dispatch. The shader sees an array of elements of `element` bytes.
struct Operand {
    ValueId value = kNone;
    uint32_t element = 4;
    bool written = false;
};

// One kernel, or (shader kNoShader) a copy of bytes from operands[0] to operands[1].
inline constexpr uint32_t kNoShader = UINT32_MAX;
struct Dispatch {
    std::string label;                // for program_info.summary
    uint32_t shader = kNoShader;      // index of shaders_generated.h
    std::vector<uint32_t> constants;  // specialisation constants 0, 1, ...
    std::vector<Operand> operands;    // bindings 1, 2, ...
    std::vector<uint32_t> parameters;
    uint32_t groups[3] = {1, 1, 1};
    double work = 0;  // operations, roughly
};

// What is bound at each run.
struct Slot {
    ValueId value = kNone;
    uint32_t tensor = 0;
    uint64_t bytes = 0;
};

struct Plan {
    std::vector<Value> values;
    std::vector<Node> nodes;
    std::vector<Dispatch> dispatches;
    std::vector<Slot> slots;
    std::vector<ValueId> residents;  // constants that dispatches read
    std::vector<ValueId> outputs;    // OUTPUT and updated STATE values
    uint64_t workspace_bytes = 0, resident_bytes = 0;
    uint32_t math = BP_MATH_DEFAULT;

    Value& operator[](ValueId id) { return values[id]; }
    const Value& operator[](ValueId id) const { return values[id]; }
    ValueId add_value(Value value);
    // A temporary of these dimensions.
    ValueId temporary(uint32_t dtype, std::vector<int64_t> dim);
    // A constant of our own making.
    ValueId constant(const std::vector<uint32_t>& words);
    // Nodes that read a value, fused post-ops included.
    [[nodiscard]] std::vector<uint32_t> users(ValueId value) const;
    // The single node that reads a TEMPORARY; kNone when there are none, more, or it must be kept.
    [[nodiscard]] uint32_t only_user(ValueId value) const;
    [[nodiscard]] uint32_t producer(ValueId value) const;  // node index; kNone: none
    [[nodiscard]] bool is_output(ValueId value) const;
    // The value whose bytes hold these, itself unless it lies inside another; *at becomes the distance from its start.
    ValueId storage_of(ValueId value, uint64_t* at = nullptr) const;
};

// Reads the host's graph. Throws Failure(BP_INVALID); symbolic dimensions are Failure(BP_UNSUPPORTED).
Plan import_graph(const bp_graph* graph);
// Inserts casts so that every op that computes does so on the element types its kernels have.
void fit_types(Plan& plan);
// Fuses what follows a convolution or matrix product into it; drops what nobody reads.
void fuse(Plan& plan);
// Lets values share bytes: reshaped values, and operands of a concatenation that can be written where they will stand.
void share_storage(Plan& plan);
// Places every value; fills workspace_bytes and resident_bytes. `alignment`: of the start of each value.
void plan_memory(Plan& plan, uint64_t alignment);

}  // namespace backplane::vulkan
