// Bytes to look at: a file, or memory in a test.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/file.hpp"

namespace backplane::discovery {

class ByteSource {
public:
    virtual ~ByteSource() = default;
    [[nodiscard]] virtual uint64_t size() const = 0;
    // All of `into`, or false.
    [[nodiscard]] virtual bool read(uint64_t offset, std::span<std::byte> into) const = 0;

    template <typename T>
    [[nodiscard]] bool get(uint64_t offset, T& value) const {
        return read(offset, std::as_writable_bytes(std::span(&value, 1)));
    }
    // A zero-terminated text of at most 255 bytes; empty when there is none.
    [[nodiscard]] std::string text(uint64_t offset) const;
};

// A file. Its first 4 KiB, where most of what is looked for stands, are read once.
class FileBytes final : public ByteSource {
public:
    explicit FileBytes(const base::File& file) : file_(file), held_(file.read_at(0, first_)) {}
    [[nodiscard]] uint64_t size() const override { return file_.status().size; }
    [[nodiscard]] bool read(uint64_t offset, std::span<std::byte> into) const override;

private:
    const base::File& file_;
    std::array<std::byte, 4096> first_{};
    size_t held_;
};

class MemoryBytes final : public ByteSource {
public:
    explicit MemoryBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
    [[nodiscard]] uint64_t size() const override { return bytes_.size(); }
    [[nodiscard]] bool read(uint64_t offset, std::span<std::byte> into) const override {
        if (offset > bytes_.size() || into.size() > bytes_.size() - offset) return false;
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return true;
    }

private:
    std::span<const std::byte> bytes_;
};

}  // namespace backplane::discovery
