// Real-ESRGAN's and ESRGAN's RRDBNet: as safetensors under each of its names, and beside an ONNX model that was put together by itself, node by node as
// PyTorch exports it, and is read by other code.
#include <functional>
#include <random>

#include "backplane/model.hpp"
#include "esrgan_file.hpp"
#include "onnx_bytes.hpp"

namespace backplane {
namespace {

using Weights = std::map<std::string, std::pair<Shape, std::vector<float>>>;

// Two blocks of 6 channels that grow by 3; `unshuffled`: what pixels are unshuffled by before them.
Weights random_weights(int64_t unshuffled) {
    std::mt19937 random(static_cast<uint32_t>(11 + unshuffled));
    std::uniform_real_distribution<float> number(-0.25F, 0.25F);
    Weights weights;
    const auto add = [&](const std::string& name, int64_t in, int64_t out) {
        std::vector<float> values(static_cast<size_t>(out * in * 9)), bias(static_cast<size_t>(out));
        for (float& value : values) value = number(random);
        for (float& value : bias) value = number(random);
        weights[name + ".weight"] = {{out, in, 3, 3}, std::move(values)};
        weights[name + ".bias"] = {{out}, std::move(bias)};
    };
    add("conv_first", 3 * unshuffled * unshuffled, 6);
    for (int b = 0; b < 2; ++b)
        for (int d = 1; d <= 3; ++d)
            for (int c = 1; c <= 5; ++c)
                add("body." + std::to_string(b) + ".rdb" + std::to_string(d) + ".conv" + std::to_string(c), 3 + 3 * c,
                    c == 5 ? 6 : 3);
    for (const char* name : {"conv_body", "conv_up1", "conv_up2", "conv_hr"}) add(name, 6, 6);
    add("conv_last", 6, 3);
    return weights;
}

using Rename = std::function<std::string(const std::string&)>;

void write_safetensors(const std::filesystem::path& path, const Weights& weights, const Rename& rename) {
    std::string header = "{", data;
    for (const auto& [name, tensor] : weights) {
        const size_t begin = data.size();
        data += onnx_bytes::raw(tensor.second);
        std::string shape;
        for (const int64_t extent : tensor.first) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
        header += (header.size() == 1 ? "\"" : ",\"") + rename(name) + R"(":{"dtype":"F32","shape":[)" + shape +
                  R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const uint64_t length = header.size();
    write_file(path, std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data);
}

std::string number(const std::string& name, float value) {
    return field(5, field(1, name) + varint(2 << 3 | 5) + onnx_bytes::raw(std::vector<float>{value}) + field(20, 1));
}

// [1, 3, height, width] of 0 to 1 to the same of the result.
std::string onnx_of(const Weights& weights, int64_t unshuffled, int64_t height, int64_t width) {
    using namespace onnx_bytes;
    std::string graph;
    int count = 0;
    const auto add = [&](const std::string& op, const std::vector<std::string>& inputs, const std::string& attributes = {}) {
        const std::string out = "t" + std::to_string(count++);
        graph += node(op, inputs, {out}, attributes);
        return out;
    };
    const auto constant = [&](const std::string& name, const std::vector<int64_t>& values) {
        graph += initializer(tensor(name, kI64, {values.size()}, raw(values)));
        return name;
    };
    for (const auto& [name, tensor_] : weights)
        graph +=
            initializer(tensor(name, std::vector<uint64_t>(tensor_.first.begin(), tensor_.first.end()), tensor_.second));
    graph += initializer(tensor("fifth", {1}, {0.2F})) + initializer(tensor("twice", {4}, {1, 1, 2, 2}));
    const auto conv = [&](const std::string& name, const std::string& x) {
        return add("Conv", {x, name + ".weight", name + ".bias"}, integers("pads", {1, 1, 1, 1}));
    };
    const auto leaky = [&](const std::string& x) { return add("LeakyRelu", {x}, number("alpha", 0.2F)); };
    const auto plus = [&](const std::string& x, const std::string& y) { return add("Add", {add("Mul", {y, "fifth"}), x}); };
    std::string x = "x";
    if (unshuffled > 1) {
        const int64_t r = unshuffled;
        x = add("Reshape", {x, constant("apart", {1, 3, height / r, r, width / r, r})});
        x = add("Transpose", {x}, integers("perm", {0, 1, 3, 5, 2, 4}));
        x = add("Reshape", {x, constant("together", {1, 3 * r * r, height / r, width / r})});
    }
    const std::string first = x = conv("conv_first", x);
    for (int b = 0; b < 2; ++b) {
        std::string y = x;
        for (int d = 1; d <= 3; ++d) {
            std::vector<std::string> seen{y};
            const std::string part = "body." + std::to_string(b) + ".rdb" + std::to_string(d) + ".conv";
            for (int c = 1; c <= 5; ++c) {
                const std::string all = seen.size() == 1 ? seen[0] : add("Concat", seen, integer("axis", 1));
                const std::string made = conv(part + std::to_string(c), all);
                seen.push_back(c < 5 ? leaky(made) : made);
            }
            y = plus(y, seen.back());
        }
        x = plus(x, y);
    }
    x = add("Add", {first, conv("conv_body", x)});
    for (const char* name : {"conv_up1", "conv_up2"})
        x = leaky(
            conv(name, add("Resize", {x, "", "twice"},
                           field(5, field(1, "mode") + field(4, "nearest") + field(20, 3)) +
                               field(5, field(1, "coordinate_transformation_mode") + field(4, "asymmetric") + field(20, 3)) +
                               field(5, field(1, "nearest_mode") + field(4, "floor") + field(20, 3)))));
    x = conv("conv_last", leaky(conv("conv_hr", x)));
    graph += node("Identity", {x}, {"y"});
    const auto extents = [&](int64_t by) {
        return std::vector<std::string>{"1", "3", std::to_string(height * by), std::to_string(width * by)};
    };
    return model(input(value("x", kF32, extents(1))) + output(value("y", kF32, extents(4 / unshuffled))) + graph);
}

// What the ONNX model makes of an image of [height, width, 3], 0 to 255; as float64.
std::vector<float> upscale_by_onnx(const std::string& bytes, int64_t height, int64_t width,
                                   const std::vector<float>& image) {
    const Model model = Model::from_onnx(as_bytes(bytes), "rrdb");
    const Graph graph = model.graph({ModelInput("x", Shape{1, 3, height, width})});
    const auto pixels = static_cast<size_t>(height * width);
    std::vector<float> planes(pixels * 3);
    for (size_t i = 0; i < pixels; ++i)
        for (size_t c = 0; c < 3; ++c) planes[c * pixels + i] = image[i * 3 + c] / 255.0F;
    const WeightSource weights = model.weights();
    std::vector<graph::TensorBytes> inputs{{graph.find("x"), std::as_bytes(std::span(planes))}};
    for (const TensorId id : graph.with_role(Role::weight)) inputs.push_back({id, weights(graph[id].name)});
    std::vector<float> out(static_cast<size_t>(elements(graph[graph.find("y")].shape)));
    const graph::TensorRoom rooms[] = {{graph.find("y"), std::as_writable_bytes(std::span(out))}};
    graph::evaluate(graph, inputs, rooms);
    std::vector<float> rows(out.size());
    const size_t large = out.size() / 3;
    for (size_t i = 0; i < large; ++i)
        for (size_t c = 0; c < 3; ++c) rows[i * 3 + c] = out[c * large + i] * 255.0F;
    return rows;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    float most = 0;
    for (const float value : wanted) most = std::max(most, std::abs(value));
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], most * 1e-5F) << i;
}

std::string same(const std::string& name) { return name; }
std::string replaced(std::string name, const std::vector<std::pair<std::string, std::string>>& pairs) {
    for (const auto& [from, to] : pairs)
        if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    return name;
}
std::string as_esrgan(const std::string& name) {
    return "params_ema." + replaced(name, {{"conv_body", "trunk_conv"},
                                           {"body.", "RRDB_trunk."},
                                           {".rdb", ".RDB"},
                                           {"conv_up", "upconv"},
                                           {"conv_hr", "HRconv"}});
}
std::string as_first_release(const std::string& name) {
    std::string to = replaced(name, {{"conv_first", "model.0"},
                                     {"conv_body", "model.1.sub.2"},
                                     {"body.", "model.1.sub."},
                                     {".rdb", ".RDB"},
                                     {"conv_up1", "model.3"},
                                     {"conv_up2", "model.6"},
                                     {"conv_hr", "model.8"},
                                     {"conv_last", "model.10"}});
    if (to.find("RDB") != std::string::npos) to.insert(to.rfind('.'), ".0");
    return to;
}

TEST(EsrganRrdb, WhatIsNoSuchNetworkIsNamed) {
    const TemporaryFolder folder;
    const auto refused = [&](const Weights& weights, Code code, const std::string& about, const Rename& rename = same) {
        write_safetensors(folder / "a.safetensors", weights, rename);
        expect_error([&] { import_esrgan_rrdb(folder / "a.safetensors", folder / "a.gguf"); }, code, about);
        EXPECT_FALSE(std::filesystem::exists(folder / "a.gguf"));
        expect_error([&] { Esrgan::open(folder / "a.safetensors"); }, code, about);
    };
    const Weights good = random_weights(1);
    refused({{"w", {{1}, {1}}}}, Code::unsupported, "conv_first.weight");
    for (const char* name : {"conv_last.bias", "conv_hr.weight", "body.0.rdb1.conv1.weight", "body.1.rdb3.conv5.weight"}) {
        Weights weights = good;
        weights.erase(name);
        refused(weights, Code::corrupt, name);
    }
    Weights weights = good;
    weights["body.0.rdb1.conv1x1.weight"] = {{1}, {1}};
    refused(weights, Code::unsupported, "conv1x1");
    weights = good;
    weights["conv_first.weight"] = {{6, 5, 3, 3}, std::vector<float>(270)};
    refused(weights, Code::unsupported, "3, 12 or 48");
    weights = good;
    weights["body.0.rdb2.conv3.weight"].second[7] = NAN;
    refused(weights, Code::corrupt, "body.0.rdb2.conv3.weight");
    weights = good;
    weights["conv_body.weight"] = {{5, 6, 3, 3}, std::vector<float>(270)};
    refused(weights, Code::corrupt, "conv_body");
    write_file(folder / "cut.safetensors", "12345678{");
    expect_error([&] { Esrgan::open(folder / "cut.safetensors"); }, Code::corrupt, "cut.safetensors");
    expect_error([&] { Esrgan::open(folder / "none.safetensors"); }, Code::not_found, "none.safetensors");
}

TEST(EsrganRrdb, ComputesWhatTheOnnxModelDoes) {
    const TemporaryFolder folder;
    for (const int64_t unshuffled : {1, 2, 4}) {
        const Weights weights = random_weights(unshuffled);
        write_safetensors(folder / "net.safetensors", weights, same);
        const Esrgan model = Esrgan::open(folder / "net.safetensors");
        EXPECT_EQ(model.scale(), 4 / unshuffled);
        EXPECT_EQ(model.name(), "net");
        const int64_t height = 8, width = 12;
        const std::vector<float> image = some_image(height, width);
        const std::string onnx = onnx_of(weights, unshuffled, height, width);
        const std::vector<float> wanted = upscale_by_onnx(onnx, height, width, image);
        expect_near(upscale_exactly(model, height, width, image), wanted);
        // The weights of the ONNX file alone, and a GGUF file that was made of them.
        write_file(folder / "net.onnx", onnx);
        import_esrgan_rrdb(folder / "net.onnx", folder / "net.gguf");
        expect_near(upscale_exactly(Esrgan::open(folder / "net.gguf"), height, width, image), wanted);
    }
}

TEST(EsrganRrdb, EachWayToNameTheWeightsIsTheSameNetwork) {
    const TemporaryFolder folder;
    const Weights weights = random_weights(1);
    write_safetensors(folder / "new.safetensors", weights, same);
    write_safetensors(folder / "old.safetensors", weights, as_esrgan);
    write_safetensors(folder / "first.safetensors", weights, as_first_release);
    const std::vector<float> image = some_image(5, 6);
    const std::vector<float> wanted = upscale_exactly(Esrgan::open(folder / "new.safetensors"), 5, 6, image);
    EXPECT_EQ(upscale_exactly(Esrgan::open(folder / "old.safetensors"), 5, 6, image), wanted);
    EXPECT_EQ(upscale_exactly(Esrgan::open(folder / "first.safetensors"), 5, 6, image), wanted);
}

// A picture whose sides are no multiple of two is filled up by its mirror image, below and to the right, and cut again.
TEST(EsrganRrdb, PicturesOfOddSizesAreFilledUpAndCut) {
    const TemporaryFolder folder;
    write_safetensors(folder / "x2.safetensors", random_weights(2), same);
    const Esrgan model = Esrgan::open(folder / "x2.safetensors");
    const int64_t height = 5, width = 7;
    const std::vector<float> image = some_image(height, width);
    std::vector<float> larger;
    for (const int64_t y : {0, 1, 2, 3, 4, 3})
        for (const int64_t x : {0, 1, 2, 3, 4, 5, 6, 5})
            for (int64_t c = 0; c < 3; ++c) larger.push_back(image[static_cast<size_t>((y * width + x) * 3 + c)]);
    const std::vector<float> of_larger = upscale_exactly(model, height + 1, width + 1, larger);
    std::vector<float> wanted;
    for (int64_t y = 0; y < height * 2; ++y)
        for (int64_t x = 0; x < width * 2 * 3; ++x)
            wanted.push_back(of_larger[static_cast<size_t>(y * (width + 1) * 2 * 3 + x)]);
    expect_near(upscale_exactly(model, height, width, image), wanted);
    EXPECT_EQ(upscale_exactly(model, 1, 1, some_image(1, 1)).size(), 12U);
}

TEST(EsrganRrdb, UnshuffledPixelsAreCountedInTheReachAndTheSize) {
    EsrganFile file;
    file.scale = 1;
    file.layers = {"input LR", "unshuffle u LR by=2", "conv a u", "leaky l a by=0.25", "upsample up l by=2", "output up"};
    file.tensors.clear();
    file.tensor("a.weight", {3, 12, 1, 1});
    file.tensor("a.bias", {3});
    EXPECT_EQ(file.open().radius(), 1);
    EXPECT_EQ(file.open().flops(4, 4), 2.0 * 4 * 36);
    const std::vector<float> image = some_image(2, 2);
    const auto& weight = file.tensors.at("a.weight").second;
    double total = static_cast<double>(file.tensors.at("a.bias").second[1]);
    for (size_t i = 0; i < 12; ++i) total += static_cast<double>(weight[12 + i]) * static_cast<double>(image[i]);
    EXPECT_FLOAT_EQ(upscale_exactly(file.open(), 2, 2, image)[1], static_cast<float>(total < 0 ? total / 4 : total));
    file.layers = {"input LR", "unshuffle u LR by=2", "conv a u", "output a"};
    expect_error([&] { static_cast<void>(file.open()); }, Code::corrupt, "whole number of times");
    file.layers[1] = "unshuffle u LR by=0";
    expect_error([&] { static_cast<void>(file.open()); }, Code::corrupt, "by=0");
}

}  // namespace
}  // namespace backplane
