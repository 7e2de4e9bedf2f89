#include "models/parakeet/model_file.hpp"

#include <map>

#include "backplane/error.hpp"
#include "formats/aligned_bytes.hpp"
#include "gguf/mapped_file.hpp"
#include "gguf/printable.hpp"
#include "models/parakeet/layout.hpp"
#include "models/parakeet/source.hpp"
#include "models/parakeet/tokenizer.hpp"

namespace backplane::parakeet {

struct ModelFile::State {
    std::unique_ptr<Source> source;
    Config config;
    std::vector<std::string> pieces;
    std::vector<Tensor> tensors;
    std::map<std::string_view, size_t> names;  // into the names above
    formats::AlignedBytes aligned;

    [[noreturn]] void fail(const std::string& why, Code code = Code::corrupt) const { refuse(source->file(), why, code); }

    void read() {
        config = source->config();
        check_config(config, source->file());
        pieces = source->pieces(config);
        check_pieces(pieces, config.vocab_size, source->file());
        std::vector<Wanted> wanted = wanted_tensors(config);
        tensors.reserve(wanted.size());
        for (Wanted& tensor : wanted) take(tensor);
        if (const char* const bias = "encoder.layers.0.feed_forward1.linear1.bias";
            !config.encoder.use_bias && source->find(bias))
            fail("it says that it has no biases, but has tensor '" + source->name_of(bias) + "'");
        for (size_t i = 0; i < tensors.size(); ++i) names.emplace(tensors[i].name, i);
    }

    void take(Wanted& wanted) {
        const std::optional<Found> found = source->find(wanted.name);
        if (!found && wanted.optional) return;
        const std::string what = "tensor '" + source->name_of(wanted.name) + "' ";
        if (!found) fail(what + "is missing; it must be " + to_string(wanted.shape));
        if (!fits(*found, wanted))
            fail(what + "is " + to_string(found->shape) + "; by its configuration it must be " + to_string(wanted.shape));
        const DType dtype = found->dtype;
        const bool number = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
        if (!number && !(is_block(dtype) && wanted.kind == Kind::matrix))
            fail(what + "is stored as " + formats::printable(found->type) + ", which is not supported for it",
                 Code::unsupported);
        const std::span<const std::byte> bytes = aligned.of(wanted.name, dtype, found->bytes);
        tensors.push_back({std::move(wanted.name), dtype, std::move(wanted.shape), bytes});
    }

    // But for extents of 1 at the end, and one in front of the filters.
    static bool fits(const Found& found, const Wanted& wanted) {
        const auto plain = [](Shape shape) {
            while (!shape.empty() && shape.back() == 1) shape.pop_back();
            return shape;
        };
        Shape shape = found.shape;
        if (wanted.optional && shape.size() > wanted.shape.size() && shape.front() == 1) shape.erase(shape.begin());
        return plain(shape) == plain(wanted.shape);
    }
};

ModelFile ModelFile::open(const std::filesystem::path& path) {
    auto state = std::make_shared<State>();
    if (std::filesystem::is_directory(path))
        state->source = open_folder(path);
    else
        state->source = is_weights_of_folder(path) ? open_weights(path) : open_gguf(path);
    state->read();
    ModelFile file;
    file.state_ = std::move(state);
    return file;
}

const Config& ModelFile::config() const noexcept { return state_->config; }

const std::vector<std::string>& ModelFile::pieces() const noexcept { return state_->pieces; }

std::string ModelFile::text_of(std::span<const int32_t> ids) const { return parakeet::text_of(state_->pieces, ids); }

const std::vector<Tensor>& ModelFile::tensors() const noexcept { return state_->tensors; }

const Tensor* ModelFile::find(std::string_view name) const noexcept {
    const auto found = state_->names.find(name);
    return found == state_->names.end() ? nullptr : &state_->tensors[found->second];
}

const Tensor& ModelFile::at(std::string_view name) const {
    const Tensor* const tensor = find(name);
    if (tensor == nullptr)
        throw Error(Code::not_found,
                    "'" + file() + "' has no tensor '" + std::string(name) + "' that its configuration calls for");
    return *tensor;
}

void ModelFile::let_go(const Tensor& tensor) const noexcept {
    if (!state_->aligned.is_copy(tensor.bytes)) formats::let_go(tensor.bytes);
}

const std::string& ModelFile::file() const noexcept { return state_->source->file(); }

}  // namespace backplane::parakeet
