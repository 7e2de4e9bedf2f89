#include "conformance/recurrent.hpp"

namespace backplane::graph::conformance::lstm {

namespace {

using recurrent::add;
using recurrent::Recurrent;

void cases(CaseList& list) {
    recurrent::add_common(list);
    const std::vector<int64_t> functions{BP_OP_tanh, BP_OP_sigmoid, BP_OP_relu};
    const std::vector<int64_t> of_two{BP_OP_sigmoid, BP_OP_tanh, BP_OP_relu, BP_OP_sigmoid, BP_OP_relu, BP_OP_tanh};
    Recurrent r{5, 3, 4, 7};
    r.peepholes = true;
    add(list, "peepholes", r);
    r.attributes = {{Attr::clip, 0.75}};
    add(list, "peepholes-clip", r);
    r.attributes = {{Attr::input_forget, 1}};
    add(list, "peepholes-input-forget", r);
    r.attributes = {{Attr::activations, functions}};
    add(list, "functions", r);
    r.direction = BP_DIRECTION_BIDIRECTIONAL;
    r.lengths = {4, 0, 5};
    r.attributes = {{Attr::activations, of_two}, {Attr::clip, 1.5}};
    add(list, "all-at-once", r);
    r.layout = 1;
    r.dtype = DType::f16;
    add(list, "all-at-once-f16-layout-1", r);
}

}  // namespace

constinit const OpConformance conformance_lstm{cases, recurrent::bound};

}  // namespace backplane::graph::conformance::lstm
