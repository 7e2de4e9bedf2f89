// safetensors: tensors by name, memory-mapped. Format: docs/formats.md, after the README of huggingface/safetensors.
//
// Reading trusts nothing: a header that lies about a type, a shape or a place is an Error(corrupt) that says where.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::formats {

struct SafetensorsTensor {
    std::string name;
    DType dtype = DType::unknown;      // unknown: a type of the format that we have no use for (`type` says which)
    std::string type;                  // as in the file: "F32"
    Shape shape;                       // outermost first, as in the file
    std::span<const std::byte> bytes;  // where the file has them, so not always aligned to an element
};

// Tensors in the order of their places. `file` is for messages. Throws Error: corrupt, unsupported (a rank over 8, a header over 64 MiB).
// Texts of "__metadata__" go into `metadata`, where given; whatever else is in there is left out.
using SafetensorsMetadata = std::map<std::string, std::string>;
std::vector<SafetensorsTensor> parse_safetensors(std::span<const std::byte> bytes, const std::string& file,
                                                 SafetensorsMetadata* metadata = nullptr);

// Immutable: every member may be called from many threads. Copies share the mapping.
class SafetensorsFile {
public:
    // A .safetensors file, or an index (.json) whose "weight_map" says in which file beside it each tensor is. Throws as parse_safetensors does,
    // what the system says (not_found, denied), and Error(corrupt) for an index that does not fit its files.
    static SafetensorsFile open(const std::filesystem::path& path);

    // Bytes live as long as any copy of this SafetensorsFile.
    [[nodiscard]] const SafetensorsTensor* find(std::string_view name) const noexcept;  // null: none
    [[nodiscard]] const std::map<std::string, SafetensorsTensor, std::less<>>& tensors() const noexcept;
    [[nodiscard]] const SafetensorsMetadata& metadata() const noexcept;  // of several files: what the last one of a name has
    [[nodiscard]] const std::string& name() const noexcept;              // of the file, for messages

private:
    struct State;
    std::shared_ptr<const State> state_;
};

}  // namespace backplane::formats
