#include "base/keep_process_state.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <string>

#include "base/posix/process_calls.hpp"
#include "base/process_state.hpp"

namespace backplane::base {

namespace kept {

// A timer that was running goes on; one that the library set, or set otherwise, is as it was.
class KeepTimer {
public:
    explicit KeepTimer(decltype(ITIMER_REAL) which) : which_(which) { ::getitimer(which_, &kept_); }
    ~KeepTimer() {
        itimerval now{};
        ::getitimer(which_, &now);
        const bool same = is_set(now) == is_set(kept_) && now.it_interval.tv_sec == kept_.it_interval.tv_sec &&
                          now.it_interval.tv_usec == kept_.it_interval.tv_usec;
        if (!same) ::setitimer(which_, &kept_, nullptr);
    }
    KeepTimer(const KeepTimer&) = delete;
    KeepTimer& operator=(const KeepTimer&) = delete;

private:
    static bool is_set(const itimerval& timer) { return timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0; }
    decltype(ITIMER_REAL) which_;
    itimerval kept_{};
};

template <class Resource>
class KeepLimit {
public:
    explicit KeepLimit(Resource which) : which_(which) { ::getrlimit(which_, &kept_); }
    ~KeepLimit() {
        rlimit now{};
        ::getrlimit(which_, &now);
        if (now.rlim_cur == kept_.rlim_cur) return;
        now.rlim_cur = std::min(kept_.rlim_cur, now.rlim_max);  // a hard limit does not rise again
        ::setrlimit(which_, &now);
    }
    KeepLimit(const KeepLimit&) = delete;
    KeepLimit& operator=(const KeepLimit&) = delete;

private:
    Resource which_;
    rlimit kept_{};
};

class KeepStream {
public:
    explicit KeepStream(int stream) : stream_(stream), flags_(::fcntl(stream, F_GETFL)) {
        constexpr int kFirstOfOurs = 10;
        if (flags_ >= 0) copy_ = ::fcntl(stream_, F_DUPFD_CLOEXEC, kFirstOfOurs);
    }
    ~KeepStream() {
        if (copy_ >= 0 && !is_same()) ::dup2(copy_, stream_);
        // One that was closed before stays as the library left it: what took its place may be its own file.
        if (flags_ >= 0 && ::fcntl(stream_, F_GETFL) != flags_) ::fcntl(stream_, F_SETFL, flags_);
        if (copy_ >= 0) ::close(copy_);
    }
    KeepStream(const KeepStream&) = delete;
    KeepStream& operator=(const KeepStream&) = delete;

private:
    [[nodiscard]] bool is_same() const {
        struct stat now {};
        struct stat kept {};
        return ::fstat(stream_, &now) == 0 && ::fstat(copy_, &kept) == 0 && now.st_dev == kept.st_dev &&
               now.st_ino == kept.st_ino;
    }
    int stream_, flags_, copy_ = -1;
};

}  // namespace kept

struct KeepProcessState::Kept {
    Kept() {
        ::pthread_sigmask(SIG_BLOCK, nullptr, &signals);
        if (const char* name = std::setlocale(LC_ALL, nullptr)) locale = name;
    }
    ~Kept() {
        ::pthread_sigmask(SIG_SETMASK, &signals, nullptr);
        ::umask(files);
        if (processors_allowed() != processors) allow_processors(processors);
        const char* now = std::setlocale(LC_ALL, nullptr);
        if (now != nullptr && locale != now) std::setlocale(LC_ALL, locale.c_str());
    }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

    static mode_t mask_of_new_files() {
        const mode_t mask = ::umask(077);
        ::umask(mask);
        return mask;
    }

    KeepFloatingPoint floating_point;
    kept::KeepTimer real{ITIMER_REAL}, virtual_time{ITIMER_VIRTUAL}, profiling{ITIMER_PROF};
    kept::KeepLimit<decltype(RLIMIT_AS)> address_space{RLIMIT_AS}, core{RLIMIT_CORE}, computing{RLIMIT_CPU},
        data{RLIMIT_DATA}, file_size{RLIMIT_FSIZE}, locked{RLIMIT_MEMLOCK}, files_open{RLIMIT_NOFILE},
        processes{RLIMIT_NPROC}, stack{RLIMIT_STACK};
    kept::KeepStream input{STDIN_FILENO}, output{STDOUT_FILENO}, error{STDERR_FILENO};
    sigset_t signals{};
    mode_t files = mask_of_new_files();
    std::string processors = processors_allowed();
    std::string locale;
};

KeepProcessState::KeepProcessState() : kept_(std::make_unique<Kept>()) {}
KeepProcessState::~KeepProcessState() = default;

}  // namespace backplane::base
