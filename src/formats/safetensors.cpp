#include "formats/safetensors.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "formats/json_file.hpp"
#include "formats/json_view.hpp"
#include "gguf/byte_reader.hpp"
#include "gguf/mapped_file.hpp"

namespace backplane::formats {

namespace {

constexpr std::array<std::pair<std::string_view, DType>, 11> kSafetensorsTypes{{{"F64", DType::f64},
                                                                                {"F32", DType::f32},
                                                                                {"F16", DType::f16},
                                                                                {"BF16", DType::bf16},
                                                                                {"I64", DType::i64},
                                                                                {"I32", DType::i32},
                                                                                {"I16", DType::i16},
                                                                                {"U16", DType::u16},
                                                                                {"I8", DType::i8},
                                                                                {"U8", DType::u8},
                                                                                {"BOOL", DType::boolean}}};

DType safetensors_dtype(std::string_view type) {
    for (const auto& [name, dtype] : kSafetensorsTypes)
        if (name == type) return dtype;
    return DType::unknown;
}

struct Place {
    int64_t begin = 0, end = 0;  // in the data
    SafetensorsTensor tensor;
};

Place read_place(const std::string& name, const JsonView& json, int64_t room) {
    Place place;
    SafetensorsTensor& tensor = place.tensor;
    tensor.name = name;
    tensor.type = json.at("dtype").text();
    tensor.dtype = safetensors_dtype(tensor.type);
    tensor.shape = json.at("shape").counts(0, INT64_MAX);
    if (tensor.shape.size() > BP_MAX_RANK)
        json.fail("its rank is " + std::to_string(tensor.shape.size()) + "; at most " + std::to_string(BP_MAX_RANK) +
                      " is supported",
                  Code::unsupported);
    const JsonView offsets = json.at("data_offsets");
    if (offsets.size() != 2) offsets.fail("it is not [begin, end]");
    place.begin = offsets[0].count(0, INT64_MAX);
    place.end = offsets[1].count(0, INT64_MAX);
    if (place.begin > place.end || place.end > room)
        offsets.fail("it reaches from " + std::to_string(place.begin) + " to " + std::to_string(place.end) +
                     ", the file has " + std::to_string(room) + " bytes of data: it may be cut off");
    if (tensor.dtype == DType::unknown) return place;
    uint64_t wanted = 0;
    try {
        wanted = bytes(tensor.dtype, tensor.shape);
    } catch (const Error& e) {
        json.fail(e.what());
    }
    if (wanted != static_cast<uint64_t>(place.end - place.begin))
        json.fail(tensor.type + " " + to_string(tensor.shape) + " has " + std::to_string(wanted) + " bytes, its place " +
                  std::to_string(place.end - place.begin));
    return place;
}

void read_metadata(const base::Json& json, SafetensorsMetadata& metadata) {
    if (!json.is_object()) return;
    for (size_t i = 0; i < json.size(); ++i)
        if (json.begin()[i].is_string()) metadata[json.names()[i]] = json.begin()[i].text();
}

}  // namespace

std::vector<SafetensorsTensor> parse_safetensors(std::span<const std::byte> bytes, const std::string& file,
                                                 SafetensorsMetadata* metadata) {
    ByteReader in(bytes, file);
    const uint64_t length = in.count("the length of the header", 1);
    const auto* const text = reinterpret_cast<const char*>(bytes.data()) + in.position();
    const std::span<const std::byte> data = bytes.subspan(in.position() + length);
    const base::Json header = parse_json({text, length}, file);
    const JsonView root(header, "'" + file + "'");
    if (!header.is_object()) root.fail("its header is no JSON object: it is no safetensors file");

    std::vector<Place> places;
    for (size_t i = 0; i < header.size(); ++i) {
        const std::string& name = header.names()[i];
        if (name == "__metadata__") {
            if (metadata != nullptr) read_metadata(header.begin()[i], *metadata);
            continue;
        }
        const JsonView json(header.begin()[i], "'" + file + "', tensor " + printable(name));
        places.push_back(read_place(name, json, static_cast<int64_t>(data.size())));
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
    int64_t end = 0;
    std::vector<SafetensorsTensor> tensors;
    for (Place& place : places) {
        // The format has neither gaps nor overlaps.
        if (place.begin != end)
            root.fail("tensor " + printable(place.tensor.name) + " begins at byte " + std::to_string(place.begin) +
                      " of the data, the one before it ends at " + std::to_string(end));
        end = place.end;
        place.tensor.bytes = data.subspan(static_cast<size_t>(place.begin), static_cast<size_t>(place.end - place.begin));
        tensors.push_back(std::move(place.tensor));
    }
    if (static_cast<uint64_t>(end) != data.size())
        root.fail("its tensors have " + std::to_string(end) + " bytes, its data " + std::to_string(data.size()));
    return tensors;
}

struct SafetensorsFile::State {
    std::string name;
    std::vector<MappedFile> files;
    std::map<std::string, SafetensorsTensor, std::less<>> tensors;
    SafetensorsMetadata metadata;

    void add(const std::filesystem::path& path) {
        files.emplace_back(path);
        for (SafetensorsTensor& tensor : parse_safetensors(files.back().bytes(), path.string(), &metadata)) {
            const auto [at, fresh] = tensors.try_emplace(tensor.name);
            if (!fresh)
                throw Error(Code::corrupt, "cannot read '" + path.string() + "': tensor " + printable(tensor.name) +
                                               " comes in another file of the index, too");
            at->second = std::move(tensor);
        }
    }

    void add_index(const std::filesystem::path& path) {
        const base::Json index = read_json(path);
        const JsonView map = JsonView(index, "'" + path.string() + "'").at("weight_map");
        const base::Json& files_of = *index.find("weight_map");
        if (!files_of.is_object()) map.fail("it is no JSON object");
        std::set<std::string> names;
        for (size_t i = 0; i < files_of.size(); ++i) names.insert(map.at(files_of.names()[i].c_str()).text());
        if (names.empty()) map.fail("it names no file");
        for (const std::string& shard : names) add(beside(path, shard));
        for (const std::string& tensor : files_of.names())
            if (!tensors.contains(tensor)) map.fail("tensor " + printable(tensor) + " is in none of the files");
    }
};

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
    auto state = std::make_shared<State>();
    state->name = path.string();
    if (path.extension() == ".json") {
        state->add_index(path);
    } else {
        state->add(path);
    }
    SafetensorsFile file;
    file.state_ = std::move(state);
    return file;
}

const SafetensorsTensor* SafetensorsFile::find(std::string_view name) const noexcept {
    const auto found = state_->tensors.find(name);
    return found == state_->tensors.end() ? nullptr : &found->second;
}

const std::map<std::string, SafetensorsTensor, std::less<>>& SafetensorsFile::tensors() const noexcept {
    return state_->tensors;
}

const SafetensorsMetadata& SafetensorsFile::metadata() const noexcept { return state_->metadata; }

const std::string& SafetensorsFile::name() const noexcept { return state_->name; }

}  // namespace backplane::formats
