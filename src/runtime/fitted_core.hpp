// A SessionCore whose plan has the memory there is: decided when it is made, and made anew with less where memory runs short in mid-run.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/session_core.hpp"
#include "runtime/streamed.hpp"

namespace backplane::runtime {

struct FittedOptions {  // as SessionOptions
    CompileOptions compile;
    uint32_t frames = 3;  // where all weights stay; of a streamed plan one
    uint32_t plans_kept = kPlansKept;
    uint64_t budget = 0, weight_budget = 0;
    Streaming streaming = Streaming::automatic;
    bool as_it_is = false;  // the graph is the first device's, whatever it says of its nodes
    bool check_ops = true, elsewhere = true;
    bool bring = true;                    // weights when it is made; false: with the first run
    std::vector<PlannedPart> parts = {};  // decided already, where there are any: of weights that stay
    std::string note = {};                // of whoever decided
};

class FittedCore {
public:
    // Throws what SessionCore throws; Error(no_device_memory) says what would fit.
    FittedCore(std::vector<Device> devices, const Graph& graph, const Weights& weights, const FittedOptions& options);

    // Throw what SessionCore throws; the plan may be another one afterwards.
    void run(std::span<const Input> inputs, std::span<const Output> outputs, const std::atomic<uint32_t>* cancel);
    [[nodiscard]] std::shared_ptr<plan::Flight> submit(std::span<const Input> inputs, std::span<const Output> outputs,
                                                       const std::atomic<uint32_t>* cancel);
    [[nodiscard]] SessionCore& core() const {
        if (!core_) throw Error(Code::device_lost, "the session's device went while its plan was made anew");
        return *core_;
    }
    void release() { core().executor().let_go(); }
    [[nodiscard]] std::vector<std::string> notes() const;  // of plans that are gone, too
    [[nodiscard]] std::vector<StageRuns> runs() const;     // likewise
    [[nodiscard]] uint32_t replans() const { return replans_; }

private:
    [[nodiscard]] CoreOptions core_options() const;
    void make();
    [[nodiscard]] bool streaming_helps() const;
    [[nodiscard]] bool streaming_helps_on(const plan::Port& port) const;
    [[nodiscard]] std::vector<PlannedPart> planned_by_hand() const;
    [[nodiscard]] std::vector<PlannedPart> whole(std::vector<std::string>& notes) const;
    void build(const std::vector<PlannedPart>& parts, const CoreOptions& options);
    void plan_anew(const Error& error);
    void heed_budget();  // before a run
    [[nodiscard]] uint64_t less() const;
    [[nodiscard]] bool made_with_less(const std::string& first, std::string& why);
    void give_up(const std::string& why);
    [[nodiscard]] std::string what_would() const;
    void leave();  // the core goes; what it did and has to say stays
    template <typename Body>
    void with_less(const Body& body);

    static constexpr uint32_t kMostReplans = 6;

    std::vector<Device> devices_;
    Graph graph_;
    Weights weights_;
    FittedOptions options_;
    bool streams_ = false;  // where memory runs short the plan is made anew
    uint64_t takes_ = 0;    // bytes of the first device: of the plan that was made or tried last, one submit at a time
    uint32_t replans_ = 0;
    std::chrono::steady_clock::time_point looked_{};  // at what is left of the first device's budget
    bool nothing_left_ = false;                       // then
    std::vector<std::string> notes_;
    std::vector<StageRuns> ran_;
    SessionCore::States states_;  // of a core that is gone, until another one has them
    std::unique_ptr<SessionCore> core_;
};

std::vector<StageRuns> runs_of(const SessionCore& core);

}  // namespace backplane::runtime
