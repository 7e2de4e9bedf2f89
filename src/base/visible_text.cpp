#include "base/visible_text.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

#include "base/json.hpp"

namespace backplane::base {

namespace {

// One character of UTF-8, or one byte that is none.
struct Character {
    uint32_t code = 0;
    size_t bytes = 1;
    bool valid = false;
};

// The table of well-formed sequences of the Unicode standard (3.9, table 3-7): no surrogates, nothing longer than it needs to be.
Character first_of(std::string_view text) noexcept {
    const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = at(0);
    if (lead < 0x80) return {lead, 1, true};
    const size_t bytes = lead >= 0xc2 && lead <= 0xdf   ? 2
                         : lead >= 0xe0 && lead <= 0xef ? 3
                         : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                        : 0;
    if (bytes == 0 || text.size() < bytes) return {lead, 1, false};
    uint32_t code = lead & (0x7fU >> bytes);
    for (size_t i = 1; i < bytes; ++i) {
        if ((at(i) & 0xc0U) != 0x80) return {lead, 1, false};
        code = code << 6 | (at(i) & 0x3fU);
    }
    constexpr std::array<uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
    if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {lead, 1, false};
    return {code, bytes, true};
}

bool acts_on_terminals(uint32_t code) noexcept {
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x061c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

std::string written_out(const Character& c) {
    if (c.valid && c.code == '\n') return "\\n";
    if (c.valid && c.code == '\r') return "\\r";
    if (c.valid && c.code == '\t') return "\\t";
    std::array<char, 12> text{};
    std::snprintf(text.data(), text.size(), c.code < 0x80 || !c.valid ? "\\x%02x" : "\\u%04x",
                  static_cast<unsigned>(c.code));
    return text.data();
}

}  // namespace

std::string visible(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const Character c = first_of(text);
        if (!c.valid || acts_on_terminals(c.code))
            shown += written_out(c);
        else
            shown += text.substr(0, c.bytes);
        text.remove_prefix(c.bytes);
    }
    return shown;
}

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const Character c = first_of(text);
        if (!c.valid) return false;
        text.remove_prefix(c.bytes);
    }
    return true;
}

namespace {
std::string in_hexadecimal(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        text += kDigits[static_cast<unsigned char>(c) >> 4];
        text += kDigits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}
}  // namespace

void carry_bytes(Json& json) {
    for (Json& value : json) carry_bytes(value);
    Json carried;
    for (size_t i = 0; json.is_object() && i < json.size(); ++i) {
        const Json& value = json.begin()[i];
        if (value.is_string() && !is_utf8(value.text())) carried[json.names()[i] + "_bytes"] = in_hexadecimal(value.text());
    }
    if (!carried.empty()) json.update(carried);
}

// What is below 0x20 the dump has escaped already, but for the ends of its own lines.
std::string visible_json(std::string_view dumped) {
    std::string shown;
    shown.reserve(dumped.size());
    while (!dumped.empty()) {
        const Character c = first_of(dumped);
        if (c.valid && c.code >= 0x7f && acts_on_terminals(c.code)) {
            std::array<char, 8> text{};
            std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(c.code & 0xffff));
            shown += text.data();
        } else {
            shown += dumped.substr(0, c.bytes);
        }
        dumped.remove_prefix(c.bytes);
    }
    return shown;
}

}  // namespace backplane::base
