// Graph::hash(): 128 bits over everything but names. Only whole numbers go in, and bytes are put together by value, so the result does not
// depend on the machine. Not for adversaries: it names what the same host keeps.
#include "backplane/graph.hpp"

#include <array>
#include <bit>

#include "base/hash.hpp"
#include "graph/graph_access.hpp"

namespace backplane {

namespace {

class Hasher {
public:
    void word(uint64_t value) {
        if (used_ == words_.size()) flush();
        words_[used_++] = little(value);
    }
    void bytes(std::span<const std::byte> data) {
        word(data.size());
        flush();
        all_.add(data);
    }
    [[nodiscard]] std::array<uint64_t, 2> result() {
        flush();
        std::array<uint64_t, 2> words{};
        const base::Hash hash = all_.result();
        for (size_t i = 0; i < hash.size(); ++i) words[i / 8] = words[i / 8] << 8 | std::to_integer<uint64_t>(hash[i]);
        return words;
    }

private:
    // Its bytes in memory, the least first.
    static constexpr uint64_t little(uint64_t value) {
        if constexpr (std::endian::native == std::endian::little) return value;
        uint64_t turned = 0;
        for (size_t i = 0; i < sizeof value; ++i, value >>= 8) turned = turned << 8 | (value & 0xff);
        return turned;
    }
    void flush() {
        all_.add(std::as_bytes(std::span(words_)).first(used_ * sizeof(uint64_t)));
        used_ = 0;
    }
    base::Hasher all_;
    std::array<uint64_t, 128> words_{};  // that are not in it yet: words by themselves would cost a call each
    size_t used_ = 0;
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
    if (held_ != nullptr && held_->hashed.load(std::memory_order_acquire)) return {held_->hash[0], held_->hash[1]};
    Hasher hasher;
    hasher.word(tensors().size());
    for (const TensorInfo& t : tensors()) {
        hasher.word(static_cast<uint64_t>(t.dtype));
        hasher.word(static_cast<uint64_t>(t.role));
        mix(hasher, t.shape);
        hasher.word(t.content);
        hasher.word(t.state_in);
        if (t.data.empty()) {
            hasher.word(0);
        } else {
            hasher.bytes(t.data);
        }
    }
    hasher.word(nodes().size());
    for (const Node& n : nodes()) {
        hasher.word(static_cast<uint64_t>(n.op));
        mix(hasher, n.inputs);
        mix(hasher, n.outputs);
        hasher.word(n.attributes.size());
        for (const Attribute& a : n.attributes) mix(hasher, a);
    }
    const std::array<uint64_t, 2> hash = hasher.result();
    if (held_ != nullptr) {  // two threads that find it at once find the same
        held_->hash[0] = hash[0];
        held_->hash[1] = hash[1];
        held_->hashed.store(true, std::memory_order_release);
    }
    return hash;
}

}  // namespace backplane
