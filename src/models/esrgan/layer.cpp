#include "models/esrgan/layer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "backplane/error.hpp"
#include "gguf/printable.hpp"

namespace backplane::esrgan {

namespace {

constexpr size_t kMostNameBytes = 255;
constexpr int64_t kMostBy = 64;

enum class Value { none, whole, real };  // after "by="

struct Form {
    std::string_view word;
    LayerKind kind;
    bool named;
    size_t least_inputs, most_inputs;
    Value value;
};

constexpr size_t kAny = SIZE_MAX;
constexpr std::array kForms{
    Form{"input", LayerKind::input, true, 0, 0, Value::none},
    Form{"conv", LayerKind::convolution, true, 1, 1, Value::none},
    Form{"relu", LayerKind::relu, true, 1, 1, Value::none},
    Form{"leaky", LayerKind::leaky, true, 1, 1, Value::real},
    Form{"concat", LayerKind::concatenate, true, 1, kAny, Value::none},
    Form{"add", LayerKind::add, true, 2, kAny, Value::none},
    Form{"multiply", LayerKind::multiply, true, 1, 1, Value::real},
    Form{"upsample", LayerKind::upsample, true, 1, 1, Value::whole},
    Form{"shuffle", LayerKind::shuffle, true, 1, 1, Value::whole},
    Form{"unshuffle", LayerKind::unshuffle, true, 1, 1, Value::whole},
    Form{"output", LayerKind::output, false, 1, 1, Value::none},
};

[[noreturn]] void fail(std::string_view line, const std::string& why) {
    throw Error(Code::corrupt, "the layer " + formats::printable(line) + " cannot be read: " + why);
}

std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> words;
    for (size_t from = 0; from <= line.size();) {
        const size_t to = std::min(line.find(' ', from), line.size());
        words.push_back(line.substr(from, to - from));
        from = to + 1;
    }
    return words;
}

const Form& find_form(std::string_view line, std::string_view word) {
    for (const Form& form : kForms)
        if (form.word == word) return form;
    fail(line, "there is no kind of layer called " + formats::printable(word));
}

template <typename Number>
Number parse_number(std::string_view line, std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail(line, "what follows 'by=' is no number in range");
    return value;
}

void parse_value(std::string_view line, std::string_view word, Value value, Layer& layer) {
    if (word.substr(0, 3) != "by=") fail(line, "it must end with 'by=' and a number");
    word.remove_prefix(3);
    if (value == Value::whole) {
        layer.by = parse_number<int64_t>(line, word);
        if (layer.by < 1 || layer.by > kMostBy) fail(line, "'by' must be from 1 to 64");
    } else {
        layer.factor = parse_number<float>(line, word);
        if (!std::isfinite(layer.factor)) fail(line, "'by' must be finite");
    }
}

}  // namespace

bool is_layer_name(std::string_view name) noexcept {
    const auto allowed = [](char c) { return c > ' ' && c <= '~' && c != '='; };
    return !name.empty() && name.size() <= kMostNameBytes && std::all_of(name.begin(), name.end(), allowed);
}

Layer parse_layer(std::string_view line) {
    std::vector<std::string_view> words = split(line);
    const Form& form = find_form(line, words.front());
    Layer layer;
    layer.kind = form.kind;
    if (form.value != Value::none) {
        parse_value(line, words.back(), form.value, layer);
        words.pop_back();
    }
    if (words.size() < 1U + (form.named ? 1U : 0U)) fail(line, "it names nothing");
    for (size_t i = 1; i < words.size(); ++i)
        if (!is_layer_name(words[i])) fail(line, formats::printable(words[i]) + " is no name");
    size_t next = 1;
    if (form.named) layer.name = words[next++];
    layer.inputs.assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
    if (layer.inputs.size() < form.least_inputs || layer.inputs.size() > form.most_inputs)
        fail(line, "it has " + std::to_string(layer.inputs.size()) + " inputs");
    return layer;
}

std::string to_text(const Layer& layer) {
    const auto* form = std::find_if(kForms.begin(), kForms.end(), [&](const Form& f) { return f.kind == layer.kind; });
    std::string text(form->word);
    if (form->named) text += " " + layer.name;
    for (const std::string& input : layer.inputs) text += " " + input;
    if (form->value == Value::none) return text;
    std::array<char, 64> digits{};
    const auto result = form->value == Value::whole ? std::to_chars(digits.begin(), digits.end(), layer.by)
                                                    : std::to_chars(digits.begin(), digits.end(), layer.factor);
    return text + " by=" + std::string(digits.data(), result.ptr);
}

}  // namespace backplane::esrgan
