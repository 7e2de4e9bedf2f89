#include "backplane/fit.hpp"

#include <algorithm>

#include "base/byte_count.hpp"
#include "runtime/room.hpp"
#include "runtime/session_core.hpp"
#include "runtime/spread/policy.hpp"
#include "runtime/streamed.hpp"

namespace backplane {

namespace {

// 0: nobody knows.
uint64_t available_on(const Device& device, const FitOptions& options) {
    const auto given = options.memory.find(device.info().id);
    return given != options.memory.end() ? given->second : runtime::room_on(device);
}

void take_over(Fit& fit, const plan::Plan& plan) {
    fit.needs = plan.bytes_on(0);
    fit.weights = plan.weight_bytes(0);
    fit.ring = plan.ring_bytes(0);
    fit.state = plan.state_bytes(0);
    fit.values = plan.frames * plan.frame_bytes(0);
    fit.workspace = plan.workspace_bytes(0);
    fit.moved = plan.bytes_moved();
    fit.plan_text = plan.describe();
    fit.plan_json = plan.json();
}

class Planner {
public:
    Planner(const Device& device, const Graph& graph, const FitOptions& options)
        : device_(device), graph_(graph), available_(available_on(device, options)) {
        core_.compile = options.compile;
        core_.compile.plan_only = true;
        core_.frames = 1;
    }

    Fit resident() {
        Fit fit = begun();
        attempt(fit, [&] {
            std::vector<std::string> notes;
            plan(fit, runtime::spread_parts({device_}, graph_, *WeightsAccess::state_of(weights_), false, notes));
        });
        fit.fits = fit.possible && (available_ == 0 || fit.needs <= available_);
        return fit;
    }

    // As much as there is room for stays; where all weights have room, where that is too little or nobody knows it: the least that does.
    Fit streamed(const Fit& resident) {
        Fit fit = begun();
        fit.streamed = true;
        fit.possible = resident.possible;
        fit.problem = resident.problem;
        if (!fit.possible) return fit;
        if (available_ != 0 && available_ < resident.needs && within(fit, available_)) {
            fit.fits = true;
            return fit;
        }
        if (least(fit, resident)) {
            fit.fits = available_ == 0 || fit.needs <= available_;
            return fit;
        }
        fit.possible = false;
        fit.problem = "streaming its weights saves nothing: they are too few, or one of them is too large";
        return fit;
    }

private:
    [[nodiscard]] Fit begun() const {
        Fit fit;
        fit.device = device_.info().id;
        fit.available = available_;
        return fit;
    }

    template <typename Body>
    static void attempt(Fit& fit, Body body) {
        try {
            body();
        } catch (const Error& error) {
            if (error.code() != Code::unsupported && error.code() != Code::no_device_memory) throw;
            fit.possible = false;
            fit.problem = error.what();
        }
    }

    void plan(Fit& fit, std::vector<runtime::PlannedPart> parts) const {
        const runtime::SessionCore core({device_}, graph_, weights_, std::move(parts), core_);
        take_over(fit, core.plan());
    }

    // The least budget, to an eighth, that does. Each that is tried costs compiling every part, so it is halved in: what does with a budget does with more.
    bool least(Fit& fit, const Fit& resident) const {
        std::vector<uint64_t> budgets;
        // Parts take less beside weights than the whole does.
        for (uint64_t budget = std::max<uint64_t>((resident.needs - resident.weights) / 4, 4096); budget < resident.needs;
             budget += budget / 8)
            budgets.push_back(budget);
        if (budgets.empty() || !within(fit, budgets.back())) return false;
        size_t from = 0, to = budgets.size() - 1;  // that one does, all before `from` do not
        while (from < to) {
            const size_t middle = from + (to - from) / 2;
            if (within(fit, budgets[middle]))
                to = middle;
            else
                from = middle + 1;
        }
        return true;
    }

    // What Session does with this budget. False: not that much, or not streamed.
    bool within(Fit& fit, uint64_t budget) const {
        bool planned = false;
        Fit made = begun();
        made.streamed = true;
        made.budget = budget;
        attempt(made, [&] {
            auto streamed = runtime::streamed_parts(device_, graph_, budget, core_.compile);
            if (streamed.parts.empty()) return;
            made.weight_budget = streamed.weight_budget;
            plan(made, std::move(streamed.parts));
            planned = made.needs <= budget;
        });
        if (planned) fit = std::move(made);
        return planned;
    }

    Device device_;
    const Graph& graph_;
    uint64_t available_;
    Weights weights_;
    runtime::CoreOptions core_;
};

}  // namespace

std::vector<Fit> fits(const std::vector<Device>& devices, const Graph& graph, const FitOptions& options) {
    if (devices.empty())
        throw Error(Code::invalid, "cannot say what fits: no device given; use Context::choose_with_fallback");
    std::vector<Fit> ways;
    for (const Device& device : devices) {
        Planner planner(device, graph, options);
        ways.push_back(planner.resident());
        if (options.streaming == Streaming::never) continue;
        ways.push_back(planner.streamed(ways.back()));
    }
    return ways;
}

const Fit* best_fit(std::span<const Fit> ways, Streaming streaming) {
    const auto first = [&](auto wanted) -> const Fit* {
        const auto found = std::find_if(ways.begin(), ways.end(), [&](const Fit& way) { return way.fits && wanted(way); });
        return found == ways.end() ? nullptr : &*found;
    };
    if (streaming == Streaming::always) return first([](const Fit& way) { return way.streamed; });
    if (const Fit* whole = first([&](const Fit& way) { return !way.streamed && way.device == ways.front().device; }))
        return whole;
    if (streaming == Streaming::never) return first([](const Fit& way) { return !way.streamed; });
    return first([](const Fit&) { return true; });
}

std::string what_would_fit(std::span<const Fit> ways) {
    std::string text;
    for (const Fit& way : ways) {
        if (way.streamed && !way.possible) continue;
        text += text.empty() ? "" : "; ";
        if (!way.possible) {
            text += "not on " + way.device + ": " + way.problem;
        } else if (way.streamed) {
            text += "streamed there " + base::byte_count(way.needs);
        } else {
            text += "needs " + base::byte_count(way.needs) + " on " + way.device;
            if (way.available != 0 && !way.fits) text += ", " + base::byte_count(way.available) + " are free";
        }
        if (way.possible && way.fits) text += ", which is there";
    }
    return text;
}

std::string what_would_fit(std::span<const Fit> ways, std::span<const Fit> in_f16) {
    std::string text = what_would_fit(ways), half;
    for (const Fit& way : in_f16) {
        const auto same = [&](const Fit& one) {
            return one.possible && one.device == way.device && one.streamed == way.streamed && one.needs <= way.needs;
        };
        if (!way.possible || std::ranges::any_of(ways, same)) continue;
        if (way.streamed)
            half += (half.empty() ? "" : ", ") + std::string("streamed ") + base::byte_count(way.needs);
        else
            half += (half.empty() ? "" : ", ") + base::byte_count(way.needs) + " on " + way.device;
        if (way.fits) half += ", which is there";
    }
    return half.empty() ? text : text + "; with dtype f16 " + half;
}

}  // namespace backplane
