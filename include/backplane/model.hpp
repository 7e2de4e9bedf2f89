// Networks from the files that people publish them in, ONNX for now, on the devices of a Context.
//
//   ModelSession session(context.choose_with_fallback(), Model::from_onnx("det.onnx"));
//   const std::vector<ModelResult> results = session.run({{"x", std::as_bytes(std::span(pixels)), {1, 3, 640, 480}}});
//
// A model may leave sizes open (a batch, a width, the length of a text): each run says what they are by the shapes of its inputs, and the plan of each
// size is kept. So it is with small inputs whose content decides what is computed (a sample rate, a list of axes): there is a plan for each content.
// Format: docs/onnx.md says which operators there are. In the library backplane::models.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backplane/runtime.hpp"

namespace backplane {

// What elements are called: "f32", and "u32" or "u64" of those without a sign that i32 or i64 hold.
inline const char* element_name(DType dtype, bool is_unsigned) noexcept {
    return !is_unsigned ? name_of(dtype) : dtype == DType::i32 ? "u32" : "u64";
}

// An input or output as the file declares it.
struct ModelValue {
    std::string name;
    DType dtype = DType::unknown;      // unknown: of a type that graphs do not have
    Shape shape;                       // -1: open
    std::vector<std::string> symbols;  // of each axis: the name of what is open, "batch"; "" where it has none
    bool has_shape = true;             // false: not even the number of axes is said
    bool is_unsigned = false;  // of ONNX's uint32 or uint64: dtype is i32 or i64, bytes are those of uint32_t or uint64_t
};

struct ModelInfo {
    std::string format;  // "ONNX"
    std::string name, producer, producer_version, description;
    int64_t ir_version = 0, opset = 0;
    std::map<std::string, uint64_t> ops;  // how often each operator is there, by the file's name for it; in branches too
    uint64_t parameters = 0;              // elements of its tensors that are not inputs
    uint64_t weight_bytes = 0;            // of these
    std::map<std::string, std::string> metadata;
};

// An input of a run: host memory, or a tensor on a device.
struct ModelInput {
    // dtype unknown: what the model says. An empty shape: what the model says, which must then leave nothing open, or a scalar.
    ModelInput(std::string_view name_, std::span<const std::byte> bytes_, Shape shape_ = {}, DType dtype_ = DType::unknown)
        : name(name_), bytes(bytes_), shape(std::move(shape_)), dtype(dtype_) {}
    ModelInput(std::string_view name_, Tensor tensor_) : name(name_), tensor(std::move(tensor_)) {}
    // Of a shape alone, for what runs nothing: Model::graph(), Model::check(), ModelSession::prepare().
    ModelInput(std::string_view name_, Shape shape_) : name(name_), shape(std::move(shape_)) {}

    std::string_view name;
    std::span<const std::byte> bytes;  // dense and row-major, exactly bytes(dtype, shape); unchanged while the call lasts
    Shape shape;
    DType dtype = DType::unknown;
    Tensor tensor;  // of another device is copied
};

// An output of a run in host memory.
struct ModelResult {
    std::string name;
    DType dtype = DType::unknown;
    Shape shape;
    std::vector<std::byte> bytes;  // dense and row-major
    bool is_unsigned = false;      // as ModelValue's

    // As elements of a type. Throws Error(invalid) unless they have its size.
    template <typename Element>
    [[nodiscard]] std::span<const Element> as() const {
        if (sizeof(Element) * static_cast<size_t>(elements(shape)) != bytes.size())
            throw Error(Code::invalid,
                        "output '" + name + "' is of " + name_of(dtype) + ", whose elements have another size");
        return {reinterpret_cast<const Element*>(bytes.data()), bytes.size() / sizeof(Element)};
    }
};

// What becomes of a node of the file.
struct ModelNode {
    std::string name, op;  // the file's; where it has no name for the node, that of its first result
    std::string device;    // that runs it, "cpu:0"; empty: none does, or there is nothing to run
    bool folded = false;   // it follows from constants and sizes, or is a part of a node beside it: nothing is left to run
    // Why it does not run, or not on a device before that one: "vulkan:0: Conv is not done for f64[..]", a sentence each.
    std::vector<std::string> why;
};

// A file that was read. Immutable, and any member may be called from many threads; copies share what they hold.
class Model {
public:
    // Maps the file; weights are used where they lie in it. Tensors in other files are found in the folder of this one and nowhere else.
    // Throws Error: not_found, denied (what the system says; a tensor's file outside of that folder), corrupt (a file that lies or is cut off, naming
    // the field), unsupported (an opset outside 6 to 24, a tensor of a type that graphs do not have). What its nodes are is not looked at yet.
    static Model from_onnx(const std::filesystem::path& path);
    // The same from memory that outlives every copy of the Model; without tensors in other files. `name`: for messages.
    static Model from_onnx(std::span<const std::byte> bytes, const std::string& name);

    [[nodiscard]] const ModelInfo& info() const noexcept;
    [[nodiscard]] const std::vector<ModelValue>& inputs() const noexcept;  // that must be given
    [[nodiscard]] const std::vector<ModelValue>& outputs() const noexcept;

    // The graph for the shapes of these inputs, and for the content of those that were given one where it is asked for. It has the names of the model
    // for its inputs and outputs, but no input that nothing depends on, or that it is made for. Throws Error: unsupported (an operator, attribute,
    // type or size that graphs do not have, beginning with the operator's name; a shape or content that is needed and not given), invalid (names and
    // shapes that do not fit the model).
    [[nodiscard]] Graph graph(std::span<const ModelInput> inputs) const;
    [[nodiscard]] Graph graph(std::initializer_list<ModelInput> inputs) const {
        return graph(std::span(inputs.begin(), inputs.size()));
    }
    [[nodiscard]] WeightSource weights() const;  // of such graphs; valid while any copy of this Model lives

    // Where each node would run on these devices, best first, and why not: as ModelSession has it, compiling nothing. All nodes are looked at, also
    // behind one that does not go; no graph, no device is an error here. Throws Error(invalid) as graph().
    [[nodiscard]] std::vector<ModelNode> check(std::span<const Device> devices, std::span<const ModelInput> inputs) const;

    struct State;  // the library's own

private:
    friend class ModelSession;
    explicit Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
    std::shared_ptr<const State> state_;
};

struct ModelOptions {
    SessionOptions session;
    uint32_t plans_kept = kPlansKept;  // so many sizes (and contents), those run last, keep their sessions; at least 1
};

// A model on devices. One thread uses a session at a time; sessions of one Model may run beside each other.
class ModelSession {
public:
    // Devices best first: the next ones do what the first does not support, and what remains when it is lost. Compiles nothing yet.
    // Throws Error(invalid) without a device.
    ModelSession(std::vector<Device> devices, Model model, const ModelOptions& options = {});
    ~ModelSession();
    ModelSession(ModelSession&&) noexcept;
    ModelSession& operator=(ModelSession&&) noexcept;

    // Each input of the model once. Returns all outputs, in the model's order, in host memory. The first run of a size compiles its plan. Throws Error as
    // Model::graph() and Session::run().
    [[nodiscard]] std::vector<ModelResult> run(std::span<const ModelInput> inputs,
                                               const std::atomic<uint32_t>* cancel = nullptr);
    [[nodiscard]] std::vector<ModelResult> run(std::initializer_list<ModelInput> inputs,
                                               const std::atomic<uint32_t>* cancel = nullptr) {
        return run(std::span(inputs.begin(), inputs.size()), cancel);
    }
    // The same into memory of the caller or tensors on a device (Output); outputs that are not named are not copied.
    void run(std::span<const ModelInput> inputs, std::span<const Output> outputs,
             const std::atomic<uint32_t>* cancel = nullptr);

    // The outputs that a run of these inputs would have: nothing is open. Compiles the plan where it is not there yet.
    [[nodiscard]] std::vector<ModelValue> prepare(std::span<const ModelInput> inputs);

    [[nodiscard]] const Model& model() const noexcept;
    [[nodiscard]] std::vector<std::string> notes()
        const;  // what is not where it was wanted, and why, a sentence each; of the last plan
    [[nodiscard]] std::string describe()
        const;  // the plan that ran last: stages, devices, bytes; lines. Empty before the first
    [[nodiscard]] std::vector<StageRuns> runs() const;  // what ran where so far, of the plans that are kept
    [[nodiscard]] PlanCounts plans() const;             // compiled, found again, kept

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace backplane
