// Reads the wire format of protocol buffers (protobuf.dev/programming-guides/encoding) from bytes that may lie about themselves.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backplane/error.hpp"

namespace backplane::formats {

// The fields of one message, in order. Every failure is an Error(corrupt) that names the file.
//   for (ProtobufReader in(bytes, "a file"); in.next();) if (in.field() == 4) name = in.text();
class ProtobufReader {
public:
    ProtobufReader(std::span<const std::byte> message, std::string file) : rest_(message), file_(std::move(file)) {}

    [[noreturn]] void fail(const std::string& why) const {
        throw Error(Code::corrupt, "cannot read '" + file_ + "': " + why + " in field " + std::to_string(field_) +
                                       "; it is no ONNX file, or one that is cut short or damaged");
    }

    // False at the end of the message. A field that nobody asks for is passed over.
    bool next() {
        if (rest_.empty()) return false;
        const uint64_t key = varint();
        field_ = key >> 3;
        wire_ = static_cast<uint32_t>(key & 7);
        if (field_ == 0) fail("a key of 0");
        switch (wire_) {
            case kVarint: number_ = varint(); break;
            case kFixed64: value_ = take(8); break;
            case kBytes: value_ = take(varint()); break;
            case kFixed32: value_ = take(4); break;
            default: fail("an unknown wire type");
        }
        return true;
    }
    [[nodiscard]] uint64_t field() const noexcept { return field_; }
    [[nodiscard]] const std::string& file() const noexcept { return file_; }  // for messages

    [[nodiscard]] int64_t integer() const {
        if (wire_ != kVarint) fail("no integer");
        return static_cast<int64_t>(number_);
    }
    [[nodiscard]] std::span<const std::byte> bytes() const {
        if (wire_ != kBytes) fail("no bytes");
        return value_;
    }
    [[nodiscard]] std::string text() const {
        const std::span<const std::byte> from = bytes();
        return {reinterpret_cast<const char*>(from.data()), from.size()};
    }
    [[nodiscard]] ProtobufReader message() const { return {bytes(), file_}; }

    // A number of 4 or 8 bytes, or several of them packed, behind those that are there.
    template <typename Number>
    void append_fixed(std::vector<Number>& to) const {
        static_assert(sizeof(Number) == 4 || sizeof(Number) == 8);
        if (wire_ != kBytes && wire_ != (sizeof(Number) == 4 ? kFixed32 : kFixed64)) fail("no number of fixed size");
        if (value_.size() % sizeof(Number) != 0) fail("a part of a number");
        const size_t first = to.size();
        to.resize(first + value_.size() / sizeof(Number));
        if (!value_.empty()) std::memcpy(to.data() + first, value_.data(), value_.size());
    }
    // The same of integers of variable size.
    void append_integers(std::vector<int64_t>& to) const {
        if (wire_ == kVarint) return to.push_back(integer());
        ProtobufReader packed = message();
        while (!packed.rest_.empty()) to.push_back(static_cast<int64_t>(packed.varint()));
    }

private:
    static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");
    enum : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

    std::span<const std::byte> take(uint64_t size) {
        if (size > rest_.size()) fail(std::to_string(size) + " bytes where " + std::to_string(rest_.size()) + " are left");
        const std::span<const std::byte> taken = rest_.first(size);
        rest_ = rest_.subspan(size);
        return taken;
    }
    uint64_t varint() {
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = std::to_integer<uint64_t>(take(1)[0]);
            value |= (byte & 127) << shift;
            if (byte < 128) return value;
        }
        fail("an integer of more than ten bytes");
    }

    std::span<const std::byte> rest_, value_;
    std::string file_;
    uint64_t field_ = 0, number_ = 0;
    uint32_t wire_ = 0;
};

}  // namespace backplane::formats
