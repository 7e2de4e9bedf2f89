// Module SDK: header-only C++20 helpers for authors of modules. Needs module.h and the standard library, links nothing.
//
// GraphView reads a bp_graph by stride and struct_size (rules R4 and R6 of module.h), so a module built with this header serves
// older and newer hosts. Nothing here throws unless its comment says so; `Failure` is thrown inside a module and turned into a bp_code at
// the ABI line by guard().
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backplane/module.h"
#include "backplane/ops.h"

namespace backplane::sdk {

// ---- errors --------------------------------------------------------------------------------------------------------------

// Writes code and text into a caller's bp_error, as far as that caller's struct goes; returns the code.
inline bp_code fail(bp_error* error, bp_code code, std::string_view text, int64_t native = 0) {
    if (error == nullptr) return code;
    if (BP_KNOWS(error, code)) error->code = code;
    if (BP_KNOWS(error, native)) error->native = native;
    if (BP_KNOWS(error, capacity) && error->text != nullptr && error->capacity > 0) {
        const size_t n = std::min(text.size(), error->capacity - 1);
        std::memcpy(error->text, text.data(), n);
        error->text[n] = '\0';
    }
    return code;
}

// An error inside a module: say what was attempted, on what, why it failed, what to do.
class Failure : public std::exception {
public:
    Failure(bp_code code, std::string text, int64_t native = 0) : code_(code), native_(native), text_(std::move(text)) {}
    [[nodiscard]] bp_code code() const noexcept { return code_; }
    [[nodiscard]] int64_t native() const noexcept { return native_; }
    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
    bp_code code_;
    int64_t native_;
    std::string text_;
};

// Runs `body` and turns whatever it throws into a bp_code: put it around every function of the table.
template <typename Body>
bp_code guard(bp_error* error, Body&& body) noexcept {
    try {
        body();
        return BP_OK;
    } catch (const Failure& f) {
        return fail(error, f.code(), f.what(), f.native());
    } catch (const std::bad_alloc&) {
        return fail(error, BP_NO_HOST_MEMORY, "out of host memory");
    } catch (const std::exception& e) {
        return fail(error, BP_INTERNAL, e.what());
    } catch (...) {
        return fail(error, BP_INTERNAL, "unknown exception inside the module");
    }
}

// ---- structs that cross ---------------------------------------------------------------------------------------------------

// Reads a struct of the other side: the bytes both know, zero for the rest (R4).
template <typename T>
T read(const T* from) {
    T mine{};
    std::memcpy(&mine, from, std::min<size_t>(from->struct_size, sizeof(T)));
    return mine;
}

// Writes a struct into memory of the other side, no further than its struct_size, which stays (R2). bp_answer has its own below.
template <typename T>
void write(T* to, const T& mine) {
    const uint32_t size = to->struct_size;
    std::memcpy(to, &mine, std::min<size_t>(size, sizeof(T)));
    to->struct_size = size;
}

// An answer's text is room of the caller, as in bp_error: the fields that name it are left alone, the text is cut to the room and ends
// in zero. An empty text leaves the room as it is.
inline void write(bp_answer* to, const bp_answer& mine, std::string_view text = {}) {
    if (BP_KNOWS(to, code)) to->code = mine.code;
    if (BP_KNOWS(to, retired_1)) to->retired_1 = 0;
    if (BP_KNOWS(to, reason)) to->reason = mine.reason;
    if (BP_KNOWS(to, cost_ns)) to->cost_ns = mine.cost_ns;
    if (text.empty() || !BP_KNOWS(to, capacity) || to->text == nullptr || to->capacity == 0) return;
    const size_t n = std::min<size_t>(text.size(), to->capacity - 1);
    std::memcpy(to->text, text.data(), n);
    to->text[n] = '\0';
}

// ---- element types --------------------------------------------------------------------------------------------------------

struct DTypeInfo {
    const char* name;
    uint32_t block;  // elements a block, 1 for plain types
    uint32_t bytes;  // bytes a block; 0: unknown type
};

inline DTypeInfo dtype_info(uint32_t dtype) {
    switch (dtype) {
        case BP_F32: return {"f32", 1, 4};
        case BP_F16: return {"f16", 1, 2};
        case BP_BF16: return {"bf16", 1, 2};
        case BP_F64: return {"f64", 1, 8};
        case BP_I8: return {"i8", 1, 1};
        case BP_U8: return {"u8", 1, 1};
        case BP_I16: return {"i16", 1, 2};
        case BP_U16: return {"u16", 1, 2};
        case BP_I32: return {"i32", 1, 4};
        case BP_I64: return {"i64", 1, 8};
        case BP_BOOL: return {"bool", 1, 1};
        case BP_Q8_0: return {"q8_0", 32, 34};
        case BP_Q4_0: return {"q4_0", 32, 18};
        case BP_Q4_1: return {"q4_1", 32, 20};
        case BP_Q5_0: return {"q5_0", 32, 22};
        case BP_Q5_1: return {"q5_1", 32, 24};
        case BP_Q2_K: return {"q2_k", 256, 84};
        case BP_Q3_K: return {"q3_k", 256, 110};
        case BP_Q4_K: return {"q4_k", 256, 144};
        case BP_Q5_K: return {"q5_k", 256, 176};
        case BP_Q6_K: return {"q6_k", 256, 210};
        case BP_IQ4_NL: return {"iq4_nl", 32, 18};
        case BP_IQ4_XS: return {"iq4_xs", 256, 136};
        case BP_Q8_K: return {"q8_k", 256, 292};
        default: return {"unknown", 1, 0};
    }
}

// ---- graphs ---------------------------------------------------------------------------------------------------------------

// A graph of the host, read safely. validate() first; afterwards every index is in range.
class GraphView {
public:
    explicit GraphView(const bp_graph* graph) : graph_(read(graph)) {}

    [[nodiscard]] uint32_t tensors() const { return graph_.tensors.count; }
    [[nodiscard]] uint32_t nodes() const { return graph_.nodes.count; }
    [[nodiscard]] uint32_t symbols() const { return graph_.symbols.count; }

    [[nodiscard]] bp_tensor tensor(uint32_t i) const { return read(BP_AT(bp_tensor, &graph_.tensors, i)); }
    [[nodiscard]] bp_node node(uint32_t i) const { return read(BP_AT(bp_node, &graph_.nodes, i)); }
    [[nodiscard]] bp_symbol symbol(uint32_t i) const { return read(BP_AT(bp_symbol, &graph_.symbols, i)); }
    [[nodiscard]] uint32_t edge(uint32_t i) const {
        uint32_t value = 0;
        std::memcpy(&value, static_cast<const char*>(graph_.edges.first) + size_t{i} * graph_.edges.stride, sizeof value);
        return value;
    }
    // Tensor of the k-th input or output of a node; BP_NO_TENSOR when not given.
    [[nodiscard]] uint32_t input(const bp_node& n, uint32_t k) const {
        return k < n.inputs ? edge(n.input + k) : BP_NO_TENSOR;
    }
    [[nodiscard]] uint32_t output(const bp_node& n, uint32_t k) const {
        return k < n.outputs ? edge(n.output + k) : BP_NO_TENSOR;
    }

    // The k-th attribute that a node states, k < n.attributes.
    [[nodiscard]] bp_attribute attribute(const bp_node& n, uint32_t k) const {
        return read(BP_AT(bp_attribute, &graph_.attributes, n.attribute + k));
    }
    [[nodiscard]] const bp_attribute* find(const bp_node& n, uint32_t id) const {
        for (uint32_t k = 0; k < n.attributes; ++k) {
            const auto* a = BP_AT(bp_attribute, &graph_.attributes, n.attribute + k);
            if (a->id == id) return a;
        }
        return nullptr;
    }
    [[nodiscard]] int64_t integer(const bp_node& n, uint32_t id, int64_t otherwise) const {
        const auto* a = find(n, id);
        return a != nullptr && a->type == BP_ATTRIBUTE_INT ? a->integer : otherwise;
    }
    [[nodiscard]] double number(const bp_node& n, uint32_t id, double otherwise) const {
        const auto* a = find(n, id);
        return a != nullptr && a->type == BP_ATTRIBUTE_FLOAT ? a->number : otherwise;
    }
    // Integers of an attribute; empty when not stated. Points into the host's graph.
    [[nodiscard]] std::span<const int64_t> integers(const bp_node& n, uint32_t id) const {
        const auto* a = find(n, id);
        if (a == nullptr || a->type != BP_ATTRIBUTE_INTS || a->integers.data == nullptr) return {};
        return {static_cast<const int64_t*>(a->integers.data), a->integers.size / sizeof(int64_t)};
    }

    // Throws Failure(BP_INVALID) when an array has elements but no memory, an index is out of range, a rank too large, a dimension
    // negative without a symbol, a block type's last axis no multiple of the block, or when a tensor is read before a node wrote
    // it, written twice, or written though it is an input, weight or constant. Shapes and attributes of ops are not looked at.
    void validate() const {
        check_arrays();
        for (uint32_t i = 0; i < tensors(); ++i) check_tensor(i);
        for (uint32_t i = 0; i < nodes(); ++i) check_ranges(i);
        check_order();
    }

    // Dimensions with symbols replaced: by `values` (one per symbol), or by the symbols' most when empty.
    [[nodiscard]] int64_t dim(const bp_tensor& t, uint32_t d, std::span<const int64_t> values = {}) const {
        if (t.dim[d] >= 0) return t.dim[d];
        const auto k = static_cast<uint32_t>(-(t.dim[d] + 1));
        return k < values.size() ? values[k] : symbol(k).most;
    }
    [[nodiscard]] int64_t elements(const bp_tensor& t, std::span<const int64_t> values = {}) const {
        int64_t n = 1;
        for (uint32_t d = 0; d < t.rank; ++d)
            if (__builtin_mul_overflow(n, dim(t, d, values), &n))
                throw Failure(BP_INVALID, "a tensor has more than 2^63 elements");
        return n;
    }
    [[nodiscard]] uint64_t bytes(const bp_tensor& t, std::span<const int64_t> values = {}) const {
        const DTypeInfo info = dtype_info(t.dtype);
        return static_cast<uint64_t>(elements(t, values)) / info.block * info.bytes;
    }

private:
    [[noreturn]] static void invalid(const char* what, uint32_t index, const char* why) {
        throw Failure(BP_INVALID, std::string("graph is not valid: ") + what + " " + std::to_string(index) + ": " + why);
    }

    void check_arrays() const {
        const std::pair<const bp_span*, const char*> arrays[] = {{&graph_.tensors, "tensors"},
                                                                 {&graph_.nodes, "nodes"},
                                                                 {&graph_.attributes, "attributes"},
                                                                 {&graph_.symbols, "symbols"},
                                                                 {&graph_.edges, "edges"}};
        for (const auto& [span, name] : arrays)
            if (span->count != 0 && (span->first == nullptr || span->stride < sizeof(uint32_t)))
                throw Failure(BP_INVALID, std::string("graph is not valid: its ") + name + " have no memory or no stride");
    }

    void check_tensor(uint32_t i) const {
        const bp_tensor t = tensor(i);
        if (t.rank > BP_MAX_RANK) invalid("tensor", i, "rank is over 8");
        for (uint32_t d = 0; d < t.rank; ++d)
            if (t.dim[d] < 0 && static_cast<uint64_t>(-(t.dim[d] + 1)) >= symbols()) invalid("tensor", i, "no such symbol");
        const DTypeInfo info = dtype_info(t.dtype);
        if (info.block > 1 && (t.rank == 0 || t.dim[t.rank - 1] < 0 || t.dim[t.rank - 1] % info.block != 0))
            invalid("tensor", i, "last axis is no multiple of the block of its element type");
        if (t.state_in > tensors()) invalid("tensor", i, "its state_in names no tensor");
    }

    void check_ranges(uint32_t i) const {
        const uint32_t edges = graph_.edges.count;
        const auto range = [](uint64_t first, uint64_t count, uint64_t of) { return first + count <= of; };
        const bp_node n = node(i);
        if (!range(n.input, n.inputs, edges) || !range(n.output, n.outputs, edges) ||
            !range(n.attribute, n.attributes, graph_.attributes.count))
            invalid("node", i, "a range lies outside its array");
        for (uint64_t k = 0; k < uint64_t{n.inputs} + n.outputs; ++k) {
            const uint32_t e = edge(static_cast<uint32_t>(k < n.inputs ? n.input + k : n.output + k - n.inputs));
            if (e != BP_NO_TENSOR && e >= tensors()) invalid("node", i, "an edge names no tensor");
        }
        for (uint32_t k = 0; k < n.attributes; ++k) {
            const auto a = read(BP_AT(bp_attribute, &graph_.attributes, n.attribute + k));
            if (a.integers.size != 0 && a.integers.data == nullptr)
                invalid("node", i, "an attribute has a list but no memory");
        }
    }

    // Nodes come in the order they run in: what one reads is bound by the host, or was written by a node before it.
    void check_order() const {
        std::vector<bool> by_node(tensors()), known(tensors());
        for (uint32_t i = 0; i < tensors(); ++i) {
            const bp_tensor t = tensor(i);
            by_node[i] = t.role == BP_ROLE_TEMPORARY || t.role == BP_ROLE_OUTPUT || t.state_in != 0;
            known[i] = !by_node[i];
        }
        for (uint32_t i = 0; i < nodes(); ++i) {
            const bp_node n = node(i);
            for (uint32_t k = 0; k < n.inputs; ++k) {
                const uint32_t e = input(n, k);
                if (e != BP_NO_TENSOR && !known[e]) invalid("node", i, "it reads a tensor that no node before it wrote");
            }
            for (uint32_t k = 0; k < n.outputs; ++k) {
                const uint32_t e = output(n, k);
                if (e == BP_NO_TENSOR) continue;
                if (!by_node[e])
                    invalid("node", i, "it writes a tensor that is no temporary, output or new value of a state");
                if (known[e]) invalid("node", i, "it writes a tensor that was written before");
                known[e] = true;
            }
        }
    }

    bp_graph graph_;
};

inline const char* op_name(uint32_t op) {
    switch (op) {
#define BP_OP_NAME(id, identifier, name) \
    case id: return name;
        BP_OPS(BP_OP_NAME)
#undef BP_OP_NAME
        default: return "unknown";
    }
}

}  // namespace backplane::sdk
