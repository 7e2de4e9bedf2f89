#include "base_library.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include "backplane/sdk.hpp"

namespace backplane::ggml {

namespace {

[[noreturn]] void foreign(const fs::path& file, const std::string& fact) {
    throw sdk::Failure(BP_VERSION, "cannot use " + file.string() + ": ggml ABI not known to this build: " + fact);
}

// A struct full of distinct values, for functions that do no more than read one field of it.
struct Dummy {
    static constexpr int kPlaces = 64;
    Dummy() {
        for (size_t i = 0; i < place.size(); ++i) place[i] = 0x1000 + i;
    }
    [[nodiscard]] static int place_of(const void* value) {
        const auto v = reinterpret_cast<uintptr_t>(value);
        return v >= 0x1000 && v < 0x1000 + kPlaces ? static_cast<int>(v - 0x1000) : -1;
    }
    std::array<uintptr_t, kPlaces> place{};
};

}  // namespace

BaseLibrary::BaseLibrary(const fs::path& file, const Ears& ears) {
    std::error_code error;
    const fs::path wanted = fs::canonical(file, error);
    if (error) throw sdk::Failure(BP_NOT_FOUND, "there is no libggml-base " + file.string() + ": " + error.message());
    if (const std::string why = why_unloadable(wanted); !why.empty())
        throw sdk::Failure(BP_CORRUPT, "cannot use " + wanted.string() + ": " + why);
    // The loader hands every module the library of this name that came first, whatever folder it came from.
    const std::vector<fs::path> others = mapped_bases();
    for (const fs::path& other : others)
        if (!fs::equivalent(other, wanted, error))
            throw sdk::Failure(BP_VERSION, "cannot use " + wanted.string() + ": this process has " + other.string() +
                                               " loaded already, and modules would be bound to that; point the option "
                                               "ggml.path at its folder");
    library_ = Library(wanted);
    file_ = wanted;
    find_functions();
    version_text_ = std::string("ggml ") + (version != nullptr ? version() : "of an unknown version");
    check_enums();
    check_tensor_layout();
    measure_tables();
    // ggml speaks through one function for the whole process. Where nobody had it loaded, what it says is kept from the host's terminal.
    if (others.empty()) {
        log_set(ears.log, nullptr);
        if (ears.last_words != nullptr && set_abort_callback != nullptr) set_abort_callback(ears.last_words);
    }
    library_.keep();  // ggml keeps threads and tables behind the back of dlclose()
}

void BaseLibrary::find_functions() {
#define BP_GGML_FIND(result, name, parameters) name = reinterpret_cast<result(*) parameters>(library_.symbol("ggml_" #name));
#define BP_GGML_NEED(result, name, parameters) \
    BP_GGML_FIND(result, name, parameters)     \
    if (name == nullptr) foreign(file_, "it has no ggml_" #name);
    BP_GGML_FUNCTIONS(BP_GGML_NEED)
    BP_GGML_OPTIONAL_FUNCTIONS(BP_GGML_FIND)
#undef BP_GGML_NEED
#undef BP_GGML_FIND
}

void BaseLibrary::check_enums() const {
    constexpr std::pair<Type, std::string_view> kNames[] = {{kF32, "f32"}, {kF16, "f16"}, {kI8, "i8"},   {kI16, "i16"},
                                                            {kI32, "i32"}, {kI64, "i64"}, {kF64, "f64"}, {kBF16, "bf16"}};
    for (const auto& [type, name] : kNames)
        if (type_name(type) == nullptr || name != type_name(type))
            foreign(file_, "its type " + std::to_string(type) + " is not " + std::string(name));
    struct Blocks {
        Type type;
        std::string_view name;
        int64_t elements;
        size_t bytes;
    };
    constexpr Blocks kBlocks[] = {{kQ4_0, "q4_0", 32, 18},   {kQ4_1, "q4_1", 32, 20},     {kQ5_0, "q5_0", 32, 22},
                                  {kQ5_1, "q5_1", 32, 24},   {kQ8_0, "q8_0", 32, 34},     {kQ2_K, "q2_K", 256, 84},
                                  {kQ3_K, "q3_K", 256, 110}, {kQ4_K, "q4_K", 256, 144},   {kQ5_K, "q5_K", 256, 176},
                                  {kQ6_K, "q6_K", 256, 210}, {kIQ4_NL, "iq4_nl", 32, 18}, {kIQ4_XS, "iq4_xs", 256, 136}};
    for (const Blocks& is : kBlocks)
        if (type_name(is.type) == nullptr || is.name != type_name(is.type) || blck_size(is.type) != is.elements ||
            type_size(is.type) != is.bytes)
            foreign(file_, "its " + std::string(is.name) + " has another number or other blocks");
}

void BaseLibrary::check_tensor_layout() const {
    // A tensor and the header of its record; what this module reads must lie before the end of it.
    if (tensor_overhead() < sizeof(Tensor) || tensor_overhead() > sizeof(Tensor) + 1024)
        foreign(file_, "its tensor takes " + std::to_string(tensor_overhead()) + " bytes");
    const ContextHandle context(*this, 16, 0);
    Tensor* a = new_tensor_4d(context.get(), kF16, 3, 5, 7, 11);
    const auto is = [](const auto(&field)[kDims], std::array<size_t, kDims> wanted) {
        for (size_t i = 0; i < kDims; ++i)
            if (static_cast<size_t>(field[i]) != wanted[i]) return false;
        return true;
    };
    if (a->type != kF16 || !is(a->ne, {3, 5, 7, 11}) || !is(a->nb, {2, 6, 30, 210}))
        foreign(file_, "type, shape or strides of its tensor lie elsewhere");
    if (get_name(a) != a->name) foreign(file_, "the name of its tensor lies elsewhere");
    a->data = a;
    if (get_data(a) != a) foreign(file_, "the data of its tensor lie elsewhere");
    a->data = nullptr;
    const Tensor* view = view_4d(context.get(), a, 1, 1, 1, 1, 2, 2, 2, 6);
    if (view->view_src != a || view->view_offset != 6) foreign(file_, "the source of a view lies elsewhere in its tensor");
    Tensor* b = new_tensor_4d(context.get(), kF16, 3, 5, 7, 11);
    const Tensor* sum = add(context.get(), a, b);
    if (sum->src[0] != a || sum->src[1] != b || sum->buffer != nullptr || sum->data != nullptr)
        foreign(file_, "the operands of an op lie elsewhere in its tensor");
    if (std::string_view(op_desc(sum)) != "ADD") foreign(file_, "ggml_add makes something else");
}

void BaseLibrary::measure_tables() {
    Dummy dummy;
    void* all = dummy.place.data();
    shape_.device_to_registration = Dummy::place_of(backend_dev_backend_reg(static_cast<Device*>(all)));
    shape_.buffer_type_to_device = Dummy::place_of(backend_buft_get_device(static_cast<BufferType*>(all)));
    shape_.buffer_to_type = Dummy::place_of(backend_buffer_get_type(static_cast<Buffer*>(all)));
    shape_.backend_to_device = Dummy::place_of(backend_get_device(static_cast<Backend*>(all)));
    if (shape_.device_to_registration < 0 || shape_.buffer_type_to_device < 0 || shape_.buffer_to_type < 0 ||
        shape_.backend_to_device < 0)
        foreign(file_, "its tables have no shape that can be measured");
}

ContextHandle::ContextHandle(const BaseLibrary& base, size_t tensors, size_t graph_nodes) : base_(base) {
    const size_t graph = graph_nodes != 0 ? base.graph_overhead_custom(graph_nodes, false) : 0;
    context_ = base.init({tensors * base.tensor_overhead() + graph + 1024, nullptr, true});
    if (context_ == nullptr) throw sdk::Failure(BP_NO_HOST_MEMORY, "ggml has no memory for a graph");
}

}  // namespace backplane::ggml
