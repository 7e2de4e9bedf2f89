#include "base/file.hpp"

namespace backplane::base {

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
