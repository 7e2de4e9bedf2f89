#include "processors.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace backplane::cpu {

namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::optional<int64_t> number_in(const std::string& path) {
    std::istringstream in(first_line(path));
    int64_t value = 0;
    if (in >> value) return value;
    return std::nullopt;
}

std::vector<std::string> lines_of(const char* path) {
    std::vector<std::string> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}
std::vector<std::string> control_groups() { return lines_of("/proc/self/cgroup"); }

// Folders of this process's control group and of its parents for one controller: limits apply at every depth. In a container the
// group's path may not exist below the mount; the mount itself is then the group.
std::vector<std::string> group_folders(const std::vector<std::string>& groups, const std::string& controller) {
    const bool v2 = controller.empty();
    const std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controller;
    std::vector<std::string> out = {root};
    for (const std::string& line : groups) {
        const size_t a = line.find(':');
        const size_t b = a == std::string::npos ? a : line.find(':', a + 1);
        if (b == std::string::npos) continue;
        const std::string names = "," + line.substr(a + 1, b - a - 1) + ",";
        const bool match = v2 ? names == ",," : names.find("," + controller + ",") != std::string::npos;
        if (!match) continue;
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
        std::istringstream in(first_line(folder + "/cpu.max"));
        std::string most;
        int64_t period = 0;
        if (in >> most >> period && most != "max" && most.find_first_not_of("0123456789") == std::string::npos &&
            most.size() < 18)
            consider(std::stoll(most), period);
    }
    for (const auto& folder : group_folders(groups, "cpu")) {
        const auto most = number_in(folder + "/cpu.cfs_quota_us");
        const auto period = number_in(folder + "/cpu.cfs_period_us");
        if (most && period) consider(*most, *period);
    }
    return least;
}

uint32_t affinity() {
    // The kernel refuses a set smaller than its own; 1 << 16 CPUs is over any kernel's limit.
    for (size_t cpus = 1024; cpus <= size_t{1} << 16; cpus *= 4) {
        std::vector<cpu_set_t> set(cpus / CPU_SETSIZE);
        if (sched_getaffinity(0, set.size() * sizeof(cpu_set_t), set.data()) == 0)
            return static_cast<uint32_t>(CPU_COUNT_S(set.size() * sizeof(cpu_set_t), set.data()));
    }
    return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

uint32_t usable_threads() {
    int64_t threads = affinity();
    if (const auto cpus = quota()) threads = std::min(threads, *cpus);
    return static_cast<uint32_t>(std::clamp<int64_t>(threads, 1, 256));
}

Memory system_memory() {
    Memory memory;
    std::ifstream file("/proc/meminfo");
    for (std::string line; std::getline(file, line);) {
        std::istringstream in(line);
        std::string name;
        uint64_t kib = 0;
        if (!(in >> name >> kib)) continue;
        if (name == "MemTotal:") memory.total = kib * 1024;
        if (name != "MemAvailable:") continue;
        memory.available = kib * 1024;
        break;  // the two stand among the first of fifty lines
    }
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
