// Reads little-endian numbers and texts from bytes that may lie about themselves.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backplane/error.hpp"

namespace backplane::formats {

static_assert(std::endian::native == std::endian::little, "weights are used where they lie, and files are little-endian");

// Every failure is an Error(corrupt) that names the file and the byte.
class ByteReader {
public:
    ByteReader(std::span<const std::byte> bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

    [[nodiscard]] uint64_t position() const noexcept { return position_; }
    [[nodiscard]] uint64_t remaining() const noexcept { return bytes_.size() - position_; }
    [[nodiscard]] uint64_t size() const noexcept { return bytes_.size(); }

    [[noreturn]] void fail(const std::string& why, Code code = Code::corrupt) const {
        throw Error(code, "cannot read '" + file_ + "': at byte " + std::to_string(position_) + ": " + why);
    }

    template <typename Number>
    [[nodiscard]] Number number(const char* what) {
        if (remaining() < sizeof(Number)) fail(std::string("the file ends inside ") + what);
        Number value{};
        std::memcpy(&value, bytes_.data() + position_, sizeof value);
        position_ += sizeof value;
        return value;
    }

    // A number of things of which each takes at least `smallest` bytes: no more than what is left can hold.
    [[nodiscard]] uint64_t count(const char* what, uint64_t smallest) {
        const auto n = number<uint64_t>(what);
        check_count(n, smallest, what);
        return n;
    }
    void check_count(uint64_t n, uint64_t smallest, const char* what) const {
        if (n > remaining() / smallest)
            fail(std::string(what) + " is " + std::to_string(n) + ", more than the " + std::to_string(remaining()) +
                 " bytes that are left can hold");
    }

    [[nodiscard]] std::string text(const char* what) {
        const uint64_t length = count(what, 1);
        std::string value(reinterpret_cast<const char*>(bytes_.data()) + position_, length);
        position_ += length;
        return value;
    }

private:
    std::span<const std::byte> bytes_;
    std::string file_;
    uint64_t position_ = 0;
};

}  // namespace backplane::formats
