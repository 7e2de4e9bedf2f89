// The time of day, as people and files have it.
#pragma once

#include <cstdint>
#include <string>

namespace backplane::base {

int64_t unix_seconds() noexcept;  // since 1970, now

std::string utc_text(int64_t unix_seconds);  // "2026-11-22 05:10 UTC"

}  // namespace backplane::base
