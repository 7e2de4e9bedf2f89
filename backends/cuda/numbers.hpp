// Numbers of registers and labels in a text of PTX as distances from the one of that kind before, and back. A compiler numbers registers as it comes to
// them, so that the same piece of a kernel has other numbers wherever it stands: by distances it is the same text each time, and packs to
// half of what it took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace backplane::cuda {

namespace numbers {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The end of what stands before a number at `at`: "%rd", "$L__BB12_". `at` itself: nothing of that kind begins there.
inline size_t end_of_name(std::string_view text, size_t at) {
    constexpr std::string_view kLabel = "$L__BB";
    size_t end = at;
    if (text[at] == '%') {
        for (++end; end < text.size() && text[end] >= 'a' && text[end] <= 'z';) ++end;
        return end > at + 1 ? end : at;
    }
    if (text.substr(at, kLabel.size()) != kLabel) return at;
    for (end += kLabel.size(); end < text.size() && is_digit(text[end]);) ++end;
    return end < text.size() && text[end] == '_' ? end + 1 : at;
}

// Digits from `at` on, which goes behind them; as many as no overflow comes of.
inline int64_t take(std::string_view text, size_t& at) {
    int64_t value = 0;
    for (int i = 0; i < 9 && at < text.size() && is_digit(text[at]); ++i) value = value * 10 + (text[at++] - '0');
    return value;
}

// Copies the text; where a name is, `number(text, at, last, out)` takes what follows at `at` and writes it in its way.
template <class Number>
std::string rewritten(std::string_view text, const Number& number) {
    std::map<std::string_view, int64_t> last;
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t end = text[at] == '%' || text[at] == '$' ? end_of_name(text, at) : at;
        if (end == at) {
            out += text[at++];
            continue;
        }
        const std::string_view name = text.substr(at, end - at);
        out += name;
        at = end;
        if (at < text.size()) number(text, at, last[name], out);
    }
    return out;
}

}  // namespace numbers

// "%r7, %r8" as "%r+7, %r+". Back it comes only where no name without a number has a sign behind it, as nothing has in PTX.
inline std::string by_distance(std::string_view text) {
    return numbers::rewritten(text, [](std::string_view all, size_t& at, int64_t& last, std::string& out) {
        if (!numbers::is_digit(all[at])) return;
        const int64_t number = numbers::take(all, at);
        const int64_t distance = number - last;
        last = number;
        if (distance >= 0) out += '+';
        if (distance != 1) out += std::to_string(distance);
    });
}

inline std::string by_number(std::string_view text) {
    return numbers::rewritten(text, [](std::string_view all, size_t& at, int64_t& last, std::string& out) {
        if (all[at] != '+' && all[at] != '-') return;
        const bool back = all[at++] == '-';
        const bool next = at == all.size() || !numbers::is_digit(all[at]);
        const int64_t distance = next ? 1 : numbers::take(all, at);
        last += back ? -distance : distance;
        out += std::to_string(last);
    });
}

}  // namespace backplane::cuda
