#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backplane/gguf.hpp"
#include "base/replacing_file.hpp"
#include "gguf/ggml_type.hpp"
#include "gguf/gguf_contents.hpp"

namespace backplane {

namespace {

using formats::GgufType;

// The part of the file before the data.
class Header {
public:
    template <typename Number>
    void number(Number value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void characters(std::string_view value) { bytes_ += value; }
    void text(std::string_view value) {
        number<uint64_t>(value.size());
        characters(value);
    }
    void type(GgufType type) { number(static_cast<uint32_t>(type)); }
    void pad() { bytes_.resize(formats::align_up(bytes_.size(), formats::kGgufAlignment)); }
    [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

private:
    std::string bytes_;
};

template <typename Number>
bool fits(int64_t value) {
    return value >= int64_t{std::numeric_limits<Number>::min()} && value <= int64_t{std::numeric_limits<Number>::max()};
}

// Picks the types that other readers of GGUF expect: u32 for a count, f32 for what it holds exactly, i32 arrays where they do.
class ValueWriter {
public:
    explicit ValueWriter(Header& out_) : out(out_) {}

    void operator()(bool value) const {
        out.type(GgufType::boolean);
        out.number<uint8_t>(value ? 1 : 0);
    }
    void operator()(int64_t value) const {
        const bool small = fits<uint32_t>(value);
        out.type(small ? GgufType::u32 : GgufType::i64);
        if (small) {
            out.number(static_cast<uint32_t>(value));
        } else {
            out.number(value);
        }
    }
    void operator()(uint64_t value) const {
        out.type(GgufType::u64);
        out.number(value);
    }
    void operator()(double value) const {
        const auto single = static_cast<float>(value);
        const bool small = std::isnan(value) || static_cast<double>(single) == value;
        out.type(small ? GgufType::f32 : GgufType::f64);
        if (small) {
            out.number(single);
        } else {
            out.number(value);
        }
    }
    void operator()(const std::string& value) const {
        out.type(GgufType::string);
        out.text(value);
    }
    void operator()(const std::vector<int64_t>& values) const {
        const bool small = std::all_of(values.begin(), values.end(), fits<int32_t>);
        array(small ? GgufType::i32 : GgufType::i64, values.size());
        for (const int64_t value : values) {
            if (small) {
                out.number(static_cast<int32_t>(value));
            } else {
                out.number(value);
            }
        }
    }
    void operator()(const std::vector<double>& values) const {
        array(GgufType::f64, values.size());
        for (const double value : values) out.number(value);
    }
    void operator()(const std::vector<std::string>& values) const {
        array(GgufType::string, values.size());
        for (const std::string& value : values) out.text(value);
    }

private:
    void array(GgufType element, size_t size) const {
        out.type(GgufType::array);
        out.type(element);
        out.number<uint64_t>(size);
    }

    Header& out;
};

void check_name(const std::string& what, const std::string& name) {
    if (name.empty() || name.size() > formats::kGgufMostKeyBytes)
        throw Error(Code::invalid, what + " of " + std::to_string(name.size()) + " bytes; 1 to 65535 are allowed");
}

constexpr std::array<std::byte, formats::kGgufAlignment> kZeros{};

}  // namespace

void GgufWriter::set(std::string key, GgufValue value) {
    check_name("cannot write GGUF: a key", key);
    if (key == formats::kGgufAlignmentKey)
        throw Error(Code::invalid, "cannot write GGUF: general.alignment is the writer's to set");
    for (auto& [name, old] : metadata_)
        if (name == key) {
            old = std::move(value);
            return;
        }
    metadata_.emplace_back(std::move(key), std::move(value));
}

void GgufWriter::add(std::string name, DType dtype, Shape shape, std::span<const std::byte> bytes) {
    take({std::move(name), dtype, std::move(shape), bytes, {}, bytes.size()});
}

void GgufWriter::add_made(std::string name, DType dtype, Shape shape, std::function<std::vector<std::byte>()> make) {
    const uint64_t size = backplane::bytes(dtype, shape);
    take({std::move(name), dtype, std::move(shape), {}, std::move(make), size});
}

void GgufWriter::take(Item item) {
    check_name("cannot write GGUF: a tensor's name", item.name);
    const std::string what = "cannot write GGUF tensor '" + item.name + "': ";
    if (names_.contains(item.name)) throw Error(Code::invalid, what + "the name is taken");
    if (formats::find_ggml_type(item.dtype) == nullptr)
        throw Error(Code::invalid, what + "GGUF has no element type " + name_of(item.dtype));
    if (item.shape.size() > BP_MAX_RANK)
        throw Error(Code::invalid, what + "rank " + std::to_string(item.shape.size()) + " is over 8");
    const uint64_t wanted = backplane::bytes(item.dtype, item.shape);
    if (item.size != wanted)
        throw Error(Code::invalid, what + name_of(item.dtype) + " " + to_string(item.shape) + " has " +
                                       std::to_string(wanted) + " bytes, " + std::to_string(item.size) + " given");
    names_.insert(item.name);
    tensors_.push_back(std::move(item));
}

void GgufWriter::write(const std::filesystem::path& path) const {
    base::ReplacingFile file(path);
    give([&](std::span<const std::byte> piece) { file.write(piece); });
    file.commit();
}

std::vector<std::byte> GgufWriter::bytes() const {
    std::vector<std::byte> all;
    give([&](std::span<const std::byte> piece) { all.insert(all.end(), piece.begin(), piece.end()); });
    return all;
}

void GgufWriter::give(const std::function<void(std::span<const std::byte>)>& piece) const {
    Header header;
    header.characters(formats::kGgufMagic);
    header.number(formats::kGgufVersion);
    header.number<uint64_t>(tensors_.size());
    header.number<uint64_t>(metadata_.size());
    for (const auto& [key, value] : metadata_) {
        header.text(key);
        std::visit(ValueWriter(header), value);
    }
    uint64_t offset = 0;
    for (const Item& item : tensors_) {
        header.text(item.name);
        header.number(static_cast<uint32_t>(item.shape.size()));
        for (size_t i = item.shape.size(); i-- > 0;) header.number(static_cast<uint64_t>(item.shape[i]));
        header.number(formats::find_ggml_type(item.dtype)->number);
        header.number(offset);
        offset += formats::align_up(item.size, formats::kGgufAlignment);
    }
    header.pad();
    piece(header.bytes());
    for (const Item& item : tensors_) {
        if (item.make) {
            const std::vector<std::byte> made = item.make();
            if (made.size() != item.size)
                throw Error(Code::internal, "tensor '" + item.name + "' was made of another size than it has");
            piece(made);
        } else {
            piece(item.bytes);
        }
        const uint64_t padding = formats::align_up(item.size, formats::kGgufAlignment) - item.size;
        piece(std::span(kZeros).first(padding));
    }
}

}  // namespace backplane
