#include "discovery/byte_source.hpp"

#include <string_view>

namespace backplane::discovery {

bool ByteSource::read(uint64_t offset, std::span<std::byte> into) const {
    if (used_up()) return false;
    ++work_->reads;
    // What lies outside is not read, whatever a table says of its size.
    if (offset > size() || into.size() > size() - offset) return false;
    work_->bytes += into.size();
    return !used_up() && fetch(offset, into);
}

std::optional<std::string> ByteSource::text(uint64_t offset, size_t most) const {
    std::string all;
    while (offset < size()) {
        std::array<char, 256> block{};
        const auto n = static_cast<size_t>(std::min<uint64_t>(block.size(), size() - offset));
        if (!read(offset, std::as_writable_bytes(std::span(block)).first(n))) return "";
        const std::string_view text(block.data(), n);
        const size_t end = text.find('\0');
        all += text.substr(0, end);
        if (all.size() > most) return std::nullopt;
        if (end != std::string_view::npos) return all;
        offset += n;
    }
    return "";
}

bool FileBytes::fetch(uint64_t offset, std::span<std::byte> into) const {
    if (offset <= held_ && into.size() <= held_ - offset) {
        std::copy_n(first_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return true;
    }
    return file_.read_at(offset, into) == into.size();
}

}  // namespace backplane::discovery
