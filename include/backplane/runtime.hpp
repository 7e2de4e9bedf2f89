// Runtime: sessions on an open Device, and beneath them programs and buffers.
//
//   Session session(device, graph, weights);                          // compiles, packs the weights once
//   session.run({{"x", x_bytes}}, {{"y", y_bytes}});                  // host to host, done when it returns
//   Tensor y;
//   Event done = session.submit({{"x", x_bytes}}, {{"y", &y}});       // y stays on the device, usable at once
//
// Handles keep their device alive. Different objects may be used from different threads.
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
#include "backplane/tensor.hpp"

namespace backplane {

namespace plan {
class Program;
}

// Memory of one device, as a Program binds it, in bytes. Most use Tensor. Copies share the bytes. Threads: any that read; who writes bytes that another thread
// uses orders the two himself.
class Buffer {
public:
    Buffer() = default;                           // none
    Buffer(const Device& device, uint64_t size);  // uninitialised. Throws Error: invalid (no device), no_device_memory
    // Uses the caller's memory in place where the device can, else throws Error(unsupported). `memory` outlives the Buffer.
    static Buffer import(const Device& device, std::span<std::byte> memory);

    [[nodiscard]] explicit operator bool() const noexcept { return storage_ != nullptr; }
    [[nodiscard]] uint64_t size() const noexcept;
    // Each waits for the work that uses the bytes and returns when copied. Throws Error: invalid (outside of it), device_lost.
    void write(std::span<const std::byte> from, uint64_t offset = 0);
    void read(std::span<std::byte> into, uint64_t offset = 0) const;

private:
    friend struct BufferAccess;
    std::shared_ptr<plan::Storage> storage_;
};

// Who holds so much of a device's memory.
struct Holder {
    std::string name;  // "weights", "session: inputs", "workspace"; with names of their own: "whisper: weights"
    uint64_t bytes = 0;
};
// What this process holds of the memory of a device. Bytes.
struct Ledger {
    uint64_t total = 0, available = 0;  // of the device's first heap, as it says; 0: it does not say
    uint64_t limit = 0;                 // of limit_memory(); 0: none
    uint64_t held = 0;                  // by this process: of all holders
    std::vector<Holder> holders;        // largest first; memory of the host that the device uses in place is nobody's here
};
// As it stands now, of all sessions, weights and tensors on the device. Any thread. Throws Error: invalid without a device, device_lost.
[[nodiscard]] Ledger ledger(const Device& device);
// From now on this process holds no more of the device's memory than that; 0: what the device gives. What it holds beyond goes as far as it is spare;
// sessions that run on plan anew with less (SessionOptions::streaming), and what finds no room throws Error(no_device_memory). Any thread. Throws Error:
// invalid without a device.
void limit_memory(const Device& device, uint64_t bytes);

// How exactly a device computes.
enum class Math : uint32_t {
    standard =
        BP_MATH_DEFAULT,  // within the bounds of the conformance table (docs/conformance.md): Winograd and the like are allowed
    strict = BP_MATH_STRICT,  // each output is the plain sum of products in float32 or better, in any order
    relaxed =
        BP_MATH_RELAXED,  // half-precision arithmetic is allowed; beside weights in blocks, activations in bytes with a scale for each 32
};

struct CompileOptions {
    bool plan_only = false;  // what it takes is wanted, and no kernel: it does not run
    Math math = Math::standard;
    uint64_t workspace_limit = 0;                   // bytes; 0: none
    const std::atomic<uint32_t>* cancel = nullptr;  // non-zero, from any thread: throws Error(cancelled) soon
};

// A tensor of a graph that wants memory for each run.
struct Slot {
    TensorId tensor;
    uint64_t bytes = 0, alignment = 0;  // as the device has it, which of a weight is not bytes(dtype, shape)
    uint64_t layout = 0;                // 0: dense and row-major; equal numbers on one device are packed alike
};

struct ProgramInfo {
    uint64_t workspace_bytes = 0, workspace_alignment = 0;  // of memory that nothing else uses during a run
    uint64_t resident_bytes = 0, host_bytes = 0;            // that the program holds: of the device, of the host
    uint64_t compile_ns = 0;
    uint32_t kernels = 0, cache_hits = 0;  // built, and of these found in the kernel cache
    std::vector<Slot> slots;
    std::string summary;  // what was fused and chosen, a step a line; may be empty
};

// Where a slot is for a run: `bytes` of the buffer from `offset` on.
struct Binding {
    TensorId tensor;
    Buffer buffer;
    uint64_t offset = 0, bytes = 0;
};

// Why a device does not do a node.
enum class Why : uint32_t {
    none = BP_WHY_NONE,  // it does, or does not say
    op = BP_WHY_OP,
    attribute = BP_WHY_ATTRIBUTE,
    dtype = BP_WHY_DTYPE,
    shape = BP_WHY_SHAPE,
    symbolic = BP_WHY_SYMBOLIC,
    limit = BP_WHY_LIMIT,
    driver = BP_WHY_DRIVER,
};

struct NodeSupport {
    bool supported = false;
    Why reason = Why::none;
    std::string text;  // of a node that is not supported, in the module's words; empty: it has none
};

// What the device says of each node of the graph, in the graph's order. Any thread. Throws Error: invalid (no device), device_lost.
std::vector<NodeSupport> query(const Device& device, const Graph& graph);

// A graph compiled for one device: the thin layer over the ABI. Owns no weights and no workspace. Any thread; runs that are bound to the same buffers one
// after the other.
class Program {
public:
    Program() = default;  // none: what follows is not to be called
    // Throws Error: invalid (no device), unsupported (naming the nodes), no_device_memory, cancelled, device_lost.
    Program(const Device& device, const Graph& graph, const CompileOptions& options = {});
    [[nodiscard]] const ProgramInfo& info() const;
    [[nodiscard]] const Device& device() const;
    // The bytes of a weight, dense and row-major, in the layout of its slot: slot.bytes of `into`. Returns when they are there. Throws Error: invalid (no such
    // slot, no room), device_lost.
    void pack(const Slot& slot, std::span<const std::byte> plain, Buffer& into, uint64_t offset = 0) const;
    // Each slot bound once; workspace of workspace_bytes, or none where that is 0. Returns when done. Throws Error: invalid (a slot without a buffer, or with
    // too small a one), cancelled (outputs undefined), device_lost.
    void run(std::span<const Binding> bindings, const Buffer& workspace,
             const std::atomic<uint32_t>* cancel = nullptr) const;

private:
    friend class Session;
    struct State;
    explicit Program(std::shared_ptr<const plan::Program> program);
    std::shared_ptr<State> state_;
};

// Gives the plain bytes of a weight by its name in the graph. The span stays valid while the source lives.
using WeightSource = std::function<std::span<const std::byte>(std::string_view name)>;

// What sessions of one Weights have cost so far.
struct PlanCounts {
    uint64_t compiled = 0;  // programs
    uint64_t reused = 0;    // times that a program was there already
    uint64_t kept = 0;      // sizes whose programs are there now
};

// The weights of a model, for all of its sessions: those that are given copies of one Weights have each weight once on a device, packed
// once, whatever their sizes are. A weight's name stands for its content. What is on a device stays for the next session while a copy of the
// Weights lives, and goes and comes again when memory runs short. So do the programs of the sizes met last (SessionOptions::plans_kept): a
// session of a size that is known costs a lookup. Any thread.
class Weights {
public:
    // `name`: whose memory it is in ledger() and in errors; empty: "weights", and "session" for what sessions of it hold beside.
    explicit Weights(WeightSource source = {}, std::string name = {});
    [[nodiscard]] uint64_t bytes_on(const Device& device) const;  // of the device's memory, beside the source's own
    // Of the source's memory, which the device reads where it lies: what a plan has as weights on the device is this and bytes_on(). Which weights that are
    // says where the source has them: a device of the host's memory takes what is aligned as it wants.
    [[nodiscard]] uint64_t bytes_in_place(const Device& device) const;
    [[nodiscard]] PlanCounts plans() const;

    struct State;

private:
    friend struct WeightsAccess;
    std::shared_ptr<State> state_;
};

// An input of a run: host memory, or a tensor on a device.
struct Input {
    Input(std::string_view name_, std::span<const std::byte> bytes_) : name(name_), bytes(bytes_) {}
    Input(std::string_view name_, Tensor tensor_) : name(name_), tensor(std::move(tensor_)) {}
    std::string_view name;
    std::span<const std::byte>
        bytes;      // the caller's, unchanged until the Event is done: dense and row-major, exactly bytes(dtype, shape)
    Tensor tensor;  // of the graph's dtype and shape; one of another device is copied
};
// An output of a run: host memory, or a tensor. An empty tensor becomes the result where it was made; a full one is written into.
struct Output {
    Output(std::string_view name_, std::span<std::byte> bytes_) : name(name_), bytes(bytes_) {}
    Output(std::string_view name_, Tensor* tensor_) : name(name_), tensor(tensor_) {}
    std::string_view name;
    std::span<std::byte> bytes;  // the caller's, written by the time the Event is done
    Tensor* tensor = nullptr;
};
using NamedBytes = Input;
using NamedRoom = Output;

// Sizes of a network whose programs stay for later sessions of the same Weights, unless SessionOptions says otherwise.
inline constexpr uint32_t kPlansKept = 8;

// Weights that are copied for each run, into a ring that the parts of a graph take in turns, in place of staying on the device.
enum class Streaming {
    automatic,  // where a device has no room for all weights
    never,
    always  // also where it has
};

inline constexpr uint64_t kAllWeights = UINT64_MAX;

struct SessionOptions {
    CompileOptions compile;
    // So many graphs (sizes of a network), those asked for last, keep their programs for later sessions that are given a copy of the same
    // Weights; 0: none. A program takes a few KiB of the host, and device memory for constants of its graph, which goes first when it is short.
    uint32_t plans_kept = kPlansKept;
    // Bytes of the first device that the weights and all else may take; 0: what it has. Where that is too little weights are streamed: as many as there
    // is room for, those of the first ops, stay there for all runs, the others are copied for each, under the work of the ones before. Then the first
    // device runs the whole graph, in one submit at a time. fit.hpp says what that takes. Error(no_device_memory): no such plan is small enough.
    uint64_t budget = 0;
    // The same by what weights that stay and the ring for the others may take, whatever else the graph takes; 0: `budget` decides. Sessions of one network in
    // several sizes that are given the same number keep the same weights on the device, which they share (Fit::weight_budget). kAllWeights: all stay, whoever
    // asks has seen that they have room.
    uint64_t weight_budget = 0;
    // automatic: weights are streamed as within a budget, too, where the first device has memory of its own (not the host's), could run the whole graph, and
    // has no room for all weights: by its figures when the session is made, or because an allocation fails, then and in mid-run. The plan is made anew with
    // three quarters of the memory, up to six times in a session's life, and the run is done; notes() says so. A run that has changed a state is not begun
    // anew, nor a submit whose memory runs short after submit() returned: they throw. always: as little stays as can.
    Streaming streaming = Streaming::automatic;
    // 2 and up: the first so many devices work on each run together. Each has a part of the columns of a product and the matching rows of the one behind
    // it, heads of attention and channels of depthwise convolutions between them, and the sums cross from each to each; what is not reached by that each
    // does for itself. The results are within the bound of several roundings of one. An input of which each device reads a part of the first axis alone is
    // wanted in parts, called row_input(name, part, rows), best as tensors on their devices; Session::graph() has what is wanted. For devices of like speed
    // whose links are fast. Without streaming and budgets. Throws Error(unsupported) where nothing can be split, and for graphs with state.
    uint32_t rows = 1;
    // Of each node of the graph which device does it, by its place among those that are given; empty: the first, as far as it can. Where some do, each has a
    // stage between two crossings, and the stages of a crossing run at the same time; what one makes goes to who wants it. As with rows without streaming and
    // budgets, and for graphs without state.
    std::vector<uint32_t> device_of = {};
    // Of a Pipeline, how much of the graph's work each part has (cost.hpp says what devices of unlike speed want); empty: as much as the others.
    std::vector<double> shares = {};
    // Of a Pipeline, so many parts for each device, smaller ones, in turns: of B passes that each take c on one device, n devices need c / n for each and
    // c / n / rounds more until the last of them has something to do. 0: as many as suit the graph's work.
    uint32_t rounds = 1;
    bool check_ops = true;  // a driver's first use: a few cases of each op; one that comes out wrong goes to the next device
    bool build_elsewhere = true;  // a device without memory for its part hands over already when the session is made
    // Weights are read and brought with the first run; until then the session takes nothing of a device but its programs' constants. What memory runs
    // short then is met as in mid-run, and what the source of weights throws the first run throws. For components of which not all are there at once.
    bool read_at_first_run = false;
};

// "positions (1 of 2)": of a session with rows, the input that has the part of device `part` (from 0) of an input.
[[nodiscard]] std::string row_input(std::string_view name, uint32_t part, uint32_t parts);

// How often a device has run a stage of a session's plan: counted by what hands the work over, when the device has taken it.
struct StageRuns {
    std::string device;  // id, "cpu:0"
    size_t nodes = 0;    // of the stage
    std::string ops;     // "Conv x 12, Relu x 12"
    uint64_t runs = 0;
};

// A program with its weights, state and workspace: bind memory by name and run. Host memory is used in place where the device can. One
// thread submits to a session at a time; Events are anyone's. Sessions on one device run beside each other as far as it can.
class Session {
public:
    // Throws Error: unsupported (names the nodes), no_device_memory (lists who holds what), what the source of weights throws.
    Session(const Device& device, const Graph& graph, WeightSource weights, const CompileOptions& options = {});
    Session(const Device& device, const Graph& graph, const Weights& weights, const CompileOptions& options = {});
    // Devices best first: the next ones do what the first does not support, and what remains when it is lost (docs/several-devices.md).
    Session(const std::vector<Device>& devices, const Graph& graph, const Weights& weights,
            const SessionOptions& options = {});
    ~Session();  // waits for what it submitted
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;

    // Each input and output of the graph once. Returns when it is done. Throws Error: invalid, not_found (then nothing has run), cancelled.
    void run(std::span<const Input> inputs, std::span<const Output> outputs, const std::atomic<uint32_t>* cancel = nullptr);
    // The same with the names written where it is called: run({{"x", x_bytes}}, {{"y", y_bytes}}).
    void run(std::initializer_list<Input> inputs, std::initializer_list<Output> outputs,
             const std::atomic<uint32_t>* cancel = nullptr) {
        run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), cancel);
    }
    // Returns when the work is under way; all arguments are checked before any is. Host memory and `cancel` stay the caller's until the Event is
    // done; letting the Event go cancels nothing. With three submits under way the next one waits for the first. Throws Error as run(); what
    // goes wrong later the Event throws.
    Event submit(std::span<const Input> inputs, std::span<const Output> outputs,
                 const std::atomic<uint32_t>* cancel = nullptr);
    Event submit(std::initializer_list<Input> inputs, std::initializer_list<Output> outputs,
                 const std::atomic<uint32_t>* cancel = nullptr) {
        return submit(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), cancel);
    }

    // A state by its name, shared: what another session writes into it this one sees. Handing the state of the session that filled it to
    // the one that goes on costs nothing. Both wait for what this session has submitted. set_state throws Error(invalid) unless dtype and
    // shape are the graph's; a state of another device is copied when it is needed.
    [[nodiscard]] Tensor state(std::string_view name);
    void set_state(std::string_view name, const Tensor& tensor);
    void reset_state();  // zero
    // A component that is done for now: waits for what was submitted, and gives back what the session takes of its devices and of pinned memory, but for
    // states, programs, tensors that were handed out and weights that other sessions use as well. The next run reads and brings it again.
    void release();
    [[nodiscard]] const Program& program()
        const;  // of a graph that is not cut, on its first device; Error(not_found) otherwise
    [[nodiscard]] const Graph& graph() const;
    [[nodiscard]] std::vector<std::string> notes()
        const;                                    // what is not where it was wanted, and why, a sentence each; may grow
    [[nodiscard]] std::string describe() const;   // the plan: stages, devices, where weights live, bytes; lines
    [[nodiscard]] std::string plan_json() const;  // the same for programs
    // What ran where so far: by stage and device, those that ran. Any thread.
    [[nodiscard]] std::vector<StageRuns> runs() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace backplane
