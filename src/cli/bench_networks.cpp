#include "cli/bench_networks.hpp"

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <random>

#include "models/parakeet/decoders.hpp"
#include "models/parakeet/random_network.hpp"

namespace backplane::cli {

namespace {

// Numbers near 0 with which activations stay near 1, made when a weight is asked for.
class RandomWeights {
public:
    void add(const std::string& name, size_t count, double reads) { sizes_[name] = {count, reads}; }
    std::span<const std::byte> operator()(std::string_view name) {
        std::vector<float>& values = made_[std::string(name)];
        if (values.empty()) {
            const auto [count, reads] = sizes_.at(std::string(name));
            std::mt19937 random(static_cast<unsigned>(made_.size()));
            const double range = std::sqrt(3 / std::max(reads, 1.0));
            for (size_t i = 0; i < count; ++i)
                values.push_back(static_cast<float>((static_cast<double>(random()) / 4294967296.0 - 0.5) * 2 * range));
        }
        return std::as_bytes(std::span(values));
    }

private:
    std::map<std::string, std::pair<size_t, double>> sizes_;
    std::map<std::string, std::vector<float>> made_;
};

// A graph under way, and its weights.
struct Making {
    Graph graph;
    RandomWeights& weights;

    TensorId weight(const std::string& name, const Shape& shape) {
        const auto all = static_cast<double>(elements(shape));
        weights.add(name, static_cast<size_t>(all), shape.size() > 1 ? all / static_cast<double>(shape[0]) : 1);
        return graph.weight(name, DType::f32, shape);
    }
    TensorId conv(const std::string& name, TensorId x, int64_t out) {
        return graph.add(Op::conv, {x, weight(name, {out, graph[x].shape[1], 3, 3}), weight(name + " bias", {out})},
                         {{Attr::pads, {1, 1, 1, 1}}});
    }
    TensorId product(const std::string& name, TensorId x, int64_t out) {
        const TensorId y = graph.add(Op::matmul, {x, weight(name, {out, graph[x].shape.back()})}, {{Attr::transpose_b, 1}});
        return graph.add(Op::add, {y, weight(name + " bias", {out})});
    }
    TensorId norm(const std::string& name, TensorId x) {
        const int64_t width = graph[x].shape.back();
        return graph.add(Op::layer_norm, {x, weight(name, {width}), weight(name + " bias", {width})});
    }
};

Graph pictures(RandomWeights& weights, int64_t size) {
    constexpr int64_t kWidth = 32, kGrowth = 16, kBlocks = 4, kConvolutions = 4;
    Making m{{}, weights};
    Graph& g = m.graph;
    TensorId x = m.conv("first", g.input("image", DType::f32, {1, 3, size, size}), kWidth);
    for (int64_t b = 0; b < kBlocks; ++b) {
        std::vector<TensorId> all{x};
        const auto name = [&](int64_t c) { return "block " + std::to_string(b) + " " + std::to_string(c); };
        for (int64_t c = 0; c < kConvolutions; ++c) {
            const TensorId in = all.size() == 1 ? x : g.add(Op::concat, all, {{Attr::axis, 1}});
            all.push_back(g.add(Op::leaky_relu, {m.conv(name(c), in, kGrowth)}, {{Attr::alpha, 0.2}}));
        }
        const TensorId joined = m.conv(name(kConvolutions), g.add(Op::concat, all, {{Attr::axis, 1}}), kWidth);
        x = g.add(Op::add, {x, g.add(Op::mul, {joined, g.constant(0.2F)})});
    }
    g.output(m.conv("last", x, 3), "enlarged");
    return g;
}

Graph decoder(RandomWeights& weights, int64_t rows) {
    constexpr int64_t kLayers = 6, kWidth = 512, kHeads = 8, kHead = kWidth / kHeads;
    Making m{{}, weights};
    Graph& g = m.graph;
    TensorId x = g.input("token", DType::f32, {1, 1, kWidth});
    const TensorId position = g.input("position", DType::i64, {1});
    for (int64_t k = 0; k < kLayers; ++k) {
        const std::string layer = "layer " + std::to_string(k) + " ";
        const TensorId in = m.norm(layer + "norm", x);
        const auto heads = [&](const char* name) {
            return g.add(Op::reshape, {m.product(layer + name, in, kWidth)}, {{Attr::shape, {1, kHeads, 1, kHead}}});
        };
        const auto cached = [&](const char* name) {
            const TensorId state = g.state(layer + name + " cache", DType::f32, {1, kHeads, rows, kHead});
            const TensorId next = g.add(Op::tensor_scatter, {state, heads(name), position}, {{Attr::axis, 2}});
            g.update(state, next);
            return next;
        };
        const TensorId query = heads("query"), keys = cached("key"), values = cached("value");
        const TensorId seen = g.add(Op::attention, {query, keys, values});
        const TensorId joined = g.add(Op::reshape, {seen}, {{Attr::shape, {1, 1, kWidth}}});
        x = g.add(Op::add, {x, m.product(layer + "joined", joined, kWidth)});
        const TensorId up = g.add(Op::gelu, {m.product(layer + "up", m.norm(layer + "norm 2", x), 4 * kWidth)});
        x = g.add(Op::add, {x, m.product(layer + "down", up, kWidth)});
    }
    g.output(x, "next");
    return g;
}

// The file of random weights is gone once it is open.
std::shared_ptr<parakeet::NetworkWeights> random_speech() {
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("backplane-bench-" + std::to_string(std::random_device{}()) + ".gguf");
    parakeet::Config config = parakeet::published_config("110m");
    constexpr int64_t kLayers = 4;
    config.encoder.layers = kLayers;
    struct Gone {
        const std::filesystem::path& path;
        ~Gone() {
            std::error_code ignored;
            std::filesystem::remove(path, ignored);
        }
    } const gone{path};
    parakeet::write_random_network(path, config, {});
    return std::make_shared<parakeet::NetworkWeights>(parakeet::ModelFile::open(path), DType::f32);
}

Graph speech(parakeet::NetworkWeights& weights, int64_t seconds) {
    const parakeet::PreprocessorConfig& p = weights.config().preprocessor;
    const parakeet::BatchShape shape{1, seconds * p.sample_rate / p.hop_length, false};
    Graph graph;
    const parakeet::Features features = parakeet::add_front_end(graph, weights, shape);
    const int64_t reach = parakeet::reach_of(parakeet::encoded_frames(weights.config().encoder, shape.frames));
    parakeet::add_ctc(graph, weights, shape, parakeet::add_encoder(graph, weights, shape, features, reach));
    return graph;
}

template <typename Make>
BenchNetwork network_of(const char* name, const char* unit, Make make, const BenchSizes& sizes) {
    auto weights = std::make_shared<RandomWeights>();
    return {name, unit, [weights, make](int64_t size) { return make(*weights, size); },
            [weights](std::string_view wanted) { return (*weights)(wanted); }, sizes};
}

}  // namespace

const std::vector<std::string>& bench_network_names() {
    static const std::vector<std::string> names{"pictures", "speech", "decoder"};
    return names;
}

BenchNetwork bench_network(std::string_view name) {
    if (name == "pictures") return network_of("pictures", "pixels in each direction", pictures, {80, 48, 112});
    if (name == "decoder") return network_of("decoder", "tokens of cache", decoder, {512, 256, 1024});
    const std::shared_ptr<parakeet::NetworkWeights> weights = random_speech();
    return {"speech",
            "seconds of sound",
            [weights](int64_t size) { return speech(*weights, size); },
            [weights](std::string_view wanted) { return weights->bytes(wanted); },
            {6, 4, 8}};
}

}  // namespace backplane::cli
