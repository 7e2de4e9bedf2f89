// starved_program works | hangs: under supervision, with three others in its way on one processor, says something after a tenth of a second of
// work, which takes it seconds, or never. Exit code 2 where the system does not let it share a processor so.
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <string_view>

#include "base/process.hpp"

namespace {

bool share_one_processor() {
#ifdef __linux__
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (::sched_getaffinity(0, sizeof(all), &all) != 0) return false;
    int first = 0;
    while (CPU_ISSET(first, &all) == 0) ++first;
    CPU_SET(first, &one);
    return ::sched_setaffinity(0, sizeof(one), &one) == 0;
#else
    return false;
#endif
}

double worked() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

int main(int, char** arguments) {
    using namespace backplane::base;
    supervise();
    if (!share_one_processor()) return 2;
    for (int other = 0; other < 3; ++other) {
        if (::fork() == 0)
            for (volatile unsigned turns = 0;; turns = turns + 1) {  // until it is ended with the rest
            }
    }
    if (::setpriority(PRIO_PROCESS, 0, 10) != 0) return 2;
    write_record("began\n");
    const std::string_view how = arguments[2];
    while (how == "hangs") ::sleep(1);
    const double began = worked();
    while (worked() - began < 0.1) {
    }
    write_record("done\n");
    leave_process(0);
}
