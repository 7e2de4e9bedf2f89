// What the operating system lets this process use. One implementation per platform in platform/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace backplane::cpu {

// Hardware threads: the affinity mask, cut to the CPU quota of the control group (v1 and v2) rounded up. At least 1.
uint32_t usable_threads();

// Cores that the CPUs of the affinity mask are on: of more threads two share one. At least 1.
uint32_t usable_cores();
// The same of what a system says: for each of these CPUs the list of those on its core ("0,32", "0-1"; empty: not known). Guests are often told that each
// is a core of its own where two threads of the host share one: then, and where nothing is known, all that are online (`online`) are taken for pairs.
uint32_t cores_of(std::vector<std::string> siblings, bool guest, uint32_t online);

// Asks for leave to use the tiles of AMX, for this process and as long as it runs, where the system gives it on request; false: it does not, or this
// file knows of no way to ask. To be asked only of a processor that has them, and a system that saves them (CPUID, XCR0).
bool may_use_tiles();

// Bytes of a large page, on whose multiple memory is to begin that may be had in such; 0: this system is not asked for them.
size_t large_page();
// Memory of this process that nothing was written to yet is to be had in large pages, where whole ones lie in it and the system has them: constants of a
// network are a hundred thousand small ones otherwise, each of which is a fault at its first write. Not for what products read by rows that are powers of
// two apart: in one piece of physical memory these fall on few sets of a cache.
void prefer_large_pages(void* memory, size_t size);

struct Memory {
    uint64_t total = 0, available = 0;  // bytes; 0: not known. The control group's limit counts
    const char* source = nullptr;       // who says so; null: nobody
};
Memory system_memory();

}  // namespace backplane::cpu
