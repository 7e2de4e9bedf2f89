#include "base/process_state.hpp"

#include <algorithm>
#include <array>
#include <cfenv>
#include <cstring>
#include <new>
#include <string_view>

namespace backplane::base {

std::string changes(const ProcessState& before, const ProcessState& after) {
    constexpr std::string_view kSignal = "the handling of signal ";
    std::string text;
    std::vector<std::string> signals;
    for (size_t i = 0; i < before.size() && i < after.size(); ++i) {
        const std::string& name = before[i].first;
        if (before[i] == after[i]) continue;
        if (name.starts_with(kSignal))
            signals.push_back(name.substr(kSignal.size()));
        else
            text += (text.empty() ? "" : ", ") + name;
    }
    if (signals.empty()) return text;
    constexpr size_t kMostNamed = 3;
    std::string numbers = signals.front();
    for (size_t i = 1; i < std::min(signals.size(), kMostNamed); ++i) numbers += ", " + signals[i];
    if (signals.size() > kMostNamed) numbers += " and " + std::to_string(signals.size() - kMostNamed) + " more";
    return (signals.size() == 1 ? std::string(kSignal) : "the handling of signals ") + numbers +
           (text.empty() ? "" : ", " + text);
}

// A driver may want its handlers and variables, and what it does to them outlives a call.
bool harms_host(const ProcessState& before, const ProcessState& after) {
    constexpr std::array<std::string_view, 4> kKept{"the handling of", "the environment", "the working directory",
                                                    "the priority"};
    for (size_t i = 0; i < before.size() && i < after.size(); ++i) {
        const auto is_kept = [&](std::string_view name) { return before[i].first.starts_with(name); };
        if (before[i] != after[i] && std::none_of(kKept.begin(), kKept.end(), is_kept)) return true;
    }
    return false;
}

static_assert(sizeof(std::fenv_t) <= 64);

KeepFloatingPoint::KeepFloatingPoint() : kept_{} { std::fegetenv(new (kept_) std::fenv_t); }
KeepFloatingPoint::~KeepFloatingPoint() {
    std::fesetenv(std::launder(reinterpret_cast<std::fenv_t*>(kept_)));
    // Some C libraries (MinGW's) leave the vector unit's part as it is.
    if (floating_point_control() != control_) set_floating_point_control(control_);
}

}  // namespace backplane::base
