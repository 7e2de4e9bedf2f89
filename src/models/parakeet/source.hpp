// Where a ModelFile has it from: one of the two formats.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/parakeet/model_file.hpp"

namespace backplane::parakeet {

// A tensor as the file has it.
struct Found {
    DType dtype = DType::unknown;
    std::string type;  // the format's name of it
    Shape shape;
    std::span<const std::byte> bytes;
};

class Source {
public:
    Source() = default;
    virtual ~Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    [[nodiscard]] virtual const std::string& file() const noexcept = 0;
    // What the file says; it may not fit together (check_config).
    [[nodiscard]] virtual Config config() const = 0;
    // As many as the configuration's vocab_size, any texts.
    [[nodiscard]] virtual std::vector<std::string> pieces(const Config& config) const = 0;
    // Name in this file of the tensor that NeMo calls `name`.
    [[nodiscard]] virtual std::string name_of(std::string_view name) const = 0;
    [[nodiscard]] virtual std::optional<Found> find(std::string_view name) const = 0;  // NeMo's name
};

// Throw as ModelFile::open does.
std::unique_ptr<Source> open_gguf(const std::filesystem::path& path);
std::unique_ptr<Source> open_folder(const std::filesystem::path& path);
// The folder that the weights (model.safetensors, model.safetensors.index.json) lie in, by these weights.
std::unique_ptr<Source> open_weights(const std::filesystem::path& path);
bool is_weights_of_folder(const std::filesystem::path& path);  // by the name's ending

}  // namespace backplane::parakeet
