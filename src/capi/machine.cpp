// What there is of a machine, and why something is not: modules, options, heaps, folders, the devices that stand in.
#include <array>
#include <charconv>
#include <memory>

#include "capi/handles.hpp"

using backplane::Candidate;
using backplane::Code;
using backplane::Error;
using backplane::capi::give_records;
using backplane::capi::give_text;
using backplane::capi::guarded;
using backplane::capi::put;
using backplane::capi::require;

namespace {

std::string text_of(const std::filesystem::path& path) {
    const std::u8string text = path.u8string();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
}

void tell(const Candidate& from, backplane_module_info& into) {
    into.verdict = static_cast<uint32_t>(from.verdict);
    into.reason = static_cast<uint32_t>(from.code);
    put(into.code, from.code == backplane::ReasonCode::none ? "" : backplane::name_of(from.code));
    if (from.descriptor) {
        put(into.backend, from.descriptor->backend);
        put(into.version, from.descriptor->version);
    }
    put(into.text, from.reason);
    put(into.remedy, from.remedy);
    put(into.path, text_of(from.path));
}

void tell(const backplane::Option& from, backplane_option& into) {
    put(into.name, from.name);
    put(into.help, from.help);
    into.least = from.least;
    into.most = from.most;
    if (const auto* flag = std::get_if<bool>(&from.value)) {
        into.type = BP_OPTION_BOOL;
        into.integer = *flag ? 1 : 0;
        put(into.value, *flag ? "true" : "false");
    } else if (const auto* whole = std::get_if<int64_t>(&from.value)) {
        into.type = BP_OPTION_INT;
        into.integer = *whole;
        put(into.value, std::to_string(*whole));
    } else if (const auto* number = std::get_if<double>(&from.value)) {
        into.type = BP_OPTION_FLOAT;
        into.number = *number;
        std::array<char, 32> digits{};
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *number);
        put(into.value, std::string_view(digits.data(), end.ptr));
    } else {
        into.type = BP_OPTION_TEXT;
        put(into.value, std::get<std::string>(from.value));
    }
}

static_assert(BACKPLANE_MODULE_FAILED == static_cast<uint32_t>(backplane::Verdict::failed));

}  // namespace

extern "C" {

bp_code backplane_context_why(backplane_context* context, char* text, size_t capacity, size_t* size, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        give_text(context->context.why(), text, capacity, size, "text");
    });
}

bp_code backplane_context_state_folder(backplane_context* context, char* path, size_t capacity, size_t* size,
                                       bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        give_text(text_of(context->context.state_folder()), path, capacity, size, "path");
    });
}

bp_code backplane_context_modules(backplane_context* context, backplane_module_info* infos, uint32_t capacity,
                                  uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        require(count, "count");
        const backplane::Report report = context->context.report();
        give_records(report.candidates, infos, capacity, count, BP_SIZE(backplane_module_info, reason),
                     "backplane_module_info", [](const Candidate& from, backplane_module_info& into) { tell(from, into); });
    });
}

bp_code backplane_context_option_problems(backplane_context* context, backplane_option_problem* problems, uint32_t capacity,
                                          uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        require(count, "count");
        give_records(context->context.option_problems(), problems, capacity, count, BP_SIZE(backplane_option_problem, name),
                     "backplane_option_problem", [](const backplane::OptionProblem& from, backplane_option_problem& into) {
                         put(into.name, from.name);
                         put(into.value, from.value);
                         put(into.text, from.text);
                     });
    });
}

bp_code backplane_device_open_with_fallback(backplane_context* context, const char* filter, backplane_device** devices,
                                            uint32_t capacity, uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        require(devices, "devices");
        require(count, "count");
        *count = 0;
        if (capacity < 2)
            throw Error(Code::invalid, "there is room for " + std::to_string(capacity) + " devices: two are wanted");
        const std::vector<backplane::Device> opened = context->context.choose_with_fallback(filter != nullptr ? filter : "");
        std::vector<std::unique_ptr<backplane_device>> made;
        for (const backplane::Device& device : opened)
            made.push_back(std::make_unique<backplane_device>(backplane_device{device}));
        for (auto& one : made) devices[(*count)++] = one.release();
    });
}

bp_code backplane_device_options(backplane_device* device, backplane_option* options, uint32_t capacity, uint32_t* count,
                                 bp_error* error) {
    return guarded(error, [&] {
        require(device, "device");
        require(count, "count");
        give_records(device->device.options(), options, capacity, count, BP_SIZE(backplane_option, name), "backplane_option",
                     [](const backplane::Option& from, backplane_option& into) { tell(from, into); });
    });
}

bp_code backplane_device_heaps(backplane_device* device, bp_heap* heaps, uint32_t capacity, uint32_t* count,
                               bp_error* error) {
    return guarded(error, [&] {
        require(device, "device");
        require(count, "count");
        give_records(device->device.heaps(), heaps, capacity, count, BP_SIZE(bp_heap, available), "bp_heap",
                     [](const backplane::Heap& from, bp_heap& into) {
                         into.flags = static_cast<uint32_t>(from.flags.bits());
                         into.total = from.total;
                         into.available = from.available;
                         into.used_by_us = from.used_by_us;
                         into.largest_block = from.largest_block;
                         into.alignment = from.alignment;
                     });
    });
}

}  // extern "C"
