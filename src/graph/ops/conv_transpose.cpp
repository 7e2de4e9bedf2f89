// Transposed convolution of one to three spatial axes; ConvTranspose of ONNX 22. Attributes are complete: strides (1), pads (0), dilations (1),
// output_padding (0), group (1).
#include <array>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::conv_transpose {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const ReferenceTensor& w = call.input(1);
    ReferenceTensor& y = call.output;
    const size_t axes = x.shape.size() - 2;
    const auto strides = call.attributes.integers(Attr::strides);
    const auto pads = call.attributes.integers(Attr::pads);
    const auto dilations = call.attributes.integers(Attr::dilations);
    const int64_t channels_of_group = x.shape[1] / call.attributes.integer(Attr::group);
    const int64_t outputs_of_group = w.shape[1];
    const std::vector<int64_t> steps = strides_of(y.shape);
    if (call.has(2))
        for_each_index(y.shape,
                       [&](const Index& p, size_t at) { y.data[at] = call.input(2).data[static_cast<size_t>(p[1])]; });
    Shape filters = {outputs_of_group};
    filters.insert(filters.end(), w.shape.begin() + 2, w.shape.end());
    const auto filter_size = static_cast<size_t>(elements(filters));
    for_each_index(x.shape, [&](const Index& p, size_t from) {
        const int64_t first_output = p[1] / channels_of_group * outputs_of_group;
        const double* filter = w.data.data() + static_cast<size_t>(p[1]) * filter_size;
        for_each_index(filters, [&](const Index& k, size_t tap) {
            int64_t at = p[0] * steps[0] + (first_output + k[0]) * steps[1];
            for (size_t a = 0; a < axes; ++a) {
                const int64_t place = p[2 + a] * strides[a] + k[1 + a] * dilations[a] - pads[a];
                if (place < 0 || place >= y.shape[2 + a]) return;
                at += place * steps[2 + a];
            }
            y.data[static_cast<size_t>(at)] += x.data[from] * filter[tap];
        });
    });
}

}  // namespace

constinit const OpDefinition op_conv_transpose{backplane::ops::op_conv_transpose, reference};

}  // namespace backplane::graph::ops::conv_transpose
