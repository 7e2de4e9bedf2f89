#include <array>

#include "backplane/error.hpp"
#include "base/appended_file.hpp"
#include "base/file.hpp"

namespace backplane::base {

std::vector<std::string> AppendedLines::next() {
    std::vector<std::string> lines;
    try {
        const File file(path_);
        if (file.status().size < at_) at_ = 0;
        std::string text;
        std::array<std::byte, 65536> piece;
        for (size_t got = piece.size(); got == piece.size();) {
            got = file.read_at(at_ + text.size(), piece);
            text.append(reinterpret_cast<const char*>(piece.data()), got);
        }
        size_t start = 0;
        for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
            lines.push_back(text.substr(start, end - start));
            start = end + 1;
        }
        at_ += start;
    } catch (const Error&) {
        // Not there yet, or for a moment.
    }
    return lines;
}

int64_t AppendedLines::pulse() const { return status_of(path_).modified_ns; }

}  // namespace backplane::base
