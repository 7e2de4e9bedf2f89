// What a Parakeet network is, in float64 and one number at a time, after the papers and NeMo's definitions; shares nothing with the graphs.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <map>
#include <numbers>
#include <span>
#include <vector>

#include "graph/element_types.hpp"
#include "models/parakeet/front_end.hpp"
#include "models/parakeet/model_file.hpp"

namespace backplane::parakeet::oracle {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

inline Row numbers(const ModelFile& file, const std::string& name) {
    const Tensor& t = file.at(name);
    return graph::decode(t.bytes, t.dtype);
}

// Decoded once: a transducer looks at them once a step.
class Numbers {
public:
    explicit Numbers(const ModelFile& file) : file_(file) {}
    const Row& operator()(const std::string& name) {
        Row& row = all_[name];
        if (row.empty()) row = numbers(file_, name);
        return row;
    }

private:
    const ModelFile& file_;
    std::map<std::string, Row> all_;
};

// ---- features ---------------------------------------------------------------------------------------------------------------

inline Rows features(const PreprocessorConfig& p, int64_t mels, std::span<const float> sound) {
    const std::vector<float> filters = slaney_filters(p, mels);
    const std::vector<float> weighs = hann(p.win_length);
    Row x(sound.size());
    for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<double>(sound[i]) -
               (i > 0 ? static_cast<double>(p.preemphasis) * static_cast<double>(sound[i - 1]) : 0);
    const int64_t frames = static_cast<int64_t>(x.size()) / p.hop_length;
    const int64_t bins = p.n_fft / 2 + 1;
    std::vector<std::complex<double>> turns;  // by parts of a circle
    for (int64_t i = 0; i < p.n_fft; ++i)
        turns.push_back(std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(p.n_fft)));
    Rows all;
    for (int64_t t = 0; t < frames; ++t) {
        Row power;
        for (int64_t k = 0; k < bins; ++k) {
            std::complex<double> sum = 0;
            for (int64_t n = 0; n < p.win_length; ++n) {
                const int64_t at = t * p.hop_length - p.n_fft / 2 + (p.n_fft - p.win_length) / 2 + n;
                if (at < 0 || at >= static_cast<int64_t>(x.size())) continue;
                const auto window = static_cast<double>(weighs[static_cast<size_t>(n)]);
                sum += window * x[static_cast<size_t>(at)] * turns[static_cast<size_t>(k * n % p.n_fft)];
            }
            power.push_back(std::norm(sum));
        }
        Row row;
        for (int64_t m = 0; m < mels; ++m) {
            double sum = 0;
            for (int64_t k = 0; k < bins; ++k)
                sum += power[static_cast<size_t>(k)] * static_cast<double>(filters[static_cast<size_t>(m * bins + k)]);
            row.push_back(std::log(sum + static_cast<double>(p.log_zero_guard)));
        }
        all.push_back(row);
    }
    for (size_t m = 0; m < static_cast<size_t>(mels); ++m) {
        double mean = 0;
        double square = 0;
        for (const Row& row : all) mean += row[m] / static_cast<double>(frames);
        for (const Row& row : all) square += (row[m] - mean) * (row[m] - mean);
        const double deviation = std::sqrt(square / static_cast<double>(std::max<int64_t>(1, frames - 1)));
        for (Row& row : all) row[m] = (row[m] - mean) / (deviation + 1e-5);
    }
    return all;
}

// ---- encoder ----------------------------------------------------------------------------------------------------------------

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class Encoder {
public:
    explicit Encoder(const ModelFile& file) : file_(file), c_(file.config().encoder) {}

    [[nodiscard]] Rows run(const Rows& features) const {
        Rows x = subsampled(features);
        for (int64_t layer = 0; layer < c_.layers; ++layer) {
            const std::string at = "encoder.layers." + std::to_string(layer) + ".";
            add(x, feed_forward(norm(x, at + "norm_feed_forward1"), at + "feed_forward1"), 0.5);
            add(x, attention(norm(x, at + "norm_self_att"), at + "self_attn."), 1);
            add(x, convolution(norm(x, at + "norm_conv"), at + "conv."), 1);
            add(x, feed_forward(norm(x, at + "norm_feed_forward2"), at + "feed_forward2"), 0.5);
            x = norm(x, at + "norm_out");
        }
        return x;
    }

    [[nodiscard]] Rows linear(const Rows& x, const std::string& name) const {
        const Row w = numbers(file_, name + ".weight");
        const Row b = file_.find(name + ".bias") != nullptr ? numbers(file_, name + ".bias") : Row();
        const size_t in = x.front().size();
        Rows y;
        for (const Row& row : x) {
            Row out(w.size() / in);
            for (size_t o = 0; o < out.size(); ++o) {
                out[o] = b.empty() ? 0 : b[o];
                for (size_t i = 0; i < in; ++i) out[o] += w[o * in + i] * row[i];
            }
            y.push_back(out);
        }
        return y;
    }

private:
    static void add(Rows& x, const Rows& y, double times) {
        for (size_t t = 0; t < x.size(); ++t)
            for (size_t i = 0; i < x[t].size(); ++i) x[t][i] += times * y[t][i];
    }
    [[nodiscard]] Rows norm(const Rows& x, const std::string& name) const {
        const Row scale = numbers(file_, name + ".weight");
        const Row shift = numbers(file_, name + ".bias");
        Rows y = x;
        for (Row& row : y) {
            double mean = 0;
            double square = 0;
            for (const double v : row) mean += v / static_cast<double>(row.size());
            for (const double v : row) square += (v - mean) * (v - mean) / static_cast<double>(row.size());
            for (size_t i = 0; i < row.size(); ++i)
                row[i] = (row[i] - mean) / std::sqrt(square + 1e-5) * scale[i] + shift[i];
        }
        return y;
    }
    [[nodiscard]] Rows feed_forward(const Rows& x, const std::string& name) const {
        Rows inner = linear(x, name + ".linear1");
        for (Row& row : inner)
            for (double& v : row) v *= sigmoid(v);
        return linear(inner, name + ".linear2");
    }

    // Maps are [channel][frame][mel].
    [[nodiscard]] Rows subsampled(const Rows& features) const {
        std::vector<Rows> maps{features};
        size_t index = 0;
        for (int64_t factor = c_.subsampling_factor; factor > 1; factor /= 2) {
            const std::string at = "encoder.pre_encode.conv.";
            const Row w = numbers(file_, at + std::to_string(index) + ".weight");
            const Row b = numbers(file_, at + std::to_string(index) + ".bias");
            std::vector<Rows> out;
            for (size_t c = 0; c < static_cast<size_t>(c_.subsampling_channels); ++c)
                out.push_back(strided(maps[index == 0 ? 0 : c], std::span(w).subspan(c * 9, 9), b[c]));
            maps = index == 0 ? out : pointwise(out, at + std::to_string(index + 1));
            for (Rows& map : maps)
                for (Row& row : map)
                    for (double& v : row) v = std::max(0.0, v);
            index += index == 0 ? 2 : 3;
        }
        Rows flat;
        for (size_t t = 0; t < maps[0].size(); ++t) {
            Row row;
            for (const Rows& map : maps) row.insert(row.end(), map[t].begin(), map[t].end());
            flat.push_back(row);
        }
        Rows y = linear(flat, "encoder.pre_encode.out");
        for (Row& row : y)
            for (double& v : row) v *= c_.xscaling ? std::sqrt(static_cast<double>(c_.d_model)) : 1;
        return y;
    }
    static Rows strided(const Rows& x, std::span<const double> w, double bias) {
        const auto height = static_cast<int64_t>(x.size());
        const auto width = static_cast<int64_t>(x[0].size());
        Rows y;
        for (int64_t t = 0; t < (height + 1) / 2; ++t) {
            Row row;
            for (int64_t m = 0; m < (width + 1) / 2; ++m) {
                double sum = bias;
                for (int64_t i = 0; i < 9; ++i) {
                    const int64_t a = 2 * t + i / 3 - 1;
                    const int64_t b = 2 * m + i % 3 - 1;
                    if (a >= 0 && a < height && b >= 0 && b < width)
                        sum += w[static_cast<size_t>(i)] * x[static_cast<size_t>(a)][static_cast<size_t>(b)];
                }
                row.push_back(sum);
            }
            y.push_back(row);
        }
        return y;
    }
    [[nodiscard]] std::vector<Rows> pointwise(const std::vector<Rows>& x, const std::string& name) const {
        const Row w = numbers(file_, name + ".weight");
        const Row b = numbers(file_, name + ".bias");
        std::vector<Rows> y(x.size(), Rows(x[0].size(), Row(x[0][0].size())));
        for (size_t o = 0; o < y.size(); ++o)
            for (size_t t = 0; t < y[o].size(); ++t)
                for (size_t m = 0; m < y[o][t].size(); ++m) {
                    y[o][t][m] = b[o];
                    for (size_t c = 0; c < x.size(); ++c) y[o][t][m] += w[o * x.size() + c] * x[c][t][m];
                }
        return y;
    }

    [[nodiscard]] Rows attention(const Rows& x, const std::string& name) const {
        const Rows q = linear(x, name + "linear_q");
        const Rows k = linear(x, name + "linear_k");
        const Rows v = linear(x, name + "linear_v");
        const Row u = numbers(file_, name + "pos_bias_u");
        const Row w = numbers(file_, name + "pos_bias_v");
        const auto width = static_cast<size_t>(c_.d_model);
        const size_t size = width / static_cast<size_t>(c_.heads);
        const auto count = static_cast<int64_t>(x.size());
        Rows sines;  // by distance + count - 1
        for (int64_t distance = 1 - count; distance < count; ++distance) {
            Row row;
            for (size_t i = 0; i < width; i += 2) {
                const double angle =
                    static_cast<double>(distance) / std::pow(10000, static_cast<double>(i) / static_cast<double>(width));
                row.push_back(std::sin(angle));
                row.push_back(std::cos(angle));
            }
            sines.push_back(row);
        }
        const Rows positions = linear(sines, name + "linear_pos");
        Rows y(x.size(), Row(width));
        for (size_t head = 0; head < static_cast<size_t>(c_.heads); ++head)
            for (size_t i = 0; i < x.size(); ++i) {
                Row score;
                for (size_t j = 0; j < x.size(); ++j) {
                    const Row& p = positions[i - j + x.size() - 1];
                    double sum = 0;
                    for (size_t d = head * size; d < (head + 1) * size; ++d)
                        sum += (q[i][d] + u[d]) * k[j][d] + (q[i][d] + w[d]) * p[d];
                    score.push_back(sum / std::sqrt(static_cast<double>(size)));
                }
                const double most = *std::max_element(score.begin(), score.end());
                double total = 0;
                for (double& s : score) total += s = std::exp(s - most);
                for (size_t j = 0; j < x.size(); ++j)
                    for (size_t d = head * size; d < (head + 1) * size; ++d) y[i][d] += score[j] / total * v[j][d];
            }
        return linear(y, name + "linear_out");
    }

    [[nodiscard]] Rows convolution(const Rows& x, const std::string& name) const {
        const Rows both = linear(x, name + "pointwise_conv1");
        const auto width = static_cast<size_t>(c_.d_model);
        const Row w = numbers(file_, name + "depthwise_conv.weight");
        const Row b =
            file_.find(name + "depthwise_conv.bias") != nullptr ? numbers(file_, name + "depthwise_conv.bias") : Row(width);
        const auto taps = static_cast<int64_t>(w.size() / width);
        Rows y(x.size(), Row(width));
        for (size_t c = 0; c < width; ++c)
            for (int64_t t = 0; t < static_cast<int64_t>(x.size()); ++t) {
                double sum = b[c];
                for (int64_t i = 0; i < taps; ++i) {
                    const int64_t at = t + i - taps / 2;
                    if (at < 0 || at >= static_cast<int64_t>(x.size())) continue;
                    const Row& row = both[static_cast<size_t>(at)];
                    sum += w[c * static_cast<size_t>(taps) + static_cast<size_t>(i)] * row[c] * sigmoid(row[width + c]);
                }
                y[static_cast<size_t>(t)][c] = sum;
            }
        if (c_.conv_norm == ConvNorm::layer_norm) {
            y = norm(y, name + "batch_norm");
        } else {
            const Row scale = numbers(file_, name + "batch_norm.weight");
            const Row shift = numbers(file_, name + "batch_norm.bias");
            const Row mean = numbers(file_, name + "batch_norm.running_mean");
            const Row variance = numbers(file_, name + "batch_norm.running_var");
            for (Row& row : y)
                for (size_t c = 0; c < width; ++c)
                    row[c] = (row[c] - mean[c]) / std::sqrt(variance[c] + 1e-5) * scale[c] + shift[c];
        }
        for (Row& row : y)
            for (double& v : row) v *= sigmoid(v);
        return linear(y, name + "pointwise_conv2");
    }

    const ModelFile& file_;
    const EncoderConfig& c_;
};

// ---- greedy transducers, a frame and a token at a time ----------------------------------------------------------------------

struct Said {
    int32_t id;
    int64_t frame, duration;
    double confidence;
};

class Transducer {
public:
    explicit Transducer(const ModelFile& file) : file_(file), t_(*file.config().transducer), linear_(file), numbers_(file) {
        reset();
    }

    std::vector<Said> run(const Rows& encoded) {
        reset();
        const Rows frames = linear_.linear(encoded, "joint.enc");
        std::vector<Said> all;
        Row predicted = predict(static_cast<int32_t>(file_.config().blank_id));
        int64_t symbols = 0;
        for (int64_t frame = 0; frame < static_cast<int64_t>(frames.size());) {
            Row sum = frames[static_cast<size_t>(frame)];
            for (size_t i = 0; i < sum.size(); ++i) sum[i] = std::max(0.0, sum[i] + predicted[i]);
            const Row logits = linear_.linear({sum}, "joint.joint_net.2")[0];
            const auto ids = logits.begin() + file_.config().vocab_size + 1;
            const auto best = std::max_element(logits.begin(), ids);
            const auto id = static_cast<int32_t>(best - logits.begin());
            const bool blank = id == file_.config().blank_id;
            int64_t advance = blank ? 1 : 0;
            if (!t_.durations.empty())
                advance = std::max(advance, t_.durations[static_cast<size_t>(std::max_element(ids, logits.end()) - ids)]);
            if (!blank) {
                double total = 0;
                for (auto at = logits.begin(); at != ids; ++at) total += std::exp(*at - *best);
                ++symbols;
                if (symbols >= t_.max_symbols) advance = std::max<int64_t>(1, advance);
                all.push_back({id, frame, advance, 1 / total});
                predicted = predict(id);
            }
            if (advance > 0) symbols = 0;
            frame += advance;
        }
        return all;
    }

private:
    void reset() { h_ = c_ = Rows(static_cast<size_t>(t_.pred_layers), Row(static_cast<size_t>(t_.pred_hidden))); }
    Row predict(int32_t id) {
        const auto n = static_cast<size_t>(t_.pred_hidden);
        const Row& table = numbers_("decoder.prediction.embed.weight");
        Row x(table.begin() + static_cast<std::ptrdiff_t>(n) * id,
              table.begin() + static_cast<std::ptrdiff_t>(n) * (id + 1));
        for (size_t layer = 0; layer < h_.size(); ++layer) {
            const std::string at = "decoder.prediction.dec_rnn.lstm.";
            const std::string l = "_l" + std::to_string(layer);
            const Row& w = numbers_(at + "weight_ih" + l);
            const Row& r = numbers_(at + "weight_hh" + l);
            const Row& bw = numbers_(at + "bias_ih" + l);
            const Row& br = numbers_(at + "bias_hh" + l);
            Row gate(4 * n);
            for (size_t o = 0; o < 4 * n; ++o) {
                gate[o] = bw[o] + br[o];
                for (size_t i = 0; i < n; ++i) gate[o] += w[o * n + i] * x[i] + r[o * n + i] * h_[layer][i];
            }
            for (size_t i = 0; i < n; ++i) {
                c_[layer][i] = sigmoid(gate[n + i]) * c_[layer][i] + sigmoid(gate[i]) * std::tanh(gate[2 * n + i]);
                x[i] = sigmoid(gate[3 * n + i]) * std::tanh(c_[layer][i]);
            }
            h_[layer] = x;
        }
        return linear_.linear({x}, "joint.pred")[0];
    }

    const ModelFile& file_;
    const TransducerConfig& t_;
    Encoder linear_;
    Numbers numbers_;
    Rows h_, c_;
};

}  // namespace backplane::parakeet::oracle
