// Bundles of macOS, alone or several in a file, whose tables hold together, however large or odd they are.
#pragma once

#include "structured.hpp"

namespace backplane::fuzz {

class MachoFile {
public:
    explicit MachoFile(Choices choose) : choose_(choose) {}

    File make() {
        const auto slices = choose_.one_of<uint32_t>({0, 0, 1, 2, 15, 16, 17});
        if (slices == 0) return thin();
        const bool wide = choose_.flip();
        const File inside = thin();
        const uint32_t row = wide ? 32 : 20;
        File file(8 + slices * size_t{row});
        align(file, 16);
        const size_t first = file.size();
        file.insert(file.end(), inside.begin(), inside.end());
        big(file, 0, wide ? 0xcafebabf : 0xcafebabe);
        big(file, 4, slices);
        for (uint32_t i = 0; i < slices; ++i) {  // all of them the same bytes
            const size_t at = 8 + i * size_t{row};
            big(file, at, choose_.one_of<uint32_t>({0x01000007, 0x0100000c, 12, 18}));
            big(file, at + (wide ? 12 : 8), static_cast<uint32_t>(first));
            big(file, at + (wide ? 20 : 12), static_cast<uint32_t>(inside.size()));
        }
        return file;
    }

private:
    static void big(File& file, size_t at, uint32_t value) {
        for (size_t i = 0; i < 4; ++i) put(file, at + i, static_cast<uint8_t>(value >> (24 - 8 * i)));
    }

    File thin() {
        File file(32);
        const auto segments = choose_.one_of<size_t>({1, 0, 2, 100, 3000});
        const auto sections = choose_.one_of<uint32_t>({1, 0, 2, 300});
        const auto libraries = choose_.one_of<size_t>({1, 0, 255, 256, 257, 4000});
        const auto folders = choose_.one_of<size_t>({1, 0, 63, 64, 65, 4000});
        const auto tiny = choose_.one_of<size_t>({0, 1, 20000, 40000});
        const auto ids = choose_.one_of<size_t>({1, 0, 300});
        notes_.clear();
        commands_ = 0;
        for (size_t i = 0; i < segments && file.size() < (size_t{1} << 19); ++i) segment(file, sections);
        const std::string library = name(choose_, 1);
        const std::string folder = choose_.one_of<std::string>({"@loader_path/x", "@executable_path/x", "@rpath", ""}) +
                                   std::string(choose_.one_of<size_t>({1, 200, 5000}), 'f');
        for (size_t i = 0; i < libraries && file.size() < (size_t{1} << 19); ++i) texted(file, 0xc, 24, library);
        for (size_t i = 0; i < folders && file.size() < (size_t{1} << 19); ++i) texted(file, 0x8000001c, 12, folder);
        for (size_t i = 0; i < ids; ++i) command(file, 0x1b, 24);
        for (size_t i = 0; i < tiny; ++i) command(file, 0x99, 8);
        const size_t end = file.size();
        const size_t own = append(file, descriptor(choose_));
        for (const size_t at : notes_) {
            put<uint64_t>(file, at + 40, file.size() - own);
            put<uint32_t>(file, at + 48, static_cast<uint32_t>(own));
        }
        put<uint32_t>(file, 0, 0xfeedfacf);
        put<uint32_t>(file, 4, choose_.one_of<uint32_t>({0x01000007, 0x0100000c}));
        put<uint32_t>(file, 12, choose_.one_of<uint32_t>({8, 6}));
        put<uint32_t>(file, 16, commands_);
        put<uint32_t>(file, 20, static_cast<uint32_t>(end - 32));
        return file;
    }

    size_t command(File& file, uint32_t type, uint32_t size) {
        const size_t at = file.size();
        file.resize(at + size);
        put(file, at, type);
        put(file, at + 4, size);
        ++commands_;
        return at;
    }

    void texted(File& file, uint32_t type, uint32_t offset, const std::string& text) {
        const auto size = static_cast<uint32_t>((offset + text.size() + 8) / 8 * 8);
        const size_t at = command(file, type, size);
        put(file, at + 8, offset);
        std::memcpy(file.data() + at + offset, text.data(), text.size());
    }

    void segment(File& file, uint32_t sections) {
        const size_t at = command(file, 0x19, 72 + 80 * sections);
        std::memcpy(file.data() + at + 8, "__TEXT", 6);
        put<uint64_t>(file, at + 48, 32);  // of the header alone
        put<uint32_t>(file, at + 64, sections);
        const bool first = choose_.flip();
        for (uint32_t i = 0; i < sections; ++i) {
            const size_t section = at + 72 + i * size_t{80};
            const std::string_view title = (i == 0) == first ? "__bpnote" : "__other";
            std::memcpy(file.data() + section, title.data(), title.size());
            std::memcpy(file.data() + section + 16, "__TEXT", 6);
            if (title == "__bpnote" && choose_.byte() % 4 != 3) notes_.push_back(section);
        }
    }

    Choices choose_;
    std::vector<size_t> notes_;
    uint32_t commands_ = 0;
};

inline File structured_macho(Choices choose) { return MachoFile(choose).make(); }

}  // namespace backplane::fuzz
