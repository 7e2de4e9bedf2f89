// What Session and SpreadSession are made of: a graph, a plan of it, an executor; names for the values.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/runtime.hpp"
#include "plan/executor.hpp"
#include "runtime/spread/cut.hpp"
#include "runtime/weights.hpp"

namespace backplane::runtime {

// A part of the graph, and the devices that can run it, best first.
struct PlannedPart {
    std::vector<uint32_t> devices;
    std::vector<size_t> nodes;  // of the whole graph; empty: all of it as it is
    std::set<uint32_t> streamed =
        {};  // weights that are copied for each run, tensors of the whole graph; the others stay on the device
    std::optional<DType> sum = {};  // see plan::Stage
};

struct CoreOptions {
    CompileOptions compile;
    uint32_t frames = 3;    // submits under way at a time
    bool elsewhere = true;  // a device without memory hands its part over already now
    uint32_t plans_kept = kPlansKept;
    bool bring = true;                               // weights and workspace; false: with the first run
    bool memory_moves = true;                        // memory that runs short hands over in mid-run, too
    std::function<void(const plan::Plan&)> admit{};  // before a weight is read; what it throws, the constructor throws
};

class SessionCore {
public:
    // Compiles every part for its first device and brings the weights. Throws what Session throws.
    SessionCore(const std::vector<Device>& devices, const Graph& graph, const Weights& weights,
                std::vector<PlannedPart> parts, const CoreOptions& options);
    ~SessionCore();
    SessionCore(const SessionCore&) = delete;
    SessionCore& operator=(const SessionCore&) = delete;

    void run(std::span<const Input> inputs, std::span<const Output> outputs, const std::atomic<uint32_t>* cancel);
    [[nodiscard]] std::shared_ptr<plan::Flight> submit(std::span<const Input> inputs, std::span<const Output> outputs,
                                                       const std::atomic<uint32_t>* cancel);
    [[nodiscard]] Tensor state(std::string_view name);
    void set_state(std::string_view name, const Tensor& tensor);
    void reset_state() { executor_->reset_state(); }
    // States that are no longer as they were made, for another core of the same graph.
    using States = std::map<std::string, plan::Located>;
    [[nodiscard]] States states();
    void take(const States& states);

    [[nodiscard]] const Graph& graph() const noexcept { return graph_; }
    [[nodiscard]] const plan::Plan& plan() const noexcept { return executor_->plan(); }
    [[nodiscard]] plan::Executor& executor() const noexcept { return *executor_; }
    // The program of a graph that is not cut, on its first device; null where it could not be built there.
    [[nodiscard]] const std::shared_ptr<const plan::Program>& first_program() const noexcept { return first_; }
    [[nodiscard]] const std::vector<PlannedPart>& parts() const noexcept { return parts_; }
    [[nodiscard]] const std::vector<std::shared_ptr<plan::Port>>& ports() const noexcept { return ports_; }

private:
    static constexpr uint32_t kNoValue = UINT32_MAX;
    struct Named {
        std::string name;
        TensorId tensor;
        uint32_t value = 0;
        uint64_t bytes = 0;
    };
    struct KnownWeight {
        std::string_view name;  // the graph's
        uint64_t bytes = 0;
        uint32_t value = kNoValue;  // kNoValue: none has this place
    };
    [[nodiscard]] std::shared_ptr<const plan::Program> program(uint32_t part, uint32_t port);
    void add_values(plan::Plan& plan, plan::Stage& stage, uint32_t part);
    [[nodiscard]] TensorId whole_of(uint32_t part, uint32_t tensor) const {
        return pieces_[part] ? pieces_[part]->whole.at(tensor) : TensorId{tensor};
    }
    [[nodiscard]] uint32_t value_of(plan::Plan& plan, TensorId whole);
    [[nodiscard]] KnownWeight& known_weight(std::string_view name, uint64_t bytes);
    [[nodiscard]] plan::Plan make_plan(const CoreOptions& options);
    [[nodiscard]] const Graph& graph_of(uint32_t part) const { return pieces_[part] ? pieces_[part]->graph : graph_; }
    [[nodiscard]] const Named& named(const std::vector<Named>& all, const char* what, std::string_view name) const;
    void check(const Named& port, const char* what, uint64_t bytes, const Tensor* tensor) const;
    void place(std::span<const Input> inputs, std::span<const Output> outputs);

    Graph graph_;
    std::shared_ptr<Weights::State> weights_;
    std::vector<PlannedPart> parts_;
    std::vector<std::optional<PartGraph>> pieces_;  // by part; none: the whole graph
    std::vector<std::shared_ptr<plan::Port>> ports_;
    plan::CompileHow how_;
    std::map<std::pair<uint32_t, uint32_t>, std::shared_ptr<const plan::Program>> compiled_;  // before the executor asks
    std::shared_ptr<const plan::Program> first_;
    uint32_t plans_kept_;
    std::vector<uint32_t> values_;                // of the plan, by tensor of the whole graph; kNoValue: none
    std::vector<KnownWeight> known_weights_;      // by hash, twice as many places as there are weights
    std::shared_ptr<const WeightOrigin> origin_;  // of the weights that were bound last
    std::vector<Named> inputs_, outputs_, states_;
    std::vector<plan::Given> given_;  // used again for each run
    std::vector<plan::Wanted> wanted_;
    std::unique_ptr<plan::Executor> executor_;
};

std::string counted_ops(const Graph& graph, const std::vector<size_t>& nodes);  // "Conv x 12, Relu"

}  // namespace backplane::runtime
