#include "onnx/node_cases.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "graph/element_types.hpp"

namespace backplane::test {
namespace {

namespace fs = std::filesystem;
using formats::OnnxModel;
using formats::OnnxTensor;

std::vector<std::byte> bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

// The tensors of a test, "input_0.pb" and so on. Those that are sequences or optional values have been refused by then.
std::map<std::string, OnnxTensor> tensors(const fs::path& folder, const std::string& what,
                                          const std::vector<formats::OnnxValue>& values) {
    std::map<std::string, OnnxTensor> all;
    for (size_t i = 0; i < values.size(); ++i) {
        if (!values[i].is_tensor)
            throw Error(Code::unsupported, "graphs have tensors alone, no sequences and no optional values");
        if (values[i].dtype == DType::unknown)
            throw Error(Code::unsupported,
                        "graphs do not have ONNX's type " + std::string(formats::name_of_onnx(values[i].type)));
        const fs::path file = folder / "test_data_set_0" / (what + "_" + std::to_string(i) + ".pb");
        OnnxTensor& tensor = all[values[i].name] = formats::parse_onnx_tensor(bytes_of(file), file.string());
        if (values[i].dtype == DType::bf16 && tensor.dtype == DType::u16)
            tensor.dtype = DType::bf16;  // how ONNX writes them in tests
    }
    return all;
}

// A message without what is of one test alone: the name of its operator where it has one, names of nodes, shapes.
std::string reason_of(const std::string& op, std::string text) {
    for (const std::string_view pair : {"''", "[]"}) {
        const size_t from = text.find(std::string(" ") + pair[0]);
        const size_t to = from == std::string::npos ? from : text.find(pair[1], from + 2);
        if (to != std::string::npos) text.erase(from, to + 1 - from);
    }
    return text.rfind(op + ": ", 0) == 0 ? text.substr(op.size() + 2) : text;
}

NodeCase read(const fs::path& folder) {
    NodeCase read;
    read.folder = folder.parent_path().filename().string();
    read.name = folder.filename().string().substr(std::string("test_").size());
    const std::vector<std::byte> file = bytes_of(folder / "model.onnx");  // which the model points into
    const OnnxModel model = formats::parse_onnx(file, folder.string());
    if (read.name == "gridsample_bicubic" || read.name.starts_with("roialign_")) read.written_to = 0.5e-4;
    for (const char* window : {"blackmanwindow", "hammingwindow", "hannwindow"})
        if (read.name.rfind(window, 0) == 0) read.written_to = 2e-4;  // theirs has 3.1415 for pi
    read.op = model.nodes.size() == 1 ? model.nodes.front().op : "several operators";
    try {
        std::vector<formats::OnnxValue> inputs;  // those that are initializers, too, are not given
        for (const formats::OnnxValue& input : model.inputs)
            if (std::none_of(model.initializers.begin(), model.initializers.end(),
                             [&](const OnnxTensor& tensor) { return tensor.name == input.name; }))
                inputs.push_back(input);
        read.inputs = tensors(folder, "input", inputs);
        read.outputs = tensors(folder, "output", model.outputs);
        formats::OnnxGiven given;
        given.content = [&](const std::string& name) {
            const auto found = read.inputs.find(name);
            return found == read.inputs.end() ? nullptr : &found->second;
        };
        read.graph = formats::graph_of(model, given);
    } catch (const Error& e) {
        read.left_out = reason_of(read.op, e.what());
    }
    return read;
}

bool near(double want, double got, Tolerance tolerance) {
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
    if (std::isinf(want) || std::isinf(got)) return want == got;
    return std::abs(got - want) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

}  // namespace

std::string node_cases_folder() {
    const fs::path folder = "/usr/share/libonnx-testdata/data";
    return fs::is_directory(folder) ? folder.string() : "";
}

const std::vector<NodeCase>& node_cases() {
    static const std::vector<NodeCase> all = [] {
        std::vector<NodeCase> cases;
        const std::string root = node_cases_folder();
        // "real" has addresses of its networks, and not them.
        for (const char* group : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
            std::vector<fs::path> folders;
            if (!root.empty())
                for (const auto& entry : fs::directory_iterator(fs::path(root) / group)) folders.push_back(entry.path());
            std::sort(folders.begin(), folders.end());
            for (const fs::path& folder : folders) cases.push_back(read(folder));
        }
        return cases;
    }();
    return all;
}

Tolerance tolerance_of(DType dtype) {
    switch (dtype) {
        case DType::f64: return {1e-7, 1e-6};
        case DType::f32: return {1e-5, 1e-4};
        case DType::f16: return {1e-3, 2e-3};
        case DType::bf16: return {1e-2, 1e-2};
        default: return {};
    }
}

std::string difference(const NodeCase& of, const TensorInfo& got, const std::vector<std::byte>& data, double further) {
    const OnnxTensor& want = of.outputs.at(got.name);
    if (want.dtype != got.dtype || want.shape != got.shape)
        return std::string(name_of(got.dtype)) + " " + to_string(got.shape) + " in place of " + name_of(want.dtype) + " " +
               to_string(want.shape);
    const std::vector<double> wanted = graph::decode(want.data, want.dtype), made = graph::decode(data, got.dtype);
    Tolerance tolerance = tolerance_of(want.dtype);
    tolerance.absolute += of.written_to + further;
    for (size_t i = 0; i < wanted.size(); ++i)
        if (!near(wanted[i], made[i], tolerance))
            return "element " + std::to_string(i) + " is " + std::to_string(made[i]) + " in place of " +
                   std::to_string(wanted[i]);
    return {};
}

}  // namespace backplane::test
