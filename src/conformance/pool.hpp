// Cases that MaxPool and AveragePool share.
#pragma once

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph {

struct PoolCase {
    Shape x;
    std::vector<Attribute> attributes;
    DType dtype = DType::f32;
    Source source = Source::input;
    Values values = {};
};

void add_pool(CaseList& list, const std::string& name, const PoolCase& c);
// With `how` beside the attributes of each, and the suffix behind each name.
void pool_cases(CaseList& list, const std::vector<Attribute>& how = {}, const std::string& suffix = {});

}  // namespace backplane::graph
