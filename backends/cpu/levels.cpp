#include "levels.hpp"

#include <algorithm>
#include <utility>

#include "cpu_features.hpp"
#include "levels_generated.h"

namespace backplane::cpu {

namespace {

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out(1);
    for (const char c : text) {
        if (c == ',' || c == ' ' || c == ';') {
            out.emplace_back();
        } else {
            out.back().push_back(c);
        }
    }
    std::erase(out, "");
    return out;
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

bool usable(const std::string& level, const std::vector<std::string>& detected, const std::vector<std::string>& masked) {
    if (contains(masked, level)) return false;
    const auto needed = features_of_level(level);
    return std::all_of(needed.begin(), needed.end(), [&](const std::string& feature) {
        return contains(detected, feature) && !contains(masked, feature);
    });
}

}  // namespace

std::vector<std::string> built_levels() {
    std::vector<std::string> out;
    for (const LevelEntry& entry : kLevels) out.emplace_back(entry.name);
    return out;
}

Level choose_level(std::string_view mask) {
    const auto masked = words(mask);
    std::vector<std::string> needed;  // nothing that is masked: of some features the system is asked for leave
    for (const LevelEntry& entry : kLevels)
        for (std::string& feature : features_of_level(entry.name))
            if (!contains(masked, entry.name) && !contains(masked, feature)) needed.push_back(std::move(feature));
    const auto detected = detected_features(needed);
    // What a level has comes on top of another's, down to the weakest, which always runs: a level that is masked masks those on top of it.
    const LevelEntry* best = &kLevels[0];
    std::vector<std::string> run{best->name};
    for (const LevelEntry& entry : kLevels) {
        if (&entry == &kLevels[0] || !contains(run, entry.base) || !usable(entry.name, detected, masked)) continue;
        run.emplace_back(entry.name);
        best = &entry;
    }
    Level level{best->name, {}};
    best->fill(&level.kernels);
    level.kernels.level = best->name;
    return level;
}

}  // namespace backplane::cpu
