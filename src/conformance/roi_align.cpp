// RoiAlign: places of up to `size` in float32 may be off by units of the size, and a weight counts as much as the largest element; a sum of rows
// of sums of elements adds a unit each. Regions are of few bits where no ratio is given, for ceil of a length is no number that may be off.
#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph::conformance::roi_align {

namespace {

std::vector<double> bound(const BoundCall& call) {
    bounds::require_exact_inputs(call);
    const Shape& x = call.inputs[0]->shape;
    const auto sizes = static_cast<double>(x[2] + x[3]);
    return std::vector<double>(call.output.data.size(), (8 + 8 * sizes) * call.unit * bounds::most_of(*call.inputs[0]));
}

struct Regions {
    const char* name;
    Shape x;
    int64_t count;
    std::vector<int64_t> sizes;
};

struct How {
    int mode = BP_ROI_AVERAGE, ratio = 0, coordinates = BP_COORDINATES_HALF_PIXEL;
    double scale = 0.5;
};

// Corners in eighths: within the maps of x at a scale of 0.5, beside them, and some the wrong way round.
std::vector<double> corners(const Regions& r) {
    std::vector<double> values;
    for (int64_t i = 0; i < r.count; ++i) {
        const double left = static_cast<double>(i * 13 % 23 - 5) / 4, top = static_cast<double>(i * 7 % 19 - 4) / 4;
        values.insert(values.end(), {left, top, left + static_cast<double>(i * 37 % 83 - 9) / 4,
                                     top + static_cast<double>(i * 29 % 71 - 7) / 4});
    }
    return values;
}

void add(CaseList& list, const std::string& name, const Regions& r, const How& how, DType dtype = DType::f32,
         const std::vector<double>& rois = {}, const std::vector<double>& batches = {}, DType whole = DType::i64,
         Source source = Source::input) {
    list.add(name, [=](CaseBuilder& b) {
        std::vector<double> of = batches;
        for (int64_t i = static_cast<int64_t>(of.size()); i < r.count; ++i)
            of.push_back(static_cast<double>(r.x[0] == 0 ? 0 : i % r.x[0]));
        const TensorId x = b.operand(source, dtype, r.x);
        const TensorId regions = b.operand(source, dtype, {r.count, 4}, {-1, 1, rois.empty() ? corners(r) : rois});
        b.result(b.add(Op::roi_align, {x, regions, b.input(whole, {r.count}, {0, 1, of})},
                       {{Attr::sizes, r.sizes},
                        {Attr::mode, how.mode},
                        {Attr::sampling_ratio, how.ratio},
                        {Attr::scale, how.scale},
                        {Attr::coordinates, how.coordinates}}));
    });
}

void cases(CaseList& list) {
    const Regions odd{"odd", {2, 3, 11, 13}, 7, {3, 5}}, one{"one", {1, 1, 4, 4}, 1, {1, 1}};
    // The worst first: numbers that are none, regions without end, of nothing and the wrong way round, and of batches that are not there;
    // with one beside them whose results say how large a number is here.
    for (const auto& [mode, which] : {Named{BP_ROI_AVERAGE, "average-"}, Named{BP_ROI_MAX, "max-"}})
        for (const auto& [coordinates, from] :
             {Named{BP_COORDINATES_HALF_PIXEL, "half-pixel-"}, Named{BP_COORDINATES_ASYMMETRIC, "asymmetric-"}})
            for (const int ratio : {0, 1, 3}) {
                const How how{mode, ratio, coordinates, 0.5};
                const std::string name = which + std::string(from) + std::to_string(ratio) + '-';
                add(list, name + "not-a-number", odd, how, DType::f32,
                    {kNaN, 0, 4, 4, 0, kNaN, 4, 4, 0, 0, kNaN, 4, 0, 0, 4, kNaN, 1, 2, 9, 8});
                add(list, name + "infinite", odd, how, DType::f32,
                    {-kInfinity, 0,         4,         4, 0, 0, kInfinity, 4, -kInfinity, -kInfinity,
                     kInfinity,  kInfinity, kInfinity, 0, 0, 4, 1,         2, 9,          8});
                add(list, name + "endless", odd, how, DType::f32, {-1e9, -1e9, 1e9, 1e9, 0, 0, 1e30, 1e30, -1e30, 0, 4, 4});
                add(list, name + "nothing", odd, how, DType::f32,
                    {4, 4, 4, 4, 8, 8, 4, 4, -9, -9, -9, -9, 90, 90, 99, 99, 1, 2, 9, 8});
                add(list, name + "batches", odd, how, DType::f32, {}, {-1, 2, 1, 0, -9e15, 9e15, 1});
                for (const Regions& r :
                     {odd, one, Regions{"large", {1, 5, 61, 67}, 9, {7, 7}}, Regions{"row", {3, 2, 1, 31}, 5, {2, 3}},
                      Regions{"pixel", {1, 4, 1, 1}, 3, {2, 2}}})
                    add(list, name + r.name, r, how);
            }
    for (const Regions& r : {Regions{"no-regions", {1, 2, 5, 5}, 0, {2, 2}}, Regions{"no-channels", {1, 0, 5, 5}, 2, {2, 2}},
                             Regions{"no-batch", {0, 2, 5, 5}, 2, {2, 2}}, Regions{"no-rows", {1, 2, 0, 5}, 2, {2, 2}},
                             Regions{"to-nothing", {1, 2, 5, 5}, 2, {0, 2}}})
        for (const int mode : {BP_ROI_AVERAGE, BP_ROI_MAX})
            add(list, r.name + std::string(mode == BP_ROI_MAX ? "-max" : ""), r, {mode});
    for (const DType dtype : {DType::f16, DType::bf16, DType::f64})
        for (const int mode : {BP_ROI_AVERAGE, BP_ROI_MAX})
            add(list, name_of(dtype) + std::string(mode == BP_ROI_MAX ? "-max" : ""), odd, {mode, 2}, dtype);
    add(list, "i32", odd, {}, DType::f32, {}, {}, DType::i32);
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided})
        add(list, name_of(source), odd, {}, DType::f32, {}, {}, DType::i64, source);
    list.add("before-a-convolution", [=](CaseBuilder& b) {
        const TensorId map = b.add(Op::relu, {b.input({1, 16, 11, 13})});
        const TensorId seen =
            b.add(Op::roi_align, {map, b.input(DType::f32, {5, 4}, {0, 9}), b.input(DType::i64, {5}, {0, 0})},
                  {{Attr::sizes, std::vector<int64_t>{4, 4}}, {Attr::sampling_ratio, 2}});
        b.result(b.add(Op::conv, {seen, b.weight(DType::f32, {4, 16, 1, 1})}));
    });
}

}  // namespace

constinit const OpConformance conformance_roi_align{cases, bound};

}  // namespace backplane::graph::conformance::roi_align
