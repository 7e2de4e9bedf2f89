// The one way to call a function of a module's table. Whatever the module does in the call short of ending the process, the host goes on
// as before: what it throws becomes an error of that call, the calling thread computes with floating-point numbers as it did, and the table that
// the module has of the host is as it was given.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "backplane/module.h"
#include "base/errors.hpp"
#include "base/process_end.hpp"
#include "base/process_state.hpp"
#include "registry/host.hpp"
#include "registry/mark.hpp"

namespace backplane::registry {

// A function of the table, for sentences. `often`: called for each run, so nothing around it may cost much.
struct Call {
    const char* name;
    Stage stage;
    bool often = false;
};

template <auto Function>
inline constexpr Call kCall{nullptr, Stage::idle};
template <>
inline constexpr Call kCall<&bp_module_api::open>{"open", Stage::open};
template <>
inline constexpr Call kCall<&bp_module_api::close>{"close", Stage::close};
template <>
inline constexpr Call kCall<&bp_module_api::extension>{"extension", Stage::ask};
template <>
inline constexpr Call kCall<&bp_module_api::list>{"list", Stage::list};
template <>
inline constexpr Call kCall<&bp_module_api::device_open>{"device_open", Stage::device_open};
template <>
inline constexpr Call kCall<&bp_module_api::device_close>{"device_close", Stage::close};
template <>
inline constexpr Call kCall<&bp_module_api::heaps>{"heaps", Stage::ask};
template <>
inline constexpr Call kCall<&bp_module_api::options>{"options", Stage::ask};
template <>
inline constexpr Call kCall<&bp_module_api::option_set>{"option_set", Stage::ask};
template <>
inline constexpr Call kCall<&bp_module_api::query>{"query", Stage::ask};
template <>
inline constexpr Call kCall<&bp_module_api::compile>{"compile", Stage::compile};
template <>
inline constexpr Call kCall<&bp_module_api::program_info>{"program_info", Stage::ask};
template <>
inline constexpr Call kCall<&bp_module_api::pack>{"pack", Stage::pack, true};
template <>
inline constexpr Call kCall<&bp_module_api::run>{"run", Stage::run, true};
template <>
inline constexpr Call kCall<&bp_module_api::program_close>{"program_close", Stage::close};
template <>
inline constexpr Call kCall<&bp_module_api::buffer_create>{"buffer_create", Stage::memory, true};
template <>
inline constexpr Call kCall<&bp_module_api::buffer_import>{"buffer_import", Stage::memory, true};
template <>
inline constexpr Call kCall<&bp_module_api::buffer_close>{"buffer_close", Stage::memory, true};
template <>
inline constexpr Call kCall<&bp_module_api::copy>{"copy", Stage::copy, true};
template <>
inline constexpr Call kCall<&bp_module_api::buffer_map>{"buffer_map", Stage::memory, true};
template <>
inline constexpr Call kCall<&bp_module_api::fence_create>{"fence_create", Stage::memory, true};
template <>
inline constexpr Call kCall<&bp_module_api::fence_wait>{"fence_wait", Stage::run, true};
template <>
inline constexpr Call kCall<&bp_module_api::fence_close>{"fence_close", Stage::memory, true};

// All members may be called from any thread; which calls may overlap is the table's matter (module.h).
class Guarded {
public:
    // `module`: its name in sentences, "backplane-x.so". `table` outlives this, and may be filled later.
    Guarded(std::string module, const bp_module_api& table, std::shared_ptr<const HostServices> services)
        : module_(std::move(module)), table_(table), services_(std::move(services)) {}
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    [[nodiscard]] const std::shared_ptr<const HostServices>& services() const noexcept { return services_; }

    // Before the first call: where each call is noted while it lasts.
    void set_mark(Mark* mark) noexcept { mark_ = mark; }
    // Whose table the module has been given, and is not to write to. Outlives this.
    void set_host(const Host* host) noexcept { host_ = host; }
    // The function in which the module wrote over the host's table, which makes that call an error; null: none.
    [[nodiscard]] const char* wrote_over_host() const noexcept { return wrote_over_host_.load(std::memory_order_relaxed); }

    // The module's answer; `error` is its last argument. BP_INTERNAL when it threw: `error` says what out of which function.
    template <auto Function, class... Arguments>
    [[nodiscard]] bp_code call(base::ErrorRoom& error, Arguments... arguments) const {
        return around<kCall<Function>>([&] { return (table_.*Function)(arguments..., error.get()); },
                                       [&](const std::string& text) {
                                           error.say(text);
                                           return bp_code{BP_INTERNAL};
                                       });
    }

    // A call that has no answer. What it throws is logged. Nothing is called while the process ends: the handle is left to it.
    template <auto Function, class Handle>
    void close(Handle* handle) const {
        if (base::process_is_ending()) {
            base::leave_open(handle);
            return;
        }
        around<kCall<Function>>([&] { (table_.*Function)(handle); }, [&](const std::string& text) { note(text); });
    }

    // Null when it threw, which is logged.
    [[nodiscard]] const void* extension(bp_module* handle, const char* id) const;

    // The table that the entry gives for this host. `problem`: what it threw, in words.
    [[nodiscard]] const bp_module_api* table(backplane_module_fn entry, std::string& problem) const;

private:
    template <const Call& about, class Body, class OnThrow>
    std::invoke_result_t<Body> around(const Body& body, const OnThrow& on_throw) const {
        const Inside inside(mark_, about.stage);
        // All of the environment where time does not matter: x87 registers left in use as MMX, flags.
        const std::conditional_t<about.often, base::KeepFloatingControl, base::KeepFloatingPoint> keep;
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
                body();
                if (changed_host(about.name)) on_throw(wrote_over_host_in(about.name));
            } else {
                const auto answer = body();
                return changed_host(about.name) ? on_throw(wrote_over_host_in(about.name)) : answer;
            }
        } catch (...) {
            static_cast<void>(changed_host(about.name));
            return on_throw(thrown_out_of(about.name));
        }
    }

    [[nodiscard]] bool changed_host(const char* function) const noexcept {
        if (host_ == nullptr || !host_->put_back_if_changed()) return false;
        wrote_over_host_.store(function, std::memory_order_relaxed);
        return true;
    }
    [[nodiscard]] std::string wrote_over_host_in(const char* function) const;

    [[nodiscard]] std::string thrown_out_of(const char* function) const;  // within a handler
    void note(const std::string& text) const noexcept;

    std::string module_;
    const bp_module_api& table_;
    std::shared_ptr<const HostServices> services_;
    Mark* mark_ = nullptr;
    const Host* host_ = nullptr;
    mutable std::atomic<const char*> wrote_over_host_{nullptr};
};

}  // namespace backplane::registry
