// What PNG and JPEG writers share: the counting of rows, and that nothing is written after a failure or the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "backplane/image.hpp"
#include "base/replacing_file.hpp"

namespace backplane::formats {

class RowWriter : public ImageWriter {
public:
    RowWriter(const std::filesystem::path& path, ImageInfo info, const char* kind);
    void write(std::span<const uint8_t> rows) final;
    void finish() final;

protected:
    // Both throw when the library below gave up: failure() is what to throw.
    virtual void write_row(const uint8_t* row) = 0;
    virtual void finish_rows() = 0;
    [[nodiscard]] Error failure(const std::string& part, const char* why) const;

    [[nodiscard]] const ImageInfo& info() const noexcept { return info_; }
    [[nodiscard]] base::ReplacingFile& file() noexcept { return file_; }
    [[nodiscard]] std::string row_name() const;  // "row 3 of 10"

private:
    void check_open() const;

    std::filesystem::path path_;
    ImageInfo info_;
    std::string name_;  // "the PNG 'a.png'"
    base::ReplacingFile file_;
    uint32_t next_row_ = 0;
    bool closed_ = false;  // finished or failed
};

// RGBA as RGB, for what has no alpha.
void lay_over_white(std::span<const uint8_t> row, std::span<uint8_t> flat);

}  // namespace backplane::formats
