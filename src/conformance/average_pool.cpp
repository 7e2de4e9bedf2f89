// AveragePool: a mean. The scale is the mean of magnitudes.
#include "conformance/pool.hpp"

namespace backplane::graph::conformance::average_pool {

namespace {

std::vector<double> bound(const BoundCall& call) {
    double terms = 1;
    for (const int64_t extent : AttributeView(call.attributes).integers(Attr::kernel_shape))
        terms *= static_cast<double>(extent);
    return bounds::sum(call, terms);
}

void cases(CaseList& list) {
    pool_cases(list);
    pool_cases(list, {{Attr::count_include_pad, 1}}, "-with-pads");
}

}  // namespace

constinit const OpConformance conformance_average_pool{cases, bound};

}  // namespace backplane::graph::conformance::average_pool
