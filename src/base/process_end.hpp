// The end of the process, as far as it concerns libraries that were loaded at run time.
#pragma once

namespace backplane::base {

// Make one when a library has been loaded, and let it go when the library does. The library's static objects are destroyed when the
// process ends, before those objects of the program that were made earlier: what such an object still wants of the library would be
// asked of a ruin.
class ExpectProcessEnd {
public:
    ExpectProcessEnd() noexcept;
    ~ExpectProcessEnd();
    ExpectProcessEnd(const ExpectProcessEnd&) = delete;
    ExpectProcessEnd& operator=(const ExpectProcessEnd&) = delete;

private:
    bool over_ = false;  // the library went before the process
};

// True from the moment that static objects of a library so announced may be gone; nothing may be called in any of them.
bool process_is_ending() noexcept;
void note_process_is_ending() noexcept;

// Called when that moment comes, on the thread that ends the process; one for all.
void hear_of_process_end(void (*listener)() noexcept) noexcept;

// For what stays open for that reason: keeps it reachable, so that no leak detector takes it for lost.
void leave_open(const void* handle) noexcept;

}  // namespace backplane::base
