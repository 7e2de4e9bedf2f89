// IsInf is a judgement: exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::is_inf {

namespace {

void cases(CaseList& list) {
    const std::vector<double> special = {kInfinity, -kInfinity, kNaN, 0.0, 65504.0, -65504.0, -0.0};
    unary_cases(list, {.special = special});
    const auto one_sign = [&](Attr ignored, const char* suffix) {
        unary_cases(list, {.special = special, .attributes = {{ignored, 0}}, .suffix = suffix});
    };
    one_sign(Attr::detect_negative, "-positive");
    one_sign(Attr::detect_positive, "-negative");
    unary_cases(
        list,
        {.special = special, .attributes = {{Attr::detect_negative, 0}, {Attr::detect_positive, 0}}, .suffix = "-none"});
}

}  // namespace

constinit const OpConformance conformance_is_inf{cases, bounds::exact};

}  // namespace backplane::graph::conformance::is_inf
