// Numbers and block sizes: ggml's gguf.md and its table of type traits. 4, 5, 31 to 33 and 36 to 38 were withdrawn there.
#include "gguf/ggml_type.hpp"

#include <array>

namespace backplane::formats {

namespace {

constexpr std::array kTypes{
    GgmlType{0, "F32", 1, 4, DType::f32},
    GgmlType{1, "F16", 1, 2, DType::f16},
    GgmlType{2, "Q4_0", 32, 18, DType::q4_0},
    GgmlType{3, "Q4_1", 32, 20, DType::q4_1},
    GgmlType{6, "Q5_0", 32, 22, DType::q5_0},
    GgmlType{7, "Q5_1", 32, 24, DType::q5_1},
    GgmlType{8, "Q8_0", 32, 34, DType::q8_0},
    GgmlType{9, "Q8_1", 32, 36},
    GgmlType{10, "Q2_K", 256, 84, DType::q2_k},
    GgmlType{11, "Q3_K", 256, 110, DType::q3_k},
    GgmlType{12, "Q4_K", 256, 144, DType::q4_k},
    GgmlType{13, "Q5_K", 256, 176, DType::q5_k},
    GgmlType{14, "Q6_K", 256, 210, DType::q6_k},
    GgmlType{15, "Q8_K", 256, 292, DType::q8_k},
    GgmlType{16, "IQ2_XXS", 256, 66},
    GgmlType{17, "IQ2_XS", 256, 74},
    GgmlType{18, "IQ3_XXS", 256, 98},
    GgmlType{19, "IQ1_S", 256, 50},
    GgmlType{20, "IQ4_NL", 32, 18, DType::iq4_nl},
    GgmlType{21, "IQ3_S", 256, 110},
    GgmlType{22, "IQ2_S", 256, 82},
    GgmlType{23, "IQ4_XS", 256, 136, DType::iq4_xs},
    GgmlType{24, "I8", 1, 1, DType::i8},
    GgmlType{25, "I16", 1, 2, DType::i16},
    GgmlType{26, "I32", 1, 4, DType::i32},
    GgmlType{27, "I64", 1, 8, DType::i64},
    GgmlType{28, "F64", 1, 8, DType::f64},
    GgmlType{29, "IQ1_M", 256, 56},
    GgmlType{30, "BF16", 1, 2, DType::bf16},
    GgmlType{34, "TQ1_0", 256, 54},
    GgmlType{35, "TQ2_0", 256, 66},
    GgmlType{39, "MXFP4", 32, 17},
};

}  // namespace

const GgmlType* find_ggml_type(uint32_t number) noexcept {
    for (const GgmlType& type : kTypes)
        if (type.number == number) return &type;
    return nullptr;
}

const GgmlType* find_ggml_type(DType dtype) noexcept {
    for (const GgmlType& type : kTypes)
        if (dtype != DType::unknown && type.dtype == dtype) return &type;
    return nullptr;
}

}  // namespace backplane::formats
