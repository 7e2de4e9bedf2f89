// Turning the errors of a module into those of the C++ API.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "backplane/error.hpp"
#include "backplane/module.h"

namespace backplane::base {

// A bp_error with room for its text. Use: ErrorRoom e; check(api->open(&host, &m, e.get()), "cannot open the module", e);
class ErrorRoom {
public:
    ErrorRoom() {
        error_.struct_size = BP_SIZE(bp_error, capacity);
        error_.text = text_.data();
        error_.capacity = text_.size();
    }
    ErrorRoom(const ErrorRoom&) = delete;
    ErrorRoom& operator=(const ErrorRoom&) = delete;
    [[nodiscard]] bp_error* get() noexcept { return &error_; }
    // Ends at the room's end, whatever a module wrote.
    [[nodiscard]] std::string_view text() const noexcept {
        return {text_.data(), static_cast<size_t>(std::find(text_.begin(), text_.end(), '\0') - text_.begin())};
    }
    // The host's own words in the place of the module's, cut to the room.
    void say(std::string_view text) noexcept {
        const size_t size = std::min(text.size(), text_.size() - 1);
        std::copy_n(text.begin(), size, text_.begin());
        text_[size] = '\0';
    }
    [[nodiscard]] int64_t native() const noexcept { return error_.native; }

private:
    std::array<char, 1024> text_{};
    bp_error error_{};
};

// Throws Error(code, "what: text of the module") unless code is BP_OK.
inline void check(bp_code code, std::string_view what, const ErrorRoom& room) {
    if (code == BP_OK) return;
    std::string text(what);
    text += ": ";
    text += room.text().empty() ? std::string_view(name_of(static_cast<Code>(code))) : room.text();
    throw Error(static_cast<Code>(code), text);
}

}  // namespace backplane::base
