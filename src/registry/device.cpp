#include <algorithm>
#include <array>

#include "base/errors.hpp"
#include "registry/device_state.hpp"
#include "registry/module.hpp"

namespace backplane {

namespace {

std::vector<bp_option> options_of(Device::State& state) {
    state.expect_there("cannot read the options of " + state.info.id);
    std::vector<bp_option> options(32);
    for (;;) {
        for (bp_option& option : options) {
            option = {};
            option.struct_size = BP_SIZE(bp_option, text);
        }
        const bp_array room_for{options.data(), static_cast<uint32_t>(options.size()), sizeof(bp_option)};
        uint32_t count = 0;
        base::ErrorRoom room;
        state.check(state.call<&bp_module_api::options>(room, state.handle, &room_for, &count),
                    "cannot read the options of " + state.info.id, room);
        const bool all = count <= options.size();
        options.resize(std::min<uint32_t>(count, 1024));
        if (all) return options;
    }
}

Option to_option(const bp_option& o) {
    Option option;
    option.name = o.name != nullptr ? o.name : "";
    option.help = o.help != nullptr ? o.help : "";
    switch (o.type) {
        case BP_OPTION_BOOL: option.value = o.integer != 0; break;
        case BP_OPTION_INT: option.value = o.integer; break;
        case BP_OPTION_FLOAT: option.value = o.number; break;
        default: option.value = std::string(o.text != nullptr ? o.text : ""); break;
    }
    option.least = o.integer_least;
    option.most = o.integer_most;
    return option;
}

Device::State& open_state(const std::shared_ptr<Device::State>& state) {
    if (!state) throw Error(Code::invalid, "no device: this handle was never given one");
    return *state;
}

const char* kind_of_value(size_t index) {
    static constexpr std::array kNames{"true or false", "a whole number", "a number", "a text"};
    return kNames.at(index);
}

}  // namespace

Device::State::~State() {
    if (handle != nullptr) guarded().close<&bp_module_api::device_close>(handle);
}

void Device::State::lose(const std::string& why) {
    const std::lock_guard lock(why_mutex_);
    if (lost()) return;
    why_ = why;
    lost_.store(true, std::memory_order_release);
}

void Device::State::expect_there(std::string_view what) const {
    if (!lost()) return;
    const std::lock_guard lock(why_mutex_);
    throw Error(Code::device_lost, std::string(what) + ": " + why_ + "; open the device again (choose), or choose another");
}

void Device::State::check(bp_code code, std::string_view what, const base::ErrorRoom& room) {
    if (code == BP_DEVICE_LOST)
        lose(info.id + " was lost" + (room.text().empty() ? "" : " (" + std::string(room.text()) + ")"));
    base::check(code, what, room);
}

const DeviceInfo& Device::info() const { return open_state(state_).info; }

const void* Device::extension(const char* id) const { return open_state(state_).module->extension(id); }

std::vector<Heap> Device::heaps() const { return open_state(state_).heaps(); }

void Device::State::expect_handle(const void* handle, std::string_view what) {
    if (handle == nullptr)
        throw Error(Code::internal,
                    std::string(what) + ": the module reports success and gives no handle: report this to its author");
}

std::vector<Heap> Device::State::heaps() {
    if (!BP_HAS(api, heaps)) return {};
    expect_there("cannot read the memory of " + info.id);
    std::array<bp_heap, 32> room_heaps{};
    for (bp_heap& heap : room_heaps) heap.struct_size = BP_SIZE(bp_heap, alignment);
    const bp_array room_for{room_heaps.data(), static_cast<uint32_t>(room_heaps.size()), sizeof(bp_heap)};
    uint32_t count = 0;
    base::ErrorRoom room;
    check(call<&bp_module_api::heaps>(room, handle, &room_for, &count), "cannot read the memory of " + info.id, room);
    std::vector<Heap> heaps;
    for (uint32_t i = 0; i < std::min<uint32_t>(count, room_heaps.size()); ++i) {
        const bp_heap& h = room_heaps[i];
        heaps.push_back({Flags<HeapFlag>(h.flags), h.total, h.available, h.used_by_us, h.largest_block, h.alignment});
    }
    return heaps;
}

bool Device::State::in_host_memory() {
    std::call_once(asked_memory_, [&] {
        const std::vector<Heap> memory = heaps();
        in_host_memory_ = memory.empty() || memory.front().flags.has(HeapFlag::unified);
    });
    return in_host_memory_;
}

std::vector<Option> Device::options() const {
    State& state = open_state(state_);
    if (!BP_HAS(state.api, options)) return {};
    std::vector<Option> options;
    for (const bp_option& o : options_of(state)) options.push_back(to_option(o));
    return options;
}

void Device::set_option(std::string_view name, const std::variant<bool, int64_t, double, std::string>& value) {
    State& state = open_state(state_);
    const std::string what = "cannot set option '" + std::string(name) + "' of " + state.info.id;
    std::string there;
    for (const Option& option : options()) {
        there += (there.empty() ? "" : ", ") + option.name;
        if (option.name != name) continue;
        if (option.value.index() != value.index())
            throw Error(Code::invalid, what + ": it takes " + kind_of_value(option.value.index()));
        bp_option request{};
        request.struct_size = BP_SIZE(bp_option, text);
        request.name = option.name.c_str();
        request.type = static_cast<uint32_t>(value.index()) + BP_OPTION_BOOL;
        if (const auto* flag = std::get_if<bool>(&value)) request.integer = *flag ? 1 : 0;
        if (const auto* number = std::get_if<double>(&value)) request.number = *number;
        if (const auto* text = std::get_if<std::string>(&value)) request.text = text->c_str();
        if (const auto* integer = std::get_if<int64_t>(&value)) {
            request.integer = *integer;
            if ((option.least != 0 || option.most != 0) && (*integer < option.least || *integer > option.most))
                throw Error(Code::invalid, what + " to " + std::to_string(*integer) + ": it takes " +
                                               std::to_string(option.least) + " to " + std::to_string(option.most));
        }
        if (!BP_HAS(state.api, option_set)) throw Error(Code::unsupported, what + ": the module only shows it");
        base::ErrorRoom room;
        state.check(state.call<&bp_module_api::option_set>(room, state.handle, &request), what, room);
        ++state.options_set;
        return;
    }
    throw Error(Code::not_found, what + ": there is no such option; there are: " + (there.empty() ? "none" : there));
}

}  // namespace backplane
