#include "conformance/recurrent.hpp"

namespace backplane::graph::conformance::gru {

namespace {

using recurrent::add;
using recurrent::Recurrent;

void cases(CaseList& list) {
    recurrent::add_common(list);
    const Attribute behind{Attr::linear_before_reset, 1};
    const std::vector<int64_t> functions{BP_OP_tanh, BP_OP_relu};
    const std::vector<int64_t> of_two{BP_OP_sigmoid, BP_OP_relu, BP_OP_tanh, BP_OP_sigmoid};
    for (const int64_t batch : {1, 2, 7}) {
        Recurrent r{4, batch, 6, 19};
        r.attributes = {behind};
        add(list, "reset-behind-batch-" + std::to_string(batch), r);
    }
    Recurrent r{5, 3, 4, 7};
    r.attributes = {behind};
    r.bias = false;
    add(list, "reset-behind-no-bias", r);
    r.bias = true;
    r.weights = DType::f16;
    add(list, "reset-behind-f16", r);
    r.weights = DType::unknown;
    r.attributes = {{Attr::activations, functions}};
    add(list, "functions", r);
    r.direction = BP_DIRECTION_BIDIRECTIONAL;
    r.lengths = {4, 0, 5};
    r.attributes = {{Attr::activations, of_two}, {Attr::clip, 0.5}};
    add(list, "all-at-once", r);
    r.attributes.push_back(behind);
    r.layout = 1;
    r.dtype = DType::f16;
    add(list, "all-at-once-reset-behind-f16-layout-1", r);
}

}  // namespace

constinit const OpConformance conformance_gru{cases, recurrent::bound};

}  // namespace backplane::graph::conformance::gru
