// Ops are numbers, and releases of ggml put new ones between the old: a module of another release computes something else under the same
// number, or crashes. What stands behind the insertion has moved, so the ends of the enumerations tell.
#include <algorithm>
#include <array>
#include <cmath>

#include "backplane/sdk.hpp"
#include "module_check.hpp"

namespace backplane::ggml {

namespace {

constexpr int64_t kOpValues = 8;
constexpr std::array<float, kOpValues> kOpInput{-2.5F, -1, 0.5F, 3.25F, 2, -4, 8, 0.25F};

float relu_of(float x) { return std::max(x, 0.0F); }

// What an op makes of kOpInput. Gated ones have the gate in the second half.
struct OpCase {
    const char* name;
    Tensor* (*BaseLibrary::*make)(Context*, Tensor*);
    float (*value)(size_t i);
    size_t results;
};

constexpr OpCase kOpCases[] = {
    {"ggml_relu", &BaseLibrary::relu, [](size_t i) { return relu_of(kOpInput[i]); }, 8},
    {"ggml_trunc", &BaseLibrary::trunc, [](size_t i) { return std::trunc(kOpInput[i]); }, 8},
    {"ggml_reglu", &BaseLibrary::reglu, [](size_t i) { return relu_of(kOpInput[i]) * kOpInput[i + 4]; }, 4},
    {"ggml_geglu_quick", &BaseLibrary::geglu_quick,
     [](size_t i) { return kOpInput[i] / (1 + std::exp(-1.702F * kOpInput[i])) * kOpInput[i + 4]; }, 4},
};

// Frees in the order in which ggml wants it.
class OpMemory {
public:
    OpMemory(const BaseLibrary& base, Device* device)
        : base_(base), buffer_(base.backend_buft_alloc_buffer(base.backend_dev_buffer_type(device), 4096)) {}
    ~OpMemory() {
        if (buffer_ != nullptr) base_.backend_buffer_free(buffer_);
    }
    OpMemory(const OpMemory&) = delete;
    OpMemory& operator=(const OpMemory&) = delete;
    // At a place of its own. False: it could not be placed.
    [[nodiscard]] bool place(Tensor* tensor, size_t at) const {
        return buffer_ != nullptr &&
               base_.backend_tensor_alloc(buffer_, tensor,
                                          static_cast<char*>(base_.backend_buffer_get_base(buffer_)) + at) == kSuccess;
    }

private:
    const BaseLibrary& base_;
    Buffer* buffer_;
};

bool check_op(const BaseLibrary& base, Device* device, Backend* backend, const OpCase& wanted) {
    const auto make = base.*wanted.make;
    if (make == nullptr) return false;  // an older release
    const ContextHandle context(base, 8, 8);
    Tensor* x = base.new_tensor_4d(context.get(), kF32, kOpValues, 1, 1, 1);
    Tensor* y = make(context.get(), x);
    const OpMemory memory(base, device);
    if (!memory.place(x, 0) || !memory.place(y, 2048)) return false;
    Graph* graph = base.new_graph_custom(context.get(), 8, false);
    base.build_forward_expand(graph, y);
    base.backend_tensor_set(x, kOpInput.data(), 0, sizeof kOpInput);
    std::array<float, kOpValues> result{};
    result.fill(-1e30F);
    base.backend_tensor_set(y, result.data(), 0, wanted.results * sizeof(float));
    const int32_t status = base.backend_graph_compute(backend, graph);
    base.backend_tensor_get(y, result.data(), 0, wanted.results * sizeof(float));
    for (size_t i = 0; i < wanted.results; ++i)
        if (status != kSuccess || !(std::abs(result[i] - wanted.value(i)) <= 0.02F * (1 + std::abs(wanted.value(i)))))
            throw sdk::Failure(BP_VERSION,
                               std::string("it was not built for the libggml-base of its folder: it computes something else "
                                           "than ") +
                                   wanted.name + " under the number that " + base.version_text() + " gives it (" +
                                   std::to_string(y->op) + ")");
    return true;
}

}  // namespace

bool check_op_numbers(const BaseLibrary& base, Device* device, Backend* backend,
                      const std::function<void(const std::string&)>& step) {
    Registration* registration = base.backend_dev_backend_reg(device);
    if (const auto set_threads =
            reinterpret_cast<SetThreads>(base.backend_reg_get_proc_address(registration, "ggml_backend_set_n_threads")))
        set_threads(backend, 1);
    bool proven = false;
    for (const OpCase& wanted : kOpCases) {
        if (step) step(std::string("numbers of ops: ") + wanted.name);
        proven = check_op(base, device, backend, wanted) || proven;
    }
    return proven;
}

}  // namespace backplane::ggml
