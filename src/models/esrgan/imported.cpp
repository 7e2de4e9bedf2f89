#include "models/esrgan/imported.hpp"

#include <map>

namespace backplane::esrgan {

Network ImportedNetwork::check() const {
    std::map<std::string, GgufTensor> tensors;
    for (const ImportedWeight& weight : weights) tensors[weight.name] = {weight.name, DType::f32, 0, weight.shape, 0, 0};
    return read_network(
        lines,
        [&](const std::string& tensor) {
            const auto found = tensors.find(tensor);
            return found == tensors.end() ? nullptr : &found->second;
        },
        file);
}

GgufWriter ImportedNetwork::writer() const {
    GgufWriter writer;
    writer.set("general.architecture", std::string("esrgan"));
    writer.set("general.name", name);
    writer.set("esrgan.scale", check().scale);
    writer.set("esrgan.layers", lines);
    for (const ImportedWeight& weight : weights)
        writer.add(weight.name, DType::f32, weight.shape, std::as_bytes(std::span(weight.values)));
    return writer;
}

}  // namespace backplane::esrgan
