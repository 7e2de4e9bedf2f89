#include <algorithm>
#include <array>

#include "base/dynamic_library.hpp"

namespace backplane::base {

bool is_api_set(std::string_view name) {
    static constexpr std::array<std::string_view, 2> kStarts{"api-ms-win-", "ext-ms-win-"};
    return std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) {
        return name.size() > start.size() && std::equal(start.begin(), start.end(), name.begin(), [](char wanted, char c) {
                   return wanted == (c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
               });
    });
}

}  // namespace backplane::base
