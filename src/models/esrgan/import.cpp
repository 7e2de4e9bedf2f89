// From the @upscalerjs/esrgan-* packages to GGUF.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "backplane/esrgan.hpp"
#include "base/json.hpp"
#include "formats/json_file.hpp"
#include "formats/tfjs.hpp"
#include "gguf/printable.hpp"
#include "models/esrgan/imported.hpp"
#include "models/esrgan/rrdb.hpp"

namespace backplane {

namespace {

namespace fs = std::filesystem;
using esrgan::Layer;
using esrgan::LayerKind;
using formats::TfjsKind;
using formats::TfjsLayer;
using formats::TfjsModel;
using formats::TfjsWeight;

// FOLDER/models/xSCALE/model.json, or what `from` names itself.
fs::path find_model(const fs::path& from, int scale) {
    if (fs::is_regular_file(from)) return from;
    const std::string what = "cannot import '" + from.string() + "': ";
    const fs::path models = from / "models";
    std::set<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator i(models, error), end; !error && i != end; i.increment(error))
        if (fs::is_regular_file(i->path() / "model.json")) found.insert(i->path() / "model.json");
    if (error || found.empty())
        throw Error(Code::not_found, what + "it is neither a model.json nor has models/x*/model.json");
    if (scale == 0 && found.size() == 1) return *found.begin();
    std::string scales;
    for (const fs::path& path : found) scales += (scales.empty() ? "" : ", ") + path.parent_path().filename().string();
    if (scale == 0) throw Error(Code::invalid, what + "it has several models, choose a scale: " + scales);
    fs::path wanted = models / ("x" + std::to_string(scale)) / "model.json";
    if (!found.contains(wanted))
        throw Error(Code::not_found, what + "it has no model of scale " + std::to_string(scale) + ", only " + scales);
    return wanted;
}

std::string quoted(const TfjsLayer& layer) { return "layer " + formats::printable(layer.name); }

class Importer {
public:
    Importer(const TfjsModel& model, std::string file) : model_(model), file_(std::move(file)) {}

    // The lines, and the tensors of the convolutions.
    void convert() {
        for (const TfjsLayer& layer : model_.layers) {
            if (!esrgan::is_layer_name(layer.name) || layer.name.starts_with(esrgan::kReserved))
                fail(quoted(layer) + " has a name that layers of GGUF files cannot have", Code::unsupported);
            convert(layer);
        }
        std::string last = names_.back();
        if (unit_range()) {
            lines_.push_back(to_text(Layer{LayerKind::multiply, esrgan::kTo255, {last}, 1, 255.0F}));
            last = esrgan::kTo255;
        }
        lines_.push_back(to_text(Layer{LayerKind::output, "", {last}, 1, 1}));
    }

    esrgan::ImportedNetwork result(std::string name) {
        return {std::move(name), file_, std::move(lines_), std::move(weights_)};
    }

private:
    [[noreturn]] void fail(const std::string& why, Code code = Code::corrupt) const {
        throw Error(code, "cannot import '" + file_ + "': " + why);
    }

    // model.json does not say which range its pixels have. The packages do, in code: networks of their "rrdn" shape, the ones with
    // layers of their own, take and give 0 to 1, all others 0 to 255.
    [[nodiscard]] bool unit_range() const {
        return std::any_of(model_.layers.begin(), model_.layers.end(), [](const TfjsLayer& layer) {
            return layer.kind == TfjsKind::multiply || layer.kind == TfjsKind::pixel_shuffle;
        });
    }

    void convert(const TfjsLayer& layer) {
        Layer to;
        to.name = layer.name;
        to.by = layer.by;
        to.factor = static_cast<float>(layer.factor);
        for (const size_t input : layer.inputs) to.inputs.push_back(names_[input]);
        switch (layer.kind) {
            case TfjsKind::input: return convert_input(to);
            case TfjsKind::identity: names_.push_back(to.inputs[0]); return;
            case TfjsKind::convolution:
                to.kind = LayerKind::convolution;
                convert_weights(layer, to);
                break;
            case TfjsKind::relu: to.kind = LayerKind::relu; break;
            case TfjsKind::concatenate: to.kind = LayerKind::concatenate; break;
            case TfjsKind::add: to.kind = LayerKind::add; break;
            case TfjsKind::upsample: to.kind = LayerKind::upsample; break;
            case TfjsKind::multiply: to.kind = LayerKind::multiply; break;
            case TfjsKind::pixel_shuffle: to.kind = LayerKind::shuffle; break;
        }
        names_.push_back(to.name);
        lines_.push_back(to_text(to));
    }

    void convert_input(Layer to) {
        to.kind = LayerKind::input;
        lines_.push_back(to_text(to));
        names_.push_back(to.name);
        if (!unit_range()) return;
        lines_.push_back(to_text(Layer{LayerKind::multiply, esrgan::kTo1, {to.name}, 1, 1.0F / 255.0F}));
        names_.back() = esrgan::kTo1;
    }

    void convert_weights(const TfjsLayer& layer, const Layer& to) {
        const TfjsWeight& kernel = weight(layer, "/kernel");
        const Shape& s = kernel.shape;  // height, width, in, out
        if (s.size() != 4 || s[0] != layer.kernel[0] || s[1] != layer.kernel[1] || s[3] != layer.filters)
            fail(quoted(layer) + ": its kernel " + to_string(s) + " is not [" + std::to_string(layer.kernel[0]) + ", " +
                 std::to_string(layer.kernel[1]) + ", in, " + std::to_string(layer.filters) + "]");
        std::vector<float> moved(kernel.values.size());
        size_t from = 0;
        for (int64_t tap = 0; tap < s[0] * s[1]; ++tap)
            for (int64_t in = 0; in < s[2]; ++in)
                for (int64_t out = 0; out < s[3]; ++out)
                    moved[static_cast<size_t>((out * s[2] + in) * s[0] * s[1] + tap)] = kernel.values[from++];
        weights_.push_back({esrgan::weight_name(to), {s[3], s[2], s[0], s[1]}, std::move(moved)});
        std::vector<float> bias(static_cast<size_t>(layer.filters));
        if (layer.bias) {
            const TfjsWeight& given = weight(layer, "/bias");
            if (given.shape != Shape{layer.filters})
                fail(quoted(layer) + ": its bias " + to_string(given.shape) + " is not [" + std::to_string(layer.filters) +
                     "]");
            bias = given.values;
        }
        weights_.push_back({esrgan::bias_name(to), {layer.filters}, std::move(bias)});
    }

    [[nodiscard]] const TfjsWeight& weight(const TfjsLayer& layer, const char* suffix) const {
        const TfjsWeight* found = model_.find_weight(layer.name + suffix);
        if (found == nullptr) fail(quoted(layer) + ": weight " + formats::printable(layer.name + suffix) + " is missing");
        if (!std::all_of(found->values.begin(), found->values.end(), [](float value) { return std::isfinite(value); }))
            fail(quoted(layer) + ": weight " + formats::printable(found->name) + " holds values that are no finite numbers");
        return *found;
    }

    const TfjsModel& model_;
    std::string file_;
    std::vector<std::string> lines_;
    std::vector<std::string> names_;  // what stands for each layer of the model
    std::vector<esrgan::ImportedWeight> weights_;
};

// "esrgan-medium" for a model of the package @upscalerjs/esrgan-medium, "esrgan" for one that lies by itself.
std::string family_of(const fs::path& model) {
    const fs::path package = fs::absolute(model).parent_path().parent_path().parent_path() / "package.json";
    if (!fs::is_regular_file(package)) return "esrgan";
    const formats::MappedFile file(package);
    try {
        const base::Json json = base::Json::parse(formats::text_of(file));
        const std::string& name = json.at("name").text();
        std::string family = name.substr(name.find_last_of('/') + 1);
        if (esrgan::is_layer_name(family)) return family;
    } catch (const base::JsonError&) {  // a package that says nothing of itself
    }
    return "esrgan";
}

}  // namespace

void import_esrgan_tfjs(const fs::path& from, int scale, const fs::path& gguf) {
    if (scale < 0) throw Error(Code::invalid, "cannot import '" + from.string() + "': a scale of " + std::to_string(scale));
    const fs::path path = find_model(from, scale);
    const TfjsModel model = formats::read_tfjs(path);
    Importer importer(model, path.string());
    importer.convert();
    esrgan::ImportedNetwork network = importer.result(family_of(path));
    const int64_t found = network.check().scale;
    if (scale != 0 && found != scale)
        throw Error(Code::corrupt, "cannot import '" + path.string() + "': it enlarges by " + std::to_string(found) +
                                       ", not " + std::to_string(scale));
    network.name += "-x" + std::to_string(found);
    network.writer().write(gguf);
}

void import_esrgan_rrdb(const fs::path& from, const fs::path& gguf) {
    esrgan::rrdb_of(WeightFile::open(from)).writer().write(gguf);
}

}  // namespace backplane
