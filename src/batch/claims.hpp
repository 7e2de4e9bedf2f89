// Which of the ranks of one job does a file, where each may take what others have not begun: an empty file for each one that was begun, in a
// folder beside the results, made by the one that is first. No rank waits for another.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "batch/ranks.hpp"

namespace backplane::batch {

// One thread at a time.
class Claims {
public:
    // Makes the folder where it is not there.
    Claims(const std::filesystem::path& folder, const Ranks& ranks);

    // True: this rank is to do the file, now or already. `own`: it is of its own share, and is done by it also where no claim can be made.
    bool take(const std::string& key, bool own);
    // What is claimed by now, as far as can be seen: not asked for again by take() of others' shares.
    void look();
    void remove() noexcept;  // when all ranks have ended

private:
    std::filesystem::path folder_;
    std::set<std::string> mine_, others_;
};

// Removes the folders of all other jobs than this one, which were killed: by rank 0, when it holds its journal.
void remove_claims_of_others(const std::filesystem::path& folder, const Ranks& ranks);

// Files of other ranks' shares in the order in which `rank` offers to do them: the last of each share first, beginning with the share of the rank
// behind it. The first of each share is left to its rank. `owner`: by file the rank; `order`: files, those first that a rank does first.
std::vector<size_t> to_help_with(std::span<const size_t> owner, std::span<const size_t> order, size_t rank, size_t ranks);

}  // namespace backplane::batch
