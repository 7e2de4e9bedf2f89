// A file that is there whole or not at all.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace backplane::formats {

struct CloseFile {
    void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

// Written under a temporary name in the target's folder, renamed by finish(); a PartialFile destroyed before removes what it wrote.
class PartialFile {
public:
    // A link is followed, so that what it points at is replaced. Throws Error(denied, not_found, invalid).
    explicit PartialFile(const std::filesystem::path& target);
    ~PartialFile();
    PartialFile(const PartialFile&) = delete;
    PartialFile& operator=(const PartialFile&) = delete;

    // False: it failed, fault() says why. Does not throw, so that C code may call it.
    [[nodiscard]] bool write(const void* bytes, std::size_t size) noexcept;
    [[nodiscard]] int fault() const noexcept { return fault_; }  // errno of the first failure, 0: none
    void finish();                                               // throws Error(denied)

private:
    void remove() noexcept;

    std::filesystem::path target_, partial_;
    FileHandle file_;
    int fault_ = 0;
};

}  // namespace backplane::formats
