// Whether an MP3 or Ogg file is all there, by what its first frame or its last page says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace backplane::formats {

struct Mp3Length {
    uint64_t said = 0;   // bytes from the first frame on
    uint64_t there = 0;  // bytes from the first frame on
};

// What the header that Xing began and all encoders write ("Xing", "Info": in the first frame, behind its side information) says of the length; none:
// the file is no MP3, or says nothing. An ID3v2 tag comes before. Source: the format's description by its users, gabriel.mp3-tech.org/mp3infotag.html.
std::optional<Mp3Length> mp3_length(std::span<const std::byte> file);

// Whether the first frame of an MPEG file (MP3) is where it should be, behind ID3v2 tags.
bool is_mpeg(std::span<const std::byte> file);
// Whether it begins as a file of another format does, which may have any name.
bool is_other_sound(std::span<const std::byte> file);
// Whether it may be MPEG by so little of it, where a tag may be longer than that.
bool may_be_mpeg(std::span<const std::byte> begins);

// Whether a file that begins as Ogg ends with a whole page that ends its stream (RFC 3533, 6: "end of stream"). True of other files.
bool ogg_has_its_end(std::span<const std::byte> file);

}  // namespace backplane::formats
