// ESRGAN files in memory, to be broken and run.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backplane/esrgan.hpp"
#include "graph/evaluate.hpp"
#include "support.hpp"

namespace backplane {

struct EsrganFile {
    std::string architecture = "esrgan";
    std::string name = "tiny-x2";
    int64_t scale = 2;
    std::vector<std::string> layers{"input LR", "conv a LR",          "relu r a", "concat c r a",
                                    "conv b c", "upsample up b by=2", "output up"};
    std::map<std::string, std::pair<Shape, std::vector<float>>> tensors;

    EsrganFile() {
        tensor("a.weight", {2, 3, 3, 3});
        tensor("a.bias", {2});
        tensor("b.weight", {3, 4, 1, 1});
        tensor("b.bias", {3});
    }
    // Numbers between -0.5 and 0.5 that differ.
    void tensor(const std::string& tensor_name, const Shape& shape) {
        std::vector<float> values(static_cast<size_t>(elements(shape)));
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>((i * 37 + tensor_name.size() * 11 + 5) % 101) / 101.0F - 0.5F;
        tensors[tensor_name] = {shape, std::move(values)};
    }
    void write(const std::filesystem::path& path) const {
        GgufWriter writer;
        writer.set("general.architecture", architecture);
        writer.set("general.name", name);
        writer.set("esrgan.scale", scale);
        writer.set("esrgan.layers", layers);
        for (const auto& [key, value] : tensors)
            writer.add(key, DType::f32, value.first, std::as_bytes(std::span(value.second)));
        writer.write(path);
    }
    [[nodiscard]] Esrgan open() const {
        const TemporaryFolder folder;
        write(folder / "tiny.gguf");
        return Esrgan::open(folder / "tiny.gguf");
    }
};

// The float64 oracle's result for an image of [height, width, 3].
inline std::vector<float> upscale_exactly(const Esrgan& model, int64_t height, int64_t width,
                                          const std::vector<float>& image) {
    const Graph g = model.graph(height, width);
    const WeightSource weights = model.weights();
    std::vector<graph::TensorBytes> inputs{{g.find("image"), std::as_bytes(std::span(image))}};
    for (const TensorId id : g.with_role(Role::weight)) inputs.push_back({id, weights(g[id].name)});
    std::vector<float> out(static_cast<size_t>(elements(g[g.find("upscaled")].shape)));
    const graph::TensorRoom rooms[] = {{g.find("upscaled"), std::as_writable_bytes(std::span(out))}};
    graph::evaluate(g, inputs, rooms);
    return out;
}

inline std::vector<float> some_image(int64_t height, int64_t width) {
    std::vector<float> image(static_cast<size_t>(height * width * 3));
    for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i * 73 % 256);
    return image;
}

}  // namespace backplane
