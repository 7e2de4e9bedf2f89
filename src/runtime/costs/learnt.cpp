#include "runtime/costs/learnt.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace backplane::runtime {

namespace {

constexpr double kAlike = 0.02;                         // of a prediction: the same size, with another line or two
constexpr double kLeastRatio = 1e-3, kMostRatio = 1e3;  // of what was taken over predicted that is believed

bool is_believed(double predicted, double taken) {
    return std::isfinite(predicted) && std::isfinite(taken) && predicted > 0 && taken >= kLeastRatio * predicted &&
           taken <= kMostRatio * predicted;
}

struct Known {
    double predicted, taken;
    [[nodiscard]] double ratio() const { return taken / predicted; }
};

double slope(const Known& a, const Known& b) { return (b.taken - a.taken) / (b.predicted - a.predicted); }

double seconds(const std::vector<Known>& known, double predicted) {
    const Known &first = known.front(), &last = known.back();
    if (known.size() == 1) return predicted * first.ratio();
    // Less work takes less, but not less than its share; more takes more, and hardly twice as much for each part of it.
    if (predicted <= first.predicted)
        return first.taken - std::clamp(slope(first, known[1]), 0.0, first.ratio()) * (first.predicted - predicted);
    if (predicted >= last.predicted)
        return last.taken + std::clamp(slope(known[known.size() - 2], last), last.ratio() / 2, last.ratio() * 2) *
                                (predicted - last.predicted);
    size_t i = 1;
    while (known[i].predicted < predicted) ++i;
    return known[i].taken - slope(known[i - 1], known[i]) * (known[i].predicted - predicted);
}

}  // namespace

double Learnt::Size::typical() const {
    std::vector<double> sorted = taken;
    std::sort(sorted.begin(), sorted.end());
    return sorted.size() < kMostTaken ? sorted.front() : sorted[sorted.size() / 2];
}

void Learnt::add(double predicted, double taken) {
    if (!is_believed(predicted, taken)) return;
    const auto found = std::find_if(sizes_.begin(), sizes_.end(), [&](const Size& size) {
        return std::abs(size.predicted - predicted) <= kAlike * predicted;
    });
    Size size{predicted, {}};
    if (found != sizes_.end()) {
        size = std::move(*found);
        sizes_.erase(found);
    }
    size.taken.push_back(taken);
    if (size.taken.size() > kMostTaken) size.taken.erase(size.taken.begin());
    sizes_.push_back(std::move(size));
    if (sizes_.size() > kMostSizes) sizes_.erase(sizes_.begin());
}

double Learnt::ratio(double predicted) const {
    if (sizes_.empty() || !(predicted > 0)) return 1;
    std::vector<Known> known;
    for (const Size& size : sizes_) known.push_back({size.predicted, size.typical()});
    std::sort(known.begin(), known.end(), [](const Known& a, const Known& b) { return a.predicted < b.predicted; });
    return seconds(known, predicted) / predicted;
}

size_t Learnt::runs() const noexcept {
    size_t all = 0;
    for (const Size& size : sizes_) all += size.taken.size();
    return all;
}

bool Learnt::valid() const noexcept {
    if (sizes_.size() > kMostSizes) return false;
    return std::all_of(sizes_.begin(), sizes_.end(), [](const Size& size) {
        return !size.taken.empty() && size.taken.size() <= kMostTaken &&
               std::all_of(size.taken.begin(), size.taken.end(),
                           [&](double taken) { return is_believed(size.predicted, taken); });
    });
}

}  // namespace backplane::runtime
