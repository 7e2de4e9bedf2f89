// Device files that a child had open at its end and this process keeps open for a while, so that a driver which lets a card go when nobody has
// it open any more does not do so between the two.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace backplane::base {

inline constexpr size_t kMostKeptOpen = 8;

// Descriptors, closed with it; programs that this process starts do not get them. Any thread.
class KeptOpen {
public:
    explicit KeptOpen(std::vector<int> files) noexcept : files_(std::move(files)) {}
    ~KeptOpen();
    KeptOpen(const KeptOpen&) = delete;
    KeptOpen& operator=(const KeptOpen&) = delete;
    [[nodiscard]] std::span<const int> files() const noexcept { return files_; }

private:
    std::vector<int> files_;
};
using SharedKeptOpen = std::shared_ptr<const KeptOpen>;  // null: none

// For the half of a supervised program that works: when it ends with code 0, whoever called run_supervised() has those of these device files
// that it has open now (ChildOutcome::kept_open), at most kMostKeptOpen. Nothing happens where the system cannot (Windows).
void keep_open(std::span<const std::string> paths) noexcept;

}  // namespace backplane::base
