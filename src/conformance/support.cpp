#include "conformance/support.hpp"

#include <cmath>

#include "graph/element_types.hpp"

namespace backplane::graph {

namespace {

// FNV-1a: any spread of names over seeds will do, as long as it is the same everywhere.
uint64_t seed_of(std::string_view name) {
    uint64_t hash = 14695981039346656037ULL;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return hash;
}

}  // namespace

const char* name_of(Source source) noexcept {
    switch (source) {
        case Source::input: return "input";
        case Source::weight: return "weight";
        case Source::constant: return "constant";
        case Source::transposed: return "transposed";
        case Source::strided: return "strided";
    }
    return "unknown";
}

Values usual_values(DType dtype) {
    switch (dtype) {
        case DType::boolean: return {0, 1};
        case DType::u8:
        case DType::u16: return {0, 200};
        case DType::i8:
        case DType::i16:
        case DType::i32:
        case DType::i64: return {-100, 100};
        default: return {};
    }
}

CaseBuilder::CaseBuilder(std::string_view name) : state_(seed_of(name)) {}

// splitmix64 (Steele, Lea and Flood 2014): the standard library's distributions differ from one library to the next.
double CaseBuilder::next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-53;
}

std::vector<std::byte> CaseBuilder::random_bytes(DType dtype, const Shape& shape, const Values& values) {
    const bool whole = !is_float(dtype) && !is_block(dtype);
    const auto count = static_cast<size_t>(elements(shape));
    if (!has_encoding(dtype)) return random_blocks(dtype, count, values.most, [this] { return next(); });
    std::vector<double> numbers(count);
    for (size_t i = 0; i < numbers.size(); ++i) {
        if (i < values.first.size()) {
            numbers[i] = values.first[i];
        } else {
            numbers[i] = whole ? std::floor(values.least + next() * (values.most - values.least + 1))
                               : values.least + next() * (values.most - values.least);
        }
    }
    return encode(numbers, dtype);
}

TensorId CaseBuilder::operand(Source source, DType dtype, const Shape& shape, const Values& values) {
    if (source == Source::transposed || source == Source::strided) return view(source, dtype, shape, values);
    std::vector<std::byte> bytes = random_bytes(dtype, shape, values);
    if (source == Source::constant) return data_.graph.constant("", dtype, shape, std::move(bytes));
    const bool weight = source == Source::weight;
    const std::string name = (weight ? "w" : "x") + std::to_string(weight ? weights_++ : inputs_++);
    const TensorId id = weight ? data_.graph.weight(name, dtype, shape) : data_.graph.input(name, dtype, shape);
    data_.contents.push_back({id, std::move(bytes)});
    return id;
}

// The order of memory reversed, or every second element of each axis, from the second on.
TensorId CaseBuilder::view(Source source, DType dtype, const Shape& shape, const Values& values) {
    if (source == Source::transposed) {
        const TensorId x = operand(Source::input, dtype, Shape(shape.rbegin(), shape.rend()), values);
        return add(Op::transpose, {x});
    }
    Shape larger = shape;
    for (int64_t& extent : larger) extent = 2 * extent + 1;
    const TensorId x = operand(Source::input, dtype, larger, values);
    return add(Op::slice, {x},
               {{Attr::starts, std::vector<int64_t>(shape.size(), 1)},
                {Attr::ends, larger},
                {Attr::steps, std::vector<int64_t>(shape.size(), 2)}});
}

void CaseBuilder::result(TensorId tensor) { data_.graph.output(tensor, "y" + std::to_string(results_++)); }

void CaseList::add(const std::string& name, std::function<void(CaseBuilder&)> describe) {
    cases_.push_back({std::string(backplane::name_of(op_)) + "/" + name, op_, std::move(describe)});
}

std::string text_of(const Shape& shape) {
    std::string text;
    for (const int64_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
    return text.empty() ? "scalar" : text;
}

}  // namespace backplane::graph
