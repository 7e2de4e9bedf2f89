// Text out of a file, made fit for a message of one line.
#pragma once

#include <string>
#include <string_view>

namespace backplane::formats {

// In quotes, at most 64 characters, '?' for what is not printable ASCII.
inline std::string printable(std::string_view text) {
    std::string shown = "'";
    for (const char c : text.substr(0, 64)) shown += c >= ' ' && c <= '~' ? c : '?';
    return shown + (text.size() > 64 ? "...'" : "'");
}

}  // namespace backplane::formats
