// Products by weights in blocks whose activations may be rounded, on each level of the cpu backend that this processor, emulated, has: within what
// rounding to bytes may cost, as tests/unit/cpu/matmul_test.cpp has it where the processor is real. Prints each level.
//   emulated_products
#include <cstdio>

#include "unit/cpu/products.hpp"

using namespace harness;

namespace {

// Of how many sums one is not what it should be.
int wrong_sums(Device& device, uint32_t dtype, int64_t m, int64_t n) {
    const int64_t k = dtype == BP_Q8_0 ? 288 : 512;
    const Packed b = blocks_of(dtype, n, k);
    const Floats a = random_floats(m * k, 5);
    const Floats got = product(device, a, b, dtype, m, n, k, BP_MATH_RELAXED);
    int wrong = 0;
    for (int64_t r = 0; r < m; ++r)
        for (int64_t c = 0; c < n; ++c) {
            const Exact want = exact(a, b, k, r, c);
            const double bound = byte_bound(a, b, k, r, c) * 1.001 + 1e-5 * want.size;
            const double off = std::fabs(got[static_cast<size_t>(r * n + c)] - want.sum);
            wrong += off <= bound ? 0 : 1;
        }
    return wrong;
}

}  // namespace

int main() try {
    int wrong = 0;
    std::string last;
    for (const std::string& mask : masks()) {
        Device device({mask, "2"});
        if (device.level() == last) continue;
        last = device.level();
        for (const uint32_t dtype : block_types)
            for (const int64_t m : {3, 4, 13})
                for (const int64_t n : {1, 7, 14, 50}) {
                    const int sums = wrong_sums(device, dtype, m, n);
                    if (sums != 0)
                        std::printf("%s: type %u, %d x %d: %d wrong\n", last.c_str(), dtype, int(m), int(n), sums);
                    wrong += sums;
                }
        std::printf("level %s\n", last.c_str());
    }
    return wrong == 0 ? 0 : 1;
} catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
}
