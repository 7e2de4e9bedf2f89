#include "processors.hpp"

#include <algorithm>
#include <thread>

namespace backplane::cpu {

uint32_t usable_threads() { return std::clamp(std::thread::hardware_concurrency(), 1u, 256u); }
uint32_t usable_cores() { return std::max(1u, usable_threads() / 2); }
bool may_use_tiles() { return false; }
size_t large_page() { return 0; }
void prefer_large_pages(void*, size_t) {}
Memory system_memory() { return {}; }

}  // namespace backplane::cpu
