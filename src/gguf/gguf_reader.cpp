// The parser. Every number is checked against what is left of the file before memory is taken for what it counts.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "gguf/byte_reader.hpp"
#include "gguf/ggml_type.hpp"
#include "gguf/gguf_contents.hpp"
#include "gguf/printable.hpp"

namespace backplane::formats {

namespace {

constexpr uint64_t kMostAlignment = uint64_t{1} << 30;
constexpr uint64_t kSmallestKey = 8 + 1 + 4 + 1;         // length, one byte, type, one byte
constexpr uint64_t kSmallestTensor = 8 + 1 + 4 + 4 + 8;  // length, one byte, rank, type, offset

template <typename Number>
GgufValue scalar(ByteReader& in) {
    const auto value = in.number<Number>("a value");
    if constexpr (std::is_floating_point_v<Number>) {
        return static_cast<double>(value);
    } else {
        if (std::is_same_v<Number, uint64_t> && static_cast<uint64_t>(value) > uint64_t{INT64_MAX})
            return static_cast<uint64_t>(value);
        return static_cast<int64_t>(value);
    }
}

bool boolean(ByteReader& in) {
    const auto value = in.number<uint8_t>("a truth value");
    if (value > 1) in.fail("a truth value is " + std::to_string(value) + ", neither 0 nor 1");
    return value == 1;
}

template <typename Number>
GgufValue numbers(ByteReader& in) {
    using Element = std::conditional_t<std::is_floating_point_v<Number>, double, int64_t>;
    const uint64_t n = in.count("the length of an array", sizeof(Number));
    std::vector<Element> values;
    values.reserve(n);
    for (uint64_t i = 0; i < n; ++i) {
        const auto value = in.number<Number>("an array");
        if (std::is_same_v<Number, uint64_t> && static_cast<uint64_t>(value) > uint64_t{INT64_MAX})
            in.fail("an array holds a number above 2^63 - 1, which this reader has no room for", Code::unsupported);
        values.push_back(static_cast<Element>(value));
    }
    return values;
}

GgufValue booleans(ByteReader& in) {
    const uint64_t n = in.count("the length of an array", 1);
    std::vector<int64_t> values;
    values.reserve(n);
    for (uint64_t i = 0; i < n; ++i) values.push_back(boolean(in) ? 1 : 0);
    return values;
}

GgufValue texts(ByteReader& in) {
    const uint64_t n = in.count("the length of an array", 8);
    std::vector<std::string> values;
    values.reserve(n);
    for (uint64_t i = 0; i < n; ++i) values.push_back(in.text("the length of a text"));
    return values;
}

GgufValue array(ByteReader& in) {
    const auto type = in.number<uint32_t>("the type of an array");
    switch (static_cast<GgufType>(type)) {
        case GgufType::u8: return numbers<uint8_t>(in);
        case GgufType::i8: return numbers<int8_t>(in);
        case GgufType::u16: return numbers<uint16_t>(in);
        case GgufType::i16: return numbers<int16_t>(in);
        case GgufType::u32: return numbers<uint32_t>(in);
        case GgufType::i32: return numbers<int32_t>(in);
        case GgufType::f32: return numbers<float>(in);
        case GgufType::boolean: return booleans(in);
        case GgufType::string: return texts(in);
        case GgufType::array: in.fail("an array of arrays, which no known model uses", Code::unsupported);
        case GgufType::u64: return numbers<uint64_t>(in);
        case GgufType::i64: return numbers<int64_t>(in);
        case GgufType::f64: return numbers<double>(in);
    }
    in.fail("there is no metadata type " + std::to_string(type));
}

GgufValue value_of(ByteReader& in) {
    const auto type = in.number<uint32_t>("the type of a value");
    switch (static_cast<GgufType>(type)) {
        case GgufType::u8: return scalar<uint8_t>(in);
        case GgufType::i8: return scalar<int8_t>(in);
        case GgufType::u16: return scalar<uint16_t>(in);
        case GgufType::i16: return scalar<int16_t>(in);
        case GgufType::u32: return scalar<uint32_t>(in);
        case GgufType::i32: return scalar<int32_t>(in);
        case GgufType::f32: return scalar<float>(in);
        case GgufType::boolean: return boolean(in);
        case GgufType::string: return in.text("the length of a text");
        case GgufType::array: return array(in);
        case GgufType::u64: return scalar<uint64_t>(in);
        case GgufType::i64: return scalar<int64_t>(in);
        case GgufType::f64: return scalar<double>(in);
    }
    in.fail("there is no metadata type " + std::to_string(type));
}

struct Counts {
    uint64_t tensors = 0, keys = 0;
};

Counts read_header(ByteReader& in) {
    std::string magic(kGgufMagic.size(), '\0');
    for (char& c : magic) c = in.number<char>("the magic number");
    if (magic != kGgufMagic) in.fail("this is no GGUF file: it does not begin with 'GGUF'");
    const auto version = in.number<uint32_t>("the version");
    if (version == uint32_t{kGgufVersion} << 24)
        in.fail("a big-endian file; convert it to little-endian", Code::unsupported);
    if (version != kGgufVersion)
        in.fail("GGUF version " + std::to_string(version) + "; this reader knows version 3", Code::unsupported);
    Counts counts;
    counts.tensors = in.count("the number of tensors", kSmallestTensor);
    counts.keys = in.count("the number of metadata keys", kSmallestKey);
    return counts;
}

void read_metadata(ByteReader& in, uint64_t count, GgufContents& contents) {
    contents.metadata.reserve(count);  // the index keeps views of these names
    for (uint64_t i = 0; i < count; ++i) {
        std::string key = in.text("the length of a key");
        if (key.empty() || key.size() > kGgufMostKeyBytes)
            in.fail("a key of " + std::to_string(key.size()) + " bytes; 1 to 65535 are allowed");
        if (contents.keys.contains(key)) in.fail("key " + printable(key) + " comes twice");
        contents.metadata.emplace_back(std::move(key), value_of(in));
        contents.keys.emplace(contents.metadata.back().first, i);
    }
}

uint64_t alignment_of(const ByteReader& in, const GgufContents& contents) {
    const auto found = contents.keys.find(kGgufAlignmentKey);
    if (found == contents.keys.end()) return kGgufAlignment;
    const auto* value = std::get_if<int64_t>(&contents.metadata[found->second].second);
    if (value == nullptr || *value < 1 || !std::has_single_bit(static_cast<uint64_t>(*value)) ||
        static_cast<uint64_t>(*value) > kMostAlignment)
        in.fail("general.alignment must be a power of two from 1 to 2^30");
    return static_cast<uint64_t>(*value);
}

// Bytes of a dense tensor.
uint64_t size_of(const ByteReader& in, const GgufTensor& tensor, const GgmlType& type) {
    int64_t n = 0;
    try {
        n = elements(tensor.shape);
    } catch (const Error& e) {
        in.fail("tensor " + printable(tensor.name) + ": " + e.what());
    }
    if (type.block > 1 && (tensor.shape.empty() || tensor.shape.back() % type.block != 0))
        in.fail("tensor " + printable(tensor.name) + ": rows of " + to_string(tensor.shape) + " are no multiple of the " +
                std::to_string(type.block) + " elements of a " + type.name + " block");
    uint64_t size = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(n) / type.block, uint64_t{type.bytes}, &size))
        in.fail("tensor " + printable(tensor.name) + ": " + to_string(tensor.shape) + " has more than 2^64 bytes");
    return size;
}

// Leaves `offset` as in the file: from the start of the data.
GgufTensor read_tensor(ByteReader& in) {
    GgufTensor tensor;
    tensor.name = in.text("the length of a tensor's name");
    if (tensor.name.empty() || tensor.name.size() > kGgufMostKeyBytes)
        in.fail("a tensor's name of " + std::to_string(tensor.name.size()) + " bytes; 1 to 65535 are allowed");
    const auto rank = in.number<uint32_t>("the rank of a tensor");
    if (rank > BP_MAX_RANK)
        in.fail("tensor " + printable(tensor.name) + " has rank " + std::to_string(rank) + "; at most " +
                std::to_string(BP_MAX_RANK) + " are allowed");
    tensor.shape.resize(rank);
    for (uint32_t i = 0; i < rank; ++i) {
        const auto extent = in.number<uint64_t>("the shape of a tensor");
        if (extent > uint64_t{INT64_MAX})
            in.fail("tensor " + printable(tensor.name) + " has an extent of " + std::to_string(extent));
        tensor.shape[rank - 1 - i] = static_cast<int64_t>(extent);
    }
    tensor.type = in.number<uint32_t>("the type of a tensor");
    const GgmlType* type = find_ggml_type(tensor.type);
    if (type == nullptr)
        in.fail("tensor " + printable(tensor.name) + " has element type " + std::to_string(tensor.type) +
                    ", which this reader does not know: update it or convert the file",
                Code::unsupported);
    tensor.dtype = type->dtype;
    tensor.bytes = size_of(in, tensor, *type);
    tensor.offset = in.number<uint64_t>("the offset of a tensor");
    return tensor;
}

void read_tensors(ByteReader& in, uint64_t count, GgufContents& contents) {
    in.check_count(count, kSmallestTensor, "the number of tensors");
    contents.tensors.reserve(count);  // the index keeps views of these names
    for (uint64_t i = 0; i < count; ++i) {
        GgufTensor tensor = read_tensor(in);
        if (contents.tensor_names.contains(tensor.name)) in.fail("tensor " + printable(tensor.name) + " comes twice");
        contents.tensors.push_back(std::move(tensor));
        contents.tensor_names.emplace(contents.tensors.back().name, i);
    }
}

// Offsets become offsets in the file.
void place_tensors(const ByteReader& in, uint64_t alignment, GgufContents& contents) {
    const uint64_t start = align_up(in.position(), alignment);
    const uint64_t room = start > in.size() ? 0 : in.size() - start;
    for (GgufTensor& tensor : contents.tensors) {
        const std::string what = "the data of tensor " + printable(tensor.name);
        if (tensor.offset % alignment != 0)
            in.fail(what + " is at " + std::to_string(tensor.offset) + ", no multiple of " + std::to_string(alignment));
        if (tensor.offset > room || tensor.bytes > room - tensor.offset)
            in.fail(what + " reaches past the end of the file: " + std::to_string(tensor.bytes) + " bytes at " +
                    std::to_string(tensor.offset) + ", the file has " + std::to_string(room) + ": it may be cut off");
        // An empty tensor of a file without data has nowhere to be.
        tensor.offset = std::min(start + tensor.offset, in.size());
    }
    std::vector<const GgufTensor*> by_place;
    for (const GgufTensor& tensor : contents.tensors)
        if (tensor.bytes > 0) by_place.push_back(&tensor);
    std::sort(by_place.begin(), by_place.end(),
              [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
    for (size_t i = 1; i < by_place.size(); ++i)
        if (by_place[i]->offset < by_place[i - 1]->offset + by_place[i - 1]->bytes)
            in.fail("tensors " + printable(by_place[i - 1]->name) + " and " + printable(by_place[i]->name) + " overlap");
}

}  // namespace

const char* gguf_type_name(uint32_t number) noexcept {
    const GgmlType* type = find_ggml_type(number);
    return type != nullptr ? type->name : "";
}

GgufContents parse_gguf(std::span<const std::byte> bytes, const std::string& file) {
    ByteReader in(bytes, file);
    GgufContents contents;
    const Counts counts = read_header(in);
    read_metadata(in, counts.keys, contents);
    read_tensors(in, counts.tensors, contents);
    place_tensors(in, alignment_of(in, contents), contents);
    return contents;
}

}  // namespace backplane::formats
