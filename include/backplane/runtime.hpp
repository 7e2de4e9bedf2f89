// Runtime: buffers, programs and sessions on an open Device.
//
//   Session session(device, graph, weights);          // compiles, packs the weights once
//   session.run({{"x", x_bytes}}, {{"y", y_bytes}});
//
// Handles keep their device alive. Different objects may be used from different threads; runs on one device are serialised.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/graph.hpp"

namespace backplane {

// Memory of one device.
class Buffer {
public:
    Buffer() = default;
    Buffer(const Device& device, uint64_t size);  // uninitialised. Throws Error(no_device_memory)
    // Uses the caller's memory in place where the device can, else throws Error(unsupported). `memory` outlives the Buffer.
    static Buffer import(const Device& device, std::span<std::byte> memory);

    [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
    [[nodiscard]] uint64_t size() const noexcept;
    void write(std::span<const std::byte> from, uint64_t offset = 0);
    void read(std::span<std::byte> into, uint64_t offset = 0) const;
    [[nodiscard]] bp_buffer* get() const noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
};

struct CompileOptions {
    bool plan_only = false;
    uint32_t math = BP_MATH_DEFAULT;
    uint64_t workspace_limit = 0;
    const std::atomic<uint32_t>* cancel = nullptr;
};

struct Slot {
    TensorId tensor;
    uint64_t bytes = 0, alignment = 0, layout = 0;
};

struct ProgramInfo {
    uint64_t workspace_bytes = 0, workspace_alignment = 0, resident_bytes = 0, host_bytes = 0, compile_ns = 0;
    uint32_t kernels = 0, cache_hits = 0;
    std::vector<Slot> slots;
    std::string summary;
};

struct Binding {
    TensorId tensor;
    Buffer buffer;
    uint64_t offset = 0, bytes = 0;
};

struct NodeSupport {
    bool supported = false;
    uint32_t reason = BP_WHY_NONE;
};

// What the device says of each node of the graph.
std::vector<NodeSupport> query(const Device& device, const Graph& graph);

// A graph compiled for one device: the thin layer over the ABI. Owns no weights and no workspace.
class Program {
public:
    Program() = default;
    Program(const Device& device, const Graph& graph, const CompileOptions& options = {});
    [[nodiscard]] const ProgramInfo& info() const;
    [[nodiscard]] const Device& device() const;
    void pack(const Slot& slot, std::span<const std::byte> plain, Buffer& into, uint64_t offset = 0) const;
    void run(std::span<const Binding> bindings, const Buffer& workspace,
             const std::atomic<uint32_t>* cancel = nullptr) const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

// Gives the plain bytes of a weight by its name in the graph. The span stays valid while the source lives.
using WeightSource = std::function<std::span<const std::byte>(std::string_view name)>;

// Packed weights of one device, shared by programs: (name, layout) -> buffer; and the workspace they take turns with.
// Thread-safe. A weight's name stands for its content: one store, one model.
class WeightStore {
public:
    WeightStore(const Device& device, WeightSource source);
    [[nodiscard]] Buffer get(const Program& program, const Slot& slot, const Tensor& tensor);
    [[nodiscard]] uint64_t bytes() const;  // held on the device, beside the source's own

    struct State;
    [[nodiscard]] const std::shared_ptr<State>& state() const noexcept { return state_; }  // for Session

private:
    std::shared_ptr<State> state_;
};

struct NamedBytes {
    std::string_view name;
    std::span<const std::byte> bytes;
};
struct NamedRoom {
    std::string_view name;
    std::span<std::byte> bytes;
};

// A program with its weights, state and workspace: bind host memory by name and run. Imports host memory without a copy where
// the device can. One run at a time per session.
class Session {
public:
    Session(const Device& device, const Graph& graph, WeightSource weights, const CompileOptions& options = {});
    Session(const Device& device, const Graph& graph, std::shared_ptr<WeightStore> weights,
            const CompileOptions& options = {});
    ~Session();
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;

    // Each input and output of the graph once, dense and row-major, of exactly bytes(dtype, shape). Throws Error(cancelled).
    void run(std::span<const NamedBytes> inputs, std::span<const NamedRoom> outputs,
             const std::atomic<uint32_t>* cancel = nullptr);
    // The same with the names written where it is called: run({{"x", x_bytes}}, {{"y", y_bytes}}).
    void run(std::initializer_list<NamedBytes> inputs, std::initializer_list<NamedRoom> outputs,
             const std::atomic<uint32_t>* cancel = nullptr) {
        run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), cancel);
    }
    void reset_state();  // zero
    [[nodiscard]] const Program& program() const;
    [[nodiscard]] const Graph& graph() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace backplane
