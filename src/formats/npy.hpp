// NumPy's .npy: one dense array. Format: numpy.lib.format, versions 1.0 to 3.0.
//
// Reading trusts nothing: a header that lies about its length, a type or a shape is an Error(corrupt) that says where.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "backplane/graph.hpp"
#include "gguf/mapped_file.hpp"

namespace backplane::formats {

struct NpyArray {
    DType dtype = DType::unknown;
    Shape shape;
    std::span<const std::byte> bytes;  // where the file has them
    bool is_unsigned = false;          // of 32 or 64 bits, which dtype, i32 or i64, holds
    bool columns_first = false;        // the first index is the one that changes from element to element
    bool big_endian = false;
};

// `file` is for messages. Throws Error: corrupt, unsupported (complex numbers, strings, structures, a rank over 8).
NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& file);

// Its elements with rows before columns, in little-endian.
std::vector<std::byte> arranged(const NpyArray& array);

// The array of a file, which stays mapped, with rows before columns and in little-endian: a copy where the file has it otherwise.
class NpyFile {
public:
    // Throws as parse_npy() does, and what the system says (not_found, denied).
    static NpyFile open(const std::filesystem::path& path);
    [[nodiscard]] const NpyArray& array() const noexcept { return array_; }

private:
    MappedFile file_;
    std::vector<std::byte> copy_;
    NpyArray array_;
};

// Writes one; nothing appears under the name until it is whole. bf16, which NumPy does not have, is written as f32. Throws Error: unsupported (a type of
// blocks), invalid (bytes that do not fit), what the system says.
void write_npy(const std::filesystem::path& path, DType dtype, const Shape& shape, std::span<const std::byte> bytes,
               bool is_unsigned = false);

}  // namespace backplane::formats
