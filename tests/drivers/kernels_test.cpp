// The kernels that GPUs get of the opencl backend, run by PoCL: it takes others for itself.
#include "machine.hpp"
#include "small_graph.hpp"

namespace backplane::drivers {
namespace {

// A part of the conformance table, small enough for a driver that takes a while to build each kernel.
struct Part {
    const char* name;
    const char* kernels;
    const char* op;
    const char* cases;  // whose names contain this
    int least;
};
void PrintTo(const Part& part, std::ostream* out) { *out << part.name; }

class KernelsOfGpus : public testing::TestWithParam<Part> {};
INSTANTIATE_TEST_SUITE_P(All, KernelsOfGpus,
                         testing::Values(Part{"TilesWithStrides", "gpu", "Conv", "stride", 50},
                                         Part{"TilesWithEpilogues", "gpu", "Conv", "residual", 5},
                                         Part{"Patches", "patches", "Conv", "3x3-16", 20},
                                         Part{"Products", "gpu", "MatMul", "batch", 20}),
                         [](const auto& p) { return p.param.name; });

TEST_P(KernelsOfGpus, PassTheirCases) {
    BP_NEEDS("opencl", true);
    const Part& part = GetParam();
    const Place p;
    const Outcome o = e2e::run(p,
                               {"verify", "--device", "opencl:0", "--op", part.op, "--case", part.cases, "--option",
                                std::string("opencl.kernels=") + part.kernels, "--no-cache", "--json"},
                               quiet(p));
    ASSERT_EQ(o.exit_code, 0) << o.out << o.err;
    const Json result = Json::parse(o.out);
    EXPECT_EQ(result["device"], "opencl:0");
    EXPECT_EQ(result["failed"], 0);
    EXPECT_EQ(result["unsupported"], 0);
    EXPECT_GE(result["passed"], part.least);
}

TEST(KernelsOfGpus, AreOthersThanThoseOfACpuAndGiveTheSame) {
    BP_NEEDS("opencl", true);
    const Place p;
    set_environment(quiet(p));
    // A cache that the first of two starts filled tells whether the second asks for the same kernels.
    const auto start = [&p](const std::string& kernels) {
        ContextOptions options = options_for(p);
        options.probe = ProbePolicy::never;
        options.device_filter = only("opencl");
        options.cache_folder = p.at("kernels");
        if (!kernels.empty()) options.options["opencl.kernels"] = kernels;
        const Context context(options);
        return run_small(context.choose("opencl:0"));
    };
    const SmallResult of_cpu = start("");
    const SmallResult again = start("");
    const SmallResult of_gpu = start("gpu");
    EXPECT_EQ(again.program.cache_hits, of_cpu.program.kernels);
    EXPECT_LT(of_gpu.program.cache_hits, of_cpu.program.kernels);
    EXPECT_LE(largest_difference(of_cpu.y, of_gpu.y), 1e-5F);
}

}  // namespace
}  // namespace backplane::drivers
