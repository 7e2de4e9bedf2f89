// The C handles and how exceptions end at the C line.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "backplane/backplane.h"
#include "backplane/context.hpp"
#include "backplane/graph.hpp"
#include "backplane/runtime.hpp"

struct backplane_context {
    backplane::Context context;
};
struct backplane_device {
    backplane::Device device;
};
struct backplane_graph {
    backplane::Graph graph;
};
struct backplane_session {
    backplane::Session session;
};
struct backplane_tensor {
    backplane::Tensor tensor;
};
struct backplane_weights {
    backplane::Weights weights;
};
struct backplane_event {
    backplane::Event event;
};

namespace backplane::capi {

bp_code fail(bp_error* error, bp_code code, std::string_view text) noexcept;
bp_code fail_with_current_exception(bp_error* error) noexcept;

// Runs the body; whatever it throws becomes a code and a sentence.
template <typename Body>
bp_code guarded(bp_error* error, Body body) noexcept {
    try {
        body();
        return BP_OK;
    } catch (...) {
        return fail_with_current_exception(error);
    }
}

inline const std::atomic<uint32_t>* cancel_of(const volatile uint32_t* cancel) noexcept {
    return reinterpret_cast<const std::atomic<uint32_t>*>(const_cast<const uint32_t*>(cancel));
}

// A source of the C API as one of the C++ API; null: one that has no weights.
WeightSource source_of(backplane_weight_source source, void* arg);

// Throws Error(invalid) when a pointer that must be given is null.
void require(const void* pointer, const char* what);

}  // namespace backplane::capi
