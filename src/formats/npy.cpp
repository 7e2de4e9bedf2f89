#include "formats/npy.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/replacing_file.hpp"
#include "gguf/byte_reader.hpp"
#include "gguf/printable.hpp"
#include "graph/element_types.hpp"

namespace backplane::formats {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr uint64_t kLongestNpyHeader = 1 << 16;
constexpr size_t kNpyAlignment = 64;

struct NpyType {
    std::string_view descr;
    DType dtype;
    bool is_unsigned = false;  // of a signed type that holds it
};
constexpr NpyType kNpyTypes[] = {{"<f4", DType::f32},     {"<f2", DType::f16},       {"<f8", DType::f64},
                                 {"|i1", DType::i8},      {"|u1", DType::u8},        {"<i2", DType::i16},
                                 {"<u2", DType::u16},     {"<i4", DType::i32},       {"<i8", DType::i64},
                                 {"|b1", DType::boolean}, {"<u4", DType::i32, true}, {"<u8", DType::i64, true}};

// The header: a dictionary as Python writes it, with three keys.
class NpyHeader {
public:
    NpyHeader(std::string_view text, const ByteReader& at) : text_(text), at_(at) {}

    NpyArray read() {
        NpyArray array;
        take('{');
        while (!is_next('}')) {
            const std::string_view key = quoted();
            take(':');
            if (key == "descr")
                type(array);
            else if (key == "fortran_order")
                array.columns_first = boolean();
            else if (key == "shape")
                array.shape = shape();
            else
                at_.fail("an array with the key " + printable(key));
            if (!is_next('}')) take(',');
        }
        if (array.dtype == DType::unknown || !has_shape_) at_.fail("a header without a type or a shape");
        array.columns_first = array.columns_first && array.shape.size() > 1;
        return array;
    }

private:
    void skip() {
        while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
    }
    bool is_next(char c) {
        skip();
        return !text_.empty() && text_[0] == c;
    }
    void take(char c) {
        if (!is_next(c)) at_.fail("the header has no '" + std::string(1, c) + "' where there must be one");
        text_.remove_prefix(1);
    }
    std::string_view quoted() {
        take('\'');
        const size_t end = text_.find('\'');
        if (end == std::string_view::npos) at_.fail("the header has a text without an end");
        const std::string_view found = text_.substr(0, end);
        text_.remove_prefix(end + 1);
        return found;
    }
    void type(NpyArray& array) {
        if (!is_next('\'')) at_.fail("an array of structures", Code::unsupported);
        const std::string_view descr = quoted();
        array.big_endian = descr.starts_with('>');
        const auto* found = std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes), [&](const NpyType& row) {
            return row.descr == descr || (array.big_endian && row.descr[0] == '<' && row.descr.substr(1) == descr.substr(1));
        });
        if (found == std::end(kNpyTypes))
            at_.fail("elements of the type " + printable(descr) + ", which graphs do not have", Code::unsupported);
        array.dtype = found->dtype;
        array.is_unsigned = found->is_unsigned;
    }
    bool boolean() {
        skip();
        for (const std::string_view word : {"True", "False"}) {
            if (text_.rfind(word, 0) != 0) continue;
            text_.remove_prefix(word.size());
            return word == "True";
        }
        at_.fail("the header has neither True nor False where there must be one");
    }
    Shape shape() {
        Shape shape;
        take('(');
        while (!is_next(')')) {
            int64_t extent = 0;
            size_t digits = 0;
            for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits) {
                if (digits == 18) at_.fail("an extent of more than 18 digits");
                extent = extent * 10 + (text_[digits] - '0');
            }
            if (digits == 0) at_.fail("the shape has something that is no number");
            text_.remove_prefix(digits);
            shape.push_back(extent);
            if (shape.size() > BP_MAX_RANK)
                at_.fail("more than " + std::to_string(BP_MAX_RANK) + " axes", Code::unsupported);
            if (!is_next(')')) take(',');
        }
        take(')');
        has_shape_ = true;
        return shape;
    }

    std::string_view text_;
    const ByteReader& at_;
    bool has_shape_ = false;
};

std::string_view descr_of(DType dtype, bool is_unsigned) {
    for (const NpyType& row : kNpyTypes)
        if (row.dtype == dtype && row.is_unsigned == is_unsigned) return row.descr;
    throw Error(Code::unsupported, std::string("cannot write an array of ") + name_of(dtype) + ": NumPy has no such type");
}

}  // namespace

NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& file) {
    ByteReader in(bytes, file);
    for (const char wanted : kNpyMagic)
        if (in.number<char>("the first bytes") != wanted) in.fail("it is no .npy file");
    const auto major = in.number<uint8_t>("the version");
    static_cast<void>(in.number<uint8_t>("the version"));
    if (major < 1 || major > 3) in.fail("version " + std::to_string(major) + " of the format", Code::unsupported);
    const uint64_t length =
        major == 1 ? in.number<uint16_t>("the header's length") : in.number<uint32_t>("the header's length");
    if (length > in.remaining() || length > kLongestNpyHeader) in.fail("a header of " + std::to_string(length) + " bytes");
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + in.position(), length);
    NpyArray array = NpyHeader(text, in).read();
    array.bytes = bytes.subspan(in.position() + length);
    const uint64_t wanted = backplane::bytes(array.dtype, array.shape);
    if (array.bytes.size() < wanted)
        in.fail(std::string(name_of(array.dtype)) + " " + to_string(array.shape) + " has " + std::to_string(wanted) +
                " bytes, and " + std::to_string(array.bytes.size()) + " are there");
    array.bytes = array.bytes.first(wanted);
    return array;
}

std::vector<std::byte> arranged(const NpyArray& array) {
    const size_t size = backplane::bytes(array.dtype, Shape{}), rank = array.shape.size();
    std::vector<size_t> strides(rank, size), index(rank, 0);
    for (size_t i = 1; i < rank; ++i) {
        const size_t d = array.columns_first ? i : rank - 1 - i, before = array.columns_first ? d - 1 : d + 1;
        strides[d] = strides[before] * static_cast<size_t>(array.shape[before]);
    }
    std::vector<std::byte> result(array.bytes.size());
    size_t from = 0;
    for (size_t at = 0; at < result.size(); at += size) {
        std::copy_n(array.bytes.data() + from, size, result.data() + at);
        if (array.big_endian) std::reverse(result.data() + at, result.data() + at + size);
        for (size_t d = rank; d-- > 0;) {
            from += strides[d];
            if (++index[d] < static_cast<size_t>(array.shape[d])) break;
            from -= strides[d] * index[d];
            index[d] = 0;
        }
    }
    return result;
}

NpyFile NpyFile::open(const std::filesystem::path& path) {
    NpyFile file;
    file.file_ = MappedFile(path);
    NpyArray& array = file.array_ = parse_npy(file.file_.bytes(), path.string());
    if (!array.columns_first && !array.big_endian) return file;
    file.copy_ = arranged(array);
    array.bytes = file.copy_;
    array.columns_first = array.big_endian = false;
    return file;
}

void write_npy(const std::filesystem::path& path, DType dtype, const Shape& shape, std::span<const std::byte> bytes,
               bool is_unsigned) {
    if (bytes.size() != backplane::bytes(dtype, shape))
        throw Error(Code::invalid, "cannot write '" + path.string() + "': " + name_of(dtype) + " " + to_string(shape) +
                                       " has " + std::to_string(backplane::bytes(dtype, shape)) + " bytes, " +
                                       std::to_string(bytes.size()) + " given");
    if (dtype == DType::bf16)
        return write_npy(path, DType::f32, shape, graph::encode(graph::decode(bytes, dtype), DType::f32));
    std::string header = "{'descr': '" + std::string(descr_of(dtype, is_unsigned)) + "', 'fortran_order': False, 'shape': (";
    for (const int64_t extent : shape) header += std::to_string(extent) + ", ";
    if (shape.size() > 1) header.resize(header.size() - 2);
    header += "), }";
    const size_t before = kNpyMagic.size() + 4;
    header.resize((before + header.size() + kNpyAlignment) / kNpyAlignment * kNpyAlignment - before - 1, ' ');
    header += '\n';
    std::string start(kNpyMagic);
    start += {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
    start += header;
    base::ReplacingFile file(path);
    file.write(std::as_bytes(std::span(start)));
    file.write(bytes);
    file.commit();
}

}  // namespace backplane::formats
