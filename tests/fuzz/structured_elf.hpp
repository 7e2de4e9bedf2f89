// Shared objects of ELF whose tables hold together, however large or odd they are.
#pragma once

#include "structured.hpp"

namespace backplane::fuzz {

class ElfFile {
public:
    explicit ElfFile(Choices choose) : choose_(choose) {}

    File make() {
        plan();
        strings();
        for (const size_t at : dynamics()) add(2, at, dynamic_size_);
        for (size_t i = 0; i < note_segments_; ++i)
            if (i == 0 || choose_.flip() || last_note_.size == 0)
                add(4, notes(), 0);
            else
                programs_.push_back(last_note_);  // the same bytes once more
        programs_.front().size = programs_.front().memory = file_.size();
        while (programs_.size() < programs_wanted_) programs_.push_back(programs_.front());  // overlapping
        align(file_, 8);
        const size_t table = file_.size();
        for (size_t i = 0; i < programs_.size(); ++i) put(file_, table + i * sizeof(Program), programs_[i]);
        header(table);
        return std::move(file_);
    }

private:
    struct Program {
        uint32_t type, flags;
        uint64_t offset, address, physical, size, memory, alignment;
    };
    struct Dynamic {
        int64_t tag;
        uint64_t value;
    };

    void plan() {
        file_.resize(64);
        base_ = choose_.one_of<uint64_t>({0, 0, 0x1000, 0x7000000000});
        programs_.push_back({1, 5, 0, base_, base_, 0, 0, 0x1000});
        programs_wanted_ = choose_.one_of<size_t>({4, 13, 64, 511, 512, 513, 4000});
        note_segments_ = choose_.one_of<size_t>({1, 0, 2, 40, 300});
        const auto stack = choose_.byte() % 4;
        if (stack != 3) programs_.push_back({0x6474e551, stack == 2 ? 7U : 6U, 0, 0, 0, 0, 0, 16});
    }

    void add(uint32_t type, size_t at, size_t size) {
        const uint64_t length = size != 0 ? size : file_.size() - at;
        programs_.push_back({type, 4, at, base_ + at, base_ + at, length, length, choose_.one_of<uint64_t>({4, 8, 1})});
        if (type == 4) last_note_ = programs_.back();
    }

    void strings() {
        strings_ = append(file_, std::string_view("\0", 1));
        const size_t kinds = 1 + choose_.byte() % 4;
        for (size_t i = 0; i < kinds; ++i) names_.push_back(append_text(file_, name(choose_, i)) - strings_);
        for (size_t i = 0; i < 2; ++i) run_paths_.push_back(append_text(file_, run_path(choose_)) - strings_);
    }

    std::vector<size_t> dynamics() {
        const auto needed = choose_.one_of<size_t>({1, 0, 5, 255, 256, 257, 4000});
        const auto paths = choose_.one_of<size_t>({1, 0, 2, 4096});
        const auto padding = choose_.one_of<size_t>({0, 8, 5000});
        const bool old = choose_.flip();
        const auto count = choose_.one_of<size_t>({1, 1, 1, 0, 2, 500});
        const bool ends = choose_.byte() % 4 != 3;
        const uint64_t table = base_ + strings_;
        std::vector<Dynamic> entries{{5, table}, {10, file_.size() - strings_}};
        for (size_t i = 0; i < needed; ++i) entries.push_back({1, names_[i % names_.size()]});
        for (size_t i = 0; i < paths; ++i) entries.push_back({old && i % 2 == 0 ? 15 : 29, run_paths_[i % 2]});
        for (size_t i = 0; i < padding; ++i) entries.push_back({0x6ffffef5, 0});
        if (ends) entries.push_back({0, 0});
        align(file_, 8);
        const size_t at = file_.size();
        for (size_t i = 0; i < entries.size(); ++i) put(file_, at + i * sizeof(Dynamic), entries[i]);
        dynamic_size_ = entries.size() * sizeof(Dynamic);
        return std::vector<size_t>(count, at);
    }

    void note(const std::string& owner, uint32_t type, const std::string& body) {
        for (const uint32_t word : {static_cast<uint32_t>(owner.size() + 1), static_cast<uint32_t>(body.size()), type})
            append(file_, {reinterpret_cast<const char*>(&word), sizeof word});
        append_text(file_, owner);
        align(file_, 4);
        append(file_, body);
        align(file_, 4);
    }

    size_t notes() {
        align(file_, 8);
        const size_t at = file_.size();
        const auto count = choose_.one_of<size_t>({1, 2, 255, 256, 257, 4000});
        const auto kind = choose_.byte();
        const std::string own = descriptor(choose_);
        for (size_t i = 0; i < count && file_.size() < kMostBytes; ++i) switch ((kind + i) % 4) {
                case 0: note("Backplane", 1, own); break;
                case 1: note("GNU", 3, std::string(20, 'b')); break;
                case 2: note("GNU", 1, {}); break;
                default: note("Somebody", 7, std::string(i % 64, 's')); break;
            }
        return at;
    }

    void header(size_t table) {
        const unsigned char ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
        std::memcpy(file_.data(), ident, sizeof ident);
        put<uint16_t>(file_, 16, 3);
        put<uint16_t>(file_, 18, choose_.one_of<uint16_t>({62, 183, 243}));
        put<uint32_t>(file_, 20, 1);
        put<uint64_t>(file_, 32, table);
        put<uint16_t>(file_, 52, 64);
        put<uint16_t>(file_, 54, sizeof(Program));
        put<uint16_t>(file_, 56, static_cast<uint16_t>(programs_.size()));
    }

    Choices choose_;
    File file_;
    uint64_t base_ = 0;
    size_t programs_wanted_ = 0, note_segments_ = 0, strings_ = 0, dynamic_size_ = 0;
    std::vector<size_t> names_, run_paths_;
    std::vector<Program> programs_;
    Program last_note_{};
};

inline File structured_elf(Choices choose) { return ElfFile(choose).make(); }

}  // namespace backplane::fuzz
