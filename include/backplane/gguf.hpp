// GGUF version 3: reading (memory-mapped, zero-copy) and writing. Format: docs/formats.md, after ggml's gguf.md.
//
// Reading trusts nothing: every count, length, offset, type and shape is checked against the file's size before it is used, and a file
// that lies is an Error(corrupt) that says where. A GgufFile is immutable; every member may be called from many threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backplane/error.hpp"
#include "backplane/graph.hpp"

namespace backplane {

// A metadata value. Integers of every width become int64_t or, above its range, uint64_t; f32 and f64 become double.
using GgufValue = std::variant<bool, int64_t, uint64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>>;

struct GgufTensor {
    std::string name;
    DType dtype = DType::unknown;  // unknown: a type of GGUF that we have no use for (`type` says which)
    uint32_t type = 0;             // GGML type number, as in the file
    Shape shape;                   // outermost first (the file has them innermost first)
    uint64_t offset = 0;           // from the start of the file
    uint64_t bytes = 0;
};

class GgufFile {
public:
    // Maps the file. Throws Error(not_found, denied) for what the system says, Error(corrupt) for a file that lies, is cut off or
    // is not GGUF, Error(unsupported) for another version.
    static GgufFile open(const std::filesystem::path& path);
    // Reads from memory that outlives the GgufFile.
    static GgufFile from_memory(std::span<const std::byte> bytes, std::string name = "memory");

    [[nodiscard]] const std::vector<std::pair<std::string, GgufValue>>& metadata() const noexcept;
    [[nodiscard]] const GgufValue* find(std::string_view key) const noexcept;  // null: no such key
    // Throw Error(corrupt) naming file and key when it is missing or of another type.
    [[nodiscard]] int64_t integer(std::string_view key) const;
    [[nodiscard]] const std::string& text(std::string_view key) const;
    [[nodiscard]] const std::vector<std::string>& texts(std::string_view key) const;

    [[nodiscard]] const std::vector<GgufTensor>& tensors() const noexcept;
    [[nodiscard]] const GgufTensor* find_tensor(std::string_view name) const noexcept;
    // Bytes inside the mapping; valid while any copy of this GgufFile lives. Throws Error(not_found) for an unknown name.
    [[nodiscard]] std::span<const std::byte> data(std::string_view name) const;
    [[nodiscard]] const std::string& name() const noexcept;  // of the file, for messages

private:
    struct State;
    std::shared_ptr<const State> state_;
};

// Writes a file of version 3, alignment 32. Nothing appears under the final name until finish() succeeded.
class GgufWriter {
public:
    void set(std::string key, GgufValue value);  // keys keep the order of first setting
    // The bytes stay with the caller until write() returned. Throws Error(invalid): size does not fit dtype and shape, or name taken.
    void add(std::string name, DType dtype, Shape shape, std::span<const std::byte> bytes);
    // The same of bytes that are made when they are written, one tensor after the other: a file of many gigabytes takes the memory of its largest tensor.
    void add_made(std::string name, DType dtype, Shape shape, std::function<std::vector<std::byte>()> make);
    // Throws Error, and what a function of add_made() throws; then there is no file, or the old one.
    void write(const std::filesystem::path& path) const;
    [[nodiscard]] std::vector<std::byte> bytes() const;  // what write() writes

private:
    void give(const std::function<void(std::span<const std::byte>)>& piece) const;

    struct Item {
        std::string name;
        DType dtype;
        Shape shape;
        std::span<const std::byte> bytes;
        std::function<std::vector<std::byte>()> make;  // in the place of bytes
        uint64_t size;
    };
    void take(Item item);

    std::vector<std::pair<std::string, GgufValue>> metadata_;
    std::vector<Item> tensors_;
    std::set<std::string> names_;  // of the tensors
};

}  // namespace backplane
