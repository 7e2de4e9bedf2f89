#include "platform/child.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/environment.hpp"

namespace backplane::compat {

namespace {

uint64_t number_in(const char* file, std::string_view field) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(field)) return std::strtoull(line.c_str() + field.size(), nullptr, 10);
    return 0;
}

}  // namespace

// A filter that was there when this process was made has let its parent make it: who has as many filters as its parent has the same. The
// first process of a container was started under the filter of a runtime, which refuses and does not kill.
std::string why_no_children() {
    if (base::environment("BACKPLANE_PROBE").value_or("") == "always") return {};
    if (number_in("/proc/self/status", "Seccomp:") == 0 || ::getpid() == 1) return {};
    const uint64_t own = number_in("/proc/self/status", "Seccomp_filters:");
    const std::string parent = "/proc/" + std::to_string(::getppid()) + "/status";
    if (own != 0 && number_in(parent.c_str(), "Seccomp_filters:") == own) return {};
    return "this process has a seccomp filter of its own, which may end it for starting another (BACKPLANE_PROBE=always "
           "tries all the same)";
}

void at_fork(void (*before)(), void (*after)(), void (*re_make)()) { ::pthread_atfork(before, after, re_make); }

}  // namespace backplane::compat
