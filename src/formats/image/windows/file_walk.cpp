#include "formats/image/windows/file_walk.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string_view>

#include "backplane/error.hpp"
#include "formats/image/checks.hpp"
#include "formats/image/orientation.hpp"

namespace backplane::formats {

namespace {

using Part = std::span<const uint8_t>;

uint32_t u16(Part bytes, std::size_t at) { return uint32_t{bytes[at]} << 8 | bytes[at + 1]; }
uint32_t u32(Part bytes, std::size_t at) { return u16(bytes, at) << 16 | u16(bytes, at + 2); }

class Fault {
public:
    explicit Fault(const std::string& name) : name_(name) {}
    [[noreturn]] void cut_off() const {
        fail(Code::corrupt, "the file ends early; it was cut off: copy or download it again");
    }
    [[noreturn]] void damaged(const std::string& why) const { fail(Code::corrupt, why + "; it is damaged: get it again"); }
    [[noreturn]] void unsupported(const std::string& why) const { fail(Code::unsupported, why); }
    void refuse_above(uint64_t held, const char* why, const char* what_to_do) const {
        if (held <= kMostHeld) return;
        fail(Code::no_host_memory, std::string(why) + " would need " + std::to_string(held >> 20) + " MiB at once, " +
                                       std::to_string(kMostHeld >> 20) + " is the most; " + what_to_do);
    }
    // Of the file's own header, whatever else it says.
    void check_sides(uint32_t width, uint32_t height) const {
        ImageInfo info;
        info.width = width, info.height = height;
        check_size(info, name_);
    }

private:
    [[noreturn]] void fail(Code code, const std::string& why) const {
        throw Error(code, "cannot read " + name_ + ": " + why);
    }

    const std::string& name_;
};

PngFacts header_of(Part content, const Fault& fault) {
    PngFacts facts;
    facts.width = u32(content, 0), facts.height = u32(content, 4);
    fault.check_sides(facts.width, facts.height);
    const uint8_t bits = content[8], colour = content[9];
    if (colour > 6 || bits > 16) fault.damaged("its header tells of no kind of PNG");
    constexpr std::array<uint8_t, 7> channels{1, 1, 3, 1, 2, 1, 4};
    // As the file has them, or widened to what a reader gives, where that is more.
    const uint64_t row = std::max((uint64_t{facts.width} * channels[colour] * bits + 7) / 8, uint64_t{facts.width} * 3);
    fault.refuse_above(row * facts.height, content[12] != 0 ? "it is interlaced and" : "it", "cut it into parts");
    facts.alpha = colour == 4 || colour == 6;
    return facts;
}

// A JPEG's frame header: sizes, and what several scans would have to hold.
struct Frame {
    uint64_t coefficients = 0;
    bool progressive = false;
    uint32_t components = 0;
};

Frame frame_of(uint8_t marker, Part content, JpegFacts& facts, const Fault& fault) {
    if (marker > 0xc2)
        fault.unsupported("it is lossless, hierarchical or arithmetically coded; save it as a plain JPEG or a PNG");
    if (content.size() < 6 || content.size() < 6 + std::size_t{content[5]} * 3)
        fault.damaged("its frame header is too short");
    if (content[0] != 8)
        fault.unsupported("it has " + std::to_string(content[0]) + " bits a channel; save it with 8, or as a PNG");
    facts.height = u16(content, 1), facts.width = u16(content, 3);
    fault.check_sides(facts.width, facts.height);
    Frame frame;
    frame.progressive = marker == 0xc2;
    frame.components = content[5];
    if (frame.components != 1 && frame.components != 3 && frame.components != 4)
        fault.unsupported("it has " + std::to_string(frame.components) + " channels; save it as a plain JPEG or a PNG");
    uint32_t most_across = 1, most_down = 1;
    for (uint32_t i = 0; i < frame.components; ++i) {
        const uint32_t across = content[7 + i * 3] >> 4, down = content[7 + i * 3] & 15;
        if (across == 0 || across > 4 || down == 0 || down > 4) fault.damaged("its channels have no valid size");
        most_across = std::max(most_across, across), most_down = std::max(most_down, down);
    }
    for (uint32_t i = 0; i < frame.components; ++i) {
        const uint64_t across = content[7 + i * 3] >> 4, down = content[7 + i * 3] & 15;
        const auto blocks = [](uint64_t size, uint64_t part, uint64_t of) { return (size * part + of * 8 - 1) / (of * 8); };
        frame.coefficients += blocks(facts.width, across, most_across) * blocks(facts.height, down, most_down) * 128;
    }
    return frame;
}

// Where the marker after the coded data of a scan stands.
std::size_t end_of_scan(Part file, std::size_t at, const Fault& fault) {
    for (; at + 1 < file.size(); ++at) {
        if (file[at] != 0xff) continue;
        const uint8_t next = file[at + 1];
        const bool restart = next >= 0xd0 && next <= 0xd7;
        if (next != 0 && next != 0xff && !restart) return at;
    }
    fault.cut_off();
}

class Profile {  // ICC, in numbered parts
public:
    void add(Part content) {
        constexpr std::string_view name("ICC_PROFILE\0", 12);
        if (content.size() < 14 || std::memcmp(content.data(), name.data(), name.size()) != 0) return;
        count_ = content[13];
        parts_[content[12]] = content.subspan(14);
    }
    // Empty where parts are missing: the pixels are good without it.
    [[nodiscard]] std::vector<uint8_t> whole() const {
        std::vector<uint8_t> all;
        for (std::size_t number = 1; number <= count_; ++number) {
            const auto part = parts_.find(static_cast<uint8_t>(number));
            if (part == parts_.end()) return {};
            all.insert(all.end(), part->second.begin(), part->second.end());
        }
        if (!is_rgb_profile(all)) all.clear();
        return all;
    }

private:
    std::map<uint8_t, Part> parts_;
    std::size_t count_ = 0;
};

}  // namespace

PngFacts walk_png(Part file, const std::string& name) {
    const Fault fault(name);
    PngFacts facts;
    for (std::size_t at = 8;;) {
        if (file.size() < at || file.size() - at < 12) fault.cut_off();
        const std::size_t size = u32(file, at);
        if (size > 0x7fffffff) fault.damaged("a part of it says that it has " + std::to_string(size) + " bytes");
        const auto is = [&](const char* chunk) { return std::memcmp(file.data() + at + 4, chunk, 4) == 0; };
        if (at == 8) {
            if (!is("IHDR") || size != 13) fault.damaged("it does not begin with IHDR");
            if (file.size() - at - 12 < size) fault.cut_off();
            facts = header_of(file.subspan(at + 8, size), fault);
        }
        if (file.size() - at - 12 < size) fault.cut_off();
        facts.alpha = facts.alpha || is("tRNS");
        if (is("IEND")) return facts;
        at += 12 + size;
    }
}

JpegFacts walk_jpeg(Part file, const std::string& name) {
    const Fault fault(name);
    JpegFacts facts;
    Frame frame;
    Profile profile;
    int scans = 0;
    for (std::size_t at = 2;;) {
        while (at + 1 < file.size() && file[at] == 0xff && file[at + 1] == 0xff) ++at;  // padding
        if (file.size() < at + 2) fault.cut_off();
        if (file[at] != 0xff) fault.damaged("where a marker should be there is none");
        const uint8_t marker = file[at + 1];
        at += 2;
        if (marker == 0xd9) {
            facts.size = at;
            break;
        }
        if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) continue;
        if (file.size() - at < 2) fault.cut_off();
        const std::size_t size = u16(file, at);
        if (size < 2) fault.damaged("a part of it says that it has " + std::to_string(size) + " bytes");
        if (file.size() - at < size) fault.cut_off();
        const Part content = file.subspan(at + 2, size - 2);
        at += size;
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) {
            if (frame.components != 0) fault.damaged("it has two frame headers");
            frame = frame_of(marker, content, facts, fault);
        }
        if (marker == 0xe1 && facts.orientation == 1) facts.orientation = orientation_of(content);
        if (marker == 0xe2) profile.add(content);
        if (marker != 0xda) continue;
        if (frame.components == 0 || content.empty()) fault.damaged("a scan has no header");
        if (frame.progressive || content[0] < frame.components)
            fault.refuse_above(frame.coefficients, "it is progressive and", "save it as a baseline JPEG or a PNG");
        if (++scans > kMostScans) fault.damaged("it has more than " + std::to_string(kMostScans) + " scans");
        at = end_of_scan(file, at, fault);
    }
    if (frame.components == 0 || scans == 0) fault.damaged("it has no picture");
    fault.refuse_above(uint64_t{facts.width} * facts.height * 3, "it", "cut it into parts");
    facts.profile = profile.whole();
    return facts;
}

}  // namespace backplane::formats
