#include "models/parakeet/convert.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "backplane/error.hpp"
#include "backplane/gguf.hpp"
#include "backplane/ops/blocks.hpp"
#include "formats/quantise.hpp"
#include "graph/element_types.hpp"
#include "models/parakeet/front_end.hpp"
#include "models/parakeet/gguf_fields.hpp"
#include "models/parakeet/layout.hpp"

namespace backplane::parakeet {

namespace {

class FieldWriter {
public:
    explicit FieldWriter(GgufWriter& out) : out_(out) {}

    FieldWriter& maybe() { return *this; }
    void text(std::string_view key, const std::string& value) { set(key, value); }
    void count(std::string_view key, int64_t value) { set(key, value); }
    void truth(std::string_view key, bool value) { set(key, value); }
    void number(std::string_view key, float value) { set(key, static_cast<double>(value)); }
    void counts(std::string_view key, const std::vector<int64_t>& values) { set(key, values); }
    template <typename Value, size_t n>
    void choice(std::string_view key, const Value& value, const Choices<Value, n>& choices) {
        const auto found = std::find_if(choices.begin(), choices.end(), [&](const auto& c) { return c.second == value; });
        set(key, std::string(found->first));
    }
    [[noreturn]] void fail(const std::string& why) const { throw Error(Code::internal, why); }

private:
    void set(std::string_view key, GgufValue value) { out_.set(std::string(key), std::move(value)); }

    GgufWriter& out_;
};

int block_of(DType dtype) { return blocks::facts_of(static_cast<uint32_t>(dtype)).elements; }  // 0: it has none

DType stored_as(const Wanted& tensor, DType dtype) {
    if (tensor.kind != Kind::matrix) return DType::f32;
    const DType fits = formats::quantised_type(dtype, tensor.shape.back());
    return fits == DType::unknown ? DType::f16 : fits;
}

// In blocks, rows are what the shape says; extents of 1 behind would make rows of 1.
Shape stored_shape(const Wanted& wanted, DType dtype) {
    Shape shape = wanted.shape;
    if (!is_block(dtype)) shape.insert(shape.end(), static_cast<size_t>(wanted.ones), 1);
    return shape;
}

// Filters and window where the file has none: those that the engine would make, so that a reader of GGUF that makes none has them too.
std::vector<double> values_of(const ModelFile& model, const Wanted& wanted) {
    if (const Tensor* const tensor = model.find(wanted.name)) return graph::decode(tensor->bytes, tensor->dtype);
    const Config& config = model.config();
    const std::vector<float> made = wanted.name == kWindowTensor ? hann(config.preprocessor.win_length)
                                                                 : slaney_filters(config.preprocessor, config.encoder.mels);
    return {made.begin(), made.end()};
}

std::vector<std::byte> encoded(const ModelFile& model, const Wanted& tensor, DType dtype) {
    const Tensor* const there = model.find(tensor.name);
    if (is_block(dtype) && there != nullptr && there->dtype == dtype) return {there->bytes.begin(), there->bytes.end()};
    const std::vector<double> values = values_of(model, tensor);
    if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
        throw Error(Code::corrupt, "cannot convert '" + model.file() + "': tensor '" + tensor.name +
                                       "' holds values that are no finite numbers");
    return is_block(dtype) ? formats::quantise(values, dtype) : graph::encode(values, dtype);
}

std::vector<std::string> told_of(const std::map<DType, std::pair<int, int64_t>>& others, int matrices, DType dtype) {
    std::vector<std::string> all;
    for (const auto& [stored, which] : others)
        all.push_back(std::to_string(which.first) + " of " + std::to_string(matrices) + " matrices are " + name_of(stored) +
                      ": their rows, of " + std::to_string(which.second) + " numbers for one, are no whole blocks of " +
                      name_of(dtype) + " (" + std::to_string(block_of(dtype)) + ")");
    return all;
}

}  // namespace

std::vector<std::string> write_gguf(const ModelFile& model, DType dtype, const std::filesystem::path& gguf) {
    const bool plain = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
    if (!plain && !formats::can_quantise(dtype))
        throw Error(Code::invalid, "cannot convert '" + model.file() + "' to " + name_of(dtype) +
                                       ": f32, f16, bf16, q8_0, q6_k, q5_k, q5_0, q4_k and q4_0 can be written");
    GgufWriter writer;
    writer.set(std::string(kArchitectureKey), std::string(kArchitecture));
    Config config = model.config();
    FieldWriter fields(writer);
    each_field(fields, config);
    writer.set(std::string(kPiecesKey), model.pieces());
    std::vector<std::vector<std::byte>> held;         // until written
    std::map<DType, std::pair<int, int64_t>> others;  // matrices of another type, and a row of one
    int matrices = 0;
    for (const Wanted& wanted : wanted_tensors(config)) {
        const DType stored = stored_as(wanted, dtype);
        if (wanted.kind == Kind::matrix) {
            ++matrices;
            if (stored != dtype) others[stored] = {others[stored].first + 1, wanted.shape.back()};
        }
        held.push_back(encoded(model, wanted, stored));
        const bool only_ctc = config.ctc && !config.transducer && wanted.name.starts_with(kHybridCtc);
        writer.add(only_ctc ? std::string(kOnlyCtc) + wanted.name.substr(kHybridCtc.size()) : wanted.name, stored,
                   stored_shape(wanted, stored), held.back());
    }
    writer.write(gguf);
    return told_of(others, matrices, dtype);
}

}  // namespace backplane::parakeet
