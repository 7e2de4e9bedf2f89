#include "formats/image/row_writer.hpp"

#include <utility>

#include "base/file_error.hpp"
#include "formats/image/checks.hpp"

namespace backplane::formats {

RowWriter::RowWriter(const std::filesystem::path& path, ImageInfo info, const char* kind)
    : path_(path),
      info_(std::move(info)),
      name_(
          std::string("the ") + kind + ' ' +
          base::quoted(
              path)),  // Who loses the power loses a picture that can be made again; waiting for the disk would cost everybody.
      file_(path, {.durable = false}) {}

void RowWriter::write(std::span<const uint8_t> rows) {
    check_open();
    const uint32_t count = rows_in(rows.size(), info_, next_row_, "write to " + name_);
    const std::size_t row_bytes = std::size_t{info_.width} * info_.channels;
    closed_ = true;  // stays so when a row fails
    for (uint32_t i = 0; i < count; ++i, ++next_row_) write_row(rows.data() + i * row_bytes);
    closed_ = false;
}

void RowWriter::finish() {
    check_open();
    if (next_row_ != info_.height) {
        throw Error(Code::invalid, "cannot finish " + name_ + ": " + std::to_string(next_row_) + " of " +
                                       std::to_string(info_.height) + " rows were written");
    }
    closed_ = true;
    finish_rows();
    file_.commit();
}

Error RowWriter::failure(const std::string& part, const char* why) const {
    if (file_.fault() != 0) return base::file_error("cannot write " + part + " of", path_, file_.fault());
    return {Code::invalid, "cannot write " + part + " of " + name_ + ": " + why};
}

std::string RowWriter::row_name() const {
    return "row " + std::to_string(next_row_) + " of " + std::to_string(info_.height);
}

void RowWriter::check_open() const {
    if (closed_) throw Error(Code::invalid, "cannot write to " + name_ + ": it is finished or has failed before");
}

void lay_over_white(std::span<const uint8_t> row, std::span<uint8_t> flat) {
    for (std::size_t x = 0; x < flat.size() / 3; ++x) {
        const unsigned alpha = row[x * 4 + 3];
        for (std::size_t c = 0; c < 3; ++c)
            flat[x * 3 + c] = static_cast<uint8_t>((row[x * 4 + c] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
}

}  // namespace backplane::formats
