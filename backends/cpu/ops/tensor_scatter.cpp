// TensorScatter: rows of an update put into a cache, where it stands when the cache is a state.
#include <cstring>
#include <functional>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::tensor_scatter {

namespace {

// Elements of a type as another.
using Convert = std::function<void(const std::byte* from, std::byte* into, int64_t n)>;

// Null: as they are.
Convert quantises(const Lowering& to, uint32_t from, uint32_t into) {
    if (from == into) return nullptr;
    const auto quantise = to.kernels.convert.f32_to_q8;
    if (from == BP_F32)
        return [=](const std::byte* x, std::byte* y, int64_t n) {
            quantise(reinterpret_cast<const float*>(x), reinterpret_cast<uint8_t*>(y), n);
        };
    const auto widen = from == BP_F16 ? to.kernels.convert.f16_to_f32 : to.kernels.convert.bf16_to_f32;
    return [=](const std::byte* x, std::byte* y, int64_t n) {
        constexpr int64_t kBlock = 32;
        float numbers[kBlock];
        for (int64_t i = 0; i < n; i += kBlock, y += sdk::dtype_info(BP_Q8_0).bytes) {
            widen(reinterpret_cast<const uint16_t*>(x) + i, numbers, kBlock);
            quantise(numbers, reinterpret_cast<uint8_t*>(y), kBlock);
        }
    };
}

void lower(Lowering& to, const Node& node) {
    const auto a = node.as<backplane::ops::TensorScatterAttributes>();
    const ValueId cache = node.inputs[0];
    const ValueId update = node.inputs[1];
    const ValueId out = node.output;
    const std::vector<int64_t>& dim = to[cache].dim;
    const auto axis = static_cast<size_t>(a.axis);
    if (to[cache].elements() == 0) return;
    const auto bytes_of = [&](ValueId value, int64_t elements) {
        const sdk::DTypeInfo type = sdk::dtype_info(to[value].dtype);
        return elements / type.block * type.bytes;
    };
    // The rest of the cache: nothing to do where it is a state that this op updates in place.
    const int64_t whole = to[cache].elements() / sdk::dtype_info(to[cache].dtype).block;
    if (Step* rest = add_copy(to, step_label(to, node), {whole}, {cache, 0, {1}}, {out, 0, {1}})) rest->copies = true;
    if (to[update].elements() == 0) return;
    int64_t outer = 1;
    int64_t inner = 1;
    for (size_t d = 0; d < axis; ++d) outer *= dim[d];
    for (size_t d = axis + 1; d < dim.size(); ++d) inner *= dim[d];
    const int64_t samples = dim[0];
    const int64_t extent = dim[axis];
    const int64_t rows = to[update].dim[axis];
    const int64_t bytes = bytes_of(cache, inner);
    const int64_t given = bytes_of(update, inner);
    const Convert convert = quantises(to, to[update].dtype, to[cache].dtype);
    const bool circular = a.mode == backplane::ops::ScatterMode::circular;
    const ValueId at = node.input(2);
    const WholeNumbers positions(to, at);
    const auto scatter = [=](const Run& run) {
        const auto* from = run.at<std::byte>(update);
        auto* into = run.at<std::byte>(out);
        run.ranges(outer * rows, std::max<int64_t>(1, kGrainBytes / bytes), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t block = i / rows;
                const int64_t position = positions.given() ? positions.in(run)[block / (outer / samples)] : 0;
                // Sizes are far below 2^62, positions are anything.
                if (!circular && (position < -rows || position >= extent)) continue;
                const int64_t row = circular ? (position % extent + extent + i % rows) % extent : position + i % rows;
                if (row < 0 || row >= extent) continue;
                std::byte* target = into + (block * extent + row) * bytes;
                if (convert)
                    convert(from + i * given, target, inner);
                else
                    std::memcpy(target, from + i * bytes, static_cast<size_t>(bytes));
            }
        });
    };
    to.step(step_label(to, node) + " rows", {update, at}, {out}, scatter).moved =
        static_cast<uint64_t>(outer * rows * bytes);
}

constexpr OpLowering table[] = {{BP_OP_tensor_scatter, Types::moves, Wants::row_major, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_tensor_scatter = {table, std::size(table)};

}  // namespace backplane::cpu::ops::tensor_scatter
