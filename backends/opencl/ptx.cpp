#include "ptx.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>

namespace backplane::opencl {

namespace {

constexpr uint32_t kMostRegisters = 255;  // of a thread

// The most registers a thread may have with as many workgroups at a time on a multiprocessor as with these: they are given out in eights, of
// 65536 (all GPUs since compute capability 5.0).
uint32_t most_registers(uint32_t registers, uint32_t threads) {
    constexpr uint32_t kAll = 65536, kGrain = 8;
    const uint32_t given = (registers + kGrain - 1) / kGrain * kGrain;
    const uint32_t groups = std::max(1U, kAll / (given * threads));
    return std::min(kMostRegisters, std::max(given, kAll / (groups * threads) / kGrain * kGrain));
}

// The threads of the kernel's workgroup (.reqntid X, Y, Z); 0: it does not say.
uint32_t threads_of(const std::string& ptx) {
    const size_t at = ptx.find(".reqntid");
    unsigned sizes[3] = {1, 1, 1};
    if (at == std::string::npos || std::sscanf(&ptx[at], ".reqntid %u, %u, %u", &sizes[0], &sizes[1], &sizes[2]) < 1)
        return 0;
    constexpr uint64_t kMost = 1024;
    const uint64_t threads = uint64_t{sizes[0]} * sizes[1] * sizes[2];
    return sizes[0] <= kMost && sizes[1] <= kMost && threads <= kMost ? static_cast<uint32_t>(threads) : 0;
}

}  // namespace

bool is_ptx(std::span<const std::byte> bytes) {
    constexpr size_t kWithin = 4096;  // the head of the text, after a comment
    const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kWithin));
    return head.find(".target") != std::string_view::npos;
}

uint32_t registers_in(const std::string& build_log) {
    constexpr char kBefore[] = "Used ";
    constexpr char kAfter[] = " registers";
    uint32_t most = 0;
    for (size_t at = build_log.find(kBefore); at != std::string::npos; at = build_log.find(kBefore, at)) {
        at += sizeof kBefore - 1;
        const size_t end = std::min(build_log.find_first_not_of("0123456789", at), build_log.size());
        uint32_t number = 0;
        if (build_log.compare(end, sizeof kAfter - 1, kAfter) == 0 &&
            std::from_chars(build_log.data() + at, build_log.data() + end, number).ec == std::errc() &&
            number <= kMostRegisters)
            most = std::max(most, number);
    }
    return most;
}

std::string with_registers(std::string ptx, uint32_t registers) {
    const size_t kernel = ptx.find(".entry");
    const size_t body = kernel != std::string::npos ? ptx.find("\n{", kernel) : kernel;
    if (const uint32_t threads = threads_of(ptx); body != std::string::npos && threads != 0)
        ptx.insert(body, "\n.maxnreg " + std::to_string(most_registers(registers, threads)));
    return ptx;
}

}  // namespace backplane::opencl
