#include "ops/strided_copy.hpp"

#include <utility>

#include "loop_nest.hpp"

namespace backplane::cpu {

namespace {

// The two innermost loops go to a kernel, the others are walked here.
struct Walk {
    LoopNest<2> nest;  // operand 0: the result
    int64_t outer = 1, into_outer = 0, from_outer = 0;
    int64_t inner = 1, into_inner = 1, from_inner = 1;
    bool transposes = false;
    int64_t bytes = 0;
    int64_t into_offset = 0, from_offset = 0;
};

void take(LoopNest<2>& nest, size_t d) {
    nest.size.erase(nest.size.begin() + static_cast<std::ptrdiff_t>(d));
    for (auto& s : nest.stride) s.erase(s.begin() + static_cast<std::ptrdiff_t>(d));
}

Walk walk_of(LoopNest<2> nest) {
    Walk w;
    w.inner = nest.size.back();
    w.into_inner = nest.stride[0].back();
    w.from_inner = nest.stride[1].back();
    take(nest, nest.size.size() - 1);
    size_t second = nest.size.size() - 1;
    if (w.into_inner == 1 && w.from_inner != 1)
        for (size_t d = 0; d < nest.size.size(); ++d)
            if (nest.stride[1][d] == 1 && nest.size[d] >= 4) {
                second = d;
                w.transposes = true;
            }
    if (!nest.size.empty()) {
        w.outer = nest.size[second];
        w.into_outer = nest.stride[0][second];
        w.from_outer = nest.stride[1][second];
        take(nest, second);
    }
    // LoopNest::row leaves out the last loop.
    nest.size.push_back(1);
    for (auto& s : nest.stride) s.push_back(0);
    w.nest = std::move(nest);
    return w;
}

void copy_range(const Walk& w, const MoveKernels& kernels, const std::byte* from, std::byte* into, int64_t first,
                int64_t count, int64_t inner_first, int64_t inner_count, int64_t row) {
    const auto at = w.nest.row(row);
    CopyTask task;
    task.from = from + (w.from_offset + at[1] + first * w.from_outer + inner_first * w.from_inner) * w.bytes;
    task.into = into + (w.into_offset + at[0] + first * w.into_outer + inner_first * w.into_inner) * w.bytes;
    task.from_outer = w.from_outer;
    task.into_outer = w.into_outer;
    task.from_inner = w.from_inner;
    task.into_inner = w.into_inner;
    task.outer = count;
    task.inner = inner_count;
    task.size = w.bytes;
    (w.transposes ? kernels.transpose : kernels.copy)(task);
}

}  // namespace

Step* add_copy(Lowering& to, std::string label, const std::vector<int64_t>& size, StridedView from, StridedView into) {
    int64_t n = 1;
    for (const int64_t s : size) n *= s;
    if (n == 0) return nullptr;
    Walk w = walk_of(simplify<2>(size, {std::move(into.strides), std::move(from.strides)}));
    w.bytes = element_bytes(to[into.value]);
    w.from_offset = from.offset;
    w.into_offset = into.offset;
    // Pieces of the inner loop only where it alone is long; a transposition is cut in whole cache lines of the result.
    const int64_t inner_piece = w.transposes ? 64 : std::max<int64_t>(1, kGrainBytes / w.bytes);
    const int64_t pieces = (w.inner + inner_piece - 1) / inner_piece;
    const int64_t outer_piece = std::clamp<int64_t>(kGrainBytes / w.bytes / std::min(w.inner, inner_piece), 1, w.outer);
    const int64_t bands = (w.outer + outer_piece - 1) / outer_piece;
    const int64_t tasks = w.nest.rows() * bands * pieces;
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / w.bytes / (outer_piece * std::min(w.inner, inner_piece)));
    const ValueId x = from.value;
    const ValueId y = into.value;
    const auto moved = static_cast<uint64_t>(n * w.bytes);
    Step& added = to.step(std::move(label), {x}, {y}, [=, w = std::move(w), kernels = to.kernels.move](const Run& run) {
        const auto* source = run.at<std::byte>(x);
        auto* target = run.at<std::byte>(y);
        run.ranges(tasks, grain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t piece = i % pieces * inner_piece;
                const int64_t band = i / pieces % bands * outer_piece;
                copy_range(w, kernels, source, target, band, std::min(outer_piece, w.outer - band), piece,
                           std::min(inner_piece, w.inner - piece), i / pieces / bands);
            }
        });
    });
    added.moved = moved;
    return &added;
}

}  // namespace backplane::cpu
