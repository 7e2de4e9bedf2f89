#include <algorithm>
#include <cmath>

#include "backplane/error.hpp"
#include "backplane/gguf.hpp"
#include "base/file.hpp"
#include "gguf/printable.hpp"
#include "models/parakeet/gguf_fields.hpp"
#include "models/parakeet/layout.hpp"
#include "models/parakeet/source.hpp"

namespace backplane::parakeet {

namespace {

using formats::printable;

class FieldReader {
public:
    explicit FieldReader(const GgufFile& file) : file_(file) {}

    [[noreturn]] void fail(const std::string& why, Code code = Code::corrupt) const { refuse(file_.name(), why, code); }
    // The next field keeps its value where the file has no such key.
    FieldReader& maybe() {
        optional_ = true;
        return *this;
    }

    void text(std::string_view key, std::string& value) {
        if (wanted(key)) value = file_.text(key);
    }
    void count(std::string_view key, int64_t& value) {
        if (wanted(key)) value = file_.integer(key);
    }
    void truth(std::string_view key, bool& value) {
        if (wanted(key)) value = typed<bool>(key, "neither true nor false");
    }
    void number(std::string_view key, float& value) {
        if (!wanted(key)) return;
        const auto* const whole = std::get_if<int64_t>(file_.find(key));
        value = static_cast<float>(whole != nullptr ? static_cast<double>(*whole) : typed<double>(key, "no number"));
        if (!std::isfinite(value)) fail(quoted(key) + " is no finite number");
    }
    void counts(std::string_view key, std::vector<int64_t>& values) {
        if (!wanted(key)) return;
        values = typed<std::vector<int64_t>>(key, "no list of whole numbers");
        if (values.empty()) fail(quoted(key) + " is an empty list");
    }
    template <typename Value, size_t n>
    void choice(std::string_view key, Value& value, const Choices<Value, n>& choices) {
        if (!wanted(key)) return;
        const std::string& found = file_.text(key);
        std::string names;
        for (const auto& [name, meaning] : choices) {
            if (name == found) {
                value = meaning;
                return;
            }
            names += (names.empty() ? "" : ", ") + std::string(name);
        }
        fail(quoted(key) + " is " + printable(found) + "; " + names + " are supported", Code::unsupported);
    }

private:
    static std::string quoted(std::string_view key) { return "its metadata key '" + std::string(key) + "'"; }
    template <typename Value>
    [[nodiscard]] const Value& typed(std::string_view key, const char* not_so) const {
        const GgufValue* const found = file_.find(key);
        if (found == nullptr) fail(quoted(key) + " is missing");
        const auto* const value = std::get_if<Value>(found);
        if (value == nullptr) fail(quoted(key) + " is " + not_so);
        return *value;
    }
    [[nodiscard]] bool wanted(std::string_view key) {
        return !std::exchange(optional_, false) || file_.find(key) != nullptr;
    }

    const GgufFile& file_;
    bool optional_ = false;
};

class GgufSource final : public Source {
public:
    explicit GgufSource(GgufFile file) : file_(std::move(file)) {
        const FieldReader reader(file_);
        const std::string& architecture = file_.text(kArchitectureKey);
        if (architecture != kArchitecture)
            reader.fail("it holds a network of architecture " + printable(architecture), Code::unsupported);
    }

    [[nodiscard]] const std::string& file() const noexcept override { return file_.name(); }

    [[nodiscard]] Config config() const override {
        Config config;
        config.name = base::path_of(file_.name()).stem().string();
        config.encoder.xscaling = true;  // as the schema has it where the key is missing
        config.encoder.use_bias = file_.find_tensor("encoder.layers.0.feed_forward1.linear1.bias") != nullptr;
        FieldReader reader(file_);
        each_field(reader, config);
        refuse_streaming(reader);
        return config;
    }

    [[nodiscard]] std::vector<std::string> pieces(const Config&) const override { return file_.texts(kPiecesKey); }

    [[nodiscard]] std::string name_of(std::string_view name) const override {
        if (name.starts_with(kHybridCtc) && file_.find_tensor(name) == nullptr) {
            std::string other = std::string(kOnlyCtc) + std::string(name.substr(kHybridCtc.size()));
            if (file_.find_tensor(other) != nullptr) return other;
        }
        return std::string(name);
    }

    [[nodiscard]] std::optional<Found> find(std::string_view name) const override {
        const GgufTensor* const tensor = file_.find_tensor(name_of(name));
        if (tensor == nullptr) return std::nullopt;
        const bool known = tensor->dtype != DType::unknown;
        return Found{tensor->dtype, known ? backplane::name_of(tensor->dtype) : "type " + std::to_string(tensor->type),
                     tensor->shape, file_.data(tensor->name)};
    }

private:
    // Networks that see only so much of what comes next, and those that are told the language, are other networks than these.
    void refuse_streaming(FieldReader& reader) const {
        std::string style = "regular";
        reader.maybe().text("parakeet.encoder.att_context_style", style);
        bool causal = false, causal_convolution = false, prompt = false;
        reader.maybe().truth("parakeet.encoder.causal_downsampling", causal);
        reader.maybe().truth("parakeet.encoder.conv_causal", causal_convolution);
        reader.maybe().truth("parakeet.prompt.present", prompt);
        if (style != "regular" || causal || causal_convolution)
            reader.fail("it is a cache-aware streaming network; only networks that see the whole clip are supported",
                        Code::unsupported);
        if (prompt) reader.fail("it wants a language as prompt, which is not supported", Code::unsupported);
    }

    GgufFile file_;
};

}  // namespace

std::unique_ptr<Source> open_gguf(const std::filesystem::path& path) {
    return std::make_unique<GgufSource>(GgufFile::open(path));
}

}  // namespace backplane::parakeet
