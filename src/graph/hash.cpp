// Graph::hash(): 128 bits over everything but names.
//
// Two lanes of multiply and xor-shift over 64-bit words (the finaliser of MurmurHash3, public domain), seeded
// differently. Only whole numbers go in, and bytes are put together by value, so the result does not depend on the
// machine. Not for adversaries: it names entries of caches that the same host wrote.
#include <bit>

#include "backplane/graph.hpp"

namespace backplane {

namespace {

class Hasher {
public:
    void word(uint64_t value) {
        first_ = mixed(first_ ^ value) + 0x9E3779B97F4A7C15ULL;
        second_ = mixed(second_ + value * 0xD6E8FEB86659FD93ULL) ^ std::rotl(first_, 23);
    }
    void bytes(std::span<const std::byte> data) {
        word(data.size());
        uint64_t value = 0;
        for (size_t i = 0; i < data.size(); ++i) {
            value |= std::to_integer<uint64_t>(data[i]) << (i % 8 * 8);
            if (i % 8 == 7 || i + 1 == data.size()) {
                word(value);
                value = 0;
            }
        }
    }
    [[nodiscard]] std::array<uint64_t, 2> result() const {
        return {mixed(first_ + second_), mixed(second_ ^ std::rotl(first_, 31))};
    }

private:
    static uint64_t mixed(uint64_t x) {
        x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDULL;
        x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53ULL;
        return x ^ (x >> 33);
    }
    uint64_t first_ = 0x6261636B706C616EULL;
    uint64_t second_ = 0x6772617068763031ULL;
};

void mix(Hasher& hasher, const std::vector<int64_t>& numbers) {
    hasher.word(numbers.size());
    for (const int64_t number : numbers) hasher.word(static_cast<uint64_t>(number));
}

void mix(Hasher& hasher, const std::vector<TensorId>& tensors) {
    hasher.word(tensors.size());
    for (const TensorId id : tensors) hasher.word(id.index);
}

void mix(Hasher& hasher, const Attribute& attribute) {
    hasher.word(static_cast<uint64_t>(attribute.id));
    hasher.word(attribute.value.index());
    if (const auto* integer = std::get_if<int64_t>(&attribute.value)) {
        hasher.word(static_cast<uint64_t>(*integer));
    } else if (const auto* number = std::get_if<double>(&attribute.value)) {
        hasher.word(std::bit_cast<uint64_t>(*number));
    } else {
        mix(hasher, std::get<std::vector<int64_t>>(attribute.value));
    }
}

}  // namespace

std::array<uint64_t, 2> Graph::hash() const {
    Hasher hasher;
    hasher.word(tensors_.size());
    for (const Tensor& t : tensors_) {
        hasher.word(static_cast<uint64_t>(t.dtype));
        hasher.word(static_cast<uint64_t>(t.role));
        mix(hasher, t.shape);
        hasher.word(t.content);
        hasher.word(t.state_in);
        hasher.bytes(t.data);
    }
    hasher.word(nodes_.size());
    for (const Node& n : nodes_) {
        hasher.word(static_cast<uint64_t>(n.op));
        mix(hasher, n.inputs);
        mix(hasher, n.outputs);
        hasher.word(n.attributes.size());
        for (const Attribute& a : n.attributes) mix(hasher, a);
    }
    return hasher.result();
}

}  // namespace backplane
