#include "backplane/esrgan.hpp"

#include <cmath>
#include <map>

#include "gguf/printable.hpp"
#include "graph/element_types.hpp"
#include "models/esrgan/network.hpp"
#include "models/esrgan/rrdb.hpp"

namespace backplane {

struct Esrgan::State {
    std::shared_ptr<const std::vector<std::byte>> bytes;  // of the file, where none on the disk has them
    GgufFile file;
    std::string name;
    esrgan::Network network;
    DType dtype = DType::f32;
    std::map<std::string, std::vector<std::byte>, std::less<>> halves;  // the weights, when the type is f16
};

namespace {

// A picture of such weights would be black, without a word.
std::span<const std::byte> finite(std::span<const std::byte> bytes, DType dtype, const std::string& model,
                                  std::string_view tensor) {
    for (const double value : graph::decode(bytes, dtype))
        if (!std::isfinite(value))
            throw Error(Code::corrupt, "cannot use " + model + ": its tensor " + formats::printable(tensor) +
                                           " holds values that are no finite numbers; fetch or import the model again");
    return bytes;
}

}  // namespace

Esrgan Esrgan::open(const std::filesystem::path& path) {
    if (path.extension() == ".gguf") return from_gguf(GgufFile::open(path));
    const WeightFile file = WeightFile::open(path);
    if (file.format() == "GGUF") return from_gguf(GgufFile::open(path));
    auto made = std::make_shared<const std::vector<std::byte>>(esrgan::rrdb_of(file).writer().bytes());
    GgufFile gguf = GgufFile::from_memory(*made, path.string());
    return from_gguf(std::move(gguf), std::move(made));
}

Esrgan Esrgan::from_gguf(GgufFile file) { return from_gguf(std::move(file), nullptr); }

Esrgan Esrgan::from_gguf(GgufFile file, std::shared_ptr<const std::vector<std::byte>> bytes) {
    const std::string what = "cannot use '" + file.name() + "' as an ESRGAN: ";
    if (file.text("general.architecture") != "esrgan")
        throw Error(Code::corrupt, what + "its general.architecture is not 'esrgan'; import the model first");
    auto state = std::make_shared<State>();
    state->name = file.text("general.name");
    state->network = esrgan::read_network(
        file.texts("esrgan.layers"), [&](const std::string& name) { return file.find_tensor(name); }, file.name());
    if (file.integer("esrgan.scale") != state->network.scale)
        throw Error(Code::corrupt, what + "esrgan.scale says " + std::to_string(file.integer("esrgan.scale")) +
                                       ", its layers enlarge by " + std::to_string(state->network.scale));
    state->bytes = std::move(bytes);
    state->file = std::move(file);
    Esrgan model;
    model.state_ = std::move(state);
    return model;
}

Esrgan Esrgan::stored_as(DType dtype) const {
    if (dtype != DType::f32 && dtype != DType::f16)
        throw Error(Code::invalid, "cannot use " + state_->name + " with another type than f32 or f16");
    auto state = std::make_shared<State>(*state_);
    state->dtype = dtype;
    state->halves.clear();
    if (dtype == DType::f16)
        for (const esrgan::Stage& stage : state->network.stages) {
            if (stage.layer.kind != esrgan::LayerKind::convolution) continue;
            for (const std::string& name : {esrgan::weight_name(stage.layer), esrgan::bias_name(stage.layer)})
                state->halves[name] = graph::encode(
                    graph::decode(finite(state->file.data(name), DType::f32, state->name, name), DType::f32), DType::f16);
        }
    Esrgan model;
    model.state_ = std::move(state);
    return model;
}

const std::string& Esrgan::name() const noexcept { return state_->name; }

DType Esrgan::dtype() const noexcept { return state_->dtype; }

int Esrgan::scale() const noexcept { return static_cast<int>(state_->network.scale); }

int Esrgan::radius() const noexcept { return static_cast<int>(state_->network.radius); }

uint64_t Esrgan::parameters() const noexcept { return state_->network.parameters; }

double Esrgan::flops(int64_t height, int64_t width) const {
    double flops = 0;
    for (const esrgan::Stage& stage : state_->network.stages) {
        if (stage.layer.kind != esrgan::LayerKind::convolution) continue;
        const double scale = static_cast<double>(stage.scale) / static_cast<double>(state_->network.unit);
        const double pixels = static_cast<double>(height) * scale * static_cast<double>(width) * scale;
        flops += 2.0 * pixels * static_cast<double>(elements(stage.weight));
    }
    return flops;
}

Graph Esrgan::graph(int64_t height, int64_t width) const {
    return esrgan::build_graph(state_->network, height, width, state_->dtype);
}

WeightSource Esrgan::weights() const {
    return [state = state_](std::string_view name) {
        if (const auto half = state->halves.find(name); half != state->halves.end())
            return std::span<const std::byte>(half->second);
        const GgufTensor* tensor = state->file.find_tensor(name);
        if (tensor == nullptr) return std::span<const std::byte>();
        return finite(state->file.data(name), tensor->dtype, state->name, name);
    };
}

}  // namespace backplane
