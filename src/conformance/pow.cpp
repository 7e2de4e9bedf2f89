// Pow by way of Exp and Log: both operands may count as 4 units off. Of whole numbers it is exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::pow {

namespace {

void cases(CaseList& list) {
    binary_cases(list, {{0.1, 4},
                        {-3, 3},
                        {{-2.0, 2.0},
                         {-2.0, 3.0},
                         {-2.0, 0.5},
                         {0.0, 2.0},
                         {0.0, -1.0},
                         {0.0, 0.0},
                         {kNaN, 0.0},
                         {1.0, kNaN},
                         {kInfinity, -1.0},
                         {-kInfinity, 3.0},
                         {4.0, 0.5},
                         {2.0, kInfinity},
                         {0.5, kInfinity},
                         {kNaN, 1.0}}});
    // Odd and even, the largest that fit, what does not fit, and exponents below 0.
    const std::vector<double> bases = {3, -3, 7, 0, 0, 1, -1, -1, 2, -2, 2, -2, 10, 46340, 46341, -46341, 2, 0, 5, -1};
    const std::vector<double> powers = {19, 19, 0, 0, -1, -5, -5, -4, -1, -3, 30, 31, 9, 2, 2, 3, 64, 9, 1, 2147483647};
    for (const DType dtype : {DType::i32, DType::i64})
        list.add(std::string("powers-") + name_of(dtype), [=](CaseBuilder& b) {
            const TensorId x = b.input(dtype, {61}, {-12, 12, bases});
            b.result(b.add(Op::pow, {x, b.input(dtype, {61}, {-2, 7, powers})}));
        });
}

}  // namespace

constinit const OpConformance conformance_pow{cases, bounds::rounded<8, 4>};

}  // namespace backplane::graph::conformance::pow
