#include "base/process_state.hpp"

#include <cfenv>
#include <cstring>
#include <new>

namespace backplane::base {

std::string changes(const ProcessState& before, const ProcessState& after) {
    std::string text;
    for (size_t i = 0; i < before.size() && i < after.size(); ++i)
        if (before[i] != after[i]) text += (text.empty() ? "" : ", ") + before[i].first;
    return text;
}

static_assert(sizeof(std::fenv_t) <= 64);

KeepFloatingPoint::KeepFloatingPoint() : kept_{} { std::fegetenv(new (kept_) std::fenv_t); }
KeepFloatingPoint::~KeepFloatingPoint() { std::fesetenv(std::launder(reinterpret_cast<std::fenv_t*>(kept_))); }

}  // namespace backplane::base
