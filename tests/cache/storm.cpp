// cache_storm FOLDER ROUNDS: four processes get, put and reject entries of one folder without pause; ROUNDS times one of them is killed at a
// random moment and another takes its place. Fails when a value is ever wrong, an entry unreadable, the folder larger than promised, or
// something is left behind. Prints one line of figures.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "cache/folder.hpp"
#include "cache/kernel_cache.hpp"

namespace {

using namespace backplane::cache;
namespace fs = std::filesystem;

constexpr uint64_t kLimit = uint64_t{4} << 20;
constexpr unsigned kKeys = 40, kProcesses = 4;
constexpr size_t kLargest = 200000;
constexpr const char* kScope = "storm 1.0 build 1";
// Each writer may overstep the limit by a sixteenth of it and one entry (docs/kernel-cache.md).
constexpr uint64_t kMost = kLimit + kProcesses * (kLimit / 16 + kLargest + 1000);

// What a value says of itself, and the rest follows from.
struct Head {
    uint32_t key, size;
    uint64_t seed;
};

uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDULL;
    return x ^ (x >> 29);
}

std::vector<std::byte> make_value(uint32_t key, uint32_t size, uint64_t seed) {
    const Head head{key, size, seed};
    std::vector<std::byte> value(sizeof head + size);
    std::memcpy(value.data(), &head, sizeof head);
    for (size_t i = 0; i < size; ++i) value[sizeof head + i] = static_cast<std::byte>(mixed(seed + i / 8) >> (i % 8 * 8));
    return value;
}

bool is_right(uint32_t key, Bytes value) {
    Head head{};
    if (value.size() < sizeof head) return false;
    std::memcpy(&head, value.data(), sizeof head);
    const std::vector<std::byte> expected = make_value(head.key, head.size, head.seed);
    return head.key == key && value.size() == expected.size() && std::equal(value.begin(), value.end(), expected.begin());
}

constexpr int kWrongValue = 3, kTrouble = 4;

[[noreturn]] void work(const fs::path& folder, uint64_t seed) {
    std::mt19937_64 random(seed);
    KernelCache cache({folder, kLimit, {}}, {});
    for (;;) {
        const auto id = static_cast<uint32_t>(random() % kKeys);
        const std::string name = "key " + std::to_string(id);
        const Bytes key = std::as_bytes(std::span(name));
        if (const auto lease = cache.get(kScope, key); lease && !is_right(id, lease->value())) _exit(kWrongValue);
        const uint64_t what = random() % 16;
        if (what < 6) cache.put(kScope, key, make_value(id, static_cast<uint32_t>(random() % kLargest), random()));
        if (what == 6) cache.reject(kScope, key);
        if (!cache.problem().empty()) {
            std::fprintf(stderr, "storm: %s\n", cache.problem().c_str());
            _exit(kTrouble);
        }
    }
}

pid_t start(const fs::path& folder, uint64_t seed) {
    const std::string number = std::to_string(seed);
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::execl("/proc/self/exe", "cache_storm", folder.c_str(), number.c_str(), "work", nullptr);
    _exit(127);
}

int failures = 0;
void expect(bool good, const std::string& what) {
    if (good) return;
    ++failures;
    std::fprintf(stderr, "storm: %s\n", what.c_str());
}

void end(pid_t child) {
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    expect(WIFSIGNALED(status), "a process ended by itself with code " + std::to_string(WEXITSTATUS(status)) +
                                    (WEXITSTATUS(status) == kWrongValue ? ": a wrong value was served" : ""));
}

struct Seen {
    uint64_t entries_read = 0, most_bytes = 0;
    size_t temporaries = 0;  // left by the killed
};

// Reads all that is there; temporary files are made to look old, as if hours went by between the kills.
void check(const fs::path& folder, Seen& seen) {
    std::string problem;
    uint64_t bytes = 0;
    for (const FoundFile& file : files_in(folder, problem)) {
        bytes += file.temporary ? 0 : file.bytes;
        if (file.temporary) {
            std::error_code gone;
            const auto time = fs::last_write_time(folder / file.name, gone);
            if (gone || fs::file_time_type::clock::now() - time < std::chrono::seconds(2)) continue;
            fs::last_write_time(folder / file.name, time - std::chrono::hours(1), gone);
            ++seen.temporaries;
            continue;
        }
        const std::string wrong = problem_of(folder, file.name, kLimit);
        expect(wrong.empty(), file.name + ": " + wrong);
        ++seen.entries_read;
    }
    expect(problem.empty(), problem);
    seen.most_bytes = std::max(seen.most_bytes, bytes);
    expect(bytes <= kMost, std::to_string(bytes) + " bytes are more than " + std::to_string(kMost));
}

// What is put last is new each time: an entry that is there already is not written again, and only who writes looks for what others left.
void check_end(const fs::path& folder, uint64_t seed) {
    std::string problem;
    for (const FoundFile& file : files_in(folder, problem)) {
        if (!file.temporary) continue;
        std::error_code gone;
        fs::last_write_time(folder / file.name, fs::file_time_type::clock::now() - std::chrono::hours(1), gone);
    }
    KernelCache cache({folder, kLimit, {}}, {});
    const std::string key = "the last";
    cache.put(kScope, std::as_bytes(std::span(key)), make_value(99, 1000, seed));
    uint64_t bytes = 0;
    for (const FoundFile& file : files_in(folder, problem)) {
        expect(!file.temporary, file.name + " was left behind");
        bytes += file.bytes;
    }
    expect(bytes <= kLimit, std::to_string(bytes) + " bytes are left, more than " + std::to_string(kLimit));
    const auto lease = cache.get(kScope, std::as_bytes(std::span(key)));
    expect(lease != nullptr && is_right(99, lease->value()), "what was put last is not there");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const fs::path folder = argv[1];
    const uint64_t number = std::strtoull(argv[2], nullptr, 10);
    if (argc > 3) work(folder, number);
    std::random_device entropy;
    std::mt19937_64 random(entropy());
    std::array<pid_t, kProcesses> running{};
    for (pid_t& child : running) child = start(folder, random());
    Seen seen;
    for (uint64_t round = 0; round < number && failures == 0; ++round) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
        pid_t& victim = running[random() % kProcesses];
        end(victim);
        victim = start(folder, random());
        if (round % 25 == 24) check(folder, seen);
    }
    for (const pid_t child : running) end(child);
    check(folder, seen);
    check_end(folder, random());
    std::printf("storm: %llu rounds, %llu entries read back, at most %.1f MiB, %zu unfinished files cleaned, %d failures\n",
                static_cast<unsigned long long>(number), static_cast<unsigned long long>(seen.entries_read),
                static_cast<double>(seen.most_bytes) / (1 << 20), seen.temporaries, failures);
    return failures == 0 ? 0 : 1;
}
