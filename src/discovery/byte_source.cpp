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
        std::array<char, kBlockOfText> block{};
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
    const auto copied = [&](std::span<const std::byte> held, uint64_t at) {
        if (offset < at || offset - at > held.size() || into.size() > held.size() - (offset - at)) return false;
        std::copy_n(held.begin() + static_cast<std::ptrdiff_t>(offset - at), into.size(), into.begin());
        return true;
    };
    if (copied(std::span(first_).first(held_), 0) || copied(std::span(names_).first(names_held_), names_at_)) return true;
    if (into.size() > kBlockOfText) return file_.read_at(offset, into) == into.size();
    names_at_ = offset;
    names_held_ = file_.read_at(offset, names_);
    return copied(std::span(names_).first(names_held_), names_at_);
}

}  // namespace backplane::discovery
