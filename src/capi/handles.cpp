#include "capi/handles.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

namespace backplane::capi {

bp_code fail(bp_error* error, bp_code code, std::string_view text) noexcept {
    if (error == nullptr) return code;
    if (BP_KNOWS(error, code)) error->code = code;
    if (BP_KNOWS(error, capacity) && error->text != nullptr && error->capacity > 0) {
        const size_t n = std::min(text.size(), error->capacity - 1);
        std::memcpy(error->text, text.data(), n);
        error->text[n] = '\0';
    }
    return code;
}

bp_code fail_with_current_exception(bp_error* error) noexcept {
    try {
        throw;
    } catch (const Error& e) {
        return fail(error, static_cast<bp_code>(e.code()), e.what());
    } catch (const std::bad_alloc&) {
        return fail(error, BP_NO_HOST_MEMORY, "out of memory");
    } catch (const std::exception& e) {
        return fail(error, BP_INTERNAL, e.what());
    } catch (...) {
        return fail(error, BP_INTERNAL, "something that is no error was thrown");
    }
}

WeightSource source_of(backplane_weight_source source, void* arg) {
    return [source, arg](std::string_view name) -> std::span<const std::byte> {
        uint64_t bytes = 0;
        const std::string text(name);
        const void* data = source != nullptr ? source(arg, text.c_str(), &bytes) : nullptr;
        if (data == nullptr) throw Error(Code::not_found, "there is no weight '" + text + "': the weight source gave none");
        return {static_cast<const std::byte*>(data), static_cast<size_t>(bytes)};
    };
}

void require(const void* pointer, const char* what) {
    if (pointer == nullptr) throw Error(Code::invalid, std::string(what) + " is null");
}

Shape shape_from(const int64_t* dims, uint32_t rank) {
    if (rank > BP_MAX_RANK) throw Error(Code::invalid, "rank " + std::to_string(rank) + " is over 8");
    if (rank > 0) require(dims, "dims");
    return rank > 0 ? Shape(dims, dims + rank) : Shape();
}

std::vector<Device> devices_from(backplane_device* const* devices, uint32_t count) {
    if (count == 0) throw Error(Code::invalid, "no device given");
    require(devices, "devices");
    std::vector<Device> all;
    for (uint32_t i = 0; i < count; ++i) {
        require(devices[i], "a device");
        all.push_back(devices[i]->device);
    }
    return all;
}

Streaming streaming_from(uint32_t given) {
    if (given > 2)
        throw Error(Code::invalid, "streaming is " + std::to_string(given) +
                                       ": it takes 0 (where weights have no room), 1 (never) or 2 (always)");
    return static_cast<Streaming>(given);
}

SessionOptions session_options_from(const backplane_session_options* options) {
    const backplane_session_options given = read_record(options);
    SessionOptions mine;
    mine.compile.math = static_cast<Math>(given.math);
    mine.compile.workspace_limit = given.workspace_limit;
    mine.compile.cancel = cancel_of(given.cancel);
    mine.streaming = streaming_from(given.streaming);
    if (given.plans_kept != 0) mine.plans_kept = given.plans_kept == UINT32_MAX ? 0 : given.plans_kept;
    mine.budget = given.budget;
    mine.weight_budget = given.weight_budget;
    if (given.rows != 0) mine.rows = given.rows;
    mine.check_ops = given.skip_op_checks == 0;
    mine.build_elsewhere = given.stay == 0;
    mine.read_at_first_run = given.read_at_first_run != 0;
    if (given.device_of_count > 0) {
        require(given.device_of, "device_of");
        mine.device_of.assign(given.device_of, given.device_of + given.device_of_count);
    }
    if (given.share_count > 0) {
        require(given.shares, "shares");
        mine.shares.assign(given.shares, given.shares + given.share_count);
    }
    mine.rounds = given.rounds == UINT32_MAX ? 0 : std::max(given.rounds, 1U);
    return mine;
}

std::vector<Input> inputs_from(const backplane_value* inputs, uint32_t count) {
    if (count > 0) require(inputs, "inputs");
    std::vector<Input> all;
    all.reserve(count);
    for (const backplane_value& v : std::span(inputs, count)) {
        require(v.name, "the name of an input");
        if (v.tensor != nullptr)
            all.emplace_back(v.name, v.tensor->tensor);
        else
            all.emplace_back(v.name, std::span<const std::byte>(room_at(v.data, v.bytes)));
    }
    return all;
}

void give_runs(const std::vector<StageRuns>& runs, backplane_stage_runs* stages, uint32_t capacity, uint32_t* count) {
    require(count, "count");
    give_records(runs, stages, capacity, count, BP_SIZE(backplane_stage_runs, runs), "backplane_stage_runs",
                 [](const StageRuns& from, backplane_stage_runs& into) {
                     into.nodes = from.nodes;
                     into.runs = from.runs;
                     put(into.device, from.device);
                     put(into.ops, from.ops);
                 });
}

std::string lines_of(const std::vector<std::string>& sentences) {
    std::string lines;
    for (const std::string& sentence : sentences) lines += sentence + "\n";
    return lines;
}

std::span<std::byte> room_at(void* data, uint64_t bytes) {
    if (bytes > 0) require(data, "data");
    return {static_cast<std::byte*>(data), static_cast<size_t>(bytes)};
}

std::vector<Output> outputs_from(const backplane_value* outputs, uint32_t count) {
    if (count > 0) require(outputs, "outputs");
    std::vector<Output> all;
    all.reserve(count);
    for (const backplane_value& v : std::span(outputs, count)) {
        require(v.name, "the name of an output");
        if (v.tensor != nullptr)
            all.emplace_back(v.name, &v.tensor->tensor);
        else
            all.emplace_back(v.name, room_at(v.data, v.bytes));
    }
    return all;
}

void give_text(const std::string& from, char* text, size_t capacity, size_t* size, const char* what) {
    if (size != nullptr) *size = from.size() + 1;
    if (capacity == 0) return;
    require(text, what);
    const size_t n = std::min(from.size(), capacity - 1);
    std::memcpy(text, from.data(), n);
    text[n] = '\0';
}

}  // namespace backplane::capi
