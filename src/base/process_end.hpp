// The end of the process, as far as it concerns libraries that were loaded at run time.
#pragma once

namespace backplane::base {

// Call when a library has been loaded. Its static objects are destroyed when the process ends, before those objects of the program that
// were made earlier: what such an object still wants of the library would be asked of a ruin.
void expect_process_end() noexcept;

// True from the moment that static objects of a library so announced may be gone; nothing may be called in any of them.
bool process_is_ending() noexcept;

// For what stays open for that reason: keeps it reachable, so that no leak detector takes it for lost.
void leave_open(const void* handle) noexcept;

template <class Handle, class Close>
void close_in_time(Handle* handle, Close close) {
    if (process_is_ending())
        leave_open(handle);
    else
        close(handle);
}

}  // namespace backplane::base
