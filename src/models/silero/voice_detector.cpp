// Reflect 64 samples behind context and window; spectrum by a convolution with 258 filters of 256, stride 128: 4 frames of real and imaginary
// parts; magnitudes; four convolutions of width 3 that end with one frame of 128; an LSTM cell; one number.
//
// Weights lie with outputs innermost, so that the loops over them are vectors (-O3, src/CMakeLists.txt).
#include "models/silero/voice_detector.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backplane/error.hpp"
#include "formats/mapped_file.hpp"
#include "formats/onnx/model.hpp"

namespace backplane::silero {

namespace {

constexpr size_t kContext = 64, kReflected = 64, kFilter = 256, kHop = 128, kBins = 129, kHidden = 128;
constexpr size_t kSamples = kContext + VoiceDetector::kWindow + kReflected;
constexpr size_t kFrames = (kSamples - kFilter) / kHop + 1;
constexpr size_t kTaps = 3;

// out[o] += sum over i of weights[i, o] * in[i].
template <size_t outputs>
void multiply_add(const float* weights, std::span<const float> in, std::span<float, outputs> out) {
    for (const float x : in) {
        for (size_t o = 0; o < outputs; ++o) out[o] += weights[o] * x;
        weights += outputs;
    }
}

// Width 3, padded by 1, then max(0, x). Weights [tap, input, output]; maps [frame, channel].
template <size_t inputs, size_t outputs, size_t stride, size_t frames>
auto convolve(const std::vector<float>& weights, const std::vector<float>& bias,
              const std::array<std::array<float, inputs>, frames>& in) {
    std::array<std::array<float, outputs>, (frames - 1) / stride + 1> out;
    for (size_t to = 0; to < out.size(); ++to) {
        std::copy(bias.begin(), bias.end(), out[to].begin());
        for (size_t tap = 0; tap < kTaps; ++tap) {
            const size_t from = to * stride + tap;  // one further than it is
            if (from == 0 || from > frames) continue;
            multiply_add(weights.data() + tap * inputs * outputs, std::span<const float>(in[from - 1]),
                         std::span<float, outputs>(out[to]));
        }
        for (float& x : out[to]) x = std::max(x, 0.0F);
    }
    return out;
}

float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

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
        std::vector<float> values(found->data.size() / sizeof(float));
        std::memcpy(values.data(), found->data.data(), found->data.size());
        if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }))
            fail("'" + name + "' holds values that are no finite numbers");
        return values;
    }
    // The same with the first axis innermost: [o, i] becomes [i, o], [o, i, tap] becomes [tap, i, o].
    [[nodiscard]] std::vector<float> turned(const std::string& name, const Shape& shape) const {
        const std::vector<float> from = take(name, shape);
        const auto outputs = static_cast<size_t>(shape[0]), inputs = static_cast<size_t>(shape[1]);
        const size_t taps = from.size() / (outputs * inputs);
        std::vector<float> to(from.size());
        for (size_t o = 0; o < outputs; ++o)
            for (size_t i = 0; i < inputs; ++i)
                for (size_t tap = 0; tap < taps; ++tap)
                    to[(tap * inputs + i) * outputs + o] = from[(o * inputs + i) * taps + tap];
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

struct VoiceNetwork::Weights {
    std::vector<float> spectrum;                        // [sample, real and imaginary parts]
    std::array<std::vector<float>, 4> kernels, biases;  // [tap, input, output]
    std::vector<float> input, hidden, gates;            // [input, gate], with gates i, f, g, o; the sum of both biases
    std::vector<float> last;
    float last_bias = 0;
};

VoiceNetwork VoiceNetwork::open(const std::filesystem::path& path) {
    const formats::MappedFile file(path);
    const std::string name = path.string();
    const OnnxModel model = formats::parse_onnx(file.bytes(), name);
    const Branch branch(model, name);
    auto weights = std::make_shared<Weights>();
    weights->spectrum = branch.turned("stft.forward_basis_buffer", {2 * kBins, 1, kFilter});
    const std::array<Shape, 4> shapes{{{128, kBins, 3}, {64, 128, 3}, {64, 64, 3}, {kHidden, 64, 3}}};
    for (size_t i = 0; i < shapes.size(); ++i) {
        const std::string convolution = "encoder." + std::to_string(i) + ".reparam_conv.";
        weights->kernels[i] = branch.turned(convolution + "weight", shapes[i]);
        weights->biases[i] = branch.take(convolution + "bias", {shapes[i][0]});
    }
    weights->input = branch.turned("decoder.rnn.weight_ih", {4 * kHidden, kHidden});
    weights->hidden = branch.turned("decoder.rnn.weight_hh", {4 * kHidden, kHidden});
    weights->gates = branch.take("decoder.rnn.bias_ih", {4 * kHidden});
    const std::vector<float> more = branch.take("decoder.rnn.bias_hh", {4 * kHidden});
    for (size_t i = 0; i < more.size(); ++i) weights->gates[i] += more[i];
    weights->last = branch.take("decoder.decoder.2.weight", {1, kHidden, 1});
    weights->last_bias = branch.take("decoder.decoder.2.bias", {1})[0];
    VoiceNetwork network;
    network.weights_ = std::move(weights);
    return network;
}

struct VoiceDetector::State {
    std::array<float, kContext> context{};  // the end of the window before
    std::array<float, kHidden> hidden{}, cell{};
};

VoiceDetector::VoiceDetector(VoiceNetwork network) : network_(std::move(network)), state_(std::make_unique<State>()) {}
VoiceDetector::~VoiceDetector() = default;
VoiceDetector::VoiceDetector(VoiceDetector&&) noexcept = default;
VoiceDetector& VoiceDetector::operator=(VoiceDetector&&) noexcept = default;

void VoiceDetector::reset() { *state_ = {}; }

float VoiceDetector::next(std::span<const float> window) {
    if (window.size() != kWindow)
        throw Error(Code::invalid, "a window of " + std::to_string(window.size()) + " samples; it must have 512");
    if (!std::all_of(window.begin(), window.end(), [](float x) { return std::isfinite(x); }))
        throw Error(Code::invalid, "a window has samples that are no finite numbers");
    const VoiceNetwork::Weights& w = *network_.weights_;

    std::array<float, kSamples> samples;
    const auto end =
        std::copy(window.begin(), window.end(), std::copy(state_->context.begin(), state_->context.end(), samples.begin()));
    std::reverse_copy(end - kReflected - 1, end - 1, end);
    std::copy(window.end() - kContext, window.end(), state_->context.begin());

    std::array<std::array<float, kBins>, kFrames> magnitudes;
    for (size_t frame = 0; frame < kFrames; ++frame) {
        std::array<float, 2 * kBins> parts{};
        multiply_add(w.spectrum.data(), std::span<const float>(samples).subspan(frame * kHop, kFilter),
                     std::span<float, 2 * kBins>(parts));
        for (size_t bin = 0; bin < kBins; ++bin)
            magnitudes[frame][bin] = std::sqrt(parts[bin] * parts[bin] + parts[bin + kBins] * parts[bin + kBins]);
    }
    const auto a = convolve<kBins, 128, 1>(w.kernels[0], w.biases[0], magnitudes);
    const auto b = convolve<128, 64, 2>(w.kernels[1], w.biases[1], a);
    const auto c = convolve<64, 64, 2>(w.kernels[2], w.biases[2], b);
    const auto features = convolve<64, kHidden, 1>(w.kernels[3], w.biases[3], c);
    static_assert(std::tuple_size_v<decltype(features)> == 1);

    std::array<float, 4 * kHidden> gates;
    std::copy(w.gates.begin(), w.gates.end(), gates.begin());
    multiply_add(w.input.data(), std::span<const float>(features[0]), std::span<float, 4 * kHidden>(gates));
    multiply_add(w.hidden.data(), std::span<const float>(state_->hidden), std::span<float, 4 * kHidden>(gates));
    float sum = w.last_bias;
    for (size_t i = 0; i < kHidden; ++i) {
        const float in = sigmoid(gates[i]), forget = sigmoid(gates[kHidden + i]), out = sigmoid(gates[3 * kHidden + i]);
        state_->cell[i] = forget * state_->cell[i] + in * std::tanh(gates[2 * kHidden + i]);
        state_->hidden[i] = out * std::tanh(state_->cell[i]);
        sum += w.last[i] * std::max(state_->hidden[i], 0.0F);
    }
    return sigmoid(sum);
}

}  // namespace backplane::silero
