#include "discovery/byte_source.hpp"

#include <string_view>

namespace backplane::discovery {

std::string ByteSource::text(uint64_t offset) const {
    std::array<char, 256> block{};
    if (offset >= size()) return {};
    const auto n = static_cast<size_t>(std::min<uint64_t>(block.size(), size() - offset));
    if (!read(offset, std::as_writable_bytes(std::span(block)).first(n))) return {};
    const std::string_view text(block.data(), n);
    const size_t end = text.find('\0');
    return end == std::string_view::npos ? std::string() : std::string(text.substr(0, end));
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
