// GridSample: nearest moves elements, exact, as long as places are: cases give numbers of few bits. Linear: places of up to `size` in float32
// may be off by units of the size, and a weight counts as much as the largest element. Cubic: the same, of weights that change faster.
#include <algorithm>
#include <cmath>

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::grid_sample {

namespace {

std::vector<double> bound(const BoundCall& call) {
    bounds::require_exact_inputs(call);
    const int64_t mode = AttributeView(call.attributes).integer(Attr::mode);
    if (mode == BP_SAMPLE_NEAREST) return {};
    const double more = mode == BP_SAMPLE_CUBIC ? 4 : 1;
    double size = 0;
    for (size_t d = 2; d < call.inputs[0]->shape.size(); ++d) size += static_cast<double>(call.inputs[0]->shape[d]);
    return std::vector<double>(call.output.data.size(),
                               (8 + 8 * size) * more * call.unit * bounds::most_of(*call.inputs[0]));
}

struct Sampling {
    const char* name;
    Shape x, places;  // places: of the result, behind batch and channels
};

Shape grid_of(const Sampling& s) {
    Shape grid = {s.x[0]};
    grid.insert(grid.end(), s.places.begin(), s.places.end());
    grid.push_back(static_cast<int64_t>(s.places.size()));
    return grid;
}

// Multiples of 1 / 32 from -1.75 to 1.75, in no order.
std::vector<double> of_few_bits(int64_t n) {
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i * 37 % 113 - 56) / 32);
    return values;
}

struct How {
    int mode = BP_SAMPLE_LINEAR, padding = BP_SAMPLE_ZEROS, corners = 0;
    [[nodiscard]] std::vector<Attribute> attributes() const {
        return {{Attr::mode, mode}, {Attr::padding_mode, padding}, {Attr::align_corners, corners}};
    }
};

void add(CaseList& list, const std::string& name, const Sampling& s, const How& how, DType dtype = DType::f32,
         const std::vector<double>& first = {}, Source source = Source::input) {
    list.add(name, [=](CaseBuilder& b) {
        Values places{-1.5, 1.5, first};
        if (how.mode == BP_SAMPLE_NEAREST) places.first = of_few_bits(elements(grid_of(s)));
        const TensorId x = b.operand(source, dtype, s.x);
        b.result(b.add(Op::grid_sample, {x, b.operand(source, dtype, grid_of(s), places)}, how.attributes()));
    });
}

void cases(CaseList& list) {
    const Sampling odd{"odd", {2, 3, 5, 7}, {4, 9}};
    const Sampling samplings[] = {odd,
                                  {"one-axis", {2, 3, 11}, {17}},
                                  {"three-axes", {2, 3, 4, 5, 3}, {3, 2, 7}},
                                  {"one-pixel", {1, 5, 1, 1}, {3, 5}},
                                  {"to-one-pixel", {3, 2, 6, 5}, {1, 1}},
                                  {"one-voxel", {1, 2, 1, 1, 1}, {2, 2, 3}},
                                  {"many-channels", {1, 67, 8, 6}, {7, 11}},
                                  {"no-batch", {0, 3, 4, 5}, {2, 2}},
                                  {"no-channels", {1, 0, 4, 5}, {2, 3}},
                                  {"to-none", {2, 3, 4, 5}, {0, 3}},
                                  {"none-to-none", {1, 2, 0, 5}, {2, 0}},
                                  {"large", {1, 4, 61, 67}, {53, 41}}};
    for (const Sampling& s : samplings)
        for (const auto& [mode, which] :
             {Named{BP_SAMPLE_LINEAR, "linear-"}, Named{BP_SAMPLE_NEAREST, "nearest-"}, Named{BP_SAMPLE_CUBIC, "cubic-"}})
            for (const auto& [padding, beside] : {Named{BP_SAMPLE_ZEROS, "zeros-"}, Named{BP_SAMPLE_BORDER, "border-"},
                                                  Named{BP_SAMPLE_REFLECTION, "reflection-"}})
                for (const auto& [corners, edges] : {Named{0, ""}, Named{1, "corners-"}})
                    add(list, std::string(which) + beside + edges + s.name, s, {mode, padding, corners});
    for (const DType dtype : {DType::f16, DType::bf16, DType::f64})
        for (const auto& [mode, which] :
             {Named{BP_SAMPLE_LINEAR, "linear-"}, Named{BP_SAMPLE_NEAREST, "nearest-"}, Named{BP_SAMPLE_CUBIC, "cubic-"}})
            add(list, std::string(which) + name_of(dtype), odd, {mode, BP_SAMPLE_REFLECTION, 0}, dtype);
    for (const auto& [padding, beside] :
         {Named{BP_SAMPLE_ZEROS, "zeros"}, Named{BP_SAMPLE_BORDER, "border"}, Named{BP_SAMPLE_REFLECTION, "reflection"}}) {
        add(list, std::string("not-a-number-") + beside, odd, {BP_SAMPLE_LINEAR, padding, 0}, DType::f32,
            {kNaN, 0.5, 0.25, kNaN});
        for (const auto& [mode, which] : {Named{BP_SAMPLE_LINEAR, ""}, Named{BP_SAMPLE_CUBIC, "cubic-"}})
            add(list, std::string(which) + "far-away-" + beside, odd, {mode, padding, 1}, DType::f32,
                {-17, 23, 9.5, -40, 0, 33});
    }
    add(list, "infinite-zeros", odd, {}, DType::f32, {kInfinity, 0, 0.5, -kInfinity, -1e30, 1e30});
    add(list, "infinite-border", odd, {BP_SAMPLE_LINEAR, BP_SAMPLE_BORDER, 0}, DType::f32,
        {kInfinity, 0, 0.5, -kInfinity, -1e30, 1e30});
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        add(list, std::string("linear-") + name_of(source), odd, {}, DType::f32, {}, source);
    list.add("between-convolutions", [=](CaseBuilder& b) {
        const TensorId map = b.add(Op::conv, {b.input(odd.x), b.weight(DType::f32, {16, 3, 1, 1})});
        const TensorId seen = b.add(Op::grid_sample, {b.add(Op::relu, {b.input({2, 16, 5, 7})}), b.input(grid_of(odd))});
        b.result(map);
        b.result(b.add(Op::conv, {seen, b.weight(DType::f32, {4, 16, 1, 1})}));
    });
}

}  // namespace

constinit const OpConformance conformance_grid_sample{cases, bound};

}  // namespace backplane::graph::conformance::grid_sample
