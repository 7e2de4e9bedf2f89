// What an op is, as data: the form of a description, and all that is worked out from one. The host's graph, every module, the typed
// builders and the reference page (docs/ops.md) read the same descriptions. Header-only; needs module.h, ops.h and the standard library.
//
// A description states operands, element types, attributes with their limits, and the shape rule. The attribute structure of an op
// is the source of its attributes' types and defaults: rules are made from pointers to its members.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "backplane/module.h"
#include "backplane/ops.h"

namespace backplane::ops {

// ---- values -----------------------------------------------------------------------------------------------------------------

// A few values in place: descriptions are constants, and checking a node allocates nothing. push_back throws std::out_of_range past `most`.
template <class T, size_t most>
struct Few {
    std::array<T, most> items{};
    uint32_t count = 0;

    constexpr Few() = default;
    constexpr Few(std::initializer_list<T> from) {
        for (const T& item : from) push_back(item);
    }
    constexpr void push_back(const T& item) { items.at(count++) = item; }
    [[nodiscard]] constexpr uint32_t size() const { return count; }
    [[nodiscard]] constexpr bool empty() const { return count == 0; }
    [[nodiscard]] constexpr const T* begin() const { return items.data(); }
    [[nodiscard]] constexpr const T* end() const { return items.data() + count; }
    constexpr T* begin() { return items.data(); }
    constexpr T* end() { return items.data() + count; }
    constexpr const T& operator[](size_t i) const { return items[i]; }
    constexpr T& operator[](size_t i) { return items[i]; }
    [[nodiscard]] constexpr const T& back() const { return items[count - 1]; }
    friend constexpr bool operator==(const Few& a, const Few& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
};

using Dims = Few<int64_t, BP_MAX_RANK>;      // extents, outermost first
using List = Few<int64_t, 2 * BP_MAX_RANK>;  // of an attribute: two numbers for each axis at most

// An operand or result as shape rules see it. dtype is one of BP_F32 ..., 0: an optional operand that is not given.
struct Operand {
    uint32_t dtype = BP_DTYPE_UNKNOWN;
    Dims dims;
    [[nodiscard]] constexpr bool given() const { return dtype != BP_DTYPE_UNKNOWN; }
};

// Thrown by checks: why a node cannot be. `why` is one of BP_WHY_*, the text goes behind the node's name: "w [3] must have rank 4".
struct Refusal {
    uint32_t why;
    std::string text;
};

// ---- element types ----------------------------------------------------------------------------------------------------------

using Types = uint32_t;  // bit (1 << BP_F32) and so on
constexpr Types type(uint32_t dtype) { return dtype < 32 ? Types{1} << dtype : 0; }
inline constexpr Types kHalves = type(BP_F16) | type(BP_BF16);
inline constexpr Types kFloats = type(BP_F32) | kHalves | type(BP_F64);
inline constexpr Types kWhole = type(BP_I32) | type(BP_I64);  // with arithmetic
inline constexpr Types kNumbers = kFloats | kWhole;
inline constexpr Types kBlocks = (type(BP_Q8_K) << 1) - type(BP_Q8_0);
inline constexpr Types kPlain = kNumbers | type(BP_I8) | type(BP_U8) | type(BP_I16) | type(BP_U16) | type(BP_BOOL);

constexpr const char* type_name(uint32_t dtype) {
    switch (dtype) {
        case BP_F32: return "f32";
        case BP_F16: return "f16";
        case BP_BF16: return "bf16";
        case BP_F64: return "f64";
        case BP_I8: return "i8";
        case BP_U8: return "u8";
        case BP_I16: return "i16";
        case BP_U16: return "u16";
        case BP_I32: return "i32";
        case BP_I64: return "i64";
        case BP_BOOL: return "bool";
        case BP_Q8_0: return "q8_0";
        case BP_Q4_0: return "q4_0";
        case BP_Q4_1: return "q4_1";
        case BP_Q5_0: return "q5_0";
        case BP_Q5_1: return "q5_1";
        case BP_Q2_K: return "q2_k";
        case BP_Q3_K: return "q3_k";
        case BP_Q4_K: return "q4_k";
        case BP_Q5_K: return "q5_k";
        case BP_Q6_K: return "q6_k";
        case BP_IQ4_NL: return "iq4_nl";
        case BP_IQ4_XS: return "iq4_xs";
        case BP_Q8_K: return "q8_k";
        default: return "unknown";
    }
}

// "f32, f16 or i64"
inline std::string names_of(Types types) {
    std::string text;
    for (uint32_t dtype = 1; dtype < 32; ++dtype) {
        if ((types & type(dtype)) == 0) continue;
        const bool last = (types >> 1) >> dtype == 0;
        text += std::string(text.empty() ? "" : last ? " or " : ", ") + type_name(dtype);
    }
    return text;
}

struct TypeRule {
    Types types = 0;    // one of these,
    int32_t like = -1;  // or that of this operand,
    Types others = 0;   // or one of these
    Types beside = 0;   // where that operand is one of these
};
constexpr TypeRule one_of(Types types) { return {types, -1, 0, 0}; }
constexpr TypeRule like(int32_t operand, Types others = 0, Types beside = type(BP_F32)) {
    return {0, operand, others, beside};
}

// ---- attributes -------------------------------------------------------------------------------------------------------------

enum class Kind : uint32_t { integer = BP_ATTRIBUTE_INT, number = BP_ATTRIBUTE_FLOAT, integers = BP_ATTRIBUTE_INTS };

// One attribute as a graph carries it.
struct AttributeValue {
    uint32_t id = BP_ATTR_unknown;
    Kind kind = Kind::integer;
    int64_t integer = 0;
    double number = 0;
    List list;
};

constexpr const char* attribute_name(uint32_t id) {
    switch (id) {
#define BP_ATTRIBUTE_NAME(number, identifier, type, name) \
    case number: return name;
        BP_ATTRIBUTES(BP_ATTRIBUTE_NAME)
#undef BP_ATTRIBUTE_NAME
        default: return "unknown";
    }
}

// A member of an op's attributes that has no default: a node that does not state it is refused.
template <class T>
struct Required {
    T value{};
    bool stated = false;
    constexpr Required() = default;
    constexpr Required(T given) : value(given), stated(true) {}  // NOLINT(google-explicit-constructor): {.axis = 1}
    // .shape = {1, -1}, .sizes = {64, 64}
    template <std::convertible_to<int64_t>... N>
    requires(sizeof...(N) > 1 &&
             !std::is_integral_v<T>) constexpr Required(N... numbers)  // NOLINT(google-explicit-constructor)
        : value{static_cast<int64_t>(numbers)...}, stated(true) {}
    constexpr operator T() const { return value; }  // NOLINT(google-explicit-constructor)
};

// No real attribute is larger; sums and products of two then fit 64 bits.
inline constexpr int64_t kLargestAttribute = int64_t{1} << 30;
// Of a tensor's extent. Products are checked wherever they are made.
inline constexpr int64_t kLargestExtent = int64_t{1} << 60;

struct Limits {
    int64_t least = -kLargestAttribute;
    int64_t most = kLargestAttribute;
    int32_t axis_of = -1;  // an axis of this operand: a builder counts a negative one from the end
};
constexpr Limits axis_of(int32_t operand) { return {0, BP_MAX_RANK - 1, operand}; }
constexpr Limits at_least(int64_t least) { return {least, kLargestAttribute, -1}; }
constexpr Limits between(int64_t least, int64_t most) { return {least, most, -1}; }
inline constexpr Limits kAny{INT64_MIN, INT64_MAX, -1};

// Made from a member of the op's attributes: its type and its default are those of the member.
struct AttributeRule {
    uint32_t id = 0;
    Kind kind = Kind::integer;
    bool required = false;
    uint32_t length = 0;  // of a list; 0: any
    Limits limits;
    void (*set)(void* attributes, const AttributeValue& value) = nullptr;
    bool (*get)(const void* attributes, AttributeValue& value) = nullptr;  // false: it has no default and is not stated
};

template <class T>
struct Member {  // int64_t, bool, an enum
    static constexpr Kind kind = Kind::integer;
    static constexpr bool required = false;
    static constexpr uint32_t length = 0;
    static constexpr void set(T& to, const AttributeValue& v) { to = static_cast<T>(v.integer); }
    static constexpr bool get(const T& from, AttributeValue& v) {
        v.integer = static_cast<int64_t>(from);
        return true;
    }
};
template <>
struct Member<double> {
    static constexpr Kind kind = Kind::number;
    static constexpr bool required = false;
    static constexpr uint32_t length = 0;
    static constexpr void set(double& to, const AttributeValue& v) { to = v.number; }
    static constexpr bool get(const double& from, AttributeValue& v) {
        v.number = from;
        return true;
    }
};
template <>
struct Member<List> {
    static constexpr Kind kind = Kind::integers;
    static constexpr bool required = false;
    static constexpr uint32_t length = 0;
    static constexpr void set(List& to, const AttributeValue& v) { to = v.list; }
    static constexpr bool get(const List& from, AttributeValue& v) {
        v.list = from;
        return true;
    }
};
template <size_t n>
struct Member<std::array<int64_t, n>> {
    static constexpr Kind kind = Kind::integers;
    static constexpr bool required = false;
    static constexpr uint32_t length = n;
    static constexpr void set(std::array<int64_t, n>& to, const AttributeValue& v) {
        std::copy_n(v.list.begin(), n, to.begin());
    }
    static constexpr bool get(const std::array<int64_t, n>& from, AttributeValue& v) {
        v.list = {};
        for (const int64_t x : from) v.list.push_back(x);
        return true;
    }
};
template <class T>
struct Member<Required<T>> : Member<T> {
    static constexpr bool required = true;
    static constexpr void set(Required<T>& to, const AttributeValue& v) {
        Member<T>::set(to.value, v);
        to.stated = true;
    }
    static constexpr bool get(const Required<T>& from, AttributeValue& v) {
        Member<T>::get(from.value, v);
        return from.stated;
    }
};

template <class A, class T>
constexpr A owner_of(T A::*);
template <class A, class T>
constexpr T type_of_member(T A::*);

// attribute<&ConvAttributes::strides>(BP_ATTR_strides, at_least(1))
template <auto member>
constexpr AttributeRule attribute(uint32_t id, Limits limits = {}) {
    using A = decltype(owner_of(member));
    using T = decltype(type_of_member(member));
    using M = Member<T>;
    if constexpr (std::is_same_v<T, bool>) limits = between(0, 1);
    return {id,
            M::kind,
            M::required,
            M::length,
            limits,
            [](void* a, const AttributeValue& v) { M::set(static_cast<A*>(a)->*member, v); },
            [](const void* a, AttributeValue& v) {
                v.kind = M::kind;
                return M::get(static_cast<const A*>(a)->*member, v);
            }};
}

struct None {};  // the attributes of an op that has none

template <class A>
inline constexpr A kDefaults{};

// ---- descriptions -----------------------------------------------------------------------------------------------------------

struct Input {
    const char* name = nullptr;
    TypeRule type;
    bool optional = false;
};
struct Output {
    const char* name = nullptr;
    TypeRule type;  // none: the shape rule sets it
};

struct Description;

// A node as the shape rule sees it: operands and attributes that passed their own checks.
struct Call {
    const Description& op;
    std::span<const Operand> inputs;
    const void* attributes;

    [[nodiscard]] constexpr const Dims& dims(size_t i) const { return inputs[i].dims; }
    [[nodiscard]] constexpr uint32_t rank(size_t i) const { return inputs[i].dims.size(); }
    [[nodiscard]] constexpr uint32_t dtype(size_t i) const { return inputs[i].dtype; }
    [[nodiscard]] constexpr bool has(size_t i) const { return i < inputs.size() && inputs[i].given(); }
    template <class A>
    [[nodiscard]] const A& as() const {
        return *static_cast<const A*>(attributes);
    }
    [[nodiscard]] std::string text(size_t i) const;        // "w [64, 3, 3, 3]"
    [[nodiscard]] std::string typed_text(size_t i) const;  // "w f16 [64, 3, 3, 3]"
};

using Outputs = std::span<Operand>;

// Shapes of the outputs, and types that their rules leave open. Throws Refusal.
using ShapeRule = void (*)(const Call& call, Outputs out);

struct Description {
    uint32_t id = 0;
    const char* summary = nullptr;  // one line for people
    const char* shapes = nullptr;   // one line for people
    Few<Input, 8> inputs = {};
    Few<Output, 4> outputs = {};
    bool any_inputs = false;   // the last input comes once or more
    bool elementwise = false;  // each element of the result depends on its own elements of the operands alone
    bool moves = false;        // each element of the result is one of an operand, or of an attribute
    bool into_first =
        false;  // the result is operand 0 with elements of operand 1 put in: in place where operand 0 is a state that it updates
    Few<AttributeRule, 8> attributes = {};
    ShapeRule shape = nullptr;
    // How many outputs a node has, where its attributes say it: the last one listed stands for them all. Null: as many as are listed.
    uint32_t (*output_count)(const Call& call) = nullptr;
    // For builders: brings attributes as people write them (a -1, axes in any order) to the form that graphs carry. May be null.
    void (*complete)(const Call& call, void* attributes) = nullptr;
    uint32_t attribute_bytes = 0;    // describe() fills these two in
    const void* defaults = nullptr;  // a default-constructed value of its attributes

    [[nodiscard]] constexpr const char* name() const;
    [[nodiscard]] constexpr uint32_t least_inputs() const {
        uint32_t n = 0;
        for (const Input& i : inputs) n += i.optional ? 0 : 1;
        return n;
    }
    [[nodiscard]] constexpr bool several_outputs() const { return output_count != nullptr || outputs.size() > 1; }
    [[nodiscard]] constexpr uint32_t outputs_of(const Call& call) const {
        return output_count != nullptr ? output_count(call) : outputs.size();
    }
    [[nodiscard]] constexpr bool needs_attributes() const {
        return std::any_of(attributes.begin(), attributes.end(), [](const AttributeRule& a) { return a.required; });
    }
    [[nodiscard]] constexpr const AttributeRule* find(uint32_t attribute) const {
        for (const AttributeRule& rule : attributes)
            if (rule.id == attribute) return &rule;
        return nullptr;
    }
};

// A description that knows the type of its attributes: `describe<ConvAttributes>({.id = BP_OP_conv, ...})`.
template <class A>
struct DescriptionOf : Description {
    using Attributes = A;
};
template <class A>
constexpr DescriptionOf<A> describe(Description description) {
    static_assert(std::is_trivially_copyable_v<A>);
    description.attribute_bytes = std::is_empty_v<A> ? 0 : sizeof(A);
    description.defaults = &kDefaults<A>;
    return {description};
}

constexpr const char* op_name(uint32_t id) {
    switch (id) {
#define BP_OP_NAME_OF(number, identifier, name) \
    case number: return name;
        BP_OPS(BP_OP_NAME_OF)
#undef BP_OP_NAME_OF
        default: return "unknown";
    }
}
constexpr const char* Description::name() const { return op_name(id); }

// ---- what shape rules say it with -------------------------------------------------------------------------------------------

// "[1, 3, 8, 8]"
template <class Numbers>
std::string text_of(const Numbers& numbers) {
    std::string out = "[";
    for (const int64_t n : numbers) out += (out.size() == 1 ? "" : ", ") + std::to_string(n);
    return out + "]";
}
inline std::string Call::text(size_t i) const {
    const char* name = op.inputs[std::min<size_t>(i, op.inputs.size() - 1)].name;
    return std::string(name) + (op.any_inputs ? std::to_string(i) : "") + " " + text_of(dims(i));
}
inline std::string Call::typed_text(size_t i) const {
    const char* name = op.inputs[std::min<size_t>(i, op.inputs.size() - 1)].name;
    return std::string(name) + (op.any_inputs ? std::to_string(i) : "") + " " + type_name(dtype(i)) + " " + text_of(dims(i));
}
[[noreturn]] inline void refuse(uint32_t why, std::string text) { throw Refusal{why, std::move(text)}; }
// `text` is a lambda: nothing is put together while all is well.
template <class Text>
constexpr void require(bool holds, uint32_t why, Text text) {
    if (!holds) refuse(why, text());
}
template <class Text>
constexpr void require(bool holds, Text text) {
    require(holds, BP_WHY_SHAPE, text);
}
template <class Text>
constexpr void require_attribute(bool holds, Text text) {
    require(holds, BP_WHY_ATTRIBUTE, text);
}

// Has it no element?
constexpr bool is_empty(const Dims& dims) { return std::find(dims.begin(), dims.end(), 0) != dims.end(); }

// Of a list that is an attribute.
inline void require_numbers(const Call& call, uint32_t id, const List& list, uint32_t wanted) {
    require_attribute(list.size() == wanted, [&] {
        return std::string("attribute ") + attribute_name(id) + " has " + std::to_string(list.size()) + " numbers, needs " +
               std::to_string(wanted) + " for " + call.text(0);
    });
}
// Ops that pick along an axis of operand 0: is there something, where the result `y` has elements?
inline void require_something_along(const Call& call, uint32_t axis, const Dims& y) {
    require(call.dims(0)[axis] > 0 || is_empty(y),
            [&] { return "there is nothing to pick along axis " + std::to_string(axis) + " of " + call.text(0); });
}

constexpr void require_rank(const Call& call, size_t i, uint32_t rank) {
    require(call.rank(i) == rank, [&] { return call.text(i) + " must have rank " + std::to_string(rank); });
}

constexpr int64_t checked_add(const Call& call, int64_t a, int64_t b) {
    int64_t sum = 0;
    require(!__builtin_add_overflow(a, b, &sum) && sum <= kLargestExtent,
            [&] { return "the shape is too large, " + call.text(0); });
    return sum;
}
constexpr int64_t checked_mul(const Call& call, int64_t a, int64_t b) {
    int64_t product = 0;
    require(!__builtin_mul_overflow(a, b, &product) && product <= kLargestExtent,
            [&] { return "the shape is too large, " + call.text(0); });
    return product;
}
// Throws Refusal past kLargestExtent elements.
constexpr int64_t elements_of(const Call& call, std::span<const int64_t> extents) {
    int64_t n = 1;
    for (const int64_t extent : extents)
        if (extent == 0) return 0;
    for (const int64_t extent : extents) n = checked_mul(call, n, extent);
    return n;
}

// The common shape of `a` and `b`, as numpy's: axes are matched from the last one. `text` says why there is none.
template <class Text>
constexpr Dims broadcast(Dims a, Dims b, Text text) {
    if (a.size() < b.size()) std::swap(a, b);
    const uint32_t shift = a.size() - b.size();
    for (uint32_t d = 0; d < b.size(); ++d) {
        int64_t& to = a[d + shift];
        require(to == b[d] || to == 1 || b[d] == 1, text);
        if (to == 1) to = b[d];
    }
    return a;
}
constexpr Dims broadcast(const Call& call, Dims a, Dims b) {
    return broadcast(a, b, [&] { return call.text(0) + " and " + call.text(1) + " do not broadcast"; });
}

constexpr void same_shape(const Call& call, Outputs out) { out[0].dims = call.dims(0); }

}  // namespace backplane::ops
