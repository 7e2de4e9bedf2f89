// The C handles and how exceptions end at the C line.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/backplane.h"
#include "backplane/context.hpp"
#include "backplane/graph.hpp"
#include "backplane/runtime.hpp"

struct backplane_context {
    backplane::Context context;
};
struct backplane_device {
    backplane::Device device;
};
struct backplane_graph {
    backplane::Graph graph;
};
struct backplane_session {
    backplane::Session session;
};
struct backplane_tensor {
    backplane::Tensor tensor;
};
struct backplane_weights {
    backplane::Weights weights;
};
struct backplane_event {
    backplane::Event event;
};

namespace backplane::capi {

bp_code fail(bp_error* error, bp_code code, std::string_view text) noexcept;
bp_code fail_with_current_exception(bp_error* error) noexcept;

// Runs the body; whatever it throws becomes a code and a sentence.
template <typename Body>
bp_code guarded(bp_error* error, Body body) noexcept {
    try {
        body();
        return BP_OK;
    } catch (...) {
        return fail_with_current_exception(error);
    }
}

inline const std::atomic<uint32_t>* cancel_of(const volatile uint32_t* cancel) noexcept {
    return reinterpret_cast<const std::atomic<uint32_t>*>(const_cast<const uint32_t*>(cancel));
}

// A source of the C API as one of the C++ API; null: one that has no weights.
WeightSource source_of(backplane_weight_source source, void* arg);

// Throws Error(invalid) when a pointer that must be given is null.
void require(const void* pointer, const char* what);

// Throws Error(invalid).
Shape shape_from(const int64_t* dims, uint32_t rank);

// The devices of handles, of which there must be one. Throws Error(invalid).
std::vector<Device> devices_from(backplane_device* const* devices, uint32_t count);

// Throws Error(invalid).
Streaming streaming_from(uint32_t given);
// What the caller says of a session. Throws Error(invalid).
SessionOptions session_options_from(const backplane_session_options* options);

// Inputs in host memory or as tensors; names and bytes stay the caller's. Throws Error(invalid): a null name or data.
std::vector<Input> inputs_from(const backplane_value* inputs, uint32_t count);

// Room for a result at `data`, which may be null where there are no bytes. Throws Error(invalid).
std::span<std::byte> room_at(void* data, uint64_t bytes);
// Where outputs go: memory of the caller or tensors. Valid as long as `outputs`. Throws Error(invalid): a null name or data.
std::vector<Output> outputs_from(const backplane_value* outputs, uint32_t count);

// Text into a member of a record, cut where it is too long, with its zero.
template <size_t n>
void put(char (&into)[n], std::string_view text) noexcept {
    const size_t length = std::min(text.size(), n - 1);
    std::memcpy(into, text.data(), length);
    into[length] = '\0';
}

// What the caller says of it, as far as its struct_size goes; zeros behind that, and of a null pointer.
template <typename Record>
Record read_record(const Record* given) {
    Record mine{};
    if (given != nullptr) std::memcpy(&mine, given, std::min<size_t>(given->struct_size, sizeof mine));
    return mine;
}

// Into the caller's memory, no further than its struct_size says, which holds `least` bytes or more. Throws Error(invalid) otherwise.
template <typename Record>
void write_record(Record mine, Record* out, uint32_t least, const char* name) {
    const uint32_t size = out->struct_size;
    if (size < least || size > sizeof mine)
        throw Error(Code::invalid,
                    "struct_size of a " + std::string(name) + " is " + std::to_string(size) + ": set it with BP_SIZE");
    mine.struct_size = size;
    std::memcpy(out, &mine, size);
}

// Record i of a caller, whose struct may be smaller than ours.
template <typename Record>
Record* record_at(Record* first, size_t i) noexcept {
    const size_t stride = (first->struct_size + alignof(Record) - 1) / alignof(Record) * alignof(Record);
    return reinterpret_cast<Record*>(reinterpret_cast<char*>(first) + i * stride);
}

// Records of as many `items` as there is room for; *count is how many there are. `write(item, record)` fills one that is all zeros.
template <typename Items, typename Record, typename Write>
void give_records(const Items& items, Record* out, uint32_t capacity, uint32_t* count, uint32_t least, const char* name,
                  Write write) {
    if (count != nullptr) *count = static_cast<uint32_t>(items.size());
    if (capacity > 0) require(out, "the room for records");
    for (size_t i = 0; i < std::min<size_t>(capacity, items.size()); ++i) {
        Record mine{};
        write(items[i], mine);
        write_record(mine, record_at(out, i), least, name);
    }
}

// As backplane_session_runs gives them.
void give_runs(const std::vector<StageRuns>& runs, backplane_stage_runs* stages, uint32_t capacity, uint32_t* count);

// A line each.
std::string lines_of(const std::vector<std::string>& sentences);

// Text and its zero, as much as there is room for; *size, where given, is what all of it needs.
void give_text(const std::string& from, char* text, size_t capacity, size_t* size, const char* what);

}  // namespace backplane::capi
