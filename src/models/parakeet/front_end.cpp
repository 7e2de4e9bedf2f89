#include "models/parakeet/front_end.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "backplane/ops.hpp"
#include "models/parakeet/layout.hpp"

namespace backplane::parakeet {

namespace {

constexpr double kDeviationGuard = 1e-5;  // added to the deviation that features are divided by

// The first sample of frame 0, which is centred on sample 0, lies so far before it.
int64_t before_of(const PreprocessorConfig& p) { return p.n_fft / 2 - (p.n_fft - p.win_length) / 2; }

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

class FrontEnd {
public:
    FrontEnd(Graph& graph, NetworkWeights& weights, const BatchShape& shape)
        : graph_(graph), weights_(weights), p_(weights.config().preprocessor), shape_(shape) {}

    Features build() {
        const TensorId audio = graph_.input("audio", DType::f32, {shape_.clips, samples_of(p_, shape_.frames)});
        const TensorId samples = graph_.input("samples", DType::i32, {shape_.clips});
        Features out{no_tensor, no_tensor};
        if (shape_.padded) out.frames = ops::div(graph_, samples, whole(graph_, static_cast<int32_t>(p_.hop_length)));
        const TensorId logs = log_mel(power(frames(emphasised(audio, samples))));
        out.values = normalised(logs, out.frames);
        return out;
    }

private:
    // Samples behind a clip's end stay 0: the last one must not echo there.
    TensorId emphasised(TensorId audio, TensorId samples) {
        const int64_t count = samples_of(p_, shape_.frames);
        const TensorId later = ops::pad(graph_, audio, {.pads = {0, 1, 0, 0}});
        const TensorId previous = ops::slice(graph_, later, {.starts = {0, 0}, .ends = {shape_.clips, count}});
        const TensorId less = ops::mul(graph_, previous, graph_.constant(p_.preemphasis));
        const TensorId position = ops::range(graph_, whole(graph_, 0), whole(graph_, 1), {.count = count});
        const TensorId length = ops::reshape(graph_, samples, {.shape = {shape_.clips, 1}});
        return ops::where(graph_, ops::less(graph_, position, length), ops::sub(graph_, audio, less), graph_.constant(0));
    }

    // [clips, frames, win_length]: a frame is the parts of a hop, each a slice of the samples seen as hops.
    TensorId frames(TensorId samples) {
        const int64_t hop = p_.hop_length;
        const int64_t parts = (p_.win_length + hop - 1) / hop;
        const int64_t before = before_of(p_);
        const int64_t wanted = (shape_.frames + parts - 1) * hop;
        const int64_t there = before + samples_of(p_, shape_.frames);
        TensorId padded = ops::pad(graph_, samples, {.pads = {0, before, 0, std::max<int64_t>(0, wanted - there)}});
        if (wanted < there) padded = ops::slice(graph_, padded, {.starts = {0, 0}, .ends = {shape_.clips, wanted}});
        const TensorId hops = ops::reshape(graph_, padded, {.shape = {shape_.clips, shape_.frames + parts - 1, hop}});
        std::vector<TensorId> pieces;
        for (int64_t i = 0; i < parts; ++i)
            pieces.push_back(ops::slice(
                graph_, hops,
                {.starts = {0, i, 0}, .ends = {shape_.clips, i + shape_.frames, std::min(hop, p_.win_length - i * hop)}}));
        return ops::concat(graph_, pieces, {.axis = 2});
    }

    // [clips, frames, bins]
    TensorId power(TensorId frames) {
        const int64_t bins = p_.n_fft / 2 + 1;
        const TensorId basis =
            weights_.made(graph_, "preprocessor.basis", DType::f32, {p_.win_length, 2 * bins}, [&weights = weights_] {
                const PreprocessorConfig& p = weights.config().preprocessor;
                return windowed_basis(p, weights.has(kWindowTensor) ? weights.numbers(kWindowTensor) : hann(p.win_length));
            });
        const TensorId spectrum = ops::matmul(graph_, frames, basis);
        const TensorId squares = ops::mul(graph_, spectrum, spectrum);
        const std::vector<TensorId> parts = ops::split(graph_, squares, {.axis = 2, .sizes = {bins, bins}});
        const TensorId sum = ops::add(graph_, parts[0], parts[1]);
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
        const TensorId logs = ops::log(graph_, ops::add(graph_, mel, graph_.constant(1)));
        if (p_.normalize == Normalize::per_feature) return logs;
        return ops::add(graph_, logs, graph_.constant(static_cast<float>(std::log(static_cast<double>(p_.log_zero_guard)))));
    }

    TensorId normalised(TensorId logs, TensorId frames) {
        const bool each = p_.normalize == Normalize::per_feature;
        if (!shape_.padded) {
            if (!each) return logs;
            const TensorId less = ops::sub(graph_, logs, ops::reduce_mean(graph_, logs, {.axes = {1}}));
            return over_deviation(less, less, graph_.constant(static_cast<float>(std::max<int64_t>(1, shape_.frames - 1))));
        }
        const TensorId valid = valid_positions(graph_, frames, shape_.clips, shape_.frames);
        if (!each) return ops::mul(graph_, logs, valid);
        const TensorId one = graph_.constant(1);
        const TensorId count = ops::reshape(graph_, cast(graph_, frames, DType::f32), {.shape = {shape_.clips, 1, 1}});
        const TensorId sum = ops::reduce_sum(graph_, ops::mul(graph_, logs, valid), {.axes = {1}});
        const TensorId mean = ops::div(graph_, sum, ops::max(graph_, count, one));
        const TensorId less = ops::mul(graph_, ops::sub(graph_, logs, mean), valid);
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
};

}  // namespace

int64_t samples_of(const PreprocessorConfig& config, int64_t frames) noexcept {
    return (frames + 1) * config.hop_length - 1;  // with one more there would be a frame more
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

TensorId valid_positions(Graph& graph, TensorId lengths, int64_t clips, int64_t count) {
    const TensorId position =
        ops::reshape(graph, ops::range(graph, whole(graph, 0), whole(graph, 1), {.count = count}), {.shape = {count, 1}});
    const TensorId length = ops::reshape(graph, lengths, {.shape = {clips, 1, 1}});
    return cast(graph, ops::less(graph, position, length), DType::f32);
}

Features add_front_end(Graph& graph, NetworkWeights& weights, const BatchShape& shape) {
    return FrontEnd(graph, weights, shape).build();
}

}  // namespace backplane::parakeet
