// A Parakeet network of random weights as a file, for measurements.
#pragma once

#include <filesystem>
#include <random>
#include <string>

#include "base/file.hpp"
#include "models/parakeet/random_network.hpp"

namespace backplane::cli {

// Gone with the object unless it has a name.
class RandomFile {
public:
    RandomFile(const std::string& size, DType dtype, const std::string& name)
        : kept_(!name.empty()), path_(base::path_of(name)) {
        if (!kept_)
            path_ = std::filesystem::temp_directory_path() /
                    ("backplane-bench-" + std::to_string(std::random_device{}()) + ".gguf");
        try {
            parakeet::write_random_network(path_, parakeet::published_config(size), {.dtype = dtype, .duration = 2});
        } catch (...) {
            remove();
            throw;
        }
    }
    ~RandomFile() {
        if (!kept_) remove();
    }
    RandomFile(const RandomFile&) = delete;
    RandomFile& operator=(const RandomFile&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    void remove() noexcept {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }

    bool kept_;
    std::filesystem::path path_;
};

}  // namespace backplane::cli
