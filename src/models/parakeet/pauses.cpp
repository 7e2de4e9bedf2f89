#include "models/parakeet/pauses.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace backplane::parakeet {

namespace {

constexpr int64_t kFramesASecond = 100;
constexpr size_t kStretch = 33;      // frames
constexpr double kBelowLoud = 3e-3;  // of the power of what is loud: 25 dB
constexpr double kAboveFloor = 4;    // times the power of the background, where that is far enough below what is loud
constexpr double kMostFloor = 3e-2;
constexpr double kNothing = 1e-9;  // power of what nobody hears: 90 dB below full scale

std::vector<double> powers_of(std::span<const float> samples, size_t frame) {
    std::vector<double> powers(samples.size() / frame);
    for (size_t i = 0; i < powers.size(); ++i) {
        double sum = 0;
        for (const float x : samples.subspan(i * frame, frame)) sum += static_cast<double>(x) * static_cast<double>(x);
        powers[i] = sum / static_cast<double>(frame);
    }
    return powers;
}

// Power of a pause, at most.
double threshold_of(std::vector<double> powers) {
    if (powers.empty()) return kNothing;
    std::sort(powers.begin(), powers.end());
    const double loud = powers[powers.size() * 95 / 100];
    const double floor = powers[powers.size() / 10];
    const double above_floor = floor < kMostFloor * loud ? kAboveFloor * floor : 0;
    return std::max({kNothing, kBelowLoud * loud, above_floor});
}

}  // namespace

Cut quietest(std::span<const float> samples, int64_t sample_rate, size_t least, size_t most) {
    const auto frame = static_cast<size_t>(sample_rate / kFramesASecond);
    const std::vector<double> powers = powers_of(samples, frame);
    Cut best{std::min(most, samples.size()), false};
    double quiet = std::numeric_limits<double>::infinity();
    double sum = 0;
    for (size_t i = 0; i < powers.size(); ++i) {
        sum += powers[i];
        if (i >= kStretch) sum -= powers[i - kStretch];
        if (i + 1 < kStretch) continue;
        const size_t middle = (i + 1) * frame - kStretch * frame / 2;
        if (middle < least || middle > most || sum > quiet) continue;
        quiet = sum;
        best.at = middle;
    }
    best.quiet = quiet / static_cast<double>(kStretch) <= threshold_of(powers);
    return best;
}

Quiet quiet_ends(std::span<const float> samples, int64_t sample_rate) {
    const auto frame = static_cast<size_t>(sample_rate / kFramesASecond);
    const std::vector<double> powers = powers_of(samples, frame);
    const double most = threshold_of(powers);
    const auto loud = [&](double power) { return power > most; };
    const auto first = std::find_if(powers.begin(), powers.end(), loud);
    if (first == powers.end()) return {samples.size(), samples.size()};
    const auto last = std::find_if(powers.rbegin(), powers.rend(), loud);
    const auto before = static_cast<size_t>(first - powers.begin());
    const auto behind = static_cast<size_t>(last - powers.rbegin());
    return {before * frame, behind * frame + samples.size() % frame};
}

}  // namespace backplane::parakeet
