#include "models/parakeet/decoders.hpp"

#include <algorithm>
#include <utility>

#include "backplane/ops.hpp"

namespace backplane::parakeet {

namespace {

constexpr int64_t kWindow = 8;  // frames that a step looks at
constexpr int64_t kRoom = 64;   // frames of which step_frames are a multiple

struct Best {
    TensorId ids, probability;
};

// Along the last axis of logits, which goes.
Best best_of(Graph& graph, TensorId logits) {
    const auto last = static_cast<int64_t>(graph[logits].shape.size()) - 1;
    const TensorId ids = ops::arg_max(graph, logits, {.axis = last, .keepdims = false});
    const TensorId probabilities = ops::softmax(graph, logits, {.axis = last});
    return {cast(graph, ids, DType::i32), ops::reduce_max(graph, probabilities, {.axes = {last}, .keepdims = false})};
}

TensorId linear(Graph& graph, NetworkWeights& weights, TensorId x, const std::string& name, DType dtype) {
    const TensorId matrix = weights.matrix(graph, name + ".weight");
    const TensorId y = ops::matmul(graph, x, matrix, {.transpose_b = true}, name);
    const std::string bias = name + ".bias";
    return weights.has(bias) ? ops::add(graph, y, weights.as(graph, bias, dtype, weights.file().at(bias).shape)) : y;
}

class Steps {
public:
    Steps(NetworkWeights& weights, const StepShape& shape)
        : weights_(weights), config_(*weights.config().transducer), shape_(shape), n_(shape.clips) {}

    Graph build() {
        const TensorId joint = g_.input("joint", DType::f32, {n_, shape_.frames, config_.joint_hidden});
        const TensorId lengths = g_.input("lengths", DType::i32, {n_});
        frames_ = ops::reshape(g_, joint, {.shape = {n_ * shape_.frames, config_.joint_hidden}});
        lengths_ = ops::reshape(g_, lengths, {.shape = {n_, 1}});
        zero_ = whole(g_, 0);
        one_ = whole(g_, 1);
        std::vector<int32_t> first(static_cast<size_t>(n_));
        for (size_t i = 0; i < first.size(); ++i) first[i] = static_cast<int32_t>(i) * static_cast<int32_t>(shape_.frames);
        first_ = wholes(g_, first, {n_, 1});
        std::vector<int32_t> window(kWindow);
        for (size_t i = 0; i < window.size(); ++i) window[i] = static_cast<int32_t>(i);
        window_ = wholes(g_, window, {1, kWindow});
        open_states();
        for (int64_t i = 0; i < shape_.steps; ++i) step();
        for (const auto& [state, value] : states_) g_.update(state, *value);
        for (const auto& [name, parts] : said_) g_.output(ops::concat(g_, parts, {.axis = 0}), name);
        const TensorId left = ops::sub(g_, lengths_, frame_);
        g_.output(ops::reduce_max(g_, left, {.axes = {0, 1}, .keepdims = false}), "left");
        return std::move(g_);
    }

private:
    void open_states() {
        const auto state = [&](const std::string& name, DType dtype, Shape shape, TensorId& now) {
            now = g_.state(name, dtype, std::move(shape));
            states_.emplace_back(now, &now);
        };
        h_.resize(static_cast<size_t>(config_.pred_layers));
        c_.resize(h_.size());
        for (size_t layer = 0; layer < h_.size(); ++layer) {
            state("h" + std::to_string(layer), DType::f32, {1, n_, config_.pred_hidden}, h_[layer]);
            state("c" + std::to_string(layer), DType::f32, {1, n_, config_.pred_hidden}, c_[layer]);
        }
        state("token", DType::i32, {n_, 1}, token_);  // less blank: 0, as states begin, is what stands for nothing yet
        state("known", DType::i32, {n_, 1}, known_);  // whether h and c have seen that token
        state("frame", DType::i32, {n_, 1}, frame_);
        state("symbols", DType::i32, {n_, 1}, symbols_);  // taken from that frame
    }

    void step() {
        const Seen seen = look(predict());
        // Where a window's frames lead: a blank within the clip to a later one, all else to itself.
        const TensorId at = destination(seen);
        const TensorId inside = ops::less(g_, at, whole(g_, static_cast<int32_t>(kWindow)));
        const TensorId place = ops::add(g_, frame_, at);
        const TensorId emits = ops::logical_and(g_, inside, ops::less(g_, place, lengths_));
        const TensorId index = ops::min(g_, at, whole(g_, static_cast<int32_t>(kWindow) - 1));
        const auto pick = [&](TensorId of) { return ops::gather_elements(g_, of, index, {.axis = 1}); };
        const TensorId token = pick(seen.ids);
        TensorId advance = pick(seen.advance);
        // So many of one frame, and it is left: a network that never says blank would not end.
        const TensorId stays = ops::equal(g_, at, zero_);
        const TensorId symbols = ops::add(g_, ops::where(g_, stays, symbols_, zero_), one_);
        const TensorId enough = ops::div(g_, symbols, whole(g_, static_cast<int32_t>(config_.max_symbols)));  // 1, or 0
        advance = ops::max(g_, advance, enough);
        const TensorId same_frame = ops::equal(g_, advance, zero_);
        symbols_ = ops::where(g_, ops::logical_and(g_, emits, same_frame), symbols, zero_);
        say("emits", emits);
        say("tokens", token);
        say("frames", place);
        say("durations", advance);
        say("confidence", pick(seen.probability));
        frame_ = ops::add(g_, place, ops::where(g_, emits, advance, zero_));
        token_ = ops::where(g_, emits, ops::sub(g_, token, blank()), token_);
        known_ = ops::where(g_, emits, zero_, one_);
    }

    TensorId blank() { return whole(g_, static_cast<int32_t>(weights_.config().blank_id)); }

    void say(const char* name, TensorId what) {
        const auto same = [&](const auto& said) { return said.first == name; };
        auto at = std::find_if(said_.begin(), said_.end(), same);
        if (at == said_.end()) at = said_.insert(at, {name, {}});
        at->second.push_back(ops::reshape(g_, what, {.shape = {1, n_}}));
    }

    // The prediction network: clips whose token it knows have no step to go, and keep their state.
    TensorId predict() {
        const TensorId ids = ops::reshape(g_, ops::add(g_, token_, blank()), {.shape = ops::List{n_}});
        const Tensor& table = weights_.file().at("decoder.prediction.embed.weight");
        TensorId x = cast(g_, ops::gather(g_, weights_.matrix(g_, table.name), ids), DType::f32);
        const TensorId steps = ops::reshape(g_, ops::sub(g_, one_, known_), {.shape = ops::List{n_}});
        for (size_t layer = 0; layer < h_.size(); ++layer) {
            const std::string k = std::to_string(layer);
            const TensorId sequence = ops::reshape(g_, x, {.shape = {1, n_, config_.pred_hidden}});
            const std::vector<TensorId> out =
                ops::lstm(g_,
                          {sequence, gates("weight_ih_l" + k, true), gates("weight_hh_l" + k, true), lstm_bias(k), steps,
                           h_[layer], c_[layer]},
                          {});
            x = h_[layer] = out[1];
            c_[layer] = out[2];
        }
        const TensorId top = ops::reshape(g_, x, {.shape = {n_, config_.pred_hidden}});
        return linear(g_, weights_, top, "joint.pred", DType::f32);
    }
    // PyTorch's gates are input, forget, cell, output; ONNX's input, output, forget, cell.
    TensorId gates(const std::string& which, bool matrix) {
        const std::string name = "decoder.prediction.dec_rnn.lstm." + which;
        const int64_t p = config_.pred_hidden;
        const DType stored = weights_.stored(name);
        const DType dtype = stored == DType::f32 && weights_.compute() == DType::f32 ? DType::f32 : DType::f16;
        return weights_.made(g_, name + ".gates", matrix ? dtype : DType::f32, {1, 4 * p, p},
                             [&weights = weights_, name] { return reordered(weights.numbers(name)); });
    }
    TensorId lstm_bias(const std::string& k) {
        const std::string name = "decoder.prediction.dec_rnn.lstm.bias_";
        return weights_.made(g_, name + "l" + k, DType::f32, {1, 8 * config_.pred_hidden}, [&weights = weights_, name, k] {
            std::vector<float> all = reordered(weights.numbers(name + "ih_l" + k));
            const std::vector<float> recurrent = reordered(weights.numbers(name + "hh_l" + k));
            all.insert(all.end(), recurrent.begin(), recurrent.end());
            return all;
        });
    }
    static std::vector<float> reordered(const std::vector<float>& ifgo) {
        const auto gate = static_cast<std::ptrdiff_t>(ifgo.size() / 4);
        std::vector<float> iofc;
        for (const std::ptrdiff_t k : {0, 3, 1, 2})
            iofc.insert(iofc.end(), ifgo.begin() + k * gate, ifgo.begin() + (k + 1) * gate);
        return iofc;
    }

    struct Seen {  // [clips, kWindow]
        TensorId ids, probability, advance, passes;
    };
    // The joint network on the next frames.
    Seen look(TensorId predicted) {
        const TensorId places = ops::add(g_, frame_, window_);
        const TensorId within = ops::min(g_, places, whole(g_, static_cast<int32_t>(shape_.frames) - 1));
        const TensorId rows = ops::gather(g_, frames_, ops::add(g_, within, first_));
        const TensorId each = ops::reshape(g_, predicted, {.shape = {n_, 1, config_.joint_hidden}});
        const TensorId inner =
            ops::reshape(g_, activated(ops::add(g_, rows, each)), {.shape = {n_ * kWindow, config_.joint_hidden}});
        const TensorId logits = linear(g_, weights_, inner, "joint.joint_net.2", DType::f32);
        const int64_t ids = weights_.config().vocab_size + 1;
        const auto window = [&](TensorId x) { return ops::reshape(g_, x, {.shape = {n_, kWindow}}); };
        Seen seen{};
        const auto durations = static_cast<int64_t>(config_.durations.size());
        TensorId tokens = logits;
        TensorId lengths = no_tensor;
        if (durations > 0) {
            const std::vector<TensorId> parts = ops::split(g_, logits, {.axis = 1, .sizes = {ids, durations}});
            tokens = parts[0];
            lengths = parts[1];
        }
        const Best best = best_of(g_, tokens);
        seen.ids = window(best.ids);
        seen.probability = window(best.probability);
        const TensorId is_blank = ops::equal(g_, seen.ids, blank());
        const TensorId blank_whole = cast(g_, is_blank, DType::i32);
        seen.advance = blank_whole;
        if (durations > 0) {
            const std::vector<int32_t> table(config_.durations.begin(), config_.durations.end());
            const TensorId which = ops::arg_max(g_, lengths, {.axis = 1, .keepdims = false});
            const TensorId said = window(ops::gather(g_, wholes(g_, table, {durations}), which));
            seen.advance = ops::max(g_, said, blank_whole);
        }
        seen.passes = ops::logical_and(g_, is_blank, ops::less(g_, places, lengths_));
        return seen;
    }
    TensorId activated(TensorId x) {
        switch (config_.joint_activation) {
            case Activation::sigmoid: return ops::sigmoid(g_, x);
            case Activation::tanh: return ops::tanh(g_, x);
            case Activation::relu: break;
        }
        return ops::relu(g_, x);
    }

    // The first frame that is not passed over, counted from the first of the window; kWindow or more: none of them. Each round follows twice
    // as many blanks as the one before.
    TensorId destination(const Seen& seen) {
        const TensorId to = ops::add(g_, window_, ops::where(g_, seen.passes, seen.advance, zero_));
        int64_t longest = 1;
        for (const int64_t duration : config_.durations) longest = std::max(longest, duration);
        std::vector<int32_t> behind(static_cast<size_t>(n_ * longest));
        for (size_t i = 0; i < behind.size(); ++i)
            behind[i] = static_cast<int32_t>(kWindow + static_cast<int64_t>(i) % longest);
        TensorId table = ops::concat(g_, {to, wholes(g_, behind, {n_, longest})}, {.axis = 1});
        for (int64_t reach = 1; reach < kWindow; reach *= 2) table = ops::gather_elements(g_, table, table, {.axis = 1});
        return ops::slice(g_, table, {.starts = {0, 0}, .ends = {n_, 1}});
    }

    Graph g_;
    NetworkWeights& weights_;
    const TransducerConfig& config_;
    StepShape shape_;
    int64_t n_;
    TensorId frames_, lengths_, zero_, one_, first_, window_;
    std::vector<TensorId> h_, c_;  // of each layer
    TensorId token_, known_, frame_, symbols_;
    std::vector<std::pair<TensorId, const TensorId*>> states_;         // as they begin, and which of these they become
    std::vector<std::pair<std::string, std::vector<TensorId>>> said_;  // outputs, of each step [1, clips]
};

}  // namespace

void add_ctc(Graph& graph, NetworkWeights& weights, const BatchShape& shape, const Encoded& encoded) {
    const TensorId logits = linear(graph, weights, encoded.values, "ctc_decoder.decoder_layers.0", weights.compute());
    const int64_t frames = graph[encoded.values].shape[1];
    const Best best = best_of(graph, cast(graph, logits, DType::f32));
    graph.output(ops::reshape(graph, best.ids, {.shape = {shape.clips, frames}}), "ids");
    graph.output(ops::reshape(graph, best.probability, {.shape = {shape.clips, frames}}), "confidence");
}

int64_t step_frames(int64_t encoded) noexcept { return (encoded + kRoom - 1) / kRoom * kRoom; }

void add_joint_frames(Graph& graph, NetworkWeights& weights, const Encoded& encoded) {
    const TensorId y = cast(graph, linear(graph, weights, encoded.values, "joint.enc", weights.compute()), DType::f32);
    const int64_t frames = graph[encoded.values].shape[1];
    graph.output(ops::pad(graph, y, {.pads = {0, 0, 0, 0, step_frames(frames) - frames, 0}}), "joint");
}

Graph steps_graph(NetworkWeights& weights, const StepShape& shape) { return Steps(weights, shape).build(); }

}  // namespace backplane::parakeet
