// Windows libraries whose tables hold together, however large or odd they are.
#pragma once

#include <algorithm>

#include "structured.hpp"

namespace backplane::fuzz {

class PeFile {
public:
    explicit PeFile(Choices choose) : choose_(choose) {}

    File make() {
        const auto sections = choose_.one_of<size_t>({1, 2, 95, 96, 97, 4000});
        const auto optional = choose_.one_of<uint16_t>({240, 240, 128, 112, 4096});
        const size_t table = kPe + 24 + optional;
        file_.resize(table + sections * kSection);
        align(file_, 16);
        start_ = file_.size();
        const size_t own = append(file_, descriptor(choose_));
        const size_t own_size = file_.size() - own;
        const size_t imports = write_imports();
        headers(optional, static_cast<uint16_t>(sections), imports);
        for (size_t i = 0; i < sections; ++i) section(table + i * kSection, i, own, own_size);
        return std::move(file_);
    }

private:
    static constexpr size_t kPe = 0x80;
    static constexpr size_t kSection = 40;
    static constexpr uint32_t kBase = 0x1000;

    // Of a place in the file, in the image: all of it is one stretch.
    [[nodiscard]] uint32_t address(size_t at) const { return static_cast<uint32_t>(kBase + at - start_); }

    size_t write_imports() {
        const auto count = choose_.one_of<size_t>({1, 0, 255, 256, 257, 20000});
        const bool ends = choose_.byte() % 4 != 3;
        std::vector<size_t> names;
        for (size_t i = 0; i < 1U + choose_.byte() % 3; ++i) names.push_back(append_text(file_, name(choose_, i)));
        align(file_, 4);
        const size_t at = file_.size();
        for (size_t i = 0; i < count; ++i) put<uint32_t>(file_, at + i * 20 + 12, address(names[i % names.size()]));
        if (ends) put<uint32_t>(file_, at + count * 20 + 16, 0);
        align(file_, 4);
        return at;
    }

    void headers(uint16_t optional, uint16_t sections, size_t imports) {
        put<uint16_t>(file_, 0, 0x5a4d);
        put<uint32_t>(file_, 0x3c, kPe);
        put<uint32_t>(file_, kPe, 0x4550);
        put<uint16_t>(file_, kPe + 4, choose_.one_of<uint16_t>({0x8664, 0xaa64}));
        put<uint16_t>(file_, kPe + 6, sections);
        put<uint16_t>(file_, kPe + 20, optional);
        put<uint16_t>(file_, kPe + 22, 0x2022);
        put<uint16_t>(file_, kPe + 24, 0x20b);
        if (optional >= 128) put<uint32_t>(file_, kPe + 24 + 120, address(imports));
    }

    // The first holds all there is; the others lie over it, or hold the descriptor once more.
    void section(size_t at, size_t number, size_t own, size_t own_size) {
        const bool note = number != 0 && choose_.byte() % 2 == 0;
        std::string_view title = note || number == 0 ? ".bpnote" : ".text";
        if (number == 0 && choose_.flip()) title = ".data";
        std::memcpy(file_.data() + at, title.data(), title.size());
        const size_t from = note || title == ".bpnote" ? own : start_;
        const size_t size = note ? own_size : file_.size() - from;
        put<uint32_t>(file_, at + 8, static_cast<uint32_t>(size));
        put<uint32_t>(file_, at + 12, address(from));
        put<uint32_t>(file_, at + 16, static_cast<uint32_t>(size));
        put<uint32_t>(file_, at + 20, static_cast<uint32_t>(from));
    }

    Choices choose_;
    File file_;
    size_t start_ = 0;
};

inline File structured_pe(Choices choose) { return PeFile(choose).make(); }

}  // namespace backplane::fuzz
