#include "made_jpeg.hpp"

#include <algorithm>
#include <string_view>

namespace backplane::test {

namespace {

void append_marker(Bytes& to, uint8_t marker, const Bytes& content) {
    const std::size_t size = content.size() + 2;
    to.insert(to.end(), {0xff, marker, static_cast<uint8_t>(size >> 8), static_cast<uint8_t>(size)});
    to.insert(to.end(), content.begin(), content.end());
}

// In markers, each of which says which of how many it is.
void append_profile(Bytes& to, const Bytes& profile) {
    constexpr std::size_t most = 65519;
    const std::size_t count = (profile.size() + most - 1) / most;
    for (std::size_t i = 0; i < count; ++i) {
        constexpr std::string_view name("ICC_PROFILE\0", 12);
        Bytes content(name.begin(), name.end());
        content.insert(content.end(), {static_cast<uint8_t>(i + 1), static_cast<uint8_t>(count)});
        const std::size_t end = std::min(profile.size(), (i + 1) * most);
        content.insert(content.end(), profile.begin() + static_cast<std::ptrdiff_t>(i * most),
                       profile.begin() + static_cast<std::ptrdiff_t>(end));
        append_marker(to, 0xe2, content);
    }
}

}  // namespace

int channels_of(JpegColour colour) {
    switch (colour) {
        case JpegColour::grey: return 1;
        case JpegColour::cmyk:
        case JpegColour::cmyk_without_adobe:
        case JpegColour::ycck: return 4;
        default: return 3;
    }
}

Bytes make_jpeg(const JpegKind& kind, const Bytes& pixels) {
    const Bytes coded = coded_jpeg(kind, pixels);
    std::size_t at = 2;  // behind what JFIF and Adobe say
    while (at + 4 < coded.size() && (coded[at + 1] == 0xe0 || coded[at + 1] == 0xee))
        at += 2 + (std::size_t{coded[at + 2]} << 8 | coded[at + 3]);
    Bytes file(coded.begin(), coded.begin() + static_cast<std::ptrdiff_t>(at));
    if (!kind.app1.empty()) append_marker(file, 0xe1, kind.app1);
    append_profile(file, kind.profile);
    file.insert(file.end(), coded.begin() + static_cast<std::ptrdiff_t>(at), coded.end());
    return file;
}

Bytes make_exif(int orientation, bool little_endian) {
    Bytes bytes{'E', 'x', 'i', 'f', 0, 0};
    const auto number = [&](uint32_t value, int size) {
        for (int i = 0; i < size; ++i)
            bytes.push_back(static_cast<uint8_t>(value >> 8 * (little_endian ? i : size - 1 - i)));
    };
    const char order = little_endian ? 'I' : 'M';
    bytes.push_back(static_cast<uint8_t>(order));
    bytes.push_back(static_cast<uint8_t>(order));
    number(42, 2);
    number(8, 4);  // the first folder
    number(2, 2);  // entries
    number(0x0106, 2), number(3, 2), number(1, 4), number(2, 2), number(0, 2);
    number(0x0112, 2), number(3, 2), number(1, 4), number(static_cast<uint32_t>(orientation), 2), number(0, 2);
    number(0, 4);  // no other folder
    return bytes;
}

}  // namespace backplane::test
