// Written by Apple's documentation; not built or run by this project's checks yet.
// sysctl(3): hw.logicalcpu, hw.memsize; host_statistics64() of the kernel for what is free.
#include "processors.hpp"

#include <mach/mach.h>
#include <sys/sysctl.h>

#include <algorithm>
#include <thread>

namespace backplane::cpu {

namespace {

// 0: the system does not say.
uint64_t number_of(const char* name) {
    uint64_t value = 0;  // written with four bytes or eight, the low ones first
    size_t size = sizeof value;
    return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}

// Free pages (the speculative ones count among them) and those not used lately.
uint64_t available_memory() {
    vm_statistics64_data_t pages{};
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    const mach_port_t host = ::mach_host_self();
    const kern_return_t result = ::host_statistics64(host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count);
    ::mach_port_deallocate(::mach_task_self(), host);
    if (result != KERN_SUCCESS) return 0;
    return (uint64_t{pages.free_count} + pages.inactive_count) * vm_page_size;
}

}  // namespace

uint32_t usable_threads() {
    uint64_t threads = number_of("hw.logicalcpu");
    if (threads == 0) threads = std::thread::hardware_concurrency();
    return static_cast<uint32_t>(std::clamp<uint64_t>(threads, 1, 256));
}

uint32_t usable_cores() { return std::max(1u, usable_threads() / 2); }

bool may_use_tiles() { return false; }

size_t large_page() { return 0; }
void prefer_large_pages(void*, size_t) {}

Memory system_memory() {
    Memory memory;
    memory.total = number_of("hw.memsize");
    if (memory.total == 0) return memory;
    memory.available = std::min(available_memory(), memory.total);
    memory.source = "sysctl";
    return memory;
}

}  // namespace backplane::cpu
