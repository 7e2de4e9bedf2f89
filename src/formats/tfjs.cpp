#include "formats/tfjs.hpp"

#include <cstring>
#include <map>
#include <set>

#include "formats/json_file.hpp"
#include "formats/tfjs_layers.hpp"
#include "gguf/printable.hpp"

namespace backplane::formats {

namespace {

TfjsWeight read_weight(const JsonView& json) {
    TfjsWeight weight;
    weight.name = json.at("name").text();
    const JsonView named = json.named("weight " + printable(weight.name));
    if (named.at("dtype").text() != "float32" || named.has("quantization"))
        named.fail("only weights of type float32 without quantization are supported", Code::unsupported);
    weight.shape = named.at("shape").counts(0, INT64_MAX);
    if (weight.shape.size() > BP_MAX_RANK) named.fail("its rank is over 8");
    try {
        static_cast<void>(elements(weight.shape));
    } catch (const Error& e) {
        named.fail(e.what());
    }
    return weight;
}

// Shards of one group are one run of bytes that its weights share out; only what they really hold takes memory.
std::vector<std::byte> read_shards(const JsonView& paths, const TfjsShards& shards, std::set<std::string>& seen) {
    std::vector<std::byte> all;
    for (size_t i = 0; i < paths.size(); ++i) {
        const std::string& path = paths[i].text();
        if (!seen.insert(path).second) paths[i].fail("shard " + printable(path) + " comes twice");
        const std::vector<std::byte> shard = shards(path);
        all.insert(all.end(), shard.begin(), shard.end());
    }
    return all;
}

void read_group(const JsonView& group, const TfjsShards& shards, std::set<std::string>& seen,
                std::vector<TfjsWeight>& weights) {
    const std::vector<std::byte> data = read_shards(group.at("paths"), shards, seen);
    const JsonView list = group.at("weights");
    size_t used = 0;
    for (size_t i = 0; i < list.size(); ++i) {
        TfjsWeight weight = read_weight(list[i]);
        const auto count = static_cast<uint64_t>(elements(weight.shape));
        if (count > (data.size() - used) / sizeof(float))
            list[i].fail("the weight files end inside weight " + printable(weight.name) + " " + to_string(weight.shape) +
                         ": they hold " + std::to_string(data.size()) + " bytes");
        weight.values.resize(count);
        if (count > 0) std::memcpy(weight.values.data(), data.data() + used, count * sizeof(float));
        used += count * sizeof(float);
        weights.push_back(std::move(weight));
    }
    if (used != data.size())
        group.fail("the weight files hold " + std::to_string(data.size()) + " bytes, the weights " + std::to_string(used));
}

std::vector<TfjsWeight> read_weights(const JsonView& manifest, const TfjsShards& shards) {
    std::vector<TfjsWeight> weights;
    std::set<std::string> seen;
    for (size_t i = 0; i < manifest.size(); ++i) read_group(manifest[i], shards, seen, weights);
    std::set<std::string_view> names;
    for (const TfjsWeight& weight : weights)
        if (!names.insert(weight.name).second) manifest.fail("weight " + printable(weight.name) + " comes twice");
    return weights;
}

}  // namespace

const TfjsWeight* TfjsModel::find_weight(std::string_view name) const noexcept {
    for (const TfjsWeight& weight : weights)
        if (weight.name == name) return &weight;
    return nullptr;
}

TfjsModel parse_tfjs(std::string_view json, const std::string& file, const TfjsShards& shards) {
    const base::Json document = parse_json(json, file);
    const JsonView root(document, "'" + file + "'");
    if (root.has("format")) root.at("format").require_text("layers-model");
    TfjsModel model;
    model.layers = read_tfjs_layers(root.at("modelTopology").at("model_config").at("config"));
    model.weights = read_weights(root.at("weightsManifest"), shards);
    return model;
}

TfjsModel read_tfjs(const std::filesystem::path& path) {
    const MappedFile file(path);
    return parse_tfjs(text_of(file), path.string(), [&](const std::string& name) {
        const MappedFile shard(beside(path, name), Links::refuse);
        return std::vector<std::byte>(shard.bytes().begin(), shard.bytes().end());
    });
}

}  // namespace backplane::formats
