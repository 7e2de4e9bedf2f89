#include "cli/output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "backplane/error.hpp"
#include "base/byte_count.hpp"
#include "base/terminal.hpp"

namespace backplane::cli {

namespace {

Safe styled(const char* code, std::string_view text) {
    std::string shown = base::visible(text);
    if (!base::wants_colours(base::Stream::output)) return {std::move(shown)};
    return {"\033[" + std::string(code) + "m" + shown + "\033[0m"};
}

// Columns a visible text takes: bytes that do not continue a UTF-8 sequence.
size_t columns(std::string_view text) {
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string filled(std::string_view format, std::initializer_list<Piece> pieces) {
    std::string text;
    for (const Piece& piece : pieces) {
        const size_t hole = format.find("{}");
        text.append(format.substr(0, hole)).append(piece.text());
        format.remove_prefix(hole + 2);
    }
    return text.append(format);
}

void out_text(const std::string& text) {
    std::FILE* stream = base::output();
    if (std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::ferror(stream) == 0) return;
    throw Error(Code::denied, "cannot write the output: " + std::generic_category().message(errno));
}

void err_text(const std::string& text) noexcept { static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr)); }

void out_lines(std::string_view text) {
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        std::string line;
        for (size_t at = 0; at <= end;) {
            const size_t tab = std::min(text.find('\t', at), end);
            line += (at > 0 ? "\t" : "") + base::visible(text.substr(at, tab - at));
            at = tab + 1;
        }
        out("{}\n", Safe{std::move(line)});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

void err_lines(std::string_view text) {
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        err("backplane: {}\n", text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

void print(const Json& json) {
    Json whole = json;
    base::carry_bytes(whole);
    out("{}\n", Safe{base::visible_json(whole.dump(2, base::BadText::replace))});
}

Safe fixed(double value, int digits) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", digits, value);
    return {text.data()};
}

Safe padded(std::string_view text, size_t width) {
    std::string shown = base::visible(text);
    shown.append(width - std::min(width, columns(shown)), ' ');
    return {std::move(shown)};
}

Safe bold(std::string_view text) { return styled("1", text); }
Safe dim(std::string_view text) { return styled("2", text); }

std::string human_bytes(uint64_t bytes) { return bytes == 0 ? "-" : base::byte_count(bytes); }

void print_table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> widths;
    for (const auto& row : rows)
        for (size_t i = 0; i < row.size(); ++i) {
            if (i >= widths.size()) widths.push_back(0);
            widths[i] = std::max(widths[i], columns(base::visible(row[i])));
        }
    for (size_t r = 0; r < rows.size(); ++r) {
        std::string line;
        for (size_t i = 0; i < rows[r].size(); ++i)
            line += i + 1 < rows[r].size() ? padded(rows[r][i], widths[i] + 2).text : base::visible(rows[r][i]);
        out("{}\n", r == 0 ? bold(line) : Safe{line});
    }
}

}  // namespace backplane::cli
