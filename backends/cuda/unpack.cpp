// LZMA as in I. Pavlov's "LZMA specification" of 2015, which is in the public domain: stretches that were there before and letters, each choice a bit
// whose likelihood is learnt.
#include "unpack.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "backplane/sdk.hpp"

namespace backplane::cuda {

namespace {

[[noreturn]] void fail() {
    throw sdk::Failure(BP_INTERNAL, "unpack texts of kernels: the module is damaged; install it again");
}

using Chance = uint16_t;  // of a zero, of 2048
constexpr Chance kEven = 1024;

class Bytes {
public:
    explicit Bytes(std::span<const unsigned char> bytes) : bytes_(bytes) {}
    uint32_t next() {
        if (at_ >= bytes_.size()) fail();
        return bytes_[at_++];
    }
    uint32_t big_endian(int count) {
        uint32_t value = 0;
        for (; count > 0; --count) value = value << 8 | next();
        return value;
    }
    void skip(size_t count) {
        if (count > bytes_.size() - at_) fail();
        at_ += count;
    }

private:
    std::span<const unsigned char> bytes_;
    size_t at_ = 0;
};

class Bits {
public:
    explicit Bits(Bytes& bytes) : bytes_(bytes) {}
    void begin() {
        range_ = UINT32_MAX;
        bytes_.skip(1);
        code_ = bytes_.big_endian(4);
    }
    uint32_t bit(Chance& chance) {
        const uint32_t bound = (range_ >> 11) * chance;
        const bool is = code_ >= bound;
        if (is) {
            code_ -= bound;
            range_ -= bound;
            chance = static_cast<Chance>(chance - (chance >> 5));
        } else {
            range_ = bound;
            chance = static_cast<Chance>(chance + ((2048 - chance) >> 5));
        }
        fill();
        return is ? 1 : 0;
    }
    uint32_t even(uint32_t count) {
        uint32_t value = 0;
        for (; count > 0; --count) {
            range_ >>= 1;
            const bool is = code_ >= range_;
            if (is) code_ -= range_;
            fill();
            value = value << 1 | (is ? 1 : 0);
        }
        return value;
    }
    uint32_t tree(Chance* chances, uint32_t count) {
        uint32_t node = 1;
        for (uint32_t i = 0; i < count; ++i) node = node << 1 | bit(chances[node]);
        return node - (uint32_t{1} << count);
    }
    // The same, the lowest bit first.
    uint32_t tree_from_below(Chance* chances, uint32_t count) {
        uint32_t node = 1, value = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t is = bit(chances[node]);
            node = node << 1 | is;
            value |= is << i;
        }
        return value;
    }

private:
    void fill() {
        if (range_ >= uint32_t{1} << 24) return;
        range_ <<= 8;
        code_ = code_ << 8 | bytes_.next();
    }

    Bytes& bytes_;
    uint32_t range_ = 0, code_ = 0;
};

template <typename T, size_t N>
void make_even(std::array<T, N>& chances) {
    if constexpr (std::is_same_v<T, Chance>) {
        chances.fill(kEven);
    } else {
        for (T& inner : chances) make_even(inner);
    }
}

struct Sizes {
    std::array<Chance, 2> longer{};
    std::array<std::array<Chance, 8>, 16> low{}, middle{};
    std::array<Chance, 256> high{};

    void reset() { make_even(longer), make_even(low), make_even(middle), make_even(high); }
    uint32_t read(Bits& bits, uint32_t place) {
        if (bits.bit(longer[0]) == 0) return 2 + bits.tree(low[place].data(), 3);
        if (bits.bit(longer[1]) == 0) return 10 + bits.tree(middle[place].data(), 3);
        return 18 + bits.tree(high.data(), 8);
    }
};

class Unpacker {
public:
    Unpacker(std::span<const unsigned char> file, size_t most) : bytes_(file), bits_(bytes_), most_(most) {}

    std::string all() {
        bytes_.skip(12);                                   // the stream's header
        bytes_.skip((size_t{bytes_.next()} + 1) * 4 - 1);  // the block's
        for (uint32_t control = 0; (control = bytes_.next()) != 0;) {
            if (control >= 0x80) {
                chunk(control);
            } else if (control <= 2) {
                const uint32_t size = bytes_.big_endian(2) + 1;
                room_for(size);
                for (uint32_t i = 0; i < size; ++i) text_ += static_cast<char>(bytes_.next());
            } else {
                fail();
            }
        }
        return std::move(text_);
    }

private:
    void room_for(size_t size) {
        if (size > most_ - text_.size()) fail();
    }
    void chunk(uint32_t control) {
        const uint32_t size = ((control & 31) << 16 | bytes_.big_endian(2)) + 1;
        bytes_.big_endian(2);
        if ((control >> 5 & 3) >= 2) {
            const uint32_t numbers = bytes_.next();
            if (numbers >= 225) fail();
            of_letter_ = numbers % 9;
            place_before_ = numbers / 9 % 5;
            place_mask_ = (1U << numbers / 45) - 1;
            if (of_letter_ + place_before_ > 4) fail();
        }
        if ((control >> 5 & 3) >= 1) reset();
        if (letters_.empty()) fail();
        room_for(size);
        bits_.begin();
        for (const size_t end = text_.size() + size; text_.size() < end;) step(end);
    }
    void reset() {
        state_ = 0;
        far_ = {0, 0, 0, 0};
        letters_.assign(size_t{0x300} << (of_letter_ + place_before_), kEven);
        make_even(copies_), make_even(again_), make_even(which_), make_even(more_than_one_);
        make_even(slots_), make_even(near_), make_even(lowest_);
        sizes_.reset(), sizes_again_.reset();
    }
    void step(size_t end) {
        const auto place = static_cast<uint32_t>(text_.size()) & place_mask_;
        if (bits_.bit(copies_[state_][place]) == 0) return letter();
        uint32_t size = 1;
        if (bits_.bit(again_[state_]) == 0) {
            size = sizes_.read(bits_, place);
            far_ = {distance(size), far_[0], far_[1], far_[2]};
            state_ = state_ < 7 ? 7 : 10;
        } else if (again(place)) {
            size = sizes_again_.read(bits_, place);
            state_ = state_ < 7 ? 8 : 11;
        } else {
            state_ = state_ < 7 ? 9 : 11;
        }
        if (far_[0] >= text_.size() || size > end - text_.size()) fail();
        for (size_t from = text_.size() - far_[0] - 1; size > 0; --size) text_ += text_[from++];
    }
    // As far back as one of the last four copies, which becomes the last. False: a single letter.
    bool again(uint32_t place) {
        if (bits_.bit(which_[0][state_]) == 0) return bits_.bit(more_than_one_[state_][place]) != 0;
        if (bits_.bit(which_[1][state_]) == 0) {
            far_ = {far_[1], far_[0], far_[2], far_[3]};
        } else if (bits_.bit(which_[2][state_]) == 0) {
            far_ = {far_[2], far_[0], far_[1], far_[3]};
        } else {
            far_ = {far_[3], far_[0], far_[1], far_[2]};
        }
        return true;
    }
    void letter() {
        const uint32_t before = text_.empty() ? 0 : static_cast<unsigned char>(text_.back());
        const auto low = static_cast<uint32_t>(text_.size()) & ((1U << place_before_) - 1);
        Chance* chances = &letters_[size_t{0x300} * ((low << of_letter_) + (before >> (8 - of_letter_)))];
        uint32_t node = 1;
        if (state_ >= 7) {  // behind a copy: as far as it is the letter that would have come next
            if (far_[0] >= text_.size()) fail();
            uint32_t likely = static_cast<unsigned char>(text_[text_.size() - far_[0] - 1]);
            while (node < 0x100) {
                const uint32_t expected = likely >> 7 & 1;
                likely <<= 1;
                const uint32_t is = bits_.bit(chances[((1 + expected) << 8) + node]);
                node = node << 1 | is;
                if (is != expected) break;
            }
        }
        while (node < 0x100) node = node << 1 | bits_.bit(chances[node]);
        text_ += static_cast<char>(node);
        state_ = state_ < 4 ? 0 : state_ < 10 ? state_ - 3 : state_ - 6;
    }
    uint32_t distance(uint32_t size) {
        const uint32_t slot = bits_.tree(slots_[std::min<uint32_t>(size - 2, 3)].data(), 6);
        if (slot < 4) return slot;
        const uint32_t count = slot / 2 - 1, high = (2 | (slot & 1)) << count;
        if (slot < 14) return high + bits_.tree_from_below(&near_[high - slot], count);
        const uint32_t middle = bits_.even(count - 4) << 4;
        return high + middle + bits_.tree_from_below(lowest_.data(), 4);
    }

    Bytes bytes_;
    Bits bits_;
    size_t most_;
    std::string text_;
    uint32_t of_letter_ = 0, place_before_ = 0, place_mask_ = 0;
    uint32_t state_ = 0;  // what the last steps were
    std::array<uint32_t, 4> far_{};
    std::vector<Chance> letters_;
    std::array<std::array<Chance, 16>, 12> copies_{}, more_than_one_{};
    std::array<Chance, 12> again_{};
    std::array<std::array<Chance, 12>, 3> which_{};
    std::array<std::array<Chance, 64>, 4> slots_{};
    std::array<Chance, 128> near_{};
    std::array<Chance, 16> lowest_{};
    Sizes sizes_, sizes_again_;
};

}  // namespace

std::string unpacked(std::span<const unsigned char> file, size_t most) {
    return std::make_unique<Unpacker>(file, most)->all();  // large
}

}  // namespace backplane::cuda
