#include "base/file.hpp"

#include <algorithm>

#include "backplane/error.hpp"

namespace backplane::base {

std::string text_of(const File& file, uint64_t most) {
    std::string text(std::min(file.status().size, most), '\0');
    text.resize(file.read_at(0, std::as_writable_bytes(std::span(text))));
    return text;
}

void each_piece(const std::filesystem::path& path, const std::function<void(std::span<const std::byte>)>& f) {
    const File file(path);
    std::vector<std::byte> piece(1U << 20);
    for (uint64_t at = 0; at < file.status().size;) {
        const size_t count = file.read_at(at, piece);
        if (count == 0) throw Error(Code::denied, "cannot read all of " + path.string());
        f(std::span(piece).first(count));
        at += count;
    }
}

Distrust distrust_of(const std::filesystem::path& folder, const FileStatus& status,
                     std::set<std::filesystem::path::string_type>* safe) {
    using Kind = Distrust::Kind;
    if (status.others_may_write)
        return {Kind::others_may_write, "everybody may write to this folder (" + how_to_protect(folder) + ")"};
    if (status.foreign_owner) return {Kind::foreign_owner, "it belongs to " + status.owner};
    std::vector<std::filesystem::path> seen;
    for (std::filesystem::path above = folder.parent_path(); !above.empty(); above = above.parent_path()) {
        if (safe != nullptr && safe->contains(above.native())) break;
        const FileStatus s = status_of(above);
        if (s.others_may_write && !s.sticky)
            return {Kind::others_may_write,
                    "everybody may write to " + above.string() + " above it (" + how_to_protect(above) + ")"};
        if (safe != nullptr) seen.push_back(above);
        if (above == above.parent_path()) break;
    }
    for (const std::filesystem::path& above : seen) safe->insert(above.native());
    return {};
}

}  // namespace backplane::base
