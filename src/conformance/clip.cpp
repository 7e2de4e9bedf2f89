// Clip picks x or a bound that each type holds: exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::clip {

namespace {

void cases(CaseList& list) {
    unary_cases(
        list,
        {-4, 4, -1e30, 1e30, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {{Attr::least, -0.5}, {Attr::most, 1.5}}, true});
    unary_cases(list, {-4, 4, 0, 0, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {{Attr::least, 0.0}}, true, "-least"});
    unary_cases(list, {-4, 4, 0, 0, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {{Attr::most, 6.0}}, true, "-most"});
    unary_cases(list, {-4, 4, 0, 0, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false, "-open"});
    unary_cases(list, {-4,
                       4,
                       0,
                       0,
                       {0.0, -0.0, kInfinity, -kInfinity, kNaN},
                       {{Attr::least, 2.0}, {Attr::most, -2.0}},
                       false,
                       "-crossed"});
}

}  // namespace

constinit const OpConformance conformance_clip{cases, bounds::exact};

}  // namespace backplane::graph::conformance::clip
