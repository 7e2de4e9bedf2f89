// All that this program prints. What is put into a line is made visible first (base/visible_text.hpp): a name of a file, a word of a driver
// or of a model never acts on the terminal and never starts a line of its own.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json.hpp"
#include "base/visible_text.hpp"

namespace backplane::cli {

using base::Json;

// Text of this program's own that is printed as it is: styled, or several lines.
struct Safe {
    std::string text;
};

// What goes into a {}.
class Piece {
public:
    Piece(std::string_view text) : text_(base::visible(text)) {}
    Piece(const std::string& text) : Piece(std::string_view(text)) {}
    Piece(const char* text) : Piece(std::string_view(text)) {}
    Piece(Safe safe) : text_(std::move(safe.text)) {}
    template <std::integral Number>
    Piece(Number number) : text_(std::to_string(number)) {}

    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

// A text of this program with a {} for each piece; the compiler counts them.
template <class... Pieces>
struct Format {
    std::string_view text;
    consteval Format(const char* given) : text(given) {
        size_t holes = 0;
        for (size_t i = 0; i + 1 < text.size(); ++i) holes += text[i] == '{' && text[i + 1] == '}' ? 1 : 0;
        if (holes != sizeof...(Pieces)) throw "as many {} as pieces";
    }
};

std::string filled(std::string_view format, std::initializer_list<Piece> pieces);
// To the output stream. Throws Error(denied) when it cannot be written: a result that is lost is a failure.
void out_text(const std::string& text);
// To the error stream. Whether that can be written, nobody could be told.
void err_text(const std::string& text) noexcept;

template <class... Pieces>
void out(Format<std::type_identity_t<Pieces>...> format, const Pieces&... pieces) {
    out_text(filled(format.text, {Piece(pieces)...}));
}
template <class... Pieces>
void err(Format<std::type_identity_t<Pieces>...> format, const Pieces&... pieces) {
    err_text(filled(format.text, {Piece(pieces)...}));
}
void out_lines(std::string_view text);  // a text of several lines keeps them, and its tabs
// "backplane: TEXT" on the error stream; a text of several lines keeps them, each with the program's name.
void err_lines(std::string_view text);

void print(const Json& json);

Safe fixed(double value, int digits);              // "3.14"
Safe padded(std::string_view text, size_t width);  // visible, and with spaces to `width` columns
Safe bold(std::string_view text);                  // visible, and bold on a terminal
Safe dim(std::string_view text);
std::string human_bytes(uint64_t bytes);  // "23.5 GiB"; "-" for 0
// Rows of cells under a header, columns aligned; the last column is not padded.
void print_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace backplane::cli
