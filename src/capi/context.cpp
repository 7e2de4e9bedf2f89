#include <algorithm>
#include <charconv>

#include "base/file.hpp"
#include "capi/handles.hpp"

using backplane::Code;
using backplane::Context;
using backplane::ContextOptions;
using backplane::DeviceInfo;
using backplane::Error;
using backplane::capi::give_text;
using backplane::capi::guarded;
using backplane::capi::put;
using backplane::capi::read_record;
using backplane::capi::record_at;
using backplane::capi::require;
using backplane::capi::write_record;

namespace {

ContextOptions options_from(const backplane_context_options* given) {
    ContextOptions options;
    if (given == nullptr) return options;
    const backplane_context_options o = read_record(given);
    options.search_defaults = o.skip_defaults == 0;
    options.use_linked_in = o.skip_linked_in == 0;
    options.use_environment = o.skip_environment == 0;
    if (o.module_path_count > 0) require(o.module_paths, "module_paths");
    for (uint64_t i = 0; i < o.module_path_count; ++i) {
        require(o.module_paths[i], "an item of module_paths");
        options.module_paths.push_back(backplane::base::path_of(o.module_paths[i]));
    }
    if (o.module_name_count > 0) require(o.module_names, "module_names");
    for (uint64_t i = 0; i < o.module_name_count; ++i) {
        require(o.module_names[i], "an item of module_names");
        options.module_names.emplace_back(o.module_names[i]);
    }
    if (o.device_filter != nullptr) options.device_filter = o.device_filter;
    if (o.cpu_mask != nullptr) options.cpu_mask = o.cpu_mask;
    if (o.probe > 2)
        throw Error(Code::invalid, "probe is " + std::to_string(o.probe) + ": it takes 0 (first), 1 (always) or 2 (never)");
    options.probe = static_cast<backplane::ProbePolicy>(o.probe);
    if (o.probe_limit_ms != 0) options.probe_limit = std::chrono::milliseconds(o.probe_limit_ms);
    if (o.probe_budget_ms != 0) options.probe_budget = std::chrono::milliseconds(o.probe_budget_ms);
    options.cancel = backplane::capi::cancel_of(o.cancel);
    if (o.probe_program != nullptr) options.probe_program = backplane::base::path_of(o.probe_program);
    if (o.cache_folder != nullptr) options.cache_folder = backplane::base::path_of(o.cache_folder);
    if (o.state_folder != nullptr) options.state_folder = backplane::base::path_of(o.state_folder);
    if (o.option_count > 0) require(o.options, "options");
    for (uint64_t i = 0; i < o.option_count; ++i) {
        require(o.options[i], "an item of options");
        const std::string_view text = o.options[i];
        const size_t end = text.find('=');
        if (end == 0 || end == std::string_view::npos)
            throw Error(Code::invalid,
                        "option '" + std::string(text) + "' has no value: give NAME=VALUE, \"cpu.threads=4\"");
        options.options[std::string(text.substr(0, end))] = text.substr(end + 1);
    }
    options.strict_options = o.strict_options != 0;
    options.note_faults = o.skip_fault_notes == 0;
    if (o.log != nullptr)
        options.log = [log = o.log, arg = o.log_arg](backplane::LogLevel level, std::string_view text) {
            log(arg, static_cast<uint32_t>(level), std::string(text).c_str());
        };
    if (o.parallel != nullptr)
        options.parallel = [lend = o.parallel, arg = o.parallel_arg](uint32_t n, const std::function<void(uint32_t)>& body) {
            lend(
                arg, n, [](void* of, uint32_t i) { (*static_cast<const std::function<void(uint32_t)>*>(of))(i); },
                const_cast<void*>(static_cast<const void*>(&body)));
        };
    return options;
}

void write_info(const DeviceInfo& d, backplane_device_info* out) {
    backplane_device_info info{};
    info.kind = static_cast<uint32_t>(d.kind);
    info.memory_total = d.memory_total;
    info.memory_free = d.memory_free;
    info.capabilities = d.capabilities.bits();
    info.dtypes = d.dtypes;
    put(info.id, d.id);
    put(info.backend, d.backend);
    put(info.identity, d.identity);
    put(info.name, d.name);
    put(info.driver, d.driver);
    put(info.warning, d.warning);
    write_record(info, out, BP_SIZE(backplane_device_info, kind), "backplane_device_info");
}

// The text as the type that the option has now.
std::variant<bool, int64_t, double, std::string> parse(const backplane::Option& option, const std::string& text) {
    const std::string what = "cannot set option '" + option.name + "' to '" + text + "': it takes ";
    if (std::holds_alternative<bool>(option.value)) {
        if (text == "true" || text == "1" || text == "on") return true;
        if (text == "false" || text == "0" || text == "off") return false;
        throw Error(Code::invalid, what + "true or false");
    }
    const char* end = text.data() + text.size();
    if (std::holds_alternative<int64_t>(option.value)) {
        int64_t number = 0;
        const auto [stop, bad] = std::from_chars(text.data(), end, number);
        if (bad != std::errc() || stop != end) throw Error(Code::invalid, what + "a whole number");
        return number;
    }
    if (std::holds_alternative<double>(option.value)) {
        double number = 0;
        const auto [stop, bad] = std::from_chars(text.data(), end, number);
        if (bad != std::errc() || stop != end) throw Error(Code::invalid, what + "a number");
        return number;
    }
    return text;
}

}  // namespace

extern "C" {

const char* backplane_version(void) { return BACKPLANE_VERSION; }

bp_code backplane_context_create(const backplane_context_options* options, backplane_context** out, bp_error* error) {
    return guarded(error, [&] {
        require(out, "out");
        *out = nullptr;
        *out = new backplane_context{Context(options_from(options))};
    });
}

void backplane_context_destroy(backplane_context* context) { delete context; }

bp_code backplane_context_unload(backplane_context* context, const char* backend, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        require(backend, "backend");
        context->context.unload(backend);
    });
}

bp_code backplane_context_rescan(backplane_context* context, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        context->context.rescan();
    });
}

bp_code backplane_context_devices(backplane_context* context, backplane_device_info* infos, uint32_t capacity,
                                  uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        require(count, "count");
        if (capacity > 0) require(infos, "infos");
        const std::vector<DeviceInfo> devices = context->context.devices();
        *count = static_cast<uint32_t>(devices.size());
        for (size_t i = 0; i < std::min<size_t>(capacity, devices.size()); ++i) write_info(devices[i], record_at(infos, i));
    });
}

bp_code backplane_context_report(backplane_context* context, char* json, size_t capacity, size_t* size, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        give_text(context->context.report().json(), json, capacity, size, "json");
    });
}

bp_code backplane_device_open(backplane_context* context, const char* filter, backplane_device** out, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_device{context->context.choose(filter != nullptr ? filter : "")};
    });
}

void backplane_device_close(backplane_device* device) { delete device; }

bp_code backplane_device_get_info(backplane_device* device, backplane_device_info* info, bp_error* error) {
    return guarded(error, [&] {
        require(device, "device");
        require(info, "info");
        write_info(device->device.info(), info);
    });
}

bp_code backplane_device_set_option(backplane_device* device, const char* name, const char* value, bp_error* error) {
    return guarded(error, [&] {
        require(device, "device");
        require(name, "name");
        require(value, "value");
        for (const backplane::Option& option : device->device.options())
            if (option.name == name) return device->device.set_option(name, parse(option, value));
        device->device.set_option(name, std::string(value));  // says which options there are
    });
}

}  // extern "C"
