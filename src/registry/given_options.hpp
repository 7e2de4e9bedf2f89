// Options that the application gave: which of them nobody takes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backplane/context.hpp"

namespace backplane::registry {

class GivenOptions {
public:
    GivenOptions() = default;
    // `strict`: what nobody takes is an OptionError as soon as it is known; `mask_strict`: what a mask hides that there is not.
    GivenOptions(std::map<std::string, std::string> options, std::string cpu_mask, bool strict, bool mask_strict)
        : options_(std::move(options)), cpu_mask_(std::move(cpu_mask)), strict_(strict), mask_strict_(mask_strict) {}

    // Judges all of them by what the modules found say of themselves; nothing is loaded for it. `complete`: there are no others.
    void judge(const std::vector<const Descriptor*>& modules, bool complete);
    // A module or device that would not open: was it for an option? Then its name is in the reason.
    void refused(const std::string& reason);

    [[nodiscard]] const std::vector<OptionProblem>& problems() const noexcept { return problems_; }

private:
    void add(const std::string& name, std::string text, bool strict);
    void judge_mask();

    std::map<std::string, std::string> options_;
    std::string cpu_mask_;
    bool strict_ = false, mask_strict_ = false;
    std::vector<OptionProblem> problems_;
};

}  // namespace backplane::registry
