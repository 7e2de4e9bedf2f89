// What was done of a batch, in a file of lines for each rank, in the folder of the results: what a killed process did, the next one knows, and
// rank 0 what the others do. A line is JSON. A line is written when the result is on the disk; a result whose line was lost is made again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/appended_file.hpp"
#include "base/json.hpp"
#include "batch/ranks.hpp"

namespace backplane::batch {

std::filesystem::path journal_file(const std::filesystem::path& folder, int64_t rank);

// One run of one rank. One thread at a time.
class Journal {
public:
    // `list`: tells the files that all ranks together are to do. Throws as AppendedFile().
    Journal(const std::filesystem::path& folder, const Ranks& ranks, const std::string& list);

    void write(const base::Json& record);  // throws Error(denied)
    void end();                            // this rank has done its share
    void touch() noexcept { file_.touch(); }

private:
    base::AppendedFile file_;
};

// Of all runs so far, whichever rank: the last line about each file that was done, by its "key". What is no line of ours is passed over.
std::map<std::string, base::Json> done_so_far(const std::filesystem::path& folder);

// What another rank does in this job.
class Follower {
public:
    // `since`: seconds since 1970 at which this rank began. Where no launcher names the job, what began at most ten minutes before is of it.
    Follower(const std::filesystem::path& folder, int64_t rank, std::string job, int64_t since);

    std::vector<base::Json> next();  // its new lines about files
    [[nodiscard]] bool begun() const noexcept { return begun_; }
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] const std::string& list() const noexcept { return list_; }
    [[nodiscard]] int64_t pulse() const { return lines_.pulse(); }
    [[nodiscard]] int64_t rank() const noexcept { return rank_; }

private:
    base::AppendedLines lines_;
    int64_t rank_;
    std::string job_, list_;
    int64_t since_;
    bool begun_ = false, ended_ = false;
};

}  // namespace backplane::batch
