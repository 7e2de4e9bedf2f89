// Words of commands that people are told to type.
#pragma once

#include <filesystem>
#include <string>

namespace backplane::base {

// The text as a shell reads it: as it is where that is the same, else in apostrophes.
inline std::string shell_word(const std::string& text) {
    static const std::string plain =
        std::string("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:=@%") +
        static_cast<char>(std::filesystem::path::preferred_separator);
    if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

}  // namespace backplane::base
