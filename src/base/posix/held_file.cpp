#include "base/held_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/posix/keeps_pages.hpp"

namespace backplane::base {

namespace {

// Held by a lock of the process, which no child of a fork() has. It goes with the process, or when the process closes any descriptor of the
// file: a process never opens one of its own twice (process_identity() is in the name).
bool hold(int fd) noexcept {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    return ::fcntl(fd, F_SETLK, &whole) == 0;
}

class OpenDescriptor {
public:
    explicit OpenDescriptor(int fd) noexcept : fd_(fd) {}
    ~OpenDescriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    OpenDescriptor(const OpenDescriptor&) = delete;
    OpenDescriptor& operator=(const OpenDescriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return fd_; }
    int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_;
};

bool is_own(int fd, const std::filesystem::path& file) {
    struct stat open {};
    struct stat named {};
    return ::fstat(fd, &open) == 0 && S_ISREG(open.st_mode) && open.st_uid == ::geteuid() && (open.st_mode & 022) == 0 &&
           ::lstat(file.c_str(), &named) == 0 && named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

bool write_page(int fd, const std::byte* bytes) noexcept {
    size_t done = 0;
    while (done < HeldFile::kBytes) {
        const ssize_t n = ::pwrite(fd, bytes + done, HeldFile::kBytes - done, static_cast<off_t>(done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += static_cast<size_t>(n);
    }
    return true;
}

}  // namespace

std::unique_ptr<HeldFile> HeldFile::make(const std::filesystem::path& file, std::span<const std::byte, kBytes> content,
                                         std::string& problem) {
    // Under another name until it is held: nobody sees one that nobody holds.
    const std::filesystem::path first = file.string() + ".new";
    const auto fail = [&](const char* what) {
        problem = "cannot " + std::string(what) + " " + file.string() + ": " + std::generic_category().message(errno);
        ::unlink(first.c_str());
        return nullptr;
    };
    OpenDescriptor fd(::open(first.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd.get() < 0) return fail("make");
    if (!write_page(fd.get(), content.data())) return fail("write");
    if (!hold(fd.get())) return fail("hold");
    std::unique_ptr<HeldFile> held(new HeldFile());
    held->file_ = file;
    held->maker_ = process_number();
    held->mapped_ = keeps_pages(fd.get());
    void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, held->mapped_ ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
                          held->mapped_ ? fd.get() : -1, 0);
    if (memory == MAP_FAILED) return fail("map");
    held->memory_ = static_cast<std::byte*>(memory);
    if (!held->mapped_) std::memcpy(memory, content.data(), kBytes);
    if (::rename(first.c_str(), file.c_str()) != 0) return fail("name");
    held->descriptor_ = fd.release();
    return held;
}

HeldFile::~HeldFile() {
    if (descriptor_ >= 0) {
        remove();
        ::close(static_cast<int>(descriptor_));
    }
    if (memory_ != nullptr) ::munmap(memory_, kBytes);
}

void HeldFile::write_out() const noexcept {
    if (maker_ == process_number()) static_cast<void>(write_page(static_cast<int>(descriptor_), memory_));
}

void HeldFile::remove() noexcept {
    if (maker_ == process_number()) ::unlink(file_.c_str());
}

bool HeldFile::take_over(const std::filesystem::path& file, const std::function<void(std::span<const std::byte>)>& use) {
    constexpr std::string_view kTaken = ".taken";
    const bool taken_before = file.string().ends_with(kTaken);
    const OpenDescriptor fd(::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (fd.get() < 0) return false;
    constexpr int kPatience = 500;  // milliseconds: who took it only writes a small file
    for (int waited = 0; !hold(fd.get()); ++waited) {
        if (!taken_before || waited == kPatience) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!is_own(fd.get(), file)) return false;
    const std::filesystem::path taken = taken_before ? file : std::filesystem::path(file.string() + std::string(kTaken));
    if (!taken_before && ::rename(file.c_str(), taken.c_str()) != 0) return false;
    std::array<std::byte, kBytes> content{};
    if (::pread(fd.get(), content.data(), kBytes, 0) == static_cast<ssize_t>(kBytes)) use(content);
    ::unlink(taken.c_str());
    return true;
}

uint64_t process_number() noexcept { return static_cast<uint64_t>(::getpid()); }

std::string process_identity() {
    // When it began is the 22nd word, the second one being a name in brackets that may hold anything.
    std::ifstream file("/proc/self/stat");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    std::string start = "0";
    if (const size_t bracket = text.rfind(')'); bracket != std::string::npos) {
        constexpr int kAfterName = 20;
        std::istringstream words(text.substr(bracket + 1));
        for (int i = 0; i < kAfterName; ++i) words >> start;
    }
    return std::to_string(process_number()) + "-" + start;
}

uint64_t thread_number() noexcept { return reinterpret_cast<uint64_t>(::pthread_self()); }

}  // namespace backplane::base
