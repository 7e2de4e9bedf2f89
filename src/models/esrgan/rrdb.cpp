#include "models/esrgan/rrdb.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "gguf/printable.hpp"
#include "graph/element_types.hpp"

namespace backplane::esrgan {

namespace {

// What a file calls the convolutions.
struct Names {
    std::string first, block, dense, of_dense, body, high,
        last;  // block: before its number; dense, of_dense: before and behind that of a part
    std::vector<std::string> up;
};

class Importer {
public:
    explicit Importer(const WeightFile& file) : file_(file) { names_ = find_names(); }

    ImportedNetwork convert() {
        const int64_t unshuffled = unshuffle_of(shape_of(names_.first));
        append({LayerKind::input, "image", {}, 1, 1});
        std::string x = append({LayerKind::multiply, kTo1, {"image"}, 1, 1.0F / 255.0F});
        if (unshuffled > 1) x = append({LayerKind::unshuffle, "cells", {x}, unshuffled, 1});
        const std::string first = x = convolution("conv_first", names_.first, x, unshuffled);
        const int64_t blocks = count_blocks();
        for (int64_t i = 0; i < blocks; ++i) x = block(i, x);
        x = convolution("conv_body", names_.body, x);
        x = append({LayerKind::add, "trunk", {first, x}, 1, 1});
        for (size_t i = 0; i < names_.up.size(); ++i) {
            const std::string number = std::to_string(i + 1);
            x = append({LayerKind::upsample, "larger" + number, {x}, 2, 1});
            x = leaky(convolution("conv_up" + number, names_.up[i], x));
        }
        x = leaky(convolution("conv_hr", names_.high, x));
        x = convolution("conv_last", names_.last, x);
        x = append({LayerKind::multiply, kTo255, {x}, 1, 255.0F});
        append({LayerKind::output, "", {x}, 1, 1});
        for (const WeightTensor& tensor : file_.tensors())
            if (tensor.name.starts_with(prefix_) && !used_.contains(tensor.name) && is_of_network(tensor.name))
                fail("its tensor " + formats::printable(tensor.name) + " has no place in an RRDBNet", Code::unsupported);
        network_.name = std::filesystem::path(file_.name()).stem().string();
        network_.file = file_.name();
        return std::move(network_);
    }

private:
    [[noreturn]] void fail(const std::string& why, Code code = Code::corrupt) const {
        throw Error(code, "cannot import '" + file_.name() + "' as an ESRGAN: " + why);
    }
    [[nodiscard]] bool has(const std::string& convolution) const {
        return file_.find(prefix_ + convolution + ".weight") != nullptr;
    }

    // An ONNX file has constants of other nodes beside the weights.
    [[nodiscard]] bool is_of_network(const std::string& name) const {
        return file_.format() != "ONNX" && (name.ends_with(".weight") || name.ends_with(".bias"));
    }

    Names find_names() {
        for (const auto& [known, old] : {std::pair{"conv_first", false}, std::pair{"model.0", true}})
            for (const WeightTensor& tensor : file_.tensors()) {
                const std::string wanted = std::string(known) + ".weight";
                if (!tensor.name.ends_with(wanted)) continue;
                prefix_ = tensor.name.substr(0, tensor.name.size() - wanted.size());
                if (!prefix_.empty() && prefix_.back() != '.') continue;
                if (old) return names_of_sequence();
                Names names;
                if (has("conv_body"))
                    names = {"conv_first", "body.", ".rdb", ".conv", "conv_body", "conv_hr", "conv_last", {}};
                else
                    names = {"conv_first", "RRDB_trunk.", ".RDB", ".conv", "trunk_conv", "HRconv", "conv_last", {}};
                const std::string up = has("conv_body") ? "conv_up" : "upconv";
                while (has(up + std::to_string(names.up.size() + 1)))
                    names.up.push_back(up + std::to_string(names.up.size() + 1));
                return names;
            }
        fail(
            "it has no tensor conv_first.weight or model.0.weight, as the RRDBNet of Real-ESRGAN and ESRGAN have; other "
            "networks are not read",
            Code::unsupported);
    }

    // model.0, model.1.sub.., then those of larger pictures, the last but one and the last.
    [[nodiscard]] Names names_of_sequence() const {
        Names names{"model.0", "model.1.sub.", ".RDB", ".conv", "", "", "", {}};
        std::set<int64_t> numbers, of_body;
        const auto add = [&](const std::string& name, const std::string& before, std::set<int64_t>& into) {
            if (!name.starts_with(before) || !name.ends_with(".weight")) return;
            const char* const begin = name.data() + before.size();
            const char* const end = name.data() + name.size() - std::string_view(".weight").size();
            int64_t number = 0;
            if (const auto [at, error] = std::from_chars(begin, end, number); error == std::errc() && at == end)
                into.insert(number);
        };
        for (const WeightTensor& tensor : file_.tensors()) {
            add(tensor.name, prefix_ + "model.", numbers);
            add(tensor.name, prefix_ + "model.1.sub.", of_body);
        }
        numbers.erase(0);
        if (numbers.size() < 2 || of_body.size() != 1)
            fail("it has model.0.weight, and not the other convolutions of an RRDBNet", Code::unsupported);
        const auto name = [](int64_t number) { return "model." + std::to_string(number); };
        names.body = "model.1.sub." + std::to_string(*of_body.begin());
        names.last = name(*numbers.rbegin());
        names.high = name(*std::next(numbers.rbegin()));
        for (const int64_t number : numbers)
            if (names.up.size() + 2 < numbers.size()) names.up.push_back(name(number));
        return names;
    }

    [[nodiscard]] std::string dense_name(int64_t block, int dense, int convolution) const {
        const std::string behind = names_.first == "model.0" ? ".0" : "";
        return names_.block + std::to_string(block) + names_.dense + std::to_string(dense) + names_.of_dense +
               std::to_string(convolution) + behind;
    }
    [[nodiscard]] int64_t count_blocks() const {
        int64_t blocks = 0;
        while (has(dense_name(blocks, 1, 1))) ++blocks;
        if (blocks == 0) fail("tensor " + formats::printable(prefix_ + dense_name(0, 1, 1) + ".weight") + " is missing");
        return blocks;
    }

    [[nodiscard]] const Shape& shape_of(const std::string& convolution) const {
        const WeightTensor* const weight = file_.find(prefix_ + convolution + ".weight");
        if (weight == nullptr) fail("tensor " + formats::printable(prefix_ + convolution + ".weight") + " is missing");
        return weight->shape;
    }
    [[nodiscard]] int64_t unshuffle_of(const Shape& shape) const {
        for (const int64_t by : {1, 2, 4})
            if (shape.size() == 4 && shape[1] == 3 * by * by) return by;
        fail("its first convolution has the shape " + to_string(shape) + "; it must see 3, 12 or 48 channels",
             Code::unsupported);
    }

    std::string append(const Layer& layer) {
        network_.lines.push_back(to_text(layer));
        return layer.name;
    }
    std::string leaky(const std::string& x) { return append({LayerKind::leaky, x + ".leaky", {x}, 1, 0.2F}); }

    // x + 0.2 * what three dense parts make of it.
    std::string block(int64_t number, const std::string& x) {
        const std::string name = "body." + std::to_string(number);
        std::string y = x;
        for (int dense = 1; dense <= 3; ++dense) {
            const std::string part = name + ".rdb" + std::to_string(dense);
            std::vector<std::string> seen{y};
            for (int i = 1; i <= 4; ++i) seen.push_back(leaky(dense_convolution(part, number, dense, i, seen)));
            y = residual(part, y, dense_convolution(part, number, dense, 5, seen));
        }
        return residual(name, x, y);
    }
    std::string dense_convolution(const std::string& part, int64_t block, int dense, int i,
                                  const std::vector<std::string>& seen) {
        const std::string name = part + ".conv" + std::to_string(i);
        const std::string from = seen.size() == 1 ? seen[0] : append({LayerKind::concatenate, name + ".seen", seen, 1, 1});
        return convolution(name, dense_name(block, dense, i), from);
    }
    std::string residual(const std::string& name, const std::string& x, const std::string& y) {
        const std::string scaled = append({LayerKind::multiply, name + ".scaled", {y}, 1, 0.2F});
        return append({LayerKind::add, name, {scaled, x}, 1, 1});
    }

    // unshuffled: channels of the weights are in PyTorch's order, colour by colour, and come as pixels by pixels.
    std::string convolution(const std::string& name, const std::string& from, const std::string& x, int64_t unshuffled = 1) {
        ImportedWeight weight = numbers(name + ".weight", from + ".weight");
        if (unshuffled > 1) {
            const Shape& s = weight.shape;
            const auto taps = static_cast<size_t>(s[2] * s[3]), cells = static_cast<size_t>(unshuffled * unshuffled);
            std::vector<float> moved(weight.values.size());
            for (size_t row = 0; row < moved.size() / taps; ++row) {
                const size_t out = row / (3 * cells), colour = row % (3 * cells) / cells, cell = row % cells;
                std::copy_n(weight.values.begin() + static_cast<std::ptrdiff_t>(row * taps), taps,
                            moved.begin() + static_cast<std::ptrdiff_t>(((out * cells + cell) * 3 + colour) * taps));
            }
            weight.values = std::move(moved);
        }
        network_.weights.push_back(std::move(weight));
        network_.weights.push_back(numbers(name + ".bias", from + ".bias"));
        return append({LayerKind::convolution, name, {x}, 1, 1});
    }

    ImportedWeight numbers(std::string name, const std::string& from) {
        const std::string tensor_name = prefix_ + from;
        const WeightTensor* const tensor = file_.find(tensor_name);
        if (tensor == nullptr) fail("tensor " + formats::printable(tensor_name) + " is missing");
        if (tensor->dtype != DType::f32 && tensor->dtype != DType::f16 && tensor->dtype != DType::bf16 &&
            tensor->dtype != DType::f64)
            fail(
                "tensor " + formats::printable(tensor_name) + " is of " + tensor->type + "; F32, F16, BF16 and F64 are read",
                Code::unsupported);
        used_.insert(tensor_name);
        const std::vector<double> values = graph::decode(file_.data(tensor_name), tensor->dtype);
        if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
            fail("tensor " + formats::printable(tensor_name) + " holds values that are no finite numbers");
        return {std::move(name), tensor->shape, std::vector<float>(values.begin(), values.end())};
    }

    const WeightFile& file_;
    std::string prefix_;
    Names names_;
    ImportedNetwork network_;
    std::set<std::string> used_;
};

}  // namespace

ImportedNetwork rrdb_of(const WeightFile& file) { return Importer(file).convert(); }

}  // namespace backplane::esrgan
