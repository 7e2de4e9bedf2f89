#include "backplane/gguf.hpp"
#include "gguf/gguf_contents.hpp"
#include "gguf/mapped_file.hpp"

namespace backplane {

struct GgufFile::State {
    formats::MappedFile file;          // empty for from_memory
    std::span<const std::byte> bytes;  // the whole file
    std::string name;
    formats::GgufContents contents;
};

namespace {

template <typename Value>
const Value& required(const GgufFile& file, std::string_view key, const char* type) {
    const std::string what = "cannot use '" + file.name() + "': its metadata key '" + std::string(key) + "' ";
    const GgufValue* value = file.find(key);
    if (value == nullptr) throw Error(Code::corrupt, what + "is missing");
    const auto* typed = std::get_if<Value>(value);
    if (typed == nullptr) throw Error(Code::corrupt, what + "is not " + type);
    return *typed;
}

}  // namespace

GgufFile GgufFile::open(const std::filesystem::path& path) {
    auto state = std::make_shared<State>();
    state->file = formats::MappedFile(path);
    state->bytes = state->file.bytes();
    state->name = path.string();
    state->contents = formats::parse_gguf(state->bytes, state->name);
    GgufFile file;
    file.state_ = std::move(state);
    return file;
}

GgufFile GgufFile::from_memory(std::span<const std::byte> bytes, std::string name) {
    auto state = std::make_shared<State>();
    state->bytes = bytes;
    state->name = std::move(name);
    state->contents = formats::parse_gguf(bytes, state->name);
    GgufFile file;
    file.state_ = std::move(state);
    return file;
}

const std::vector<std::pair<std::string, GgufValue>>& GgufFile::metadata() const noexcept {
    return state_->contents.metadata;
}

const GgufValue* GgufFile::find(std::string_view key) const noexcept {
    const auto found = state_->contents.keys.find(key);
    return found == state_->contents.keys.end() ? nullptr : &state_->contents.metadata[found->second].second;
}

int64_t GgufFile::integer(std::string_view key) const {
    return required<int64_t>(*this, key, "a whole number up to 2^63 - 1");
}

const std::string& GgufFile::text(std::string_view key) const { return required<std::string>(*this, key, "a text"); }

const std::vector<std::string>& GgufFile::texts(std::string_view key) const {
    return required<std::vector<std::string>>(*this, key, "an array of texts");
}

const std::vector<GgufTensor>& GgufFile::tensors() const noexcept { return state_->contents.tensors; }

const GgufTensor* GgufFile::find_tensor(std::string_view name) const noexcept {
    const auto found = state_->contents.tensor_names.find(name);
    return found == state_->contents.tensor_names.end() ? nullptr : &state_->contents.tensors[found->second];
}

std::span<const std::byte> GgufFile::data(std::string_view name) const {
    const GgufTensor* tensor = find_tensor(name);
    if (tensor == nullptr)
        throw Error(Code::not_found, "'" + state_->name + "' has no tensor named '" + std::string(name) + "'");
    return state_->bytes.subspan(tensor->offset, tensor->bytes);
}

const std::string& GgufFile::name() const noexcept { return state_->name; }

}  // namespace backplane
