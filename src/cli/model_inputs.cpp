#include "cli/model_inputs.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <random>

#include "backplane/audio.hpp"
#include "backplane/image.hpp"
#include "base/file.hpp"
#include "cli/usage.hpp"
#include "formats/npy.hpp"
#include "graph/element_types.hpp"

namespace backplane::cli {

namespace {

bool ends_with(const std::string& text, std::initializer_list<const char*> endings) {
    return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
        if (text.size() < ending.size()) return false;
        return std::equal(ending.rbegin(), ending.rend(), text.rbegin(),
                          [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + ('a' - 'A') : b); });
    });
}

// "1x3x640x640"; false: it is none.
bool read_shape(const std::string& text, Shape& shape) {
    shape.clear();
    for (const char *at = text.data(), *end = at + text.size(); at != end;) {
        int64_t extent = 0;
        const auto [next, error] = std::from_chars(at, end, extent);
        if (error != std::errc() || extent < 0 || (next != end && (*next != 'x' || next + 1 == end))) return false;
        shape.push_back(extent);
        at = next == end ? end : next + 1;
    }
    return !shape.empty() && shape.size() <= BP_MAX_RANK;
}

// "16000", "1,2.5,-3"; false: they are none. Throws UsageError: one is beyond those that 64 bits hold.
bool read_numbers(const std::string& option, const std::string& text, std::vector<double>& numbers) {
    numbers.clear();
    for (const char *at = text.data(), *end = at + text.size(); at != end;) {
        double number = 0;
        const auto [next, error] = std::from_chars(at, end, number);
        if (error == std::errc::result_out_of_range && (next == end || *next == ','))
            throw UsageError(option + ": " + std::string(at, next) + " is out of the range of numbers, 1e-308 to 1e308");
        if (error != std::errc() || (next != end && (*next != ',' || next + 1 == end))) return false;
        numbers.push_back(number);
        at = next == end ? end : next + 1;
    }
    return !numbers.empty();
}

bool is_open(const ModelValue& value) {
    return !value.has_shape || std::find(value.shape.begin(), value.shape.end(), -1) != value.shape.end();
}

// Numbers as bytes of elements of the input.
std::vector<std::byte> bytes_of(const ModelValue& input, std::vector<double> numbers) {
    const double half = input.dtype == DType::i32 ? 0x1p31 : 0x1p63;  // from here on the bits are those of a number below 0
    for (double& number : numbers)
        if (input.is_unsigned) number = std::clamp(number, 0.0, 2 * half - 1) - (number < half ? 0 : 2 * half);
    return graph::encode(numbers, input.dtype);
}

// Throws UsageError: one is none of the input's type.
void check_held(const ModelValue& input, const std::vector<double>& numbers, const std::vector<std::byte>& bytes) {
    const std::vector<double> held = graph::decode(bytes, input.dtype);
    const double range = input.dtype == DType::i32 ? 0x1p32 : 0x1p64;
    for (size_t i = 0; i < numbers.size(); ++i) {
        const double value = held[i] + (input.is_unsigned && held[i] < 0 ? range : 0);
        if (is_float(input.dtype) ? std::isfinite(value) || !std::isfinite(numbers[i]) : value == numbers[i]) continue;
        std::string number = std::to_string(numbers[i]);
        if (number.find('.') != std::string::npos) number.resize(number.find_last_not_of('0') + 1);
        if (number.ends_with('.')) number.pop_back();
        throw UsageError("--input " + input.name + ": " + number + " is no number of " +
                         element_name(input.dtype, input.is_unsigned));
    }
}

// Numbers as words have the model's shape, whose only open axis they fill; where it leaves more open, that of a list.
ModelArray array_of(const ModelValue& input, const std::vector<double>& numbers) {
    const auto count = static_cast<int64_t>(numbers.size());
    Shape shape = is_open(input) ? Shape{count} : input.shape;
    if (input.has_shape && std::count(input.shape.begin(), input.shape.end(), -1) == 1) {
        shape = input.shape;
        int64_t& open = *std::find(shape.begin(), shape.end(), -1);
        open = 1;
        open = elements(shape) > 0 ? count / elements(shape) : 0;
    }
    if (elements(shape) != count)
        throw UsageError("--input " + input.name + ": " + std::to_string(count) + " numbers, the model wants " +
                         shape_text(input));
    const auto inexact = [](double number) { return std::fabs(number) >= 0x1p53; };
    if (input.dtype == DType::i64 && std::any_of(numbers.begin(), numbers.end(), inexact))
        throw UsageError("--input " + input.name + ": whole numbers from 2^53 on are given in a .npy file");
    std::vector<std::byte> bytes = bytes_of(input, numbers);
    check_held(input, numbers, bytes);
    return {input.name, input.dtype, std::move(shape), std::move(bytes)};
}

ModelArray filled(const ModelValue& input, const std::string& with, const Shape& shape) {
    if (elements(shape) > (int64_t{1} << 32))
        throw UsageError("--input " + input.name + ": that is more than 4 billion elements");
    std::vector<double> values(static_cast<size_t>(elements(shape)), 0.0);
    std::minstd_rand random(1);  // the same at every start
    for (double& value : values)
        if (with == "random") {
            value = static_cast<double>(random() % 65536) / 65536;
            if (!is_float(input.dtype)) value = std::floor(2 * value);  // 0 or 1, which any list of words or places has
        }
    return {input.name, input.dtype, shape, bytes_of(input, values)};
}

// Whether the channels of a picture lie before its rows.
bool channels_first(const ModelValue& input) {
    return !input.has_shape || input.shape.size() < 3 || input.shape.back() != 3 || input.shape[input.shape.size() - 3] == 3;
}

std::vector<double> of_colours(const std::string& text, const char* option, double otherwise) {
    std::vector<double> numbers(3, otherwise);
    if (!text.empty() && (!read_numbers(option, text, numbers) || numbers.size() != 3))
        throw UsageError(std::string(option) + " " + text +
                         ": it takes three numbers, of red, green and blue: 0.485,0.456,0.406");
    return numbers;
}

ModelArray picture(const ModelValue& input, const std::string& file, const ModelInputChoice& choice) {
    if (input.dtype == DType::boolean || input.dtype == DType::i8)
        throw Error(Code::invalid, "input '" + input.name + "' is of " + name_of(input.dtype) +
                                       ", which does not hold pixels from 0 to 255: give it a .npy file");
    const auto reader = ImageReader::open(base::path_of(file));
    const ImageInfo& info = reader->info();
    const size_t width = info.width, height = info.height, read = info.channels;
    std::vector<uint8_t> row(width * read);
    std::vector<double> values(3 * width * height);
    const bool first = channels_first(input), plain = !is_float(input.dtype);
    const std::vector<double> mean = of_colours(choice.mean, "--mean", 0),
                              deviation = of_colours(choice.deviation, "--std", 1);
    if (std::find(deviation.begin(), deviation.end(), 0.0) != deviation.end())
        throw UsageError("--std " + choice.deviation + ": pixels cannot be divided by 0");
    for (size_t y = 0; y < height; ++y) {
        reader->read(row);
        for (size_t x = 0; x < width; ++x)
            for (size_t c = 0; c < 3; ++c) {  // what it has of transparency is left out
                const double pixel = row[x * read + c];
                const size_t at = first ? (c * height + y) * width + x : (y * width + x) * 3 + c;
                values[at] = plain ? pixel : (pixel * choice.pixel_scale - mean[c]) / deviation[c];
            }
    }
    const auto rows = static_cast<int64_t>(height), columns = static_cast<int64_t>(width);
    Shape shape = first ? Shape{1, 3, rows, columns} : Shape{1, rows, columns, 3};
    if (input.has_shape && input.shape.size() == 3) shape.erase(shape.begin());
    return {input.name, input.dtype, std::move(shape), bytes_of(input, values)};
}

ModelArray sound(const ModelValue& input, const std::string& file, const ModelInputChoice& choice) {
    const bool whole = input.dtype == DType::i16;  // as WAV files have it
    if (!whole && !is_float(input.dtype))
        throw Error(Code::invalid, "input '" + input.name + "' is of " + element_name(input.dtype, input.is_unsigned) +
                                       ": sounds are of floats from -1 to 1, or of i16; give it a .npy file");
    const auto reader = AudioReader::open(base::path_of(file), choice.rate);
    std::vector<float> samples, piece(1 << 16);
    for (size_t got = reader->read(piece); got > 0; got = reader->read(piece))
        samples.insert(samples.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    std::vector<double> values(samples.begin(), samples.end());
    for (double& value : values)
        if (whole) value = std::nearbyint(value * 32768);
    Shape shape{static_cast<int64_t>(values.size())};
    while (input.has_shape && shape.size() < input.shape.size()) shape.insert(shape.begin(), 1);
    return {input.name, input.dtype, std::move(shape), bytes_of(input, values)};
}

ModelArray array_for(const ModelValue& input, const std::string& text, const ModelInputChoice& choice) {
    if (input.dtype == DType::unknown)
        throw Error(Code::unsupported, "input '" + input.name + "' is of a type that graphs do not have");
    if (ends_with(text, {".npy"})) {
        const formats::NpyFile file = formats::NpyFile::open(base::path_of(text));
        const formats::NpyArray& array = file.array();
        if (array.dtype == input.dtype && array.is_unsigned != input.is_unsigned)
            throw Error(Code::invalid, "input '" + input.name + "': it is of " +
                                           element_name(input.dtype, input.is_unsigned) + ", " +
                                           element_name(array.dtype, array.is_unsigned) + " is given");
        if (array.dtype == DType::f32 && input.dtype == DType::bf16)  // which NumPy has not
            return {input.name, input.dtype, array.shape,
                    graph::encode(graph::decode(array.bytes, array.dtype), input.dtype)};
        return {input.name, array.dtype, array.shape, {array.bytes.begin(), array.bytes.end()}};
    }
    if (ends_with(text, {".png", ".jpg", ".jpeg"})) return picture(input, text, choice);
    if (ends_with(text, {".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff"})) return sound(input, text, choice);
    std::vector<double> numbers;
    Shape shape;
    const size_t colon = text.find(':');
    const std::string word = text.substr(0, colon);
    if (colon != std::string::npos && (word == "zeros" || word == "random") && read_shape(text.substr(colon + 1), shape))
        return filled(input, word, shape);
    if (colon == std::string::npos && (word == "zeros" || word == "random") && !is_open(input))
        return filled(input, word, input.shape);
    if (read_numbers("--input " + input.name, text, numbers)) return array_of(input, numbers);
    if (read_shape(text, shape)) return {input.name, input.dtype, shape, {}, true};
    throw UsageError("--input " + input.name + "=" + text +
                     ": it takes a file (.npy, .png, .jpg, .wav, .flac, .ogg, .mp3), numbers (1,2,3), zeros:1x3x64x64 or "
                     "random:1x3x64x64");
}

}  // namespace

std::string shape_text(const ModelValue& value) {
    if (!value.has_shape) return "of any shape";
    if (value.shape.empty()) return "scalar";
    std::string text;
    for (size_t d = 0; d < value.shape.size(); ++d) {
        const bool named = d < value.symbols.size() && !value.symbols[d].empty();
        text += d == 0 ? "" : " x ";
        text += value.shape[d] != -1 ? std::to_string(value.shape[d]) : named ? value.symbols[d] : "?";
    }
    return text;
}

NamedText named_text(const std::string& option, const std::string& given, const std::vector<ModelValue>& values,
                     const char* what) {
    const size_t equals = given.find('=');
    const std::string name = given.substr(0, equals);
    const ModelValue* named = nullptr;  // by the longest name: one may have a '=' in it
    std::string names;
    for (const ModelValue& value : values) {
        if (given.starts_with(value.name + "=") && (named == nullptr || value.name.size() > named->name.size()))
            named = &value;
        names += (names.empty() ? "'" : ", '") + value.name + "'";
    }
    if (named != nullptr) return {named->name, given.substr(named->name.size() + 1)};
    if (values.size() == 1 && equals == std::string::npos) return {values.front().name, given};
    if (equals == std::string::npos)
        throw UsageError(option + " " + given + ": say which " + what + " it is, " + option + " NAME=" + given +
                         "; there are " + names);
    throw UsageError(option + " " + given + ": the model has no " + what + " '" + name + "'; there are " + names);
}

void add_model_input_options(const Command& command, ModelInputChoice& choice) {
    command
        .option(
            "--input", choice.inputs,
            "NAME=FILE, once for each input: .npy; a picture (RGB, of the layout that the model says); a sound (mono); or "
            "NAME=1,2,3, NAME=zeros:1x3x64x64, NAME=random:1x3x64x64. A model of one input needs no NAME=")
        .type("NAME=FILE")
        .once_each();
    command.option("--pixel-scale", choice.pixel_scale, "Pixels, 0 to 255, are multiplied by this").shows_default();
    command.option("--mean", choice.mean, "R,G,B to take off then").type("R,G,B");
    command.option("--std", choice.deviation, "R,G,B to divide by then").type("R,G,B");
    command.option("--rate", choice.rate, "Samples a second that sounds are brought to")
        .shows_default()
        .in_range(1, 1000000);
}

std::vector<ModelArray> arrays_for(const Model& model, const ModelInputChoice& choice) {
    std::vector<ModelArray> arrays;
    for (const std::string& given : choice.inputs) {
        const NamedText named = named_text("--input", given, model.inputs(), "input");
        const auto& all = model.inputs();
        const auto input =
            std::find_if(all.begin(), all.end(), [&](const ModelValue& one) { return one.name == named.name; });
        arrays.push_back(array_for(*input, named.text, choice));
    }
    return arrays;
}

std::vector<ModelInput> inputs_of(const std::vector<ModelArray>& arrays) {
    std::vector<ModelInput> inputs;
    for (const ModelArray& array : arrays) {
        if (array.shape_only)
            inputs.emplace_back(array.name, array.shape);
        else
            inputs.emplace_back(array.name, std::span(array.bytes), array.shape, array.dtype);
    }
    return inputs;
}

}  // namespace backplane::cli
