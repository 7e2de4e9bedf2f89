// What one generated module does wrong: where, what, in which process, from which call on. The module reads it from the file `plan` in the
// folder above its own; the driver writes it there (sample.hpp), and names a combination by the same words: "run/crash/host/first/kept".
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace zoo {

#define ZOO_PLACES(X)                                  \
    X(constructor)                                     \
    X(table)                                           \
    X(open)                                            \
    X(list)                                            \
    X(second_list)                                     \
    X(device_open)                                     \
    X(heaps)                                           \
    X(query)                                           \
    X(compile)                                         \
    X(pack)                                            \
    X(run)                                             \
    X(copy)                                            \
    X(buffer_create)                                   \
    X(buffer_close)                                    \
    X(program_close)                                   \
    X(device_close)                                    \
    X(close)                                           \
    X(thread)       /* of its own, while it is open */ \
    X(exit_handler) /* by atexit() */                  \
    X(unload)       /* its destructor */

#define ZOO_ACTS(X)                           \
    X(crash)                                  \
    X(wild_pointer)                           \
    X(illegal_instruction)                    \
    X(bus_error)                              \
    X(stack_overflow)                         \
    X(abort)                                  \
    X(exit_0)                                 \
    X(exit_3)                                 \
    X(end_without_handlers) /* _exit(0) */    \
    X(kill_itself)                            \
    X(throw_exception)                        \
    X(throw_int)                              \
    X(throw_own_type)                         \
    X(hang)                                   \
    X(spin)                                   \
    X(kill_parent)                            \
    X(stop_parent)                            \
    X(slow)                                   \
    X(flood)                                  \
    X(leave_child)                            \
    X(leave_daemon)                           \
    X(leave_thread)                           \
    X(change_rounding)                        \
    X(change_umask)                           \
    X(change_folder)                          \
    X(change_handler)                         \
    X(block_signals)                          \
    X(arm_timer)                              \
    X(lower_limits)                           \
    X(change_affinity)                        \
    X(change_environment)                     \
    X(close_descriptors)                      \
    X(change_nice)                            \
    X(error)                                  \
    X(error_with_escapes)                     \
    X(wrong_result)                           \
    X(null_handle)                            \
    X(device_lost)                            \
    X(write_over_host) /* the host's table */ \
    ZOO_SINGLE_ACTS(X)

// Of single tests (process_test.cpp); never drawn.
#define ZOO_SINGLE_ACTS(X)                                            \
    X(arm_profiling_timer)                                            \
    X(limit_address_space)                                            \
    X(make_streams_nonblocking)                                       \
    X(leave_many)           /* 40, each of them with a daemon */      \
    X(hold_parent_and_hang) /* by ptrace(), as a debugger does */     \
    X(log_and_abort)        /* as ggml does: two errors in the log */ \
    X(hold_host)                                                      \
    X(hold_host_and_hang)

#define ZOO_NAME(name) name,
enum class Place { ZOO_PLACES(ZOO_NAME) count };
enum class Act { ZOO_ACTS(ZOO_NAME) count };
#undef ZOO_NAME
enum class Who { child, host, both, count };
enum class When { first, tenth, second_start, count };  // the call, or the start, from which on it does it

#define ZOO_TEXT(name) #name,
inline constexpr std::array kPlaces{ZOO_PLACES(ZOO_TEXT) "none"};
inline constexpr std::array kActs{ZOO_ACTS(ZOO_TEXT) "none"};
#undef ZOO_TEXT
inline constexpr std::array kWho{"child", "host", "both"};
inline constexpr std::array kWhen{"first", "tenth", "second_start"};

struct Plan {
    Place place = Place::count;  // none
    Act act = Act::count;
    Who who = Who::both;
    When when = When::first;
    bool unloadable = false;  // may be unmapped after close(): which of the two files of the module it is
};

// The number of a name in its list; -1: it is not there.
template <size_t N>
int number_of(const std::array<const char*, N>& names, std::string_view name) {
    for (size_t i = 0; i < N; ++i)
        if (name == names[i]) return static_cast<int>(i);
    return -1;
}

// Reads "PLACE/ACT/WHO/WHEN/kept"; false: it is not that.
inline bool read(std::string_view text, Plan& plan) {
    std::array<std::string_view, 5> words;
    for (size_t i = 0; i < words.size(); ++i) {
        const size_t end = i + 1 < words.size() ? text.find('/') : text.size();
        if (end == std::string_view::npos) return false;
        words[i] = text.substr(0, end);
        text.remove_prefix(end < text.size() ? end + 1 : end);
    }
    const int place = number_of(kPlaces, words[0]), act = number_of(kActs, words[1]);
    const int who = number_of(kWho, words[2]), when = number_of(kWhen, words[3]);
    if (place < 0 || act < 0 || who < 0 || when < 0) return false;
    if (words[4] != "kept" && words[4] != "unloadable") return false;
    plan = {static_cast<Place>(place), static_cast<Act>(act), static_cast<Who>(who), static_cast<When>(when),
            words[4] == "unloadable"};
    return true;
}

}  // namespace zoo
