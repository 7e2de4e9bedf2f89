// Bytes to look at: a file, or memory in a test. What is read is counted and has an end, so that judging ends whatever a file holds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "base/file.hpp"

namespace backplane::discovery {

// What reading a file took.
struct Work {
    uint64_t reads = 0, bytes = 0;
    uint64_t steps = 0;  // rows of tables walked
    bool operator==(const Work&) const = default;
};
// Far above what any module takes: those of this project need about 30 reads, 5 KB and 100 steps.
inline constexpr Work kMostWork{4096, uint64_t{2} << 20, uint64_t{1} << 16};

class ByteSource {
public:
    ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    virtual ~ByteSource() = default;
    [[nodiscard]] virtual uint64_t size() const = 0;
    // All of `into`, or false: it lies outside, or the work is used up.
    [[nodiscard]] bool read(uint64_t offset, std::span<std::byte> into) const;
    // Called once a row of a table. False: the work is used up, walk no further.
    [[nodiscard]] bool step() const { return !used_up() && ++work_->steps <= kMostWork.steps; }

    template <typename T>
    [[nodiscard]] bool get(uint64_t offset, T& value) const {
        return read(offset, std::as_writable_bytes(std::span(&value, 1)));
    }
    // A zero-terminated text; empty when there is none. No value: it is longer than `most`.
    [[nodiscard]] std::optional<std::string> text(uint64_t offset, size_t most) const;

    [[nodiscard]] const Work& work() const { return *work_; }
    [[nodiscard]] bool used_up() const {
        return work_->reads > kMostWork.reads || work_->bytes > kMostWork.bytes || work_->steps > kMostWork.steps;
    }

protected:
    static constexpr size_t kBlockOfText = 256;  // as much of a text as is read at once
    struct CountedWith {
        const ByteSource& other;
    };
    explicit ByteSource(CountedWith with) : work_(with.other.work_) {}
    // All of `into`, or false.
    [[nodiscard]] virtual bool fetch(uint64_t offset, std::span<std::byte> into) const = 0;

private:
    mutable Work own_;
    Work* work_ = &own_;
};

// A file. Its first 4 KiB, where most of what is looked for stands, are read once, and names that stand together elsewhere at once.
class FileBytes final : public ByteSource {
public:
    explicit FileBytes(const base::File& file) : file_(file), held_(file.read_at(0, first_)) {}
    [[nodiscard]] uint64_t size() const override { return file_.status().size; }

private:
    [[nodiscard]] bool fetch(uint64_t offset, std::span<std::byte> into) const override;

    const base::File& file_;
    std::array<std::byte, 4096> first_{};
    size_t held_;
    mutable std::array<std::byte, 1024> names_{};
    mutable uint64_t names_at_ = 0;
    mutable size_t names_held_ = 0;
};

class MemoryBytes final : public ByteSource {
public:
    explicit MemoryBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
    [[nodiscard]] uint64_t size() const override { return bytes_.size(); }

private:
    [[nodiscard]] bool fetch(uint64_t offset, std::span<std::byte> into) const override {
        if (offset > bytes_.size() || into.size() > bytes_.size() - offset) return false;
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return true;
    }

    std::span<const std::byte> bytes_;
};

}  // namespace backplane::discovery
