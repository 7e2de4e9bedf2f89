// Constants of some megabytes are to be had in large pages; what is computed with them is not.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "harness.hpp"
#include "processors.hpp"

namespace {

using namespace harness;

// Bytes of this process's memory for which large pages were asked (proc(5), smaps: VmFlags has hg).
uint64_t bytes_asked_for() {
    std::ifstream maps("/proc/self/smaps");
    uint64_t sum = 0, begin = 0, end = 0;
    for (std::string line; std::getline(maps, line);) {
        unsigned long long from = 0, to = 0;
        if (std::sscanf(line.c_str(), "%llx-%llx ", &from, &to) == 2) begin = from, end = to;
        if (line.rfind("VmFlags:", 0) == 0 && (line + " ").find(" hg ") != std::string::npos) sum += end - begin;
    }
    return sum;
}

TEST(LargePages, AreAskedForWhatIsPackedAndNothingElse) {
    constexpr int64_t kRows = 1100, kDepth = 1024,
                      kColumns = 2048;  // a right side of 8 MiB, a left one of 4.3, a result of 8.6
    if (backplane::cpu::large_page() == 0) GTEST_SKIP() << "this system is not asked for large pages";
    if (bytes_asked_for() != 0) GTEST_SKIP() << "memory of this process is in large pages without being asked";
    Device device;
    Graph g;
    const Floats w = random_floats(kDepth * kColumns, 1, 0.1F), x = random_floats(kRows * kDepth, 2);
    const uint32_t weight = g.weight({kDepth, kColumns}, w);
    const uint32_t y = g.add(BP_OP_matmul, {g.input({kRows, kDepth}, x), weight}, {kRows, kColumns});
    g.output(y);
    Program program(device, g);
    const uint64_t asked = bytes_asked_for();
    if (asked == 0 && access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0)
        GTEST_SKIP() << "this kernel has no large pages";
    EXPECT_GE(asked, uint64_t{kDepth * kColumns * 4} / backplane::cpu::large_page() * backplane::cpu::large_page());
    EXPECT_LT(asked, uint64_t{kDepth * kColumns * 4} + 2 * backplane::cpu::large_page());
    program.run();
    EXPECT_EQ(bytes_asked_for(), asked);
    const Floats got = program.read(y);
    for (const int64_t at : {int64_t{0}, kColumns + 17, kRows * kColumns - 1}) {
        double sum = 0;
        for (int64_t k = 0; k < kDepth; ++k)
            sum += static_cast<double>(x[static_cast<size_t>(at / kColumns * kDepth + k)]) *
                   static_cast<double>(w[static_cast<size_t>(k * kColumns + at % kColumns)]);
        EXPECT_NEAR(got[static_cast<size_t>(at)], sum, 1e-3) << at;
    }
}

}  // namespace
