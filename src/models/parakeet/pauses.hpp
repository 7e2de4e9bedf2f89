// Where speech pauses, by the energy of its samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace backplane::parakeet {

struct Cut {
    size_t at = 0;       // sample
    bool quiet = false;  // a pause; else the quietest place there is
};
// The middle of the quietest stretch of a third of a second, of those whose middles are from `least` to `most`; the last of several alike.
Cut quietest(std::span<const float> samples, int64_t sample_rate, size_t least, size_t most);

struct Quiet {
    size_t lead = 0, trail = 0;  // samples before the first that is heard, and behind the last
};
Quiet quiet_ends(std::span<const float> samples, int64_t sample_rate);

}  // namespace backplane::parakeet
