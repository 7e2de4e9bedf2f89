// Mod is exact: what is left of a division needs no more digits than its operands have.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::mod {

namespace {

void cases(CaseList& list) {
    const std::vector<std::pair<double, double>> special = {
        {kInfinity, 2.0},   {2.0, kInfinity}, {-2.0, kInfinity}, {2.0, 0.0},  {kNaN, 1.0}, {1.0, kNaN},
        {-0.0, 3.0},        {6.0, 3.0},       {-6.0, 3.0},       {5.5, -2.0}, {-5.5, 2.0}, {2.0, 5.5},
        {16777215.0, 0.75}, {1e30, 3.0},      {3e38, 1e-30},     {-3e38, 7.0}};
    binary_cases(list, {{-400, 400}, {0.25, 4}, special, true, DType::f32, {{Attr::fmod, 1}}});
    binary_cases(list, {.attributes = {{Attr::fmod, 0}}, .floats = false, .suffix = "-sign-of-b"});
    for (const DType dtype : {DType::i32, DType::i64})
        list.add(std::string("signs-") + name_of(dtype), [=](CaseBuilder& b) {
            const TensorId x = b.input(dtype, {40}, {-20, 20, {7, -7, 7, -7, 6, -6, 6, -6, 0, 0}});
            const TensorId y = b.input(dtype, {40}, {1, 9, {3, 3, -3, -3, 3, 3, -3, -3, 3, -3}});
            b.result(b.add(Op::mod, {x, y}));
        });
}

}  // namespace

constinit const OpConformance conformance_mod{cases, bounds::exact};

}  // namespace backplane::graph::conformance::mod
