#include "backplane/weight_file.hpp"

#include <map>
#include <optional>

#include "base/nearest.hpp"
#include "formats/aligned_bytes.hpp"
#include "formats/onnx/folder.hpp"
#include "formats/onnx/model.hpp"
#include "formats/safetensors.hpp"
#include "gguf/gguf_contents.hpp"
#include "gguf/mapped_file.hpp"
#include "gguf/printable.hpp"

namespace backplane {

namespace fs = std::filesystem;

struct WeightFile::State {
    std::string format, name;
    std::vector<WeightTensor> tensors;
    std::vector<std::pair<std::string, GgufValue>> metadata;
    std::map<std::string, std::pair<size_t, std::span<const std::byte>>, std::less<>> places;  // of the tensors, by name
    formats::AlignedBytes aligned;
    // What the places are in.
    std::optional<GgufFile> gguf;
    std::optional<formats::SafetensorsFile> safetensors;
    formats::MappedFile file;
    std::optional<formats::OnnxFolder> folder;
    formats::OnnxModel onnx;

    void add(WeightTensor tensor, std::span<const std::byte> bytes) {
        tensor.bytes = bytes.size();
        if (places.try_emplace(tensor.name, tensors.size(), bytes).second) tensors.push_back(std::move(tensor));
    }

    void read_gguf(const fs::path& path) {
        format = "GGUF";
        gguf = GgufFile::open(path);
        for (const GgufTensor& tensor : gguf->tensors())
            add({tensor.name, tensor.dtype, formats::gguf_type_name(tensor.type), tensor.shape}, gguf->data(tensor.name));
        metadata = gguf->metadata();
    }

    void read_safetensors(const fs::path& path) {
        format = "safetensors";
        safetensors = formats::SafetensorsFile::open(path);
        for (const auto& [key, tensor] : safetensors->tensors())
            add({key, tensor.dtype, tensor.type, tensor.shape}, tensor.bytes);
        for (const auto& [key, text] : safetensors->metadata()) metadata.emplace_back(key, text);
    }

    void read_onnx(const fs::path& path) {
        format = "ONNX";
        folder.emplace(path);
        const Error none(
            Code::corrupt,
            "cannot read '" + name + "': it is no GGUF file, no safetensors file or index of such, and no ONNX model");
        try {
            onnx = formats::parse_onnx(file.bytes(), name,
                                       [this](const std::string& location) { return folder->bytes(location); });
        } catch (const Error& error) {
            // Of a file whose name does not say that it is one, which field of a model would be wrong says nothing.
            if (path.extension() == ".onnx" || error.code() != Code::corrupt) throw;
            throw none;
        }
        if (onnx.opset == 0 && onnx.nodes.empty() && onnx.initializers.empty()) throw none;
        for (const formats::OnnxTensor& tensor : onnx.initializers)
            add({tensor.name, tensor.dtype, name_of(tensor.dtype), tensor.shape}, tensor.bytes());
        for (const auto& [key, text] : onnx.metadata) metadata.emplace_back(key, text);
    }

    const std::pair<size_t, std::span<const std::byte>>& place(std::string_view tensor) const {
        const auto found = places.find(tensor);
        if (found != places.end()) return found->second;
        std::vector<std::string> names;
        for (const WeightTensor& one : tensors) names.push_back(one.name);
        throw Error(Code::not_found,
                    "'" + name + "' has no tensor named " + formats::printable(tensor) + base::did_you_mean(tensor, names));
    }

    std::span<const std::byte> data(const std::pair<size_t, std::span<const std::byte>>& at) const {
        const WeightTensor& tensor = tensors[at.first];
        if (tensor.dtype == DType::unknown) return at.second;
        return aligned.of(tensor.name, tensor.dtype, at.second);
    }
};

namespace {

// A folder stands for the weights in it.
fs::path file_of(const fs::path& path) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) return path;
    for (const char* const name : {"model.safetensors.index.json", "model.safetensors"})
        if (fs::exists(path / name, failed)) return path / name;
    throw Error(Code::not_found, "cannot read weights from the folder '" + path.string() +
                                     "': it has neither model.safetensors.index.json nor model.safetensors; name the file");
}

// A length that is within the file, and the beginning of a JSON object.
bool is_safetensors(std::span<const std::byte> bytes) {
    if (bytes.size() < 9 || bytes[8] != std::byte{'{'}) return false;
    uint64_t length = 0;
    for (size_t i = 8; i-- > 0;) length = length << 8 | std::to_integer<uint64_t>(bytes[i]);
    return length <= bytes.size() - 8;
}

bool is_gguf(std::span<const std::byte> bytes) {
    const auto magic = std::as_bytes(std::span(formats::kGgufMagic));
    return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

}  // namespace

WeightFile WeightFile::open(const fs::path& given) {
    const fs::path path = file_of(given);
    auto state = std::make_shared<State>();
    state->name = path.string();
    state->file = formats::MappedFile(path);
    if (is_gguf(state->file.bytes()) || path.extension() == ".gguf") {
        state->read_gguf(path);
    } else if (path.extension() == ".json" || path.extension() == ".safetensors" || is_safetensors(state->file.bytes())) {
        state->read_safetensors(path);
    } else {
        state->read_onnx(path);
    }
    WeightFile file;
    file.state_ = std::move(state);
    return file;
}

const std::string& WeightFile::format() const noexcept { return state_->format; }
const std::string& WeightFile::name() const noexcept { return state_->name; }
const std::vector<WeightTensor>& WeightFile::tensors() const noexcept { return state_->tensors; }
const std::vector<std::pair<std::string, GgufValue>>& WeightFile::metadata() const noexcept { return state_->metadata; }

const WeightTensor* WeightFile::find(std::string_view tensor) const noexcept {
    const auto found = state_->places.find(tensor);
    return found == state_->places.end() ? nullptr : &state_->tensors[found->second.first];
}

std::span<const std::byte> WeightFile::data(std::string_view tensor) const { return state_->data(state_->place(tensor)); }

TensorId WeightFile::add(Graph& graph, std::string_view tensor) const {
    const WeightTensor& found = state_->tensors[state_->place(tensor).first];
    if (found.dtype == DType::unknown)
        throw Error(Code::unsupported, "cannot use the tensor " + formats::printable(tensor) + " of '" + name() +
                                           "': graphs have no " + formats::printable(found.type));
    return graph.weight(found.name, found.dtype, found.shape);
}

WeightSource WeightFile::source() const {
    return [state = state_](std::string_view name) {
        const auto found = state->places.find(name);
        return found == state->places.end() ? std::span<const std::byte>() : state->data(found->second);
    };
}

}  // namespace backplane
