// Machines without a folder of their own, as the compiler names them; numbers of the System V ABI's list of e_machine.
#include "base/machine.hpp"

namespace backplane::base {

namespace {

#if defined(__riscv)
constexpr uint32_t kElf = 243;
#elif defined(__powerpc64__)
constexpr uint32_t kElf = 21;
#elif defined(__powerpc__)
constexpr uint32_t kElf = 20;
#elif defined(__s390__)
constexpr uint32_t kElf = 22;
#elif defined(__loongarch__)
constexpr uint32_t kElf = 258;
#elif defined(__arm__)
constexpr uint32_t kElf = 40;
#elif defined(__i386__)
constexpr uint32_t kElf = 3;
#elif defined(__mips__)
constexpr uint32_t kElf = 8;
#elif defined(__sparc_v9__)
constexpr uint32_t kElf = 43;
#else
constexpr uint32_t kElf = 0;
#endif

}  // namespace

Machine this_machine() noexcept { return {kElf, 0, 0}; }

}  // namespace backplane::base
