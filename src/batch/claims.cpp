#include "batch/claims.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/file.hpp"
#include "base/hash.hpp"

namespace backplane::batch {

namespace {

constexpr std::string_view kClaims = ".backplane-batch-claims-";

std::string name_for(const Ranks& ranks) { return std::string(kClaims) + base::hexadecimal(base::hash_of(ranks.job)); }

}  // namespace

Claims::Claims(const std::filesystem::path& folder, const Ranks& ranks) : folder_(folder / name_for(ranks)) {
    std::error_code ignored;
    std::filesystem::create_directory(folder_, ignored);
}

void remove_claims_of_others(const std::filesystem::path& folder, const Ranks& ranks) {
    std::error_code ignored;
    std::string problem;
    const std::string mine = ranks.size > 1 ? name_for(ranks) : std::string();
    for (const auto& file : base::names_in(folder, problem, 10'000'000)) {
        const std::string name = file.filename().string();
        if (name.starts_with(kClaims) && name != mine) std::filesystem::remove_all(folder / file.filename(), ignored);
    }
}

bool Claims::take(const std::string& key, bool own) {
    if (mine_.contains(key)) return true;
    if (others_.contains(key)) return false;
    errno = 0;
    std::FILE* made = base::create_new(folder_ / key);
    const bool taken = made == nullptr && errno == EEXIST;
    if (made != nullptr) std::fclose(made);
    const bool mine = made != nullptr || (own && !taken);
    (mine ? mine_ : others_).insert(key);
    return mine;
}

void Claims::look() {
    std::string problem;
    for (const auto& file : base::names_in(folder_, problem, 10'000'000)) {
        const std::string key = file.filename().string();
        if (!mine_.contains(key)) others_.insert(key);
    }
}

void Claims::remove() noexcept {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::vector<size_t> to_help_with(std::span<const size_t> owner, std::span<const size_t> order, size_t rank, size_t ranks) {
    std::vector<std::vector<size_t>> shares(ranks);
    for (const size_t task : order) shares[owner[task]].push_back(task);
    size_t longest = 0;
    for (const std::vector<size_t>& share : shares) longest = std::max(longest, share.size());
    std::vector<size_t> offered;
    for (size_t back = 1; back < longest; ++back)
        for (size_t next = 1; next < ranks; ++next) {
            const std::vector<size_t>& share = shares[(rank + next) % ranks];
            if (back < share.size()) offered.push_back(share[share.size() - back]);
        }
    return offered;
}

}  // namespace backplane::batch
