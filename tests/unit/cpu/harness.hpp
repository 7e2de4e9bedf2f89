// Builds graphs by hand and runs them on the cpu backend through the module ABI: no other part of the project is involved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backplane/module.h"
#include "backplane/ops.h"
#include "levels.hpp"

extern "C" const bp_module_api* backplane_cpu(uint32_t host_abi);

namespace harness {

using Floats = std::vector<float>;
using Dims = std::vector<int64_t>;

inline int64_t count(const Dims& dims) {
    int64_t n = 1;
    for (const int64_t d : dims) n *= d;
    return n;
}

Floats random_floats(int64_t n, unsigned seed, float scale = 1.0f);

struct Attribute {
    uint32_t id;
    int64_t integer = 0;
    double number = 0;
    std::vector<int64_t> list;
    uint32_t type = BP_ATTRIBUTE_INT;
};
inline Attribute integer(uint32_t id, int64_t v) { return {id, v, 0, {}, BP_ATTRIBUTE_INT}; }
inline Attribute number(uint32_t id, double v) { return {id, 0, v, {}, BP_ATTRIBUTE_FLOAT}; }
inline Attribute list(uint32_t id, std::vector<int64_t> v) { return {id, 0, 0, std::move(v), BP_ATTRIBUTE_INTS}; }

// A graph and the bytes of what is bound to it.
class Graph {
public:
    uint32_t tensor(uint32_t role, Dims dims, uint32_t dtype = BP_F32) {
        bp_tensor t{};
        t.struct_size = sizeof t;
        t.dtype = dtype;
        t.role = role;
        t.rank = static_cast<uint32_t>(dims.size());
        for (size_t i = 0; i < dims.size(); ++i) t.dim[i] = dims[i];
        tensors_.push_back(t);
        return static_cast<uint32_t>(tensors_.size() - 1);
    }
    uint32_t bound(uint32_t role, Dims dims, const Floats& data) {
        const uint32_t id = tensor(role, std::move(dims));
        bytes_[id].resize(data.size() * sizeof(float));
        if (!data.empty()) std::memcpy(bytes_[id].data(), data.data(), bytes_[id].size());
        return id;
    }
    uint32_t bound_bytes(uint32_t role, Dims dims, uint32_t dtype, std::vector<std::byte> data) {
        const uint32_t id = tensor(role, std::move(dims), dtype);
        bytes_[id] = std::move(data);
        return id;
    }
    uint32_t input(Dims dims, const Floats& data) { return bound(BP_ROLE_INPUT, std::move(dims), data); }
    uint32_t weight(Dims dims, const Floats& data) { return bound(BP_ROLE_WEIGHT, std::move(dims), data); }
    uint32_t constant(Dims dims, const Floats& data) {
        const uint32_t id = bound(BP_ROLE_CONSTANT, std::move(dims), data);
        tensors_[id].data = {bytes_[id].data(), bytes_[id].size()};
        return id;
    }
    // Adds a node; `dims` are those of its result.
    uint32_t add(uint32_t op, const std::vector<uint32_t>& inputs, Dims dims, std::vector<Attribute> attributes = {},
                 uint32_t dtype = BP_F32) {
        const uint32_t out = tensor(BP_ROLE_TEMPORARY, std::move(dims), dtype);
        bp_node n{};
        n.struct_size = sizeof n;
        n.op = op;
        n.input = static_cast<uint32_t>(edges_.size());
        n.inputs = static_cast<uint32_t>(inputs.size());
        edges_.insert(edges_.end(), inputs.begin(), inputs.end());
        n.output = static_cast<uint32_t>(edges_.size());
        n.outputs = 1;
        edges_.push_back(out);
        n.attribute = static_cast<uint32_t>(attributes_.size());
        n.attributes = static_cast<uint32_t>(attributes.size());
        for (Attribute& a : attributes) {
            bp_attribute b{};
            b.struct_size = sizeof b;
            b.id = a.id;
            b.type = a.type;
            b.integer = a.integer;
            b.number = a.number;
            lists_.push_back(std::move(a.list));
            b.integers = {lists_.back().data(), lists_.back().size() * sizeof(int64_t)};
            attributes_.push_back(b);
        }
        nodes_.push_back(n);
        return out;
    }
    void output(uint32_t id) {
        tensors_[id].role = BP_ROLE_OUTPUT;
        outputs_.push_back(id);
    }
    [[nodiscard]] const Dims dims(uint32_t id) const { return {tensors_[id].dim, tensors_[id].dim + tensors_[id].rank}; }

    [[nodiscard]] bp_graph view() const {
        auto span = [](const auto& v) {
            return bp_span{v.data(), static_cast<uint32_t>(v.size()), static_cast<uint32_t>(sizeof(v[0]))};
        };
        bp_graph g{};
        g.struct_size = sizeof g;
        g.tensors = span(tensors_);
        g.nodes = span(nodes_);
        g.attributes = span(attributes_);
        g.edges = span(edges_);
        return g;
    }
    std::vector<bp_tensor> tensors_;
    std::vector<uint32_t> outputs_;
    std::map<uint32_t, std::vector<std::byte>> bytes_;

private:
    std::vector<bp_node> nodes_;
    std::vector<bp_attribute> attributes_;
    std::vector<uint32_t> edges_;
    std::deque<std::vector<int64_t>> lists_;
};

// Turns a bp_code into an exception that carries the module's text.
class Check {
public:
    Check() { error_ = {sizeof(bp_error), 0, 0, text_, sizeof text_}; }
    operator bp_error*() { return &error_; }
    void operator()(bp_code code) const {
        if (code != BP_OK) throw std::runtime_error(std::to_string(code) + ": " + text_);
    }

private:
    char text_[512] = {};
    bp_error error_{};
};

struct Options {
    std::string mask, threads;
    decltype(bp_host::parallel) parallel = nullptr;  // its `self` is the Options
};

// An open device of the backend.
class Device {
public:
    explicit Device(Options options = {}) : options_(std::move(options)) {
        host_.struct_size = sizeof host_;
        host_.abi = BP_ABI;
        host_.self = &options_;
        host_.parallel = options_.parallel;
        host_.option = [](void* self, const char* name) -> const char* {
            const auto& o = *static_cast<Options*>(self);
            const std::string n = name;
            const std::string none;
            const std::string& v = n == "host.cpu-mask" ? o.mask : n == "cpu.threads" ? o.threads : none;
            return v.empty() ? nullptr : v.c_str();
        };
        Check check;
        check(api->open(&host_, &module_, check));
        check(api->device_open(module_, 1, &device, check));
    }
    ~Device() {
        api->device_close(device);
        api->close(module_);
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] std::string level() const {
        bp_device_info info{};
        info.struct_size = sizeof info;
        const bp_array array{&info, 1, sizeof info};
        uint32_t n = 0;
        Check check;
        check(api->list(module_, &array, &n, check));
        return info.features;
    }
    [[nodiscard]] const void* extension(const char* id) const { return api->extension(module_, id); }

    const bp_module_api* api = backplane_cpu(BP_ABI);
    bp_device* device = nullptr;

private:
    Options options_;
    bp_host host_{};
    bp_module* module_ = nullptr;
};

// A compiled graph with everything bound.
class Program {
public:
    Program(Device& device, Graph& graph, uint32_t math = BP_MATH_DEFAULT) : device_(device), graph_(graph) {
        const auto* api = device.api;
        const bp_graph view = graph.view();
        bp_compile how{};
        how.struct_size = sizeof how;
        how.math = math;
        Check check;
        check(api->compile(device.device, &view, &how, &program_, check));
        info.struct_size = sizeof info;
        check(api->program_info(program_, &info, check));
        for (uint32_t i = 0; i < info.slots.count; ++i) bind(i);
        check(api->buffer_create(device.device, 0, info.workspace_bytes, &workspace_, check));
    }
    ~Program() {
        for (const bp_binding& b : bindings_) device_.api->buffer_close(b.buffer);
        device_.api->buffer_close(workspace_);
        device_.api->program_close(program_);
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    // With a signal: submits it.
    void run(bp_point signal = {}) {
        bp_run how{};
        how.struct_size = sizeof how;
        how.bindings = {bindings_.data(), static_cast<uint32_t>(bindings_.size()), sizeof(bp_binding)};
        how.workspace = workspace_;
        how.signal = signal;
        Check check;
        check(device_.api->run(program_, &how, check));
    }
    // The tensor lies there from now on: memory of the caller's, 8-byte aligned, which outlives this.
    void place(uint32_t tensor, void* memory) {
        for (bp_binding& b : bindings_)
            if (b.tensor == tensor) {
                Check check;
                bp_buffer* there = nullptr;
                check(device_.api->buffer_import(device_.device, memory, b.bytes, &there, check));
                device_.api->buffer_close(std::exchange(b.buffer, there));
            }
    }
    template <typename T = float>
    [[nodiscard]] std::vector<T> read(uint32_t tensor) const {
        for (const bp_binding& b : bindings_)
            if (b.tensor == tensor) {
                void* at = nullptr;
                Check check;
                check(device_.api->buffer_map(b.buffer, 0, b.bytes, &at, check));
                std::vector<T> out(b.bytes / sizeof(T));
                if (b.bytes != 0) std::memcpy(out.data(), at, b.bytes);
                return out;
            }
        throw std::runtime_error("tensor is not bound");
    }
    bp_program_info info{};

private:
    void bind(uint32_t i) {
        const auto* slot = BP_AT(bp_slot, &info.slots, i);
        Check check;
        bp_binding b{};
        b.struct_size = sizeof b;
        b.tensor = slot->tensor;
        b.bytes = slot->bytes;
        check(device_.api->buffer_create(device_.device, 0, slot->bytes, &b.buffer, check));
        bindings_.push_back(b);
        const auto& bytes = graph_.bytes_[slot->tensor];
        if (bytes.empty()) return;
        bp_copy copy{};
        copy.struct_size = sizeof copy;
        copy.from_host = bytes.data();
        copy.to_buffer = b.buffer;
        copy.bytes = bytes.size();
        check(slot->layout != 0 ? device_.api->pack(program_, i, &copy, check)
                                : device_.api->copy(device_.device, &copy, check));
    }
    Device& device_;
    Graph& graph_;
    bp_program* program_ = nullptr;
    bp_buffer* workspace_ = nullptr;
    std::vector<bp_binding> bindings_;
};

// Masks that leave each level of this build once, best first, on a CPU that has them all.
inline std::vector<std::string> masks() {
    std::vector<std::string> levels = backplane::cpu::built_levels();
    std::vector<std::string> masks;
    for (std::string mask;; mask += (mask.empty() ? "" : ",") + levels.back(), levels.pop_back()) {
        masks.push_back(mask);
        if (levels.size() == 1) return masks;
    }
}

}  // namespace harness
