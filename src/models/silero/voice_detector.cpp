// Each window is 64 samples of context, itself, and 64 samples reflected behind. Its spectrum is a convolution with 258 filters of 256, stride
// 128: 4 frames of real and imaginary parts, whose magnitudes go through four convolutions of width 3, padded by 1, that end with one frame of
// 128; then an LSTM cell, and one number. Only the cell needs the window before: all else is products over all windows at once.
#include "models/silero/voice_detector.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "backplane/error.hpp"
#include "backplane/ops.hpp"
#include "formats/onnx/model.hpp"
#include "gguf/mapped_file.hpp"

namespace backplane::silero {

namespace {

constexpr int64_t kFilter = 256, kHop = 128, kBins = 129, kHidden = 128, kFrames = 4, kTaps = 3;
constexpr size_t kContext = 64, kReflected = 64;
constexpr size_t kSamples = kContext + VoiceDetector::kWindow + kReflected;

using formats::OnnxModel;
using formats::OnnxTensor;

// Constants of one branch of the file, by the ends of their names.
class Branch {
public:
    Branch(const OnnxModel& model, const std::string& file) : file_(file) { find(model); }

    [[nodiscard]] std::vector<float> take(const std::string& name, const Shape& shape) const {
        const OnnxTensor* const found = tensor(*graph_, name);
        if (found == nullptr) fail("it has no '" + name + "'", Code::unsupported);
        if (found->dtype != DType::f32 || found->shape != shape)
            fail("'" + name + "' is " + backplane::name_of(found->dtype) + " " + to_string(found->shape) + ", not f32 " +
                 to_string(shape));
        const std::span<const std::byte> data = found->bytes();
        std::vector<float> values(data.size() / sizeof(float));
        std::memcpy(values.data(), data.data(), data.size());
        if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }))
            fail("'" + name + "' holds values that are no finite numbers");
        return values;
    }
    // Of [output, input, tap], those taps that are named: [output, tap, input], as rows of maps that lie beside each other want them.
    [[nodiscard]] std::vector<float> taps(const std::string& name, const Shape& shape, size_t first, size_t last) const {
        const std::vector<float> from = take(name, shape);
        const auto outputs = static_cast<size_t>(shape[0]), inputs = static_cast<size_t>(shape[1]);
        std::vector<float> to;
        for (size_t o = 0; o < outputs; ++o)
            for (size_t tap = first; tap <= last; ++tap)
                for (size_t i = 0; i < inputs; ++i) to.push_back(from[(o * inputs + i) * kTaps + tap]);
        return to;
    }
    // PyTorch's gates are input, forget, cell, output; ONNX's input, output, forget, cell.
    [[nodiscard]] std::vector<float> gates(const std::string& name, const Shape& shape) const {
        const std::vector<float> from = take(name, shape);
        const auto block = static_cast<std::ptrdiff_t>(from.size() / 4);
        std::vector<float> to;
        for (const std::ptrdiff_t gate : {0, 3, 1, 2})
            to.insert(to.end(), from.begin() + gate * block, from.begin() + (gate + 1) * block);
        return to;
    }

private:
    static constexpr const char* kSpectrum = "stft.forward_basis_buffer";

    [[noreturn]] void fail(const std::string& why, Code code = Code::corrupt) const {
        throw Error(code, "cannot use '" + file_ + "' as Silero VAD: " + why);
    }

    static const OnnxTensor* tensor(const OnnxModel& graph, const std::string& name) {
        for (const formats::OnnxNode& node : graph.nodes) {
            if (node.op != "Constant" || node.outputs.size() != 1 || !node.outputs[0].ends_with(name)) continue;
            const auto value = node.attributes.find("value");
            if (value != node.attributes.end() && value->second.tensor) return value->second.tensor.get();
        }
        return nullptr;
    }

    // The branch of 16 kHz is the one whose spectrum has 258 filters; that of 8 kHz has 130.
    void find(const OnnxModel& model) {
        for (const formats::OnnxNode& node : model.nodes)
            for (const auto& [name, attribute] : node.attributes) {
                if (!attribute.graph) continue;
                const OnnxTensor* const spectrum = tensor(*attribute.graph, kSpectrum);
                if (spectrum != nullptr && spectrum->shape == Shape{2 * kBins, 1, kFilter}) graph_ = attribute.graph.get();
            }
        if (graph_ == nullptr)
            fail("it has no branch with a '" + std::string(kSpectrum) +
                     "' of [258, 1, 256]: silero_vad_v5.onnx and silero_vad_v6.onnx have",
                 Code::unsupported);
    }

    const std::string& file_;
    const OnnxModel* graph_ = nullptr;
};

}  // namespace

// By their names in the graph.
struct VoiceNetwork::Weights {
    std::map<std::string, std::vector<float>, std::less<>> all;
};

VoiceNetwork VoiceNetwork::open(const std::filesystem::path& path) {
    const formats::MappedFile file(path);
    const std::string name = path.string();
    const OnnxModel model = formats::parse_onnx(file.bytes(), name);
    const Branch branch(model, name);
    auto weights = std::make_shared<Weights>();
    auto& all = weights->all;
    all["spectrum"] = branch.take("stft.forward_basis_buffer", {2 * kBins, 1, kFilter});
    const Shape shapes[] = {{128, kBins, kTaps}, {64, 128, kTaps}, {64, 64, kTaps}, {kHidden, 64, kTaps}};
    // Of 4, 4, 2 and 1 frames, with strides 1, 2, 2 and 1: what meets nothing but padding is left out.
    const std::pair<size_t, size_t> taps[] = {{0, 2}, {0, 2}, {1, 2}, {1, 1}};
    for (size_t i = 0; i < std::size(shapes); ++i) {
        const std::string at = std::to_string(i);
        const std::string convolution = "encoder." + at + ".reparam_conv.";
        all["kernel" + at] = branch.taps(convolution + "weight", shapes[i], taps[i].first, taps[i].second);
        all["bias" + at] = branch.take(convolution + "bias", {shapes[i][0]});
    }
    all["input"] = branch.gates("decoder.rnn.weight_ih", {4 * kHidden, kHidden});
    all["recurrent"] = branch.gates("decoder.rnn.weight_hh", {4 * kHidden, kHidden});
    all["gates"] = branch.gates("decoder.rnn.bias_ih", {4 * kHidden});
    const std::vector<float> more = branch.gates("decoder.rnn.bias_hh", {4 * kHidden});
    all["gates"].insert(all["gates"].end(), more.begin(), more.end());
    all["last"] = branch.take("decoder.decoder.2.weight", {1, kHidden, 1});
    all["last_bias"] = branch.take("decoder.decoder.2.bias", {1});
    VoiceNetwork network;
    network.weights_ = std::move(weights);
    return network;
}

namespace {

class VoiceGraph {
public:
    explicit VoiceGraph(int64_t windows) : n_(windows) {}

    Graph build() {
        const TensorId samples = g_.input("samples", DType::f32, {n_, static_cast<int64_t>(kSamples)});
        const TensorId a = convolved(beside(magnitudes(samples)), 0, 128, 3 * kBins);
        const TensorId ahead = ops::pad(g_, a, {.pads = {0, 1, 0, 0, 0, 0}});
        const TensorId two = ops::concat(g_, {taps_of(ahead, 0), taps_of(ahead, 2)}, {.axis = 1});
        const TensorId b = convolved(two, 1, 64, 3 * 128);
        const TensorId c = convolved(ops::reshape(g_, b, {.shape = {n_, 2 * 64}}), 2, 64, 2 * 64);
        cell(convolved(c, 3, kHidden, 64));
        return std::move(g_);
    }

private:
    TensorId weight(const std::string& name, Shape shape) { return g_.weight(name, DType::f32, std::move(shape)); }

    // [windows, frames, bins]
    TensorId magnitudes(TensorId samples) {
        const auto hops = static_cast<int64_t>(kSamples) / kHop;
        const TensorId all = ops::reshape(g_, samples, {.shape = {n_, hops, kHop}});
        const TensorId first = ops::slice(g_, all, {.starts = {0, 0, 0}, .ends = {n_, kFrames, kHop}});
        const TensorId second = ops::slice(g_, all, {.starts = {0, 1, 0}, .ends = {n_, hops, kHop}});
        const TensorId frames = ops::concat(g_, {first, second}, {.axis = 2});
        const TensorId spectrum = ops::matmul(g_, frames, weight("spectrum", {2 * kBins, kFilter}), {.transpose_b = true});
        const TensorId squares = ops::mul(g_, spectrum, spectrum);
        const std::vector<TensorId> parts = ops::split(g_, squares, {.axis = 2, .sizes = {kBins, kBins}});
        return ops::sqrt(g_, ops::add(g_, parts[0], parts[1]));
    }
    // Each frame with the one before it and the one behind.
    TensorId beside(TensorId frames) {
        const TensorId padded = ops::pad(g_, frames, {.pads = {0, 1, 0, 0, 1, 0}});
        std::vector<TensorId> taps;
        for (int64_t tap = 0; tap < kTaps; ++tap)
            taps.push_back(ops::slice(g_, padded, {.starts = {0, tap, 0}, .ends = {n_, tap + kFrames, kBins}}));
        return ops::concat(g_, taps, {.axis = 2});
    }
    // Three frames of 128 from `first` on, as one row.
    TensorId taps_of(TensorId frames, int64_t first) {
        const TensorId three = ops::slice(g_, frames, {.starts = {0, first, 0}, .ends = {n_, first + kTaps, 128}});
        return ops::reshape(g_, three, {.shape = {n_, 1, kTaps * 128}});
    }
    TensorId convolved(TensorId rows, int64_t layer, int64_t outputs, int64_t inputs) {
        const std::string at = std::to_string(layer);
        const TensorId sum = ops::matmul(g_, rows, weight("kernel" + at, {outputs, inputs}), {.transpose_b = true});
        return ops::relu(g_, ops::add(g_, sum, weight("bias" + at, {outputs})));
    }
    void cell(TensorId features) {
        const TensorId sequence = ops::reshape(g_, features, {.shape = {n_, 1, kHidden}});
        const TensorId hidden = g_.input("hidden", DType::f32, {1, 1, kHidden});
        const TensorId before = g_.input("cell", DType::f32, {1, 1, kHidden});
        const std::vector<TensorId> out =
            ops::lstm(g_,
                      {sequence, weight("input", {1, 4 * kHidden, kHidden}), weight("recurrent", {1, 4 * kHidden, kHidden}),
                       weight("gates", {1, 8 * kHidden}), no_tensor, hidden, before},
                      {});
        const TensorId heard = ops::relu(g_, ops::reshape(g_, out[0], {.shape = {n_, kHidden}}));
        const TensorId sum = ops::matmul(g_, heard, weight("last", {1, kHidden}), {.transpose_b = true});
        g_.output(ops::sigmoid(g_, ops::add(g_, sum, weight("last_bias", {1}))), "speech");
        g_.output(out[1], "hidden_after");
        g_.output(out[2], "cell_after");
    }

    Graph g_;
    int64_t n_;
};

// Windows as the graph takes them, each with its surroundings; `context` becomes the end of the last.
std::vector<float> surrounded(std::span<const float> samples, std::array<float, kContext>& context) {
    std::vector<float> all;
    all.reserve(samples.size() / VoiceDetector::kWindow * kSamples);
    for (; !samples.empty(); samples = samples.subspan(VoiceDetector::kWindow)) {
        const auto window = samples.first(VoiceDetector::kWindow);
        all.insert(all.end(), context.begin(), context.end());
        all.insert(all.end(), window.begin(), window.end());
        all.insert(all.end(), window.rbegin() + 1, window.rbegin() + 1 + kReflected);
        std::copy(window.end() - kContext, window.end(), context.begin());
    }
    return all;
}

template <typename T>
std::span<const std::byte> bytes_of(const T& numbers) {
    return std::as_bytes(std::span(numbers));
}
template <typename T>
std::span<std::byte> room_of(T& numbers) {
    return std::as_writable_bytes(std::span(numbers));
}

}  // namespace

VoiceDetector::VoiceDetector(std::vector<Device> devices, VoiceNetwork network)
    : devices_(std::move(devices)),
      network_(std::move(network)),
      packed_(
          [weights = network_.weights_](std::string_view name) {
              const auto found = weights->all.find(name);
              return found != weights->all.end() ? bytes_of(found->second) : std::span<const std::byte>();
          },
          "silero-vad") {
    if (devices_.empty() || !devices_.front())
        throw Error(Code::invalid, "cannot listen for speech: no device given; use Context::choose");
}

Session& VoiceDetector::session_for(size_t windows) {
    const auto found = sessions_.find(windows);
    if (found != sessions_.end()) return found->second;
    Session session(devices_, VoiceGraph(static_cast<int64_t>(windows)).build(), packed_, {.plans_kept = 0});
    return sessions_.emplace(windows, std::move(session)).first->second;
}

std::vector<float> VoiceDetector::next(VoiceState& stream, std::span<const float> samples,
                                       const std::atomic<uint32_t>* cancel) {
    if (samples.size() % kWindow != 0)
        throw Error(Code::invalid,
                    std::to_string(samples.size()) + " samples are not windows of " + std::to_string(kWindow));
    if (!std::all_of(samples.begin(), samples.end(), [](float x) { return std::isfinite(x); }))
        throw Error(Code::invalid, "a window has samples that are no finite numbers");
    std::vector<float> all(samples.size() / kWindow);
    VoiceState state = stream;
    for (size_t at = 0; at < all.size();) {
        const size_t windows = all.size() - at >= kAtOnce ? kAtOnce : 1;
        const std::vector<float> audio = surrounded(samples.subspan(at * kWindow, windows * kWindow), state.context);
        const VoiceState before = state;
        const auto heard = std::span(all).subspan(at, windows);
        session_for(windows).run(
            {{"samples", bytes_of(audio)}, {"hidden", bytes_of(before.hidden)}, {"cell", bytes_of(before.cell)}},
            {{"speech", std::as_writable_bytes(heard)},
             {"hidden_after", room_of(state.hidden)},
             {"cell_after", room_of(state.cell)}},
            cancel);
        at += windows;
    }
    stream = state;
    return all;
}

std::vector<StageRuns> VoiceDetector::runs() const {
    std::vector<StageRuns> all;
    for (const auto& [windows, session] : sessions_)
        for (StageRuns& one : session.runs()) all.push_back(std::move(one));
    return all;
}

}  // namespace backplane::silero
