// Processors: Microsoft, "Processor Groups"; the mask and the job's limit: "SetProcessAffinityMask", "JOBOBJECT_CPU_RATE_CONTROL_INFORMATION"; tiles:
// "EnableProcessOptionalXStateFeatures".
#include "processors.hpp"

#ifndef NOMINMAX
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <algorithm>
#include <bit>

namespace backplane::cpu {

namespace {

// The mask speaks of one group of at most 64; where there are more groups, it is that of the process's own only when one was set.
uint32_t affinity() {
    const DWORD all = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    DWORD_PTR mine = 0;
    DWORD_PTR group = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &mine, &group) == 0 || mine == 0) return all;
    return mine == group ? std::max<DWORD>(all, 1) : static_cast<uint32_t>(std::popcount(mine));
}

// CPUs that the job (a container, too) may use up, rounded up; 0: no limit.
uint32_t quota(uint32_t processors) {
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate{};
    if (QueryInformationJobObject(nullptr, JobObjectCpuRateControlInformation, &rate, sizeof rate, nullptr) == 0) return 0;
    constexpr DWORD kHard = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
    if ((rate.ControlFlags & kHard) != kHard) return 0;
    constexpr uint32_t kWhole = 10000;  // the rate is in hundredths of a percent of all processors
    return std::max(1u, static_cast<uint32_t>((uint64_t{rate.CpuRate} * processors + kWhole - 1) / kWhole));
}

}  // namespace

uint32_t usable_threads() {
    uint32_t threads = affinity();
    if (const uint32_t cpus = quota(threads); cpus != 0) threads = std::min(threads, cpus);
    return std::clamp(threads, 1u, 256u);
}

uint32_t usable_cores() { return std::max(1u, usable_threads() / 2); }

// From Windows 11 and Server 2022 on, for all threads that there are and will be; refused where the system does not save the registers.
bool may_use_tiles() {
    using Enable = BOOL(WINAPI*)(DWORD64);
    constexpr DWORD64 kTileData = DWORD64{1} << 18;
    const HMODULE kernel = GetModuleHandleW(L"kernel32.dll");
    const FARPROC found = kernel != nullptr ? GetProcAddress(kernel, "EnableProcessOptionalXStateFeatures") : nullptr;
    return found != nullptr && reinterpret_cast<Enable>(reinterpret_cast<void*>(found))(kTileData) != 0;
}

size_t large_page() { return 0; }
void prefer_large_pages(void*, size_t) {}

Memory system_memory() {
    MEMORYSTATUSEX status{};
    status.dwLength = sizeof status;
    if (GlobalMemoryStatusEx(&status) == 0) return {};
    Memory memory{status.ullTotalPhys, status.ullAvailPhys, "GlobalMemoryStatusEx"};
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION job{};
    if (QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &job, sizeof job, nullptr) != 0 &&
        (job.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_JOB_MEMORY) != 0 && job.JobMemoryLimit != 0) {
        memory.source = "limit of the job";
        memory.total = std::min<uint64_t>(memory.total, job.JobMemoryLimit);
        memory.available = std::min<uint64_t>(memory.available, memory.total);
    }
    return memory;
}

}  // namespace backplane::cpu
