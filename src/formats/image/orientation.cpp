#include "formats/image/orientation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace backplane::formats {

namespace {

// Numbers of a TIFF structure in either byte order; past the end they are 0, which no valid field is here.
class Tiff {
public:
    explicit Tiff(std::span<const uint8_t> bytes) : bytes_(bytes), little_(!bytes.empty() && bytes[0] == 'I') {}
    [[nodiscard]] uint32_t u16(std::size_t at) const noexcept {
        if (at > bytes_.size() || bytes_.size() - at < 2) return 0;
        const uint32_t a = bytes_[at], b = bytes_[at + 1];
        return little_ ? b << 8 | a : a << 8 | b;
    }
    [[nodiscard]] uint32_t u32(std::size_t at) const noexcept {
        return little_ ? u16(at + 2) << 16 | u16(at) : u16(at) << 16 | u16(at + 2);
    }

private:
    std::span<const uint8_t> bytes_;
    bool little_;
};

}  // namespace

int orientation_of(std::span<const uint8_t> app1) noexcept {
    if (app1.size() < 14 || std::memcmp(app1.data(), "Exif\0", 6) != 0) return 1;
    const Tiff tiff(app1.subspan(6));
    const bool known_order = std::memcmp(app1.data() + 6, "II", 2) == 0 || std::memcmp(app1.data() + 6, "MM", 2) == 0;
    if (!known_order || tiff.u16(2) != 42) return 1;
    const std::size_t folder = tiff.u32(4), entries = tiff.u16(folder);
    for (std::size_t i = 0; i < entries; ++i) {
        const std::size_t entry = folder + 2 + i * 12;
        if (tiff.u16(entry) != 0x0112) continue;
        const uint32_t value = tiff.u16(entry + 8);
        const bool is_one_short = tiff.u16(entry + 2) == 3 && tiff.u32(entry + 4) == 1;
        return is_one_short && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
}

void upright_row(std::span<const uint8_t> stored, uint32_t width, uint32_t height, int orientation, uint32_t y,
                 std::span<uint8_t> row) {
    const bool swapped = swaps_sides(orientation);
    const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    const uint32_t across = swapped ? height : width;
    for (uint32_t x = 0; x < across; ++x) {
        const uint32_t column = swapped ? y : x, line = swapped ? x : y;
        const std::size_t from_x = from_right ? width - 1 - column : column;
        const std::size_t from_y = from_bottom ? height - 1 - line : line;
        std::copy_n(stored.data() + (from_y * width + from_x) * 3, 3, row.data() + std::size_t{x} * 3);
    }
}

}  // namespace backplane::formats
