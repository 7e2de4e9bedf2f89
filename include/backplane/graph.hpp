// A graph: a static single-assignment list of ops over typed, shaped tensors. Knows no device.
//
//   Graph g;
//   TensorId x = g.input("x", DType::f32, {1, 3, 128, 128});
//   TensorId w = g.weight("w", DType::f32, {64, 3, 3, 3});
//   TensorId y = ops::conv(g, x, w, {.pads = {1, 1, 1, 1}});        // backplane/ops.hpp: a typed builder for each op
//   g.output(ops::relu(g, y), "y");
//
// Every op checks its inputs when it is added: a wrong shape is an Error(Code::invalid) that names the op and the shapes.
// A Graph is a value; const members may be called from many threads. Copies share what they hold until one of them is changed, so that a
// copy costs nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backplane/error.hpp"
#include "backplane/module.h"
#include "backplane/ops.h"

namespace backplane {

enum class DType : uint32_t {
    unknown = BP_DTYPE_UNKNOWN,
    f32 = BP_F32,
    f16 = BP_F16,
    bf16 = BP_BF16,
    f64 = BP_F64,
    i8 = BP_I8,
    u8 = BP_U8,
    i16 = BP_I16,
    u16 = BP_U16,
    i32 = BP_I32,
    i64 = BP_I64,
    boolean = BP_BOOL,
    q8_0 = BP_Q8_0,
    q4_0 = BP_Q4_0,
    q4_1 = BP_Q4_1,
    q5_0 = BP_Q5_0,
    q5_1 = BP_Q5_1,
    q2_k = BP_Q2_K,
    q3_k = BP_Q3_K,
    q4_k = BP_Q4_K,
    q5_k = BP_Q5_K,
    q6_k = BP_Q6_K,
    iq4_nl = BP_IQ4_NL,
    iq4_xs = BP_IQ4_XS,
    q8_k = BP_Q8_K,
};

const char* name_of(DType dtype) noexcept;              // "f32"
DType dtype_from_name(std::string_view name) noexcept;  // unknown when there is no such type
bool is_float(DType dtype) noexcept;                    // f32 f16 bf16 f64
bool is_block(DType dtype) noexcept;                    // q8_0 and all behind it

// Extents, outermost first. Rank 0 is a scalar; an extent may be 0.
using Shape = std::vector<int64_t>;
int64_t elements(const Shape& shape);             // throws Error(invalid) above 2^62
uint64_t bytes(DType dtype, const Shape& shape);  // of a dense tensor; throws Error(invalid) for what none is
std::string to_string(const Shape& shape);        // "[1, 3, 128, 128]"

#define BP_OP_MEMBER(id, identifier, name) identifier = (id),
enum class Op : uint32_t { unknown = 0, BP_OPS(BP_OP_MEMBER) };
#undef BP_OP_MEMBER
#define BP_ATTRIBUTE_MEMBER(id, identifier, type, name) identifier = (id),
enum class Attr : uint32_t { unknown = 0, BP_ATTRIBUTES(BP_ATTRIBUTE_MEMBER) };
#undef BP_ATTRIBUTE_MEMBER

const char* name_of(Op op) noexcept;              // "Conv"
const char* name_of(Attr attr) noexcept;          // "strides"
Op op_from_name(std::string_view name) noexcept;  // either spelling, "Conv" or "conv"; unknown when there is none
// Why there is no op of this name of ONNX, as a sentence that goes on after it; empty: nobody thought of it.
std::string_view why_no_op(std::string_view name) noexcept;
Attr attr_from_name(std::string_view name) noexcept;  // as name_of gives it; unknown when there is none
std::span<const Op> all_ops() noexcept;               // ascending id

// An attribute as given to Graph::add. A single number given for a list attribute becomes a list of one.
struct Attribute {
    Attribute(Attr attr, int number) : id(attr), value(int64_t{number}) {}
    Attribute(Attr attr, int64_t number) : id(attr), value(number) {}
    Attribute(Attr attr, double number) : id(attr), value(number) {}
    Attribute(Attr attr, std::vector<int64_t> numbers) : id(attr), value(std::move(numbers)) {}
    Attr id;
    std::variant<int64_t, double, std::vector<int64_t>> value;
};

struct TensorId {
    uint32_t index = BP_NO_TENSOR;
    [[nodiscard]] bool valid() const noexcept { return index != BP_NO_TENSOR; }
    bool operator==(const TensorId&) const = default;
};
inline constexpr TensorId no_tensor{};  // stands for an optional input that is not given

enum class Role : uint32_t {
    temporary = BP_ROLE_TEMPORARY,
    input = BP_ROLE_INPUT,
    output = BP_ROLE_OUTPUT,
    weight = BP_ROLE_WEIGHT,
    constant = BP_ROLE_CONSTANT,
    state = BP_ROLE_STATE,
};

struct TensorInfo {
    std::string name;
    DType dtype = DType::f32;
    Role role = Role::temporary;
    Shape shape;
    uint64_t content = 0;         // WEIGHT: the host's name for the bytes (a hash), 0: none
    std::vector<std::byte> data;  // CONSTANT
    uint32_t state_in = 0;        // 1 + the STATE tensor this one updates in place, 0: none
};

struct Node {
    Op op = Op::unknown;
    std::vector<TensorId> inputs, outputs;
    std::vector<Attribute> attributes;  // complete: defaults filled in, ascending id
    std::string name;
};

class Graph;

// A graph as the ABI sees it. Points into storage it owns, and shares the graph's; the Graph may go.
class GraphData {
public:
    explicit GraphData(const Graph& graph);
    ~GraphData();
    GraphData(GraphData&&) noexcept;
    GraphData& operator=(GraphData&&) noexcept;
    [[nodiscard]] const bp_graph* get() const noexcept;

private:
    struct Storage;
    std::unique_ptr<Storage> storage_;
};

class Graph {
public:
    Graph() noexcept = default;  // empty
    Graph(const Graph& other) noexcept;
    Graph(Graph&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}  // `other` is empty
    Graph& operator=(const Graph& other) noexcept;
    Graph& operator=(Graph&& other) noexcept;
    ~Graph();

    // Each throws Error(invalid): a shape that no tensor has, an input or state of a name that is taken by one. `content` is the host's name for the bytes of a
    // weight, 0: none.
    TensorId input(std::string name, DType dtype, Shape shape);
    TensorId weight(std::string name, DType dtype, Shape shape, uint64_t content = 0);
    TensorId constant(std::string name, DType dtype, Shape shape, std::vector<std::byte> data);  // data.size() == bytes()
    TensorId constant(float value);                                                              // an f32 scalar
    TensorId state(std::string name, DType dtype, Shape shape);

    // Adds a node of an op that has one output, and returns it. Trailing optional inputs may be left out, others are no_tensor.
    // Fills in default attributes. Throws Error(invalid): unknown attribute, wrong arity, dtype or shape.
    TensorId add(Op op, std::span<const TensorId> inputs, const std::vector<Attribute>& attributes = {},
                 std::string name = {});
    TensorId add(Op op, std::initializer_list<TensorId> inputs, const std::vector<Attribute>& attributes = {},
                 std::string name = {}) {
        return add(op, std::span<const TensorId>(inputs.begin(), inputs.size()), attributes, std::move(name));
    }

    // The same for an op of any number of outputs: all of them, in order.
    std::vector<TensorId> add_all(Op op, std::span<const TensorId> inputs, const std::vector<Attribute>& attributes = {},
                                  std::string name = {});

    // Each throws Error(invalid) where that is not so.
    void output(TensorId tensor, std::string name);  // the tensor becomes a result; it must be a temporary that a node wrote
    void update(TensorId state, TensorId value);     // after the run, `state` holds `value` (same dtype and shape)

    // What these refer to goes with the graph, or when it is changed.
    [[nodiscard]] const std::vector<TensorInfo>& tensors() const noexcept;
    [[nodiscard]] const std::vector<Node>& nodes() const noexcept;
    [[nodiscard]] const TensorInfo& operator[](TensorId id) const { return tensors().at(id.index); }
    [[nodiscard]] TensorId find(std::string_view name) const noexcept;  // by name; no_tensor when there is none
    [[nodiscard]] std::vector<TensorId> with_role(Role role) const;

    [[nodiscard]] GraphData data() const { return GraphData(*this); }
    // 128 bits over everything but names. Equal graphs hash equally on every machine. Found once: copies know it, too.
    [[nodiscard]] std::array<uint64_t, 2> hash() const;

private:
    friend struct GraphAccess;  // src/graph/graph_access.hpp: a Graph from plain data keeps the indices it came with
    struct Held;                // shared by copies; counts them
    Held& change();             // its own, for a change
    Held* held_ = nullptr;
};

}  // namespace backplane
