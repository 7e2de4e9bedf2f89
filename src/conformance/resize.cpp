// Resize: the nearest element is moved, exact. Linear: weights come from positions of up to `size` in float32, so they may be off
// by units of the size, and a weight counts as much as the largest element. Cubic: the same, of weights that add up to more than 1 by magnitude.
#include <algorithm>
#include <cmath>

#include "conformance/moves.hpp"

namespace backplane::graph::conformance::resize {

namespace {

std::vector<double> bound(const BoundCall& call) {
    std::vector<double> result = bounds::moves(call);
    if (AttributeView(call.attributes).integer(Attr::mode) == BP_RESIZE_NEAREST) return result;
    const ReferenceTensor& x = *call.inputs[0];
    double largest = 0;
    for (const double v : x.data)
        if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
    int64_t longest = 0;
    for (size_t d = 2; d < x.shape.size(); ++d) longest = std::max({longest, x.shape[d], call.output.shape[d]});
    const auto size = static_cast<double>(longest) * (x.shape.size() == 5 ? 1.5 : 1);  // each axis adds its part
    const double more = AttributeView(call.attributes).integer(Attr::mode) == BP_RESIZE_CUBIC ? 4 : 1;
    result.resize(call.output.data.size());
    for (double& b : result) b += (8 + 4 * size) * more * call.unit * largest;
    return result;
}

struct Change {
    const char* name;
    Shape x;
    std::vector<int64_t> sizes;
};

std::vector<Attribute> attributes(const Change& c, int mode, int coordinates) {
    return {{Attr::sizes, c.sizes}, {Attr::mode, mode}, {Attr::coordinates, coordinates}};
}

void cases(CaseList& list) {
    const Change odd{"odd", {1, 3, 7, 5}, {11, 13}}, line{"one-axis", {2, 3, 11}, {17}},
        box{"three-axes", {2, 3, 4, 5, 7}, {6, 9, 3}};
    const Change changes[] = {odd,
                              line,
                              box,
                              {"twice", {2, 3, 5, 7}, {10, 14}},
                              {"same", {1, 3, 5, 7}, {5, 7}},
                              {"half", {1, 17, 8, 10}, {4, 5}},
                              {"smaller", {1, 3, 11, 13}, {4, 5}},
                              {"one-pixel", {1, 3, 5, 7}, {1, 1}},
                              {"from-one-pixel", {1, 5, 1, 1}, {3, 4}},
                              {"wider-lower", {1, 2, 9, 4}, {3, 17}},
                              {"four-times", {1, 16, 3, 5}, {12, 20}},
                              {"long-rows", {1, 2, 3, 70}, {5, 300}},
                              {"three-axes-of-long-rows", {1, 2, 2, 3, 40}, {3, 4, 150}},
                              {"to-none", {1, 2, 3, 4}, {0, 5}},
                              {"no-batch", {0, 2, 3, 4}, {6, 8}},
                              {"one-axis-of-many-channels", {1, 32, 9}, {18}},
                              {"one-axis-to-none", {1, 2, 3}, {0}},
                              {"three-axes-of-many-channels", {1, 17, 3, 4, 2}, {6, 8, 4}},
                              {"depth-alone", {1, 3, 5, 4, 3}, {9, 4, 3}},
                              {"from-one-voxel", {1, 5, 1, 1, 1}, {2, 3, 4}},
                              {"three-axes-to-none", {1, 2, 3, 4, 2}, {6, 0, 4}}};
    for (const Change& c : changes)
        for (const auto& [mode, how] :
             {Named{BP_RESIZE_NEAREST, "nearest-"}, Named{BP_RESIZE_LINEAR, "linear-"}, Named{BP_RESIZE_CUBIC, "cubic-"}})
            for (const auto& [coordinates, where] :
                 {Named{BP_COORDINATES_ASYMMETRIC, "asymmetric-"}, Named{BP_COORDINATES_HALF_PIXEL, "half-pixel-"},
                  Named{BP_COORDINATES_ALIGN_CORNERS, "align-corners-"},
                  Named{BP_COORDINATES_PYTORCH_HALF_PIXEL, "pytorch-half-pixel-"}}) {
                list.add(std::string(how) + where + c.name, [=, a = attributes(c, mode, coordinates)](CaseBuilder& b) {
                    b.result(b.add(Op::resize, {b.input(c.x)}, a));
                });
            }
    for (const DType dtype : kPlain)
        add_move(list, std::string("nearest-") + name_of(dtype),
                 {"", odd.x, attributes(odd, BP_RESIZE_NEAREST, BP_COORDINATES_ASYMMETRIC)}, Source::input, dtype);
    for (const DType dtype : {DType::f16, DType::bf16})
        list.add(std::string("linear-") + name_of(dtype), [=](CaseBuilder& b) {
            b.result(
                b.add(Op::resize, {b.input(dtype, odd.x)}, attributes(odd, BP_RESIZE_LINEAR, BP_COORDINATES_HALF_PIXEL)));
        });
    for (const Change& c : {odd, line, box})
        for (const double a : {-0.75, -0.5, 0.0})
            list.add("cubic-of-" + std::to_string(static_cast<int>(-100 * a)) + "-exclude-outside-" + c.name,
                     [=](CaseBuilder& b) {
                         std::vector<Attribute> how = attributes(c, BP_RESIZE_CUBIC, BP_COORDINATES_HALF_PIXEL);
                         how.emplace_back(Attr::cubic_coeff_a, a);
                         how.emplace_back(Attr::exclude_outside, 1);
                         b.result(b.add(Op::resize, {b.input(a == -0.5 ? DType::f16 : DType::f32, c.x)}, how));
                     });
    list.add("cubic-bf16", [=](CaseBuilder& b) {
        b.result(
            b.add(Op::resize, {b.input(DType::bf16, odd.x)}, attributes(odd, BP_RESIZE_CUBIC, BP_COORDINATES_HALF_PIXEL)));
    });
    for (const Change& c : {line, box}) {
        for (const DType dtype : {DType::f16, DType::bf16, DType::u8, DType::i64})
            add_move(list, std::string("nearest-") + c.name + "-" + name_of(dtype),
                     {"", c.x, attributes(c, BP_RESIZE_NEAREST, BP_COORDINATES_HALF_PIXEL)}, Source::input, dtype);
        for (const DType dtype : {DType::f16, DType::bf16})
            list.add(std::string("linear-") + c.name + "-" + name_of(dtype), [=](CaseBuilder& b) {
                b.result(
                    b.add(Op::resize, {b.input(dtype, c.x)}, attributes(c, BP_RESIZE_LINEAR, BP_COORDINATES_HALF_PIXEL)));
            });
        // Between two that like another layout.
        list.add(std::string("between-convolutions-") + c.name, [=](CaseBuilder& b) {
            Shape in(c.x.size(), 1), out(c.x.size(), 1);
            in[0] = out[1] = 16, in[1] = c.x[1], out[0] = 4;
            const TensorId y = b.add(Op::conv, {b.input(c.x), b.weight(DType::f32, in)});
            const TensorId z = b.add(Op::resize, {y}, attributes(c, BP_RESIZE_NEAREST, BP_COORDINATES_ASYMMETRIC));
            b.result(b.add(Op::conv, {z, b.weight(DType::f32, out)}));
        });
    }
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        for (const int mode : {BP_RESIZE_NEAREST, BP_RESIZE_LINEAR})
            list.add(std::string(mode == BP_RESIZE_NEAREST ? "nearest-" : "linear-") + name_of(source), [=](CaseBuilder& b) {
                b.result(b.add(Op::resize, {b.operand(source, DType::f32, odd.x)},
                               attributes(odd, mode, BP_COORDINATES_HALF_PIXEL)));
            });
}

}  // namespace

constinit const OpConformance conformance_resize{cases, bound};

}  // namespace backplane::graph::conformance::resize
