#include "runtime/row_weights.hpp"

#include <functional>
#include <numeric>
#include <utility>

namespace backplane::runtime {

std::span<const std::byte> bytes_of(const RowSlice& slice, std::span<const std::byte> whole, std::vector<std::byte>& room) {
    const auto axis = static_cast<std::ptrdiff_t>(slice.axis);
    const auto until = [&](int64_t i) {  // bytes of the first i along the axis
        Shape shape(slice.shape.begin() + axis, slice.shape.end());
        shape[0] = i;
        return static_cast<size_t>(bytes(slice.dtype, shape));
    };
    const auto outer = static_cast<size_t>(
        std::accumulate(slice.shape.begin(), slice.shape.begin() + axis, int64_t{1}, std::multiplies<>()));
    const size_t step = until(slice.shape[slice.axis]);
    if (whole.size() != outer * step)
        throw Error(Code::invalid, "weight '" + slice.of + "': the source gives " + std::to_string(whole.size()) +
                                       " bytes, " + name_of(slice.dtype) + " " + to_string(slice.shape) + " has " +
                                       std::to_string(outer * step));
    for (size_t o = 0; o < outer; ++o) {
        int64_t at = 0;
        for (const int64_t segment : slice.segments) {
            const int64_t part = segment / slice.parts;
            const size_t from = until(at + slice.part * part), to = until(at + (slice.part + 1) * part);
            const auto piece = whole.subspan(o * step + from, to - from);
            if (outer == 1 && slice.segments.size() == 1) return piece;
            room.insert(room.end(), piece.begin(), piece.end());
            at += segment;
        }
    }
    return room;
}

RowWeights::RowWeights(std::shared_ptr<const WeightSource> source, const std::string& name)
    : held_(std::make_shared<Held>()),
      weights_(
          [held = held_, source = std::move(source)](std::string_view wanted) -> std::span<const std::byte> {
              const std::lock_guard lock(held->mutex);
              const auto found = held->slices.find(wanted);
              if (found == held->slices.end()) return (*source)(wanted);
              if (const auto made = held->made.find(wanted); made != held->made.end()) return made->second;
              std::vector<std::byte> room;
              const std::span<const std::byte> bytes = bytes_of(found->second, (*source)(found->second.of), room);
              if (room.empty()) return bytes;
              return held->made.emplace(wanted, std::move(room)).first->second;
          },
          name) {}

const Weights& RowWeights::with(const std::map<std::string, RowSlice>& slices) {
    const std::lock_guard lock(held_->mutex);
    held_->slices.insert(slices.begin(), slices.end());
    return weights_;
}

}  // namespace backplane::runtime
