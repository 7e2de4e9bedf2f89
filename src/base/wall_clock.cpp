#include "base/wall_clock.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

namespace backplane::base {

int64_t unix_seconds() noexcept {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string utc_text(int64_t unix_seconds) {
    constexpr int64_t kLast = 253'402'300'799;  // of the year 9999: what comes from files may be any number
    const std::chrono::sys_seconds time{std::chrono::seconds(std::clamp<int64_t>(unix_seconds, 0, kLast))};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d UTC", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()));
    return text.data();
}

}  // namespace backplane::base
