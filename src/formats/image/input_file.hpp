// An image file being read: its first bytes can be looked at without consuming them, so that pipes can be read too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>

namespace backplane::formats {

class InputFile {
    struct CloseFile {
        void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
    };

public:
    explicit InputFile(std::filesystem::path path);  // throws Error(not_found, denied, unsupported: a folder)

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] std::span<const uint8_t> head() const noexcept {
        return {head_.data(), head_size_};
    }  // fewer at the end of the file
    // How many were read: fewer than asked at the end of the file or when it fails. Does not throw, so that C code may call it.
    std::size_t read(void* into, std::size_t size) noexcept;
    [[nodiscard]] int fault() const noexcept { return fault_; }         // errno of the first failure, 0: none
    [[nodiscard]] bool ended_early() const noexcept { return ended_; }  // more was asked for than there is

private:
    std::filesystem::path path_;
    std::unique_ptr<std::FILE, CloseFile> file_;
    std::array<uint8_t, 24> head_{};  // of a PNG: as far as its width and height
    std::size_t head_size_ = 0, head_used_ = 0;
    int fault_ = 0;
    bool ended_ = false;
};

}  // namespace backplane::formats
