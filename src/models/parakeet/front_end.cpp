#include "models/parakeet/front_end.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "backplane/ops.hpp"
#include "backplane/runtime.hpp"
#include "models/parakeet/layout.hpp"

namespace backplane::parakeet {

namespace {

constexpr double kDeviationGuard = 1e-5;  // added to the deviation that features are divided by

// The first sample of frame 0, which is centred on sample 0, lies so far before it.
int64_t before_of(const PreprocessorConfig& p) { return p.n_fft / 2 - (p.n_fft - p.win_length) / 2; }
int64_t hops_of_frame(const PreprocessorConfig& p) { return (p.win_length + p.hop_length - 1) / p.hop_length; }

// Slaney's scale: so many Hz a mel up to 1000 Hz, beyond so much of their logarithm.
constexpr double kHzOfMel = 200.0 / 3, kStraightMels = 1000 / kHzOfMel;
double log_of_mel() { return std::log(6.4) / 27; }
double hz_to_mel(double hz) { return hz < 1000 ? hz / kHzOfMel : kStraightMels + std::log(hz / 1000) / log_of_mel(); }
double mel_to_hz(double mel) {
    return mel < kStraightMels ? mel * kHzOfMel : 1000 * std::exp(log_of_mel() * (mel - kStraightMels));
}

// [win_length, 2 * bins]: a frame times it is the real parts of its spectrum, then the imaginary ones.
std::vector<float> windowed_basis(const PreprocessorConfig& p, const std::vector<float>& window) {
    const int64_t bins = p.n_fft / 2 + 1;
    std::vector<double> cosine(static_cast<size_t>(p.n_fft));
    std::vector<double> sine(cosine.size());
    for (int64_t i = 0; i < p.n_fft; ++i) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(p.n_fft);
        cosine[static_cast<size_t>(i)] = std::cos(angle);
        sine[static_cast<size_t>(i)] = std::sin(angle);
    }
    std::vector<float> basis(static_cast<size_t>(p.win_length * 2 * bins));
    for (int64_t n = 0; n < p.win_length; ++n)
        for (int64_t k = 0; k < bins; ++k) {
            const auto at = static_cast<size_t>(n * k % p.n_fft);
            const double w = window[static_cast<size_t>(n)];
            basis[static_cast<size_t>(n * 2 * bins + k)] = static_cast<float>(w * cosine[at]);
            basis[static_cast<size_t>(n * 2 * bins + bins + k)] = static_cast<float>(w * -sine[at]);
        }
    return basis;
}

// What float32 loses shows next to a loud tone and next to silence, where features deviate by little: in a sum of products each rounding is as large as
// the loudest sample makes it. So samples and basis are each a coarse part, whose products and sums float32 holds exactly, and a rest that is smaller
// by 2^8 and whose roundings are, too. Parts for samples to 1; louder ones are rounded as any.
constexpr float kSampleGrid = 0x1p-11F;     // of samples and of the factor of pre-emphasis: products have 22 bits
constexpr float kEmphasisedGrid = 0x1p-7F;  // of what goes into the spectrum,
constexpr float kBasisGrid = 0x1p-8F;       // and of the basis: 200 products of both have 24
constexpr double kSymmetric = 1e-6;         // what the halves of a window may be apart

// So that a frame's second half and its first, turned round, can be added and subtracted before they are multiplied.
bool is_symmetric(const std::vector<float>& window) {
    bool all = window.size() % 2 == 0;
    for (size_t i = 0; i < window.size(); ++i)
        all = all &&
              std::abs(static_cast<double>(window[i]) - static_cast<double>(window[window.size() - 1 - i])) < kSymmetric;
    return all;
}

enum class BasisPart { coarse, rest };
// Of the half that follows the middle, [win_length / 2, bins]: cosines for sums of the halves, sines for differences. The rest has what is coarse
// to multiply in its first rows and what is fine in as many more.
std::vector<float> half_basis(const PreprocessorConfig& p, const std::vector<float>& window, bool sine, BasisPart part) {
    const int64_t bins = p.n_fft / 2 + 1, half = p.win_length / 2;
    std::vector<float> coarse(static_cast<size_t>(half * bins)), rest(coarse.size()), whole(coarse.size());
    for (int64_t m = 0; m < half; ++m)
        for (int64_t k = 0; k < bins; ++k) {
            const double w = (static_cast<double>(window[static_cast<size_t>(half + m)]) +
                              static_cast<double>(window[static_cast<size_t>(half - 1 - m)])) /
                             2;
            const double angle =
                std::numbers::pi * static_cast<double>((2 * m + 1) * k % (2 * p.n_fft)) / static_cast<double>(p.n_fft);
            const double value = w * (sine ? std::sin(angle) : std::cos(angle));
            const auto at = static_cast<size_t>(m * bins + k);
            coarse[at] = static_cast<float>(std::nearbyint(value / static_cast<double>(kBasisGrid))) * kBasisGrid;
            rest[at] = static_cast<float>(value - static_cast<double>(coarse[at]));
            whole[at] = static_cast<float>(value);
        }
    if (part == BasisPart::coarse) return coarse;
    rest.insert(rest.end(), whole.begin(), whole.end());
    return rest;
}

class FrontEnd {
public:
    FrontEnd(Graph& graph, NetworkWeights& weights, const BatchShape& shape)
        : graph_(graph), weights_(weights), p_(weights.config().preprocessor), shape_(shape) {}

    // One Features or, apart, one for each part.
    std::vector<Features> build(NodeParts& nodes) {
        const auto parts = static_cast<uint32_t>(shape_.parts), readers = shape_.apart ? parts : 1;
        std::vector<TensorId> audio;
        for (const Stretch& sound : sound_inputs(p_, shape_)) {
            const auto part = static_cast<uint32_t>(audio.size());
            audio.push_back(graph_.input(shape_.apart ? row_input("audio", part, parts) : "audio", DType::f32,
                                         {shape_.clips, sound.length}));
        }
        const TensorId samples = graph_.input("samples", DType::i32, {shape_.clips});
        std::vector<TensorId> logs;
        for (uint32_t part = 0; part < parts; ++part) {
            logs.push_back(logs_of(part, audio[shape_.apart ? part : 0], samples));
            nodes.made(graph_, part);
        }
        std::vector<Features> all;
        for (uint32_t reader = 0; reader < readers; ++reader) {
            Features out{no_tensor, no_tensor};
            if (shape_.padded) out.frames = ops::div(graph_, samples, whole(graph_, static_cast<int32_t>(p_.hop_length)));
            out.values = normalised(logs.size() == 1 ? logs[0] : ops::concat(graph_, logs, {.axis = 1}), out.frames);
            nodes.made(graph_, reader);
            all.push_back(out);
        }
        return all;
    }

private:
    TensorId logs_of(int64_t part, TensorId audio, TensorId samples) {
        count_ = shape_.frames / shape_.parts;
        const auto [begin, length] = samples_of_part(p_, shape_, part);
        begin_ = begin;
        length_ = length;
        lead_ = part * count_ * p_.hop_length - before_of(p_) - begin_;
        const TensorId sound =
            graph_[audio].shape[1] == length_
                ? audio
                : ops::slice(graph_, audio, {.starts = {0, begin_}, .ends = {shape_.clips, begin_ + length_}});
        return log_mel(power(is_symmetric(window_of(weights_)) ? exact_spectrum(sound, samples)
                                                               : spectrum(emphasised(sound, samples))));
    }

    static std::vector<float> window_of(NetworkWeights& weights) {
        return weights.has(kWindowTensor) ? weights.numbers(kWindowTensor) : hann(weights.config().preprocessor.win_length);
    }
    [[nodiscard]] TensorId previous(TensorId audio) {
        const TensorId later = ops::pad(graph_, audio, {.pads = {0, 1, 0, 0}});
        return ops::slice(graph_, later, {.starts = {0, 0}, .ends = {shape_.clips, length_}});
    }
    // Samples behind a clip's end stay 0: the last one must not echo there.
    [[nodiscard]] TensorId within(TensorId sound, TensorId samples) {
        const TensorId position =
            ops::range(graph_, whole(graph_, static_cast<int32_t>(begin_)), whole(graph_, 1), {.count = length_});
        const TensorId length = ops::reshape(graph_, samples, {.shape = {shape_.clips, 1}});
        return ops::where(graph_, ops::less(graph_, position, length), sound, graph_.constant(0));
    }
    [[nodiscard]] TensorId emphasised(TensorId audio, TensorId samples) {
        return within(ops::sub(graph_, audio, times(previous(audio), p_.preemphasis)), samples);
    }
    TensorId times(TensorId x, float factor) { return ops::mul(graph_, x, graph_.constant(factor)); }
    TensorId on_grid(TensorId x, float grid) { return times(ops::round(graph_, times(x, 1 / grid)), grid); }

    // As emphasised(), in two parts whose sum is within 2^-32 of the number: the first on the grid.
    struct Parts {
        TensorId coarse, rest;
    };
    Parts emphasised_parts(TensorId audio, TensorId samples) {
        const float coarse_factor = std::nearbyint(p_.preemphasis / kSampleGrid) * kSampleGrid;
        const TensorId before = previous(audio);
        const TensorId coarse = on_grid(audio, kSampleGrid), coarse_before = on_grid(before, kSampleGrid);
        const TensorId exact = ops::sub(graph_, coarse, times(coarse_before, coarse_factor));
        const TensorId fine =
            ops::sub(graph_, ops::sub(graph_, audio, coarse), times(ops::sub(graph_, before, coarse_before), coarse_factor));
        const TensorId rest = ops::sub(graph_, fine, times(before, p_.preemphasis - coarse_factor));
        const TensorId first = on_grid(exact, kEmphasisedGrid);
        const TensorId second = ops::add(graph_, ops::sub(graph_, exact, first), rest);
        return {within(first, samples), within(second, samples)};
    }

    // Real and imaginary parts, each [clips, frames, bins], of a spectrum whose phase is that of a frame's middle.
    std::vector<TensorId> exact_spectrum(TensorId audio, TensorId samples) {
        const Parts parts = emphasised_parts(audio, samples);
        const int64_t half = p_.win_length / 2;
        std::vector<int32_t> backwards;
        for (int64_t i = half; i-- > 0;) backwards.push_back(static_cast<int32_t>(i));
        const TensorId turned = wholes(graph_, backwards, {half});
        std::vector<TensorId> sums, differences;
        for (const TensorId part : {parts.coarse, parts.rest}) {
            const TensorId all = frames(part);
            const TensorId first = ops::gather(graph_, all, turned, {.axis = 2});
            const TensorId second =
                ops::slice(graph_, all, {.starts = {0, 0, half}, .ends = {shape_.clips, count_, p_.win_length}});
            sums.push_back(ops::add(graph_, second, first));
            differences.push_back(ops::sub(graph_, second, first));
        }
        return {exact_product(sums, false), exact_product(differences, true)};
    }
    TensorId exact_product(const std::vector<TensorId>& halves, bool sine) {
        const int64_t bins = p_.n_fft / 2 + 1, half = p_.win_length / 2;
        const auto basis = [&](BasisPart part, const char* name, int64_t rows) {
            return weights_.made(graph_, std::string("preprocessor.") + (sine ? "sines." : "cosines.") + name, DType::f32,
                                 {rows, bins}, [&weights = weights_, sine, part] {
                                     return half_basis(weights.config().preprocessor, window_of(weights), sine, part);
                                 });
        };
        const TensorId exact = ops::matmul(graph_, halves[0], basis(BasisPart::coarse, "coarse", half));
        const TensorId both = ops::concat(graph_, halves, {.axis = 2});
        const TensorId rest = ops::matmul(graph_, both, basis(BasisPart::rest, "rest", 2 * half));
        return ops::add(graph_, exact, rest);
    }

    // [clips, frames, win_length]: a frame is the parts of a hop, each a slice of the samples seen as hops.
    TensorId frames(TensorId samples) {
        const int64_t hop = p_.hop_length;
        const int64_t parts = hops_of_frame(p_);
        const int64_t wanted = (count_ + parts - 1) * hop;
        const int64_t there = length_ - lead_;
        const int64_t skipped = std::max<int64_t>(0, lead_);
        TensorId padded =
            ops::pad(graph_, samples, {.pads = {0, std::max<int64_t>(0, -lead_), 0, std::max<int64_t>(0, wanted - there)}});
        if (wanted < there || skipped > 0)
            padded = ops::slice(graph_, padded, {.starts = {0, skipped}, .ends = {shape_.clips, skipped + wanted}});
        const TensorId hops = ops::reshape(graph_, padded, {.shape = {shape_.clips, count_ + parts - 1, hop}});
        std::vector<TensorId> pieces;
        for (int64_t i = 0; i < parts; ++i)
            pieces.push_back(ops::slice(
                graph_, hops,
                {.starts = {0, i, 0}, .ends = {shape_.clips, i + count_, std::min(hop, p_.win_length - i * hop)}}));
        return ops::concat(graph_, pieces, {.axis = 2});
    }

    // The same in one product, for windows of any form.
    std::vector<TensorId> spectrum(TensorId sound) {
        const int64_t bins = p_.n_fft / 2 + 1;
        const TensorId basis = weights_.made(
            graph_, "preprocessor.basis", DType::f32, {p_.win_length, 2 * bins},
            [&weights = weights_] { return windowed_basis(weights.config().preprocessor, window_of(weights)); });
        return ops::split(graph_, ops::matmul(graph_, frames(sound), basis), {.axis = 2, .sizes = {bins, bins}});
    }

    // [clips, frames, bins]
    TensorId power(const std::vector<TensorId>& spectrum) {
        const TensorId sum =
            ops::add(graph_, ops::mul(graph_, spectrum[0], spectrum[0]), ops::mul(graph_, spectrum[1], spectrum[1]));
        if (p_.mag_power == 2) return sum;
        if (p_.mag_power == 1) return ops::sqrt(graph_, sum);
        return ops::pow(graph_, sum, graph_.constant(p_.mag_power / 2));
    }

    // ln(mel / guard + 1), which is ln(mel + guard) less a number that normalisation takes away: silence is exactly 0, where float32 would
    // make noise of the rounding of a mean.
    TensorId log_mel(TensorId power) {
        const int64_t mels = weights_.config().encoder.mels;
        const TensorId filters =
            weights_.made(graph_, "preprocessor.filters", DType::f32, {mels, p_.n_fft / 2 + 1}, [&weights = weights_, mels] {
                const PreprocessorConfig& p = weights.config().preprocessor;
                std::vector<float> all =
                    weights.has(kFiltersTensor) ? weights.numbers(kFiltersTensor) : slaney_filters(p, mels);
                for (float& x : all) x /= static_cast<float>(p.log_zero_guard);
                return all;
            });
        const TensorId mel = ops::matmul(graph_, power, filters, {.transpose_b = true});
        const TensorId logs = log_of_one_and(mel);
        if (p_.normalize == Normalize::per_feature) return logs;
        return ops::add(graph_, logs, graph_.constant(static_cast<float>(std::log(static_cast<double>(p_.log_zero_guard)))));
    }

    // ln(1 + x) of x >= 0. Of what is small the sum keeps nothing: below 1/2 as 2 artanh(s), s = x / (2 + x), by its first terms.
    TensorId log_of_one_and(TensorId x) {
        const TensorId s = ops::div(graph_, x, ops::add(graph_, x, graph_.constant(2)));
        const TensorId square = ops::mul(graph_, s, s);
        TensorId sum = times(square, 2.0F / 9);
        for (const float term : {2.0F / 7, 2.0F / 5, 2.0F / 3, 2.0F}) {
            sum = ops::add(graph_, sum, graph_.constant(term));
            sum = ops::mul(graph_, sum, term == 2.0F ? s : square);
        }
        const TensorId plain = ops::log(graph_, ops::add(graph_, x, graph_.constant(1)));
        return ops::where(graph_, ops::less(graph_, x, graph_.constant(0.5F)), sum, plain);
    }

    // The mean of thousands of numbers that are large and next to each other has roundings of its own: what is left of it is taken away as well.
    TensorId normalised(TensorId logs, TensorId frames) {
        const bool each = p_.normalize == Normalize::per_feature;
        if (!shape_.padded) {
            if (!each) return logs;
            const auto less_mean = [&](TensorId x) {
                return ops::sub(graph_, x, ops::reduce_mean(graph_, x, {.axes = {1}}));
            };
            const TensorId less = less_mean(less_mean(logs));
            return over_deviation(less, less, graph_.constant(static_cast<float>(std::max<int64_t>(1, shape_.frames - 1))));
        }
        const TensorId valid = valid_positions(graph_, frames, shape_.clips, shape_.frames);
        if (!each) return ops::mul(graph_, logs, valid);
        const TensorId one = graph_.constant(1);
        const TensorId count = ops::reshape(graph_, cast(graph_, frames, DType::f32), {.shape = {shape_.clips, 1, 1}});
        const auto less_mean = [&](TensorId x) {  // of numbers that are 0 where nothing is valid
            const TensorId mean = ops::div(graph_, ops::reduce_sum(graph_, x, {.axes = {1}}), ops::max(graph_, count, one));
            return ops::mul(graph_, ops::sub(graph_, x, mean), valid);
        };
        const TensorId less = less_mean(less_mean(ops::mul(graph_, logs, valid)));
        return over_deviation(less, less, ops::max(graph_, ops::sub(graph_, count, one), one));
    }

    TensorId over_deviation(TensorId x, TensorId less, TensorId degrees) {
        const TensorId sum = ops::reduce_sum(graph_, ops::mul(graph_, less, less), {.axes = {1}});
        const TensorId deviation = ops::sqrt(graph_, ops::div(graph_, sum, degrees));
        return ops::div(graph_, x, ops::add(graph_, deviation, graph_.constant(static_cast<float>(kDeviationGuard))));
    }

    Graph& graph_;
    NetworkWeights& weights_;
    const PreprocessorConfig& p_;
    BatchShape shape_;
    // Of the part that is being made: its frames, the first and the number of samples that it is made of, and how far behind these its frames begin.
    int64_t count_ = 0, begin_ = 0, length_ = 0, lead_ = 0;
};

}  // namespace

int64_t samples_of(const PreprocessorConfig& config, int64_t frames) noexcept {
    return (frames + 1) * config.hop_length - 1;  // with one more there would be a frame more
}

Stretch samples_of_part(const PreprocessorConfig& config, const BatchShape& shape, int64_t part) noexcept {
    const int64_t hop = config.hop_length, all = samples_of(config, shape.frames), count = shape.frames / shape.parts;
    const int64_t first = part * count * hop - before_of(config);  // of its first frame
    const int64_t begin = std::max<int64_t>(0, first - 1);         // pre-emphasis takes one before
    const int64_t end = part + 1 == shape.parts ? all : std::min(all, first + (count + hops_of_frame(config) - 1) * hop);
    return {begin, end - begin};
}

std::vector<Stretch> sound_inputs(const PreprocessorConfig& config, const BatchShape& shape) {
    if (!shape.apart) return {{0, samples_of(config, shape.frames)}};
    std::vector<Stretch> all;
    for (int64_t part = 0; part < shape.parts; ++part) all.push_back(samples_of_part(config, shape, part));
    return all;
}

std::vector<float> hann(int64_t length) {
    std::vector<float> all(static_cast<size_t>(length), 1.0F);
    for (int64_t i = 0; length > 1 && i < length; ++i)
        all[static_cast<size_t>(i)] = static_cast<float>(
            0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length - 1)));
    return all;
}

std::vector<float> slaney_filters(const PreprocessorConfig& config, int64_t mels) {
    const int64_t bins = config.n_fft / 2 + 1;
    const double top = hz_to_mel(static_cast<double>(config.sample_rate) / 2);
    std::vector<double> edges(static_cast<size_t>(mels + 2));
    for (size_t i = 0; i < edges.size(); ++i)
        edges[i] = mel_to_hz(top * static_cast<double>(i) / static_cast<double>(mels + 1));
    std::vector<float> all(static_cast<size_t>(mels * bins));
    for (int64_t m = 0; m < mels; ++m) {
        const double low = edges[static_cast<size_t>(m)];
        const double middle = edges[static_cast<size_t>(m + 1)];
        const double high = edges[static_cast<size_t>(m + 2)];
        for (int64_t k = 0; k < bins; ++k) {
            const double hz = static_cast<double>(k * config.sample_rate) / static_cast<double>(config.n_fft);
            const double height = std::min((hz - low) / (middle - low), (high - hz) / (high - middle));
            all[static_cast<size_t>(m * bins + k)] = static_cast<float>(std::max(0.0, height) * 2 / (high - low));
        }
    }
    return all;
}

TensorId cast(Graph& graph, TensorId x, DType dtype) {
    return graph[x].dtype == dtype ? x : ops::cast(graph, x, {.to = static_cast<int64_t>(dtype)});
}

TensorId wholes(Graph& graph, const std::vector<int32_t>& numbers, Shape shape) {
    const auto bytes = std::as_bytes(std::span(numbers));
    return graph.constant("", DType::i32, std::move(shape), {bytes.begin(), bytes.end()});
}

TensorId whole(Graph& graph, int32_t number) { return wholes(graph, {number}, {}); }

TensorId valid_positions(Graph& graph, TensorId lengths, int64_t clips, int64_t count, int64_t first) {
    const TensorId begin = whole(graph, static_cast<int32_t>(first));
    const TensorId position =
        ops::reshape(graph, ops::range(graph, begin, whole(graph, 1), {.count = count}), {.shape = {count, 1}});
    const TensorId length = ops::reshape(graph, lengths, {.shape = {clips, 1, 1}});
    return cast(graph, ops::less(graph, position, length), DType::f32);
}

Features add_front_end(Graph& graph, NetworkWeights& weights, const BatchShape& shape) {
    NodeParts nobody;
    return add_front_end(graph, weights, shape, nobody).front();
}

std::vector<Features> add_front_end(Graph& graph, NetworkWeights& weights, const BatchShape& shape, NodeParts& nodes) {
    return FrontEnd(graph, weights, shape).build(nodes);
}

}  // namespace backplane::parakeet
