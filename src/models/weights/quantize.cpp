#include "backplane/quantize.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "base/glob.hpp"
#include "formats/quantise.hpp"
#include "gguf/printable.hpp"
#include "graph/element_types.hpp"

namespace backplane {

namespace {

constexpr size_t kAtOnce = size_t{1} << 16;  // numbers, whole blocks of any type

bool is_like(const std::string& name, std::initializer_list<const char*> patterns) {
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return std::any_of(patterns.begin(), patterns.end(), [&](const char* pattern) { return base::glob(pattern, lower); });
}

// llama.cpp's numbers for what most of a file is in (general.file_type); -1: it has none for it.
int64_t file_type_of(DType dtype) {
    switch (dtype) {
        case DType::f32: return 0;
        case DType::f16: return 1;
        case DType::q4_0: return 2;
        case DType::q8_0: return 7;
        case DType::q5_0: return 8;
        case DType::q4_k: return 15;
        case DType::q5_k: return 17;
        case DType::q6_k: return 18;
        case DType::bf16: return 32;
        default: return -1;
    }
}

// What becomes of a tensor: its type, and why it is not the one asked for.
std::pair<DType, std::string> plan_for(const WeightTensor& tensor, const QuantizeOptions& options) {
    const auto kept = [&](std::string why) { return std::pair{tensor.dtype, std::move(why)}; };
    for (const std::string& pattern : options.keep)
        if (base::glob(pattern, tensor.name)) return kept("kept by '" + pattern + "'");
    if (is_block(tensor.dtype)) return kept(tensor.dtype == options.dtype ? "" : "in blocks already");
    if (!is_float(tensor.dtype)) return kept("no floats");
    if (tensor.shape.size() < 2) return kept("no matrix");
    if (is_like(tensor.name, {"*bias", "*norm*"})) return kept("a bias or a norm");
    if (!options.embeddings && is_like(tensor.name, {"*embd*", "*embed*", "*wte*", "*wpe*"})) return kept("an embedding");
    const int64_t row = tensor.shape.back();
    const DType fits = formats::quantised_type(options.dtype, row);
    if (fits == DType::unknown) return kept("rows of " + std::to_string(row) + " are no whole blocks");
    return {fits, fits == options.dtype ? "" : "rows of " + std::to_string(row) + " are no whole blocks of 256"};
}

// What is meant to stay as it is, and under another name would not.
void check_kept(const WeightFile& from, const QuantizeOptions& options) {
    const std::vector<WeightTensor>& all = from.tensors();
    for (const std::string& pattern : options.keep)
        if (std::none_of(all.begin(), all.end(), [&](const auto& tensor) { return base::glob(pattern, tensor.name); }))
            throw Error(Code::invalid, "cannot quantize '" + from.name() + "': '" + pattern +
                                           "', which is to stay as it is, is the name of none of its tensors");
}

class Conversion {
public:
    Conversion(const WeightFile& from, const QuantizeOptions& options) : from_(from), options_(options) {
        threads_ = options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
        for (const WeightTensor& tensor : from.tensors()) total_ += tensor.bytes;
    }

    std::vector<std::byte> make(const WeightTensor& tensor, QuantizedTensor& told) {
        const std::span<const std::byte> data = from_.data(tensor.name);
        const auto count = static_cast<size_t>(elements(tensor.shape));
        const size_t size_from = data.size() / std::max<size_t>(1, count);
        std::vector<std::byte> made(told.bytes_after);
        const size_t pieces = (count + kAtOnce - 1) / kAtOnce;
        std::vector<double> wrong(pieces), all(pieces);
        each(pieces, [&](size_t i) {
            const size_t first = i * kAtOnce, n = std::min(kAtOnce, count - first);
            const std::vector<double> values = graph::decode(data.subspan(first * size_from, n * size_from), tensor.dtype);
            if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
                throw Error(Code::corrupt, "cannot quantize '" + from_.name() + "': tensor " +
                                               formats::printable(tensor.name) + " holds values that are no finite numbers");
            const std::vector<std::byte> piece =
                is_block(told.to) ? formats::quantise(values, told.to) : graph::encode(values, told.to);
            std::memcpy(made.data() + first * told.bytes_after / count, piece.data(), piece.size());
            const std::vector<double> back = graph::decode(piece, told.to);
            check_held(tensor.name, told.to, values, back);
            for (size_t k = 0; k < n; ++k) {
                wrong[i] += (back[k] - values[k]) * (back[k] - values[k]);
                all[i] += values[k] * values[k];
            }
        });
        double sum_wrong = 0, sum_all = 0;
        for (size_t i = 0; i < pieces; ++i) sum_wrong += wrong[i], sum_all += all[i];
        told.error = sum_all > 0 ? std::sqrt(sum_wrong / sum_all) : 0;
        pass(tensor);
        return made;
    }

    std::vector<std::byte> copy(const WeightTensor& tensor) {
        const std::span<const std::byte> data = from_.data(tensor.name);
        pass(tensor);
        return {data.begin(), data.end()};
    }

private:
    // The largest number of a block is the one that its factors are made for: it is far off only where they end.
    void check_held(const std::string& tensor, DType dtype, const std::vector<double>& values,
                    const std::vector<double>& back) const {
        size_t most = 0;
        for (size_t i = 0; i < values.size(); ++i)
            if (std::fabs(values[i]) > std::fabs(values[most])) most = i;
        const double largest = values.empty() ? 0 : std::fabs(values[most]);
        if (largest <= 65504 || std::fabs(back[most] - values[most]) <= largest / 2) return;  // the largest half
        const std::string name = formats::printable(tensor);
        std::array<char, 32> digits{};
        char* const end = std::to_chars(digits.begin(), digits.end(), largest, std::chars_format::general, 3).ptr;
        throw Error(Code::invalid, "cannot quantize '" + from_.name() + "': tensor " + name + " has numbers up to " +
                                       std::string(digits.data(), end) + ", which " + name_of(dtype) +
                                       " does not hold; have it stay as it is: --keep " + name);
    }

    [[noreturn]] static void stop() { throw Error(Code::cancelled, "quantizing was cancelled"); }
    [[nodiscard]] bool cancelled() const { return options_.cancel != nullptr && options_.cancel->load() != 0; }

    void pass(const WeightTensor& tensor) {
        if (cancelled()) stop();
        done_ += tensor.bytes;
        if (options_.progress)
            options_.progress(static_cast<double>(done_) / static_cast<double>(std::max<uint64_t>(1, total_)));
    }

    // work(i) for all, on several threads; what one of them throws is thrown here.
    template <typename Work>
    void each(size_t count, const Work& work) {
        std::atomic<size_t> next{0};
        std::exception_ptr failed;
        std::mutex mutex;
        const auto run = [&] {
            try {
                for (size_t i = next++; i < count; i = next++) {
                    if (cancelled()) stop();
                    work(i);
                }
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!failed) failed = std::current_exception();
                next = count;
            }
        };
        {
            std::vector<std::jthread> helpers;
            for (size_t t = 1; t < std::min<size_t>(threads_, count); ++t) helpers.emplace_back(run);
            run();
        }
        if (failed) std::rethrow_exception(failed);
    }

    const WeightFile& from_;
    const QuantizeOptions& options_;
    uint32_t threads_;
    uint64_t done_ = 0, total_ = 0;
};

}  // namespace

std::vector<QuantizedTensor> quantize(const WeightFile& from, const std::filesystem::path& gguf,
                                      const QuantizeOptions& options) {
    if (!is_float(options.dtype) || options.dtype == DType::f64)
        if (!formats::can_quantise(options.dtype))
            throw Error(Code::invalid, std::string("cannot quantize to ") + name_of(options.dtype) +
                                           ": f32, f16, bf16, q8_0, q6_k, q5_k, q5_0, q4_k and q4_0 can be made");
    if (from.tensors().empty())
        throw Error(Code::invalid, "cannot quantize '" + from.name() + "': it has no tensors" +
                                       (from.format() == "ONNX" ? "; of ONNX files those are the initialisers of the graph, "
                                                                  "not what nodes or branches hold"
                                                                : ""));
    check_kept(from, options);
    GgufWriter writer;
    for (const auto& [key, value] : from.metadata())
        if (key == "general.file_type")
            writer.set(key, file_type_of(options.dtype));
        else if (key != "general.alignment")
            writer.set(key, value);
    Conversion conversion(from, options);
    std::vector<QuantizedTensor> told(from.tensors().size());
    for (size_t i = 0; i < told.size(); ++i) {
        const WeightTensor& tensor = from.tensors()[i];
        if (tensor.dtype == DType::unknown)
            throw Error(Code::unsupported, "cannot quantize '" + from.name() + "': its tensor " +
                                               formats::printable(tensor.name) + " is of " +
                                               formats::printable(tensor.type) + ", which is not read");
        const auto [to, why] = plan_for(tensor, options);
        told[i] = {tensor.name, tensor.type, to, tensor.shape, tensor.bytes, bytes(to, tensor.shape), 0, why};
        if (to == tensor.dtype)
            writer.add_made(tensor.name, to, tensor.shape, [&conversion, &tensor] { return conversion.copy(tensor); });
        else
            writer.add_made(tensor.name, to, tensor.shape,
                            [&conversion, &tensor, &told, i] { return conversion.make(tensor, told[i]); });
    }
    writer.write(gguf);
    return told;
}

}  // namespace backplane
