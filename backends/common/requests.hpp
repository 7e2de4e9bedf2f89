// What a host asks of a copy, a pack or a run, checked before anything is done: what is refused has written nothing. A backend says what stands behind
// the handle of a buffer: buffer_of(handle) is a pointer to its own Buffer, which has a `size`; null for null. All throw Failure(BP_INVALID).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backplane/sdk.hpp"

namespace backplane::backend {

[[noreturn]] inline void invalid(const std::string& why) { throw sdk::Failure(BP_INVALID, why); }

// One side of a copy: bytes of a buffer from `offset` on, or of the host's memory.
template <typename Buffer>
struct Side {
    Buffer* buffer = nullptr;
    std::byte* host = nullptr;  // where they are, of the host's
    uint64_t offset = 0;        // in the buffer
};
template <typename Buffer>
struct Sides {
    Side<Buffer> from, to;
    bool zero = false;  // BP_COPY_ZERO: nothing is read
};

// `name`: "copy: its source". Offsets come from the host: no sum of them is formed before it is known to fit.
template <typename Buffer>
Side<Buffer> side_of(const char* name, Buffer* buffer, const void* host, uint64_t offset, uint64_t bytes) {
    if ((buffer == nullptr) == (host == nullptr) && (buffer != nullptr || bytes != 0))
        invalid(std::string(name) + " must be one of a buffer and host memory");
    if (buffer == nullptr)
        return {nullptr, const_cast<std::byte*>(static_cast<const std::byte*>(host)) + (host != nullptr ? offset : 0), 0};
    if (offset > buffer->size || bytes > buffer->size - offset)
        invalid(std::string(name) + " has " + std::to_string(buffer->size) + " bytes, " + std::to_string(bytes) + " at " +
                std::to_string(offset) + " lie outside");
    return {buffer, nullptr, offset};
}

// `flags`: those that the backend knows. Others are Failure(BP_UNSUPPORTED).
template <typename BufferOf>
auto sides_of(const bp_copy& c, uint32_t flags, const BufferOf& buffer_of) {
    Sides<std::remove_pointer_t<decltype(buffer_of(c.from_buffer))>> sides;
    if ((c.flags & ~flags) != 0)
        throw sdk::Failure(BP_UNSUPPORTED, "copy: flags " + std::to_string(c.flags) + " are not known here");
    sides.zero = (c.flags & BP_COPY_ZERO) != 0;
    if (sides.zero && (c.from_buffer != nullptr || c.from_host != nullptr))
        invalid("copy: BP_COPY_ZERO takes no source, one is given");
    if (!sides.zero) sides.from = side_of("copy: its source", buffer_of(c.from_buffer), c.from_host, c.from_offset, c.bytes);
    sides.to = side_of("copy: its destination", buffer_of(c.to_buffer), c.to_host, c.to_offset, c.bytes);
    return sides;
}

// Of a pack for this slot, whose tensor has so many plain bytes.
template <typename BufferOf>
auto sides_of_pack(const bp_copy& c, const bp_slot& slot, uint64_t plain, const BufferOf& buffer_of) {
    if (c.bytes < plain)
        invalid("pack: tensor " + std::to_string(slot.tensor) + " has " + std::to_string(plain) + " plain bytes, " +
                std::to_string(c.bytes) + " are given");
    if (c.from_device != nullptr || c.peer_wait.count != 0) invalid("pack: it takes nothing of other devices");
    return Sides<std::remove_pointer_t<decltype(buffer_of(c.from_buffer))>>{
        side_of("pack: its source", buffer_of(c.from_buffer), c.from_host, c.from_offset, plain),
        side_of("pack: its destination", buffer_of(c.to_buffer), c.to_host, c.to_offset, slot.bytes)};
}

// Between two places of the host's memory, which may overlap; from nowhere come zeros.
inline void copy_in_memory(const std::byte* from, std::byte* to, uint64_t bytes) {
    if (bytes == 0) return;
    if (from == nullptr) {
        std::memset(to, 0, bytes);
    } else {
        std::memmove(to, from, bytes);
    }
}

// The workspace of a run, where the program has one; else null.
template <typename BufferOf>
auto workspace_of(const bp_run& run, uint64_t bytes, const BufferOf& buffer_of) {
    auto* workspace = bytes != 0 ? buffer_of(run.workspace) : nullptr;
    if (bytes != 0 &&
        (workspace == nullptr || run.workspace_offset > workspace->size || workspace->size - run.workspace_offset < bytes))
        invalid("run: the workspace must have " + std::to_string(bytes) + " bytes");
    return workspace;
}

// What a run binds to each slot, into `bound`, whose room is used again. `slots`: in the order of their tensors, as programs list them.
template <typename BufferOf>
void bindings_of(const bp_run& run, const std::vector<bp_slot>& slots, const BufferOf& buffer_of,
                 std::vector<bp_binding>& bound) {
    const bp_span& given = run.bindings;
    if (given.count != 0 && (given.first == nullptr || given.stride < sizeof(uint32_t)))
        invalid("run: the bindings have no memory");
    bound.assign(slots.size(), bp_binding{});
    auto next = slots.begin();  // hosts bind in the order of the slots, more often than not
    for (uint32_t i = 0; i < given.count; ++i) {
        const bp_binding b = sdk::read(BP_AT(bp_binding, &given, i));
        const auto refuse = [&](const std::string& why) { invalid("run: tensor " + std::to_string(b.tensor) + why); };
        if (next == slots.end() || next->tensor != b.tensor)
            next = std::lower_bound(slots.begin(), slots.end(), b.tensor,
                                    [](const bp_slot& slot, uint32_t wanted) { return slot.tensor < wanted; });
        if (next == slots.end() || next->tensor != b.tensor) refuse(" is bound, but the program has no such slot");
        bp_binding& mine = bound[static_cast<size_t>(next - slots.begin())];
        if (mine.buffer != nullptr) refuse(" is bound twice");
        const auto* buffer = buffer_of(b.buffer);
        if (buffer == nullptr) refuse(" is bound to no buffer");
        if (b.bytes < next->bytes || b.offset > buffer->size || b.bytes > buffer->size - b.offset)
            refuse(" needs " + std::to_string(next->bytes) + " bytes; " + std::to_string(b.bytes) + " at " +
                   std::to_string(b.offset) + " of a buffer of " + std::to_string(buffer->size) + " are given");
        mine = b;
        ++next;
    }
    for (size_t i = 0; i < bound.size(); ++i)
        if (bound[i].buffer == nullptr) invalid("run: tensor " + std::to_string(slots[i].tensor) + " is not bound");
}
template <typename BufferOf>
std::vector<bp_binding> bindings_of(const bp_run& run, const std::vector<bp_slot>& slots, const BufferOf& buffer_of) {
    std::vector<bp_binding> bound;
    bindings_of(run, slots, buffer_of, bound);
    return bound;
}

// What is written may share bytes only with what is done before it begins, or begins when it is done. `own`: the slots as a plan has them. first_of(i):
// where slot i is bound, its memory and the first byte there.
template <typename S, typename FirstOf>
void check_overlaps(const std::vector<bp_slot>& slots, const std::vector<S>& own, const FirstOf& first_of) {
    std::vector<size_t> order;
    for (size_t i = 0; i < slots.size(); ++i)
        if (slots[i].bytes != 0) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return first_of(a) < first_of(b); });
    for (size_t k = 0; k < order.size(); ++k)
        for (size_t m = k + 1; m < order.size(); ++m) {
            const size_t i = order[k], j = order[m];
            const bp_slot &a = slots[i], &b = slots[j];
            if (first_of(i).first != first_of(j).first || first_of(j).second - first_of(i).second >= a.bytes) break;
            const bool apart = a.last_use < b.first_use || b.last_use < a.first_use;
            if ((own[i].written || own[j].written) && !apart)
                invalid("run: tensors " + std::to_string(a.tensor) + " and " + std::to_string(b.tensor) +
                        " are bound to the same bytes, and one of them is written while the other is in use; bind them "
                        "apart");
        }
}

}  // namespace backplane::backend
