#include "zoo/generated/acts.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace zoo {

namespace {

struct OwnType {};

Plan plan;
char folder[2048];
std::array<std::atomic<unsigned>, static_cast<size_t>(Place::count)> calls{};
std::atomic<bool> told{false}, done{false};

bool in_the_child() { return std::strcmp(program_invocation_short_name, "backplane-probe") == 0; }

int start_of_the_host() {
    const char* text = std::getenv("ZOO_START");
    return text != nullptr ? std::atoi(text) : 1;
}

void tell_process(const char* file) {
    char line[64];
    std::snprintf(line, sizeof line, "%s %d\n", in_the_child() ? "child" : "host", static_cast<int>(getpid()));
    write_line(file, line);
}

[[noreturn]] void wait_for_ever() {
    if (!in_the_child()) tell_process("hangs");
    for (;;) pause();
}

[[noreturn]] void spin() {
    if (!in_the_child()) tell_process("hangs");
    for (volatile unsigned i = 0;; i = i + 1) {
    }
}

__attribute__((noinline)) int recurse(int depth) {
    volatile char page[4096];
    page[depth % 4096] = 1;
    return depth < 0 ? 0 : recurse(depth + 1) + page[depth % 4096];
}

void read_behind_the_end_of_a_file() {
    char name[] = "/tmp/zoo-XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    auto* page = static_cast<volatile char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    page[0] = 1;
}

// A probe, or an application of these tests: never their driver, nor a stranger.
bool is_ours(pid_t process) {
    char path[64];
    char name[32] = "";
    std::snprintf(path, sizeof path, "/proc/%d/comm", static_cast<int>(process));
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    const bool known = file >= 0 && ::read(file, name, sizeof name - 1) > 0;
    if (file >= 0) ::close(file);
    const auto is = [&](const char* program) { return std::strncmp(name, program, std::strlen(program)) == 0; };
    return known && process > 1 && (is("zoo_host") || is("backplane-probe") || is("trials"));
}

// Of the child only.
void signal_the_parent(int number) {
    const pid_t parent = getppid();
    if (is_ours(parent)) kill(parent, number);
}

pid_t parent_of(pid_t process) {
    char path[64];
    char text[512] = "";
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t size = ::read(file, text, sizeof text - 1);
    ::close(file);
    const char* end = size > 0 ? std::strrchr(text, ')') : nullptr;  // "12 (name) S 11 ..."
    return end != nullptr && std::strlen(end) > 4 ? static_cast<pid_t>(std::atoi(end + 4)) : 0;
}

// Of the child only. Stopped until this process lets it go, which it never does.
void hold(pid_t process) {
    if (!is_ours(process)) return;
    write_line("tries", "to hold\n");
    const bool held = ptrace(PTRACE_ATTACH, process, nullptr, nullptr) == 0;
    write_line("held", held ? "yes\n" : std::strerror(errno));
    if (held) waitpid(process, nullptr, __WALL);
}

void sleep_ms(long ms) {
    timespec left{ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

void leave_process(bool daemon) {
    if (fork() != 0) return;
    if (daemon) setsid();
    prctl(PR_SET_NAME, "zoo-left");
    tell_process("left");
    sleep_ms(30000);
    _exit(0);
}

// Comes back when each of them has said that it is there.
void leave_many() {
    int ready[2];
    if (pipe(ready) != 0) return;
    int expected = 0;
    for (int i = 0; i < 40; ++i) {
        const pid_t child = fork();
        if (child > 0) expected += 2;
        if (child != 0) continue;
        const pid_t inner = fork();
        if (inner == 0) setsid();
        tell_process("left");
        (void)!::write(ready[1], "ab", inner < 0 ? 2 : 1);
        sleep_ms(3600000);
        _exit(0);
    }
    for (char byte = 0; expected > 0 && ::read(ready[0], &byte, 1) == 1;) --expected;
    ::close(ready[0]), ::close(ready[1]);
}

void leave_thread() {
    pthread_t thread;
    const auto sleeper = [](void*) -> void* {
        for (;;) sleep_ms(1000);
    };
    pthread_create(&thread, nullptr, sleeper, nullptr);
    pthread_detach(thread);
}

void flood() {
    char line[1000];
    std::memset(line, '!', sizeof line);
    for (int i = 0; i < 1000; ++i)
        if (::write(1 + i % 2, line, sizeof line) < 0) return;
}

void lower_limits() {
    for (const auto& [what, most] : {std::pair{RLIMIT_FSIZE, 1u << 20}, std::pair{RLIMIT_NOFILE, 64u}}) {
        rlimit limit{};
        getrlimit(what, &limit);
        limit.rlim_cur = most;
        setrlimit(what, &limit);
    }
}

void limit_address_space() {
    constexpr rlim_t kMost = rlim_t{16} << 30;
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = std::min(limit.rlim_cur, kMost) / 2;
    setrlimit(RLIMIT_AS, &limit);
}

void make_streams_nonblocking() {
    for (int stream = 0; stream < 3; ++stream)
        if (const int flags = fcntl(stream, F_GETFL); flags >= 0) fcntl(stream, F_SETFL, flags | O_NONBLOCK);
}

void block_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void arm_timer(decltype(ITIMER_REAL) which, time_t seconds) {
    const itimerval soon{{0, 0}, {seconds, 0}};
    setitimer(which, &soon, nullptr);
}

void change_affinity() {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    int kept = 0;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &set) && kept++ > 0) CPU_CLR(i, &set);
    sched_setaffinity(0, sizeof set, &set);
}

void change_rounding() {
    std::fesetround(FE_TOWARDZERO);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);  // denormals are zero, results are flushed
#endif
}

void end_it() {
    switch (plan.act) {
        case Act::crash: *reinterpret_cast<volatile int*>(8) = 1; break;  // a null pointer and a member
        case Act::wild_pointer: *reinterpret_cast<volatile int*>(0xdead00000badULL << 16) = 1; break;
        case Act::illegal_instruction: __builtin_trap();
        case Act::bus_error: read_behind_the_end_of_a_file(); break;
        case Act::stack_overflow: recurse(1); break;
        case Act::abort: std::abort();
        case Act::exit_0: std::exit(0);
        case Act::exit_3: std::exit(3);
        case Act::end_without_handlers: _exit(0);
        case Act::kill_itself: kill(getpid(), SIGKILL); break;
        case Act::throw_exception: throw std::runtime_error("driver says boo");
        case Act::throw_int: throw 7;
        case Act::throw_own_type: throw OwnType();
        case Act::hang: wait_for_ever();
        case Act::spin: spin();
        case Act::kill_parent: signal_the_parent(SIGKILL); break;
        case Act::stop_parent: signal_the_parent(SIGSTOP); break;
        case Act::hold_parent_and_hang: hold(getppid()), wait_for_ever();
        case Act::hold_host: hold(parent_of(getppid())); break;
        case Act::hold_host_and_hang: hold(parent_of(getppid())), wait_for_ever();
        default: break;
    }
}

void change_it() {
    switch (plan.act) {
        case Act::slow: sleep_ms(30); break;
        case Act::change_rounding: change_rounding(); break;
        case Act::change_umask: umask(0); break;
        case Act::change_folder: (void)!chdir("/"); break;
        case Act::change_handler: signal(SIGUSR2, SIG_IGN), signal(SIGTERM, SIG_IGN); break;
        case Act::block_signals: block_signals(); break;
        case Act::arm_timer: arm_timer(ITIMER_REAL, 2); break;
        case Act::arm_profiling_timer: arm_timer(ITIMER_PROF, 30); break;
        case Act::lower_limits: lower_limits(); break;
        case Act::change_affinity: change_affinity(); break;
        case Act::change_environment: setenv("LC_ALL", "tr_TR.UTF-8", 1), setenv("ZOO_WAS_HERE", "1", 1); break;
        default: break;
    }
    if (done.exchange(true)) return;  // what adds up, once
    switch (plan.act) {
        case Act::flood: flood(); break;
        case Act::leave_child: leave_process(false); break;
        case Act::leave_daemon: leave_process(true); break;
        case Act::leave_many: leave_many(); break;
        case Act::leave_thread: leave_thread(); break;
        case Act::limit_address_space: limit_address_space(); break;
        case Act::make_streams_nonblocking: make_streams_nonblocking(); break;
        case Act::close_descriptors: ::close(0), ::close(1); break;
        case Act::change_nice: (void)!nice(5); break;
        default: break;
    }
}

bool is_time(Place place) {
    const unsigned call = ++calls[static_cast<size_t>(place)];
    if (place != plan.place) return false;
    if (plan.who != Who::both && in_the_child() != (plan.who == Who::child)) return false;
    if (plan.when == When::second_start && start_of_the_host() < 2) return false;
    const unsigned first = plan.when == When::tenth ? 10 : place == Place::second_list ? 2 : 1;
    return call >= first;
}

}  // namespace

void write_line(const char* file, const char* text) {
    char path[sizeof folder + 32];
    std::snprintf(path, sizeof path, "%s/%s", folder, file);
    const int out = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (out < 0) return;
    (void)!::write(out, text, std::strlen(text));
    ::close(out);
}

void read_the_plan() {
    Dl_info own{};
    if (dladdr(reinterpret_cast<void*>(&read_the_plan), &own) == 0) return;
    std::string path = own.dli_fname;
    for (int i = 0; i < 2; ++i) path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
    std::snprintf(folder, sizeof folder, "%s", path.c_str());
    char text[256] = "";
    const int file = ::open((path + "/plan").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const ssize_t size = ::read(file, text, sizeof text);
    ::close(file);
    if (size > 0) read(std::string_view(text, static_cast<size_t>(size)), plan);
}

bool is_planned(Place place) { return plan.place == place; }

Act act_at(Place place) {
    if (!is_time(place)) return Act::count;
    if (!told.exchange(true)) {
        char line[64];
        std::snprintf(line, sizeof line, "%s %d\n", in_the_child() ? "child" : "host", start_of_the_host());
        write_line("fired", line);
    }
    end_it();
    change_it();
    return plan.act;
}

}  // namespace zoo
