#include "processors.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace backplane::cpu {

namespace {

// Up to 64 KiB of a file of the kernel; empty where it cannot be read. Streams would be most of what listing the device costs.
std::string content_of(const std::string& path) {
    constexpr size_t kMost = 65536;
    constexpr size_t kRoom = 4096;  // what the kernel gives at once
    std::string text;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return text;
    for (ssize_t got = 1; got > 0 && text.size() < kMost;) {
        const size_t had = text.size();
        text.resize(had + kRoom);
        got = ::read(file, text.data() + had, kRoom);
        text.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    }
    ::close(file);
    return text;
}

std::string_view without_spaces(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
    return text;
}

// The number that the text begins with.
std::optional<int64_t> number_at(std::string_view text) {
    text = without_spaces(text);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data()) return std::nullopt;
    return value;
}

std::optional<int64_t> number_in(const std::string& path) { return number_at(content_of(path)); }

std::vector<std::string> lines_of(const char* path) {
    const std::string text = content_of(path);
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}
std::vector<std::string> control_groups() { return lines_of("/proc/self/cgroup"); }

// Folders of this process's control group and of its parents for one controller: limits apply at every depth. In a container the
// group's path may not exist below the mount; the mount itself is then the group. None where the system lists groups, and none of it.
std::vector<std::string> group_folders(const std::vector<std::string>& groups, const std::string& controller) {
    const bool v2 = controller.empty();
    const std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controller;
    std::vector<std::string> out;
    if (groups.empty()) out.push_back(root);
    for (const std::string& line : groups) {
        const size_t a = line.find(':');
        const size_t b = a == std::string::npos ? a : line.find(':', a + 1);
        if (b == std::string::npos) continue;
        const std::string names = "," + line.substr(a + 1, b - a - 1) + ",";
        const bool match = v2 ? names == ",," : names.find("," + controller + ",") != std::string::npos;
        if (!match) continue;
        out.push_back(root);
        std::string path = line.substr(b + 1);
        while (path.size() > 1) {
            out.push_back(root + path);
            path.resize(path.rfind('/'));
        }
    }
    return out;
}

// CPUs by quota, rounded up; nothing when unlimited.
std::optional<int64_t> quota() {
    std::optional<int64_t> least;
    auto consider = [&least](int64_t microseconds, int64_t period) {
        if (microseconds <= 0 || period <= 0) return;
        const int64_t cpus = (microseconds + period - 1) / period;
        least = least ? std::min(*least, cpus) : cpus;
    };
    const std::vector<std::string> groups = control_groups();
    for (const auto& folder : group_folders(groups, "")) {
        const std::string limit = content_of(folder + "/cpu.max");  // "max 100000" or "50000 100000"
        const auto most = number_at(limit);
        const auto period =
            most ? number_at(std::string_view(limit).substr(std::min(limit.find(' '), limit.size()))) : std::nullopt;
        if (most && period) consider(*most, *period);
    }
    for (const auto& folder : group_folders(groups, "cpu")) {
        const auto most = number_in(folder + "/cpu.cfs_quota_us");
        const auto period = number_in(folder + "/cpu.cfs_period_us");
        if (most && period) consider(*most, *period);
    }
    return least;
}

// CPUs that this thread may be on; none where the system does not say.
std::vector<uint32_t> affinity() {
    std::vector<uint32_t> mine;
    // The kernel refuses a set smaller than its own; 1 << 16 CPUs is over any kernel's limit.
    for (uint32_t cpus = 1024; cpus <= 1U << 16; cpus *= 4) {
        std::vector<cpu_set_t> set(cpus / CPU_SETSIZE);
        const size_t bytes = set.size() * sizeof(cpu_set_t);
        if (sched_getaffinity(0, bytes, set.data()) != 0) continue;
        for (uint32_t cpu = 0; cpu < cpus; ++cpu)
            if (CPU_ISSET_S(cpu, bytes, set.data())) mine.push_back(cpu);
        break;
    }
    return mine;
}

bool is_guest() {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 31 & 1) != 0;
#else
    return false;
#endif
}

}  // namespace

uint32_t usable_threads() {
    auto threads = static_cast<int64_t>(affinity().size());
    if (threads == 0) threads = std::thread::hardware_concurrency();
    if (const auto cpus = quota()) threads = std::min(threads, *cpus);
    return static_cast<uint32_t>(std::clamp<int64_t>(threads, 1, 256));
}

uint32_t usable_cores() {
    std::vector<std::string> siblings;
    for (const uint32_t cpu : affinity())
        siblings.push_back(
            content_of("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list"));
    return cores_of(std::move(siblings), is_guest(), static_cast<uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))));
}

bool may_use_tiles() {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
    // Linux, Documentation/arch/x86/xstate.rst. It is refused where a thread's stack for signals has no room for the registers.
    constexpr int kRequest = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr unsigned long kTileData = 18;
    return ::syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
#else
    return false;
#endif
}

// What x86-64, and aarch64 with pages of 4 KiB, have (Linux, "Transparent Hugepage Support"); a kernel with others takes no advice for parts of its own.
size_t large_page() { return size_t{2} << 20; }

void prefer_large_pages(void* memory, size_t size) {
    const size_t past = reinterpret_cast<uintptr_t>(memory) % large_page();
    const size_t before = past == 0 ? 0 : large_page() - past;
    if (size < before + large_page()) return;
    // Refused: small ones, as ever.
    ::madvise(static_cast<std::byte*>(memory) + before, (size - before) / large_page() * large_page(), MADV_HUGEPAGE);
}

Memory system_memory() {
    Memory memory;
    const std::string text = content_of("/proc/meminfo");
    auto bytes_of = [&text](std::string_view name) {
        const size_t at = text.find(name);
        const auto kib = at == std::string::npos ? std::nullopt : number_at(std::string_view(text).substr(at + name.size()));
        return static_cast<uint64_t>(std::max<int64_t>(0, kib.value_or(0))) * 1024;
    };
    memory.total = bytes_of("MemTotal:");
    memory.available = bytes_of("MemAvailable:");
    if (memory.total != 0) memory.source = "/proc/meminfo";
    auto limit = [&memory](const std::string& most_file, const std::string& used_file) {
        const auto most = number_in(most_file);
        if (!most || *most <= 0 || static_cast<uint64_t>(*most) >= memory.total) return;
        memory.total = static_cast<uint64_t>(*most);
        memory.source = "limit of the control group";
        const uint64_t used = static_cast<uint64_t>(std::max<int64_t>(0, number_in(used_file).value_or(0)));
        memory.available = std::min(memory.available, memory.total > used ? memory.total - used : 0);
    };
    const std::vector<std::string> groups = control_groups();
    for (const auto& folder : group_folders(groups, "")) limit(folder + "/memory.max", folder + "/memory.current");
    for (const auto& folder : group_folders(groups, "memory"))
        limit(folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes");
    return memory;
}

}  // namespace backplane::cpu
