// What the files of this folder describe their cases with.
#pragma once

#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backplane/ops/blocks.hpp"
#include "conformance/conformance.hpp"

namespace backplane::graph {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Random numbers of a range, after `first`. Whole numbers for whole-number types.
struct Values {
    double least = -1, most = 1;
    std::vector<double> first = {};
};
Values usual_values(DType dtype);  // floats -1 to 1; whole numbers as far as sums of a few do not wrap

// Where an operand comes from. The views make a Transpose or a Slice feed the op, which a backend may leave as strides.
enum class Source { input, weight, constant, transposed, strided };
const char* name_of(Source source) noexcept;

// Builds one case. Contents depend on the case's name and the order of calls alone.
class CaseBuilder {
public:
    explicit CaseBuilder(std::string_view name);

    TensorId operand(Source source, DType dtype, const Shape& shape, const Values& values);
    TensorId operand(Source source, DType dtype, const Shape& shape) {
        return operand(source, dtype, shape, usual_values(dtype));
    }
    TensorId input(DType dtype, const Shape& shape, const Values& values) {
        return operand(Source::input, dtype, shape, values);
    }
    TensorId input(DType dtype, const Shape& shape) { return operand(Source::input, dtype, shape); }
    TensorId input(const Shape& shape) { return input(DType::f32, shape); }
    TensorId weight(DType dtype, const Shape& shape) { return operand(Source::weight, dtype, shape); }

    TensorId add(Op op, std::initializer_list<TensorId> inputs, const std::vector<Attribute>& attributes = {}) {
        return data_.graph.add(op, inputs, attributes);
    }
    TensorId add(Op op, const std::vector<TensorId>& inputs, const std::vector<Attribute>& attributes = {}) {
        return data_.graph.add(op, inputs, attributes);
    }
    std::vector<TensorId> add_all(Op op, const std::vector<TensorId>& inputs, const std::vector<Attribute>& attributes) {
        return data_.graph.add_all(op, inputs, attributes);
    }
    void result(TensorId tensor);  // "y0", "y1", ...
    void strict() { data_.math = BP_MATH_STRICT; }

    [[nodiscard]] CaseData take() { return std::move(data_); }

private:
    std::vector<std::byte> random_bytes(DType dtype, const Shape& shape, const Values& values);
    TensorId view(Source source, DType dtype, const Shape& shape, const Values& values);
    double next();  // 0 to below 1

    CaseData data_;
    uint64_t state_;
    uint32_t inputs_ = 0, weights_ = 0, results_ = 0;
};

// The cases of one op as its file adds them.
class CaseList {
public:
    explicit CaseList(Op op) : op_(op) {}
    // The name is "what" and, when given, the parts after it, joined by '-'.
    void add(const std::string& name, std::function<void(CaseBuilder&)> describe);
    [[nodiscard]] Op op() const { return op_; }
    [[nodiscard]] std::vector<ConformanceCase> take() { return std::move(cases_); }

private:
    Op op_;
    std::vector<ConformanceCase> cases_;
};

std::string text_of(const Shape& shape);  // "2x3x5"; "scalar"

using Named = std::pair<int, const char*>;  // the value of an attribute, and its word in a name
using DTypes = std::pair<DType, DType>;
using Shapes = std::pair<Shape, Shape>;

inline constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};
inline constexpr DType kFloatsAndDoubles[] = {DType::f32, DType::f16, DType::bf16, DType::f64};
inline constexpr DType kBlocks[] = {DType::q8_0,   DType::q4_0,   DType::q4_1, DType::q5_0, DType::q5_1,
                                    DType::q2_k,   DType::q3_k,   DType::q4_k, DType::q5_k, DType::q6_k,
                                    DType::iq4_nl, DType::iq4_xs, DType::q8_k};
inline int64_t block_of(DType dtype) { return blocks::facts_of(static_cast<uint32_t>(dtype)).elements; }
inline constexpr DType kPlain[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8,     DType::u8,
                                   DType::i16, DType::u16, DType::i32,  DType::i64, DType::boolean};

}  // namespace backplane::graph
