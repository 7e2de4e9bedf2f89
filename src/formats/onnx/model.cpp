#include "formats/onnx/model.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "formats/onnx/protobuf_reader.hpp"
#include "gguf/printable.hpp"
#include "graph/element_types.hpp"

namespace backplane::formats {
namespace {

// A graph in an attribute of a node of a graph: files of strangers must not use up the stack.
constexpr int kDeepestGraph = 32;

// How deep a graph is in others, and where other files come from.
struct Within {
    const OnnxFiles& files;
    int depth = 0;
};

void read_graph(ProtobufReader in, OnnxModel& model, Within within);

// The lists of TensorProto, of which one is used.
struct TensorLists {
    std::vector<float> floats;
    std::vector<double> doubles;
    std::vector<int64_t> integers;
    std::span<const std::byte> raw;
};

// 16-bit floats come as the integers that their bits are.
std::vector<std::byte> packed(const std::vector<int64_t>& numbers, DType dtype) {
    const uint64_t size = bytes(dtype, {1});
    std::vector<std::byte> data(numbers.size() * size);
    for (size_t i = 0; i < numbers.size(); ++i) std::memcpy(data.data() + i * size, &numbers[i], size);
    return data;
}

std::vector<std::byte> data_of(const TensorLists& lists, DType dtype) {
    const auto copy = [](const auto& list) {
        const std::span<const std::byte> from = std::as_bytes(std::span(list));
        return std::vector<std::byte>(from.begin(), from.end());
    };
    if (dtype == DType::f32) return copy(lists.floats);
    if (dtype == DType::f64) return copy(lists.doubles);
    return packed(lists.integers, dtype);
}

// Where a tensor lies in another file (external_data.md of ONNX).
struct Elsewhere {
    bool so = false;
    std::string location;
    std::string offset = "0", length;  // decimal numbers

    void read(ProtobufReader entry) {
        std::string key, value;
        while (entry.next()) {
            if (entry.field() == 1) key = entry.text();
            if (entry.field() == 2) value = entry.text();
        }
        if (key == "location") location = value;
        if (key == "offset") offset = value;
        if (key == "length") length = value;
    }
};

uint64_t number_in(const ProtobufReader& in, const std::string& text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) in.fail(printable(text) + " where a number is wanted");
    return number;
}

std::span<const std::byte> bytes_elsewhere(const ProtobufReader& in, const OnnxTensor& tensor, const Elsewhere& elsewhere,
                                           const OnnxFiles& files) {
    const std::string what = "the tensor " + printable(tensor.name);
    if (!files) throw Error(Code::unsupported, what + " lies in another file");
    const std::span<const std::byte> file = files(elsewhere.location);
    const uint64_t offset = number_in(in, elsewhere.offset), wanted = bytes(tensor.dtype, tensor.shape);
    const uint64_t length = elsewhere.length.empty() ? wanted : number_in(in, elsewhere.length);
    if (length != wanted)
        in.fail(what + " of " + std::to_string(wanted) + " bytes has " + std::to_string(length) + " in another file");
    if (offset > file.size() || length > file.size() - offset)
        in.fail(what + " is at bytes " + std::to_string(offset) + " to " + std::to_string(offset) + " + " +
                std::to_string(length) + " of " + printable(elsewhere.location) + ", which has " +
                std::to_string(file.size()));
    return file.subspan(offset, length);
}

OnnxTensor tensor_of(ProtobufReader in, const OnnxFiles& files) {
    OnnxTensor tensor;
    TensorLists lists;
    int64_t type = 0;
    Elsewhere elsewhere;
    while (in.next()) {
        switch (in.field()) {
            case 1: in.append_integers(tensor.shape); break;
            case 2: type = in.integer(); break;
            case 4: in.append_fixed(lists.floats); break;
            case 5:
            case 7:
            case 11: in.append_integers(lists.integers); break;
            case 8: tensor.name = in.text(); break;
            case 9: lists.raw = in.bytes(); break;
            case 10: in.append_fixed(lists.doubles); break;
            case 13: elsewhere.read(in.message()); break;
            case 14: elsewhere.so = in.integer() != 0; break;
            default: break;
        }
    }
    const OnnxHeld held = held_as_onnx(type);
    tensor.dtype = held.dtype;
    tensor.is_unsigned = held.is_unsigned;
    if (tensor.dtype == DType::unknown)
        throw Error(Code::unsupported, "a tensor of ONNX's element type " + std::to_string(type) + " (" +
                                           std::string(name_of_onnx(type)) + "), which graphs do not have");
    if (tensor.shape.size() > BP_MAX_RANK ||
        std::any_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t d) { return d < 0; }))
        in.fail("a tensor of shape " + to_string(tensor.shape));
    if (elsewhere.so)
        tensor.in_place = bytes_elsewhere(in, tensor, elsewhere, files);
    else if (!lists.raw.empty())
        tensor.in_place = lists.raw;
    else
        tensor.data = data_of(lists, tensor.dtype);
    if (tensor.bytes().size() != bytes(tensor.dtype, tensor.shape))
        in.fail("the tensor " + printable(tensor.name) + " of " + name_of(tensor.dtype) + " " + to_string(tensor.shape) +
                " has " + std::to_string(tensor.bytes().size()) + " bytes");
    return tensor;
}

OnnxAttribute::Kind kind_of(int64_t type) {
    using Kind = OnnxAttribute::Kind;
    for (const Kind kind :
         {Kind::number, Kind::integer, Kind::text, Kind::tensor, Kind::graph, Kind::numbers, Kind::integers, Kind::texts})
        if (static_cast<int64_t>(kind) == type) return kind;
    return Kind::other;
}

std::pair<std::string, OnnxAttribute> attribute_of(ProtobufReader in, Within within) {
    std::string name;
    OnnxAttribute attribute;
    std::vector<float> numbers;
    std::span<const std::byte> tensor, graph;
    while (in.next()) {
        switch (in.field()) {
            case 1: name = in.text(); break;
            case 2:
            case 7: in.append_fixed(numbers); break;
            case 3:
            case 8: in.append_integers(attribute.integers); break;
            case 4:
            case 9: attribute.texts.push_back(in.text()); break;
            case 5: tensor = in.bytes(); break;
            case 6: graph = in.bytes(); break;
            case 20: attribute.kind = kind_of(in.integer()); break;
            default: break;
        }
    }
    attribute.numbers.assign(numbers.begin(), numbers.end());
    const auto lacks = [&](OnnxAttribute::Kind kind, const auto& list) { return attribute.kind == kind && list.empty(); };
    using Kind = OnnxAttribute::Kind;
    if (lacks(Kind::number, numbers) || lacks(Kind::integer, attribute.integers) || lacks(Kind::text, attribute.texts))
        in.fail("the attribute " + printable(name) + " has no value");
    std::string place = in.file() + "', attribute " + printable(name);  // of what is read in it
    place.pop_back();
    try {
        if (attribute.kind == Kind::tensor)
            attribute.tensor = std::make_shared<const OnnxTensor>(tensor_of({tensor, place}, within.files));
        if (attribute.kind == Kind::graph) {
            if (within.depth == kDeepestGraph)
                in.fail("graphs in graphs, more than " + std::to_string(kDeepestGraph) + " deep");
            OnnxModel body;
            read_graph({graph, place}, body, {within.files, within.depth + 1});
            attribute.graph = std::make_shared<const OnnxModel>(std::move(body));
        }
    } catch (const Error& e) {
        if (e.code() != Code::unsupported) throw;
        attribute.kind = Kind::other;  // refused where it is asked for: nodes that need no such tensor go on
    }
    return {std::move(name), std::move(attribute)};
}

OnnxNode node_of(ProtobufReader in, Within within) {
    OnnxNode node;
    while (in.next()) {
        switch (in.field()) {
            case 1: node.inputs.push_back(in.text()); break;
            case 2: node.outputs.push_back(in.text()); break;
            case 3: node.name = in.text(); break;
            case 4: node.op = in.text(); break;
            case 5: node.attributes.insert(attribute_of(in.message(), within)); break;
            case 7: node.domain = in.text(); break;
            default: break;
        }
    }
    return node;
}

void read_shape(ProtobufReader in, OnnxValue& value) {
    value.has_shape = true;
    while (in.next()) {
        if (in.field() != 1) continue;
        int64_t extent = -1;
        std::string symbol;
        for (ProtobufReader dim = in.message(); dim.next();) {
            if (dim.field() == 1) extent = std::max<int64_t>(dim.integer(), -1);
            if (dim.field() == 2) symbol = dim.text();
        }
        value.shape.push_back(extent);
        value.symbols.push_back(std::move(symbol));
    }
    if (value.shape.size() > BP_MAX_RANK)
        in.fail(printable(value.name) + " of " + std::to_string(value.shape.size()) + " axes");
}

OnnxValue value_of(ProtobufReader in) {
    OnnxValue value;
    value.has_shape = false;
    while (in.next()) {
        if (in.field() == 1) value.name = in.text();
        if (in.field() != 2) continue;
        for (ProtobufReader type = in.message(); type.next();) {
            if (type.field() != 1) continue;
            value.is_tensor = true;
            for (ProtobufReader tensor = type.message(); tensor.next();) {
                if (tensor.field() == 1) value.type = tensor.integer();
                if (tensor.field() == 2) read_shape(tensor.message(), value);
            }
        }
    }
    const OnnxHeld held = held_as_onnx(value.type);
    value.dtype = held.dtype;
    value.is_unsigned = held.is_unsigned;
    return value;
}

void read_graph(ProtobufReader in, OnnxModel& model, Within within) {
    while (in.next()) {
        switch (in.field()) {
            case 2: model.name = in.text(); break;
            case 1: model.nodes.push_back(node_of(in.message(), within)); break;
            case 5: model.initializers.push_back(tensor_of(in.message(), within.files)); break;
            case 15: throw Error(Code::unsupported, "the model has sparse initializers: write it anew with dense ones");
            case 11: model.inputs.push_back(value_of(in.message())); break;
            case 12: model.outputs.push_back(value_of(in.message())); break;
            default: break;
        }
    }
    std::set<std::string_view> written;
    for (const OnnxNode& node : model.nodes)
        for (const std::string& name : node.outputs)
            if (!name.empty() && !written.insert(name).second)
                throw Error(Code::corrupt, "cannot read '" + in.file() + "': two nodes of a graph write " + printable(name));
}

void read_opset(ProtobufReader in, OnnxModel& model) {
    std::string domain;
    int64_t version = 0;
    while (in.next()) {
        if (in.field() == 1) domain = in.text();
        if (in.field() == 2) version = in.integer();
    }
    if (domain.empty() || domain == "ai.onnx") model.opset = version;
}

}  // namespace

DType dtype_of_onnx(int64_t type) noexcept {
    switch (type) {
        case 1: return DType::f32;
        case 2: return DType::u8;
        case 3: return DType::i8;
        case 4: return DType::u16;
        case 5: return DType::i16;
        case 6: return DType::i32;
        case 7: return DType::i64;
        case 9: return DType::boolean;
        case 10: return DType::f16;
        case 11: return DType::f64;
        case 16: return DType::bf16;
        default: return DType::unknown;
    }
}

OnnxHeld held_as_onnx(int64_t type) noexcept {
    switch (type) {
        case 12: return {DType::i32, true};
        case 13: return {DType::i64, true};
        default: return {dtype_of_onnx(type), false};
    }
}

std::string_view name_of_onnx(int64_t type) noexcept {
    static constexpr std::string_view kNames[] = {
        "no type",  "float",        "uint8",          "int8",       "uint16",         "int16",  "int32",     "int64",
        "string",   "bool",         "float16",        "double",     "uint32",         "uint64", "complex64", "complex128",
        "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",  "int4",      "float4e2m1"};
    return type > 0 && type < static_cast<int64_t>(std::size(kNames)) ? kNames[type] : kNames[0];
}

namespace {

void read_metadata(ProtobufReader in, OnnxModel& model) {
    std::string key, value;
    while (in.next()) {
        if (in.field() == 1) key = in.text();
        if (in.field() == 2) value = in.text();
    }
    model.metadata[std::move(key)] = std::move(value);
}

}  // namespace

OnnxModel parse_onnx(std::span<const std::byte> bytes, const std::string& file, const OnnxFiles& files) {
    OnnxModel model;
    for (ProtobufReader in(bytes, file); in.next();) {
        switch (in.field()) {
            case 1: model.ir_version = in.integer(); break;
            case 2: model.producer = in.text(); break;
            case 3: model.producer_version = in.text(); break;
            case 6: model.description = in.text(); break;
            case 7: read_graph(in.message(), model, {files}); break;
            case 8: read_opset(in.message(), model); break;
            case 14: read_metadata(in.message(), model); break;
            default: break;
        }
    }
    return model;
}

OnnxTensor parse_onnx_tensor(std::span<const std::byte> bytes, const std::string& file) {
    OnnxTensor tensor = tensor_of({bytes, file}, {});
    tensor.data.assign(tensor.bytes().begin(), tensor.bytes().end());
    tensor.in_place = {};
    return tensor;
}

}  // namespace backplane::formats
