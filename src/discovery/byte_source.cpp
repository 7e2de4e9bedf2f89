#include "discovery/byte_source.hpp"

namespace backplane::discovery {

std::string ByteSource::text(uint64_t offset) const {
    std::string text;
    for (uint64_t at = offset; at < size() && text.size() < 256; ++at) {
        char c = 0;
        if (!get(at, c)) break;
        if (c == '\0') return text;
        text += c;
    }
    return {};
}

bool FileBytes::read(uint64_t offset, std::span<std::byte> into) const {
    if (offset > size() || into.size() > size() - offset) return false;
    if (offset <= held_ && into.size() <= held_ - offset) {
        std::copy_n(first_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return true;
    }
    return file_.read_at(offset, into) == into.size();
}

}  // namespace backplane::discovery
