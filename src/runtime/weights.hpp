// What copies of a Weights share: the source, the interest in what of it is on devices, and what is known of these devices' ops.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "backplane/runtime.hpp"
#include "plan/executor.hpp"
#include "runtime/kept_programs.hpp"
#include "runtime/spread/op_checks.hpp"

namespace backplane {

namespace runtime {
class RowWeights;
}

struct Weights::State {
    State(WeightSource source_, const std::string& name_)
        : name(name_),
          holder(name_.empty() ? "weights" : name_ + ": weights"),
          session_holder(name_.empty() ? "session" : name_),
          source(std::make_shared<const WeightSource>(std::move(source_))) {}

    const std::string name, holder, session_holder;  // as given; lines of the ledger
    std::shared_ptr<const WeightSource> source;
    runtime::KeptPrograms programs;
    mutable std::mutex mutex;  // of what follows
    std::unordered_set<plan::Residency::Interest>
        interests;  // in what any session of these weights wanted: it stays for the next one
    struct Ops {
        std::map<Op, runtime::OpFault> faulty;
        std::set<Op> checked;
    };
    std::map<std::string, Ops> ops;             // by device id
    std::shared_ptr<runtime::RowWeights> rows;  // of sessions whose devices have rows of products; null: none yet

    // Of images on the device: in its memory, or in the source's.
    [[nodiscard]] uint64_t bytes_on(const Device& device, bool in_place) const;

    // What the device gets wrong, or does not run, of these ops. Throws Error(device_lost).
    std::map<Op, runtime::OpFault> faulty_ops(const Device& device, const std::set<Op>& wanted);
};

struct WeightsAccess {
    static const std::shared_ptr<Weights::State>& state_of(const Weights& weights) { return weights.state_; }
};

// What the images of a program's weights have in common.
struct WeightOrigin;
std::shared_ptr<const WeightOrigin> origin_of(const Weights::State& weights, const Graph& graph,
                                              const std::shared_ptr<const plan::Program>& program);
bool is_origin_of(const std::shared_ptr<const WeightOrigin>& origin, const Graph& graph,
                  const std::shared_ptr<const plan::Program>& program) noexcept;  // null is none

// How a weight, the tensor `id` of the origin's graph, comes to the port of `program`, for its slot.
plan::Image image_of(const std::shared_ptr<Weights::State>& weights, const std::shared_ptr<const WeightOrigin>& origin,
                     TensorId id, const std::shared_ptr<const plan::Program>& program, uint32_t slot, bool streamed);

}  // namespace backplane
