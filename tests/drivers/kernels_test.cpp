// The kernels that GPUs get of the opencl backend, run by PoCL: it takes others for itself.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "graph/element_types.hpp"
#include "machine.hpp"
#include "small_graph.hpp"
#include "support/part.hpp"

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
const Part kParts[] = {Part{"TilesWithStrides", "gpu", "Conv", "stride", 50},
                       Part{"TilesWithEpilogues", "gpu", "Conv", "residual", 5},
                       Part{"Patches", "patches", "Conv", "3x3-16", 20},
                       Part{"ConvolutionsOnMatrixUnits", "matrix", "Conv", "3x3-16", 20},
                       Part{"StridesOnMatrixUnits", "matrix", "Conv", "stride", 50},
                       Part{"AttentionOnMatrixUnits", "matrix", "Attention", "half", 20},
                       Part{"AttentionInParts", "matrix", "Attention", "tiles-l", 2},
                       Part{"ProductsInParts", "matrix", "MatMul", "fours", 4},
                       Part{"RowsOnMatrixUnits", "matrix", "Conv", "long-f16", 3},
                       Part{"TransposedOnMatrixUnits", "matrix", "ConvTranspose", "d-f16", 2},
                       Part{"TransposedOnTiles", "gpu", "ConvTranspose", "2d-", 20},
                       Part{"MachineCodeThatIsRefused", "carried", "Relu", "f32", 5},
                       Part{"Products", "gpu", "MatMul", "batch", 20},
                       Part{"RowsByBlocks", "gpu", "MatMul", "1x4352x3-", 11},
                       Part{"EightRowsByBlocks", "gpu", "MatMul", "8x256x5-", 11},
                       Part{"TilesByBlocks", "gpu", "MatMul", "33x256x37-", 11},
                       Part{"ProductsWithHalves", "gpu", "MatMul", "-tb-f16", 15},
                       Part{"RowsInGroups", "gpu", "MatMul", "rows-in-groups", 16},
                       Part{"ProductsOnMatrixUnits", "matrix", "MatMul", "eights", 4},
                       Part{"Attention", "patches", "Attention", "causal", 8},
                       Part{"AttentionInTiles", "patches", "Attention", "tiles-", 15},
                       Part{"AttentionInSmallTiles", "gpu", "Attention", "tiles-", 15},
                       Part{"AttentionOfFewQueries", "patches", "Attention", "many-keys", 1},
                       Part{"AttentionWithPositions", "patches", "Attention", "relative-lengths", 5},
                       Part{"AttentionOfOneQueryWithPositions", "patches", "Attention", "relative-one-query", 2}};

class KernelsOfGpus : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(All, KernelsOfGpus, testing::Range(size_t{0}, std::size(kParts)),
                         [](const auto& p) { return kParts[p.param].name; });

TEST_P(KernelsOfGpus, PassTheirCases) {
    BP_NEEDS("opencl", true);
    if (!test::part_of_this_run().has(GetParam())) GTEST_SKIP() << "another part's turn: BACKPLANE_POCL_PART";
    const Part& part = kParts[GetParam()];
    const Place p;
    const Outcome o = e2e::run(p,
                               {"verify", "--device", "opencl:0", "--op", part.op, "--case", part.cases, "--option",
                                std::string("opencl.kernels=") + part.kernels, "--no-cache", "--json", "--verbose"},
                               quiet(p));
    ASSERT_EQ(o.exit_code, 0) << o.out << o.err;
    const Json result = Json::parse(o.out);
    EXPECT_EQ(result["device"], "opencl:0");
    EXPECT_EQ(result["failed"], 0);
    for (const Json& one : result["cases"]) {
        const bool needs_f64 = one["name"].get<std::string>().find("f64") != std::string::npos;  // which no GPU's kernels do
        EXPECT_EQ(one["status"], needs_f64 ? "unsupported" : "passed") << one;
    }
    EXPECT_EQ(o.err.find("works without its matrix units"), std::string::npos) << o.err;  // a kernel did not build
    EXPECT_GE(result["passed"], part.least);
}

class KernelsOption : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, KernelsOption, testing::Values("vulkan", "opencl"), [](const auto& p) { return p.param; });

TEST_P(KernelsOption, RefusesWhatItDoesNotKnowAndListsWhatThereIs) {
    const std::string& backend = GetParam();
    BP_NEEDS(backend, true);
    const Place p;
    for (const std::string value : {"nonsense", "GPU", "matrix,gpu"}) {
        const Outcome o = e2e::run(
            p,
            {"verify", "--device", backend + ":0", "--op", "Relu", "--option", backend + ".kernels=" + value, "--no-cache"},
            quiet(p));
        EXPECT_EQ(o.exit_code, 2) << o.out;
        const std::string sentence = "option " + backend + ".kernels is '" + value + "'; give one of gpu, patches, matrix, ";
        EXPECT_NE(o.err.find(sentence), std::string::npos) << o.err;
        EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    }
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

// Convolutions in f16: two that suit tiles of the matrix units, one with a stride, which they do by columns, and one that is too narrow.
Graph half_graph() {
    Graph g;
    const TensorId x = g.input("x", DType::f16, {1, 20, 11, 38});
    const TensorId a = g.weight("a", DType::f16, {48, 20, 3, 3});
    const TensorId b = g.weight("b", DType::f16, {17, 48, 1, 1});
    const TensorId c = g.weight("c", DType::f16, {16, 17, 3, 3});
    const TensorId d = g.weight("d", DType::f16, {12, 17, 5, 5});
    const TensorId first = g.add(Op::relu, {g.add(Op::conv, {x, a}, {{Attr::pads, {1, 1, 1, 1}}})});
    const TensorId second = g.add(Op::conv, {first, b});
    g.output(g.add(Op::conv, {second, c}, {{Attr::strides, {2, 2}}}), "y");
    g.output(g.add(Op::tanh, {g.add(Op::conv, {second, d})}), "z");
    return g;
}

// An OpenCL device that was opened with these kernels, and what it logged.
struct Opened {
    std::vector<std::string> warnings;
    std::unique_ptr<Context> context;
    Device device;

    Opened(const Place& p, const std::string& kernels) {
        ContextOptions options = options_for(p);
        options.probe = ProbePolicy::never;
        options.device_filter = only("opencl");
        options.use_cache = false;
        options.options["opencl.kernels"] = kernels;
        options.log = [this](LogLevel, std::string_view text) { warnings.emplace_back(text); };
        context = std::make_unique<Context>(options);
        device = context->choose("opencl:0");
    }
};

// Of GPUs work that is side by side goes to two queues: what comes behind it reads all of it, and so does the next run.
TEST(KernelsOfGpus, ManySideBySideAreOverBeforeWhatReadsThem) {
    BP_NEEDS("opencl", true);
    const Place p;
    set_environment(quiet(p));
    const Opened opened(p, "gpu");
    constexpr int kSideBySide = 24;
    constexpr size_t kRows = 1024, kColumns = 64;  // an invocation each, or more
    Graph g;
    TensorId sum = no_tensor;
    for (int i = 0; i < kSideBySide; ++i) {
        const TensorId x = g.input("x" + std::to_string(i), DType::f32, {kRows, kColumns});
        const TensorId part = g.add(Op::softmax, {x}, {{Attr::axis, 1}});
        sum = i == 0 ? part : g.add(Op::add, {sum, part});
    }
    g.output(g.add(Op::relu, {sum}), "y");
    Session session(opened.device, g, WeightSource{});
    for (size_t run = 1; run <= 3; ++run) {
        // All of a softmax is where the input is large: another column each run.
        std::vector<float> x(kRows * kColumns), y(x.size());
        for (size_t row = 0; row < kRows; ++row) x[row * kColumns + run] = 100;
        std::vector<NamedBytes> in;
        std::vector<std::string> names;
        for (int i = 0; i < kSideBySide; ++i) names.push_back("x" + std::to_string(i));
        for (const std::string& name : names) in.push_back({name, std::as_bytes(std::span(x))});
        session.run(in, {{{"y", std::as_writable_bytes(std::span(y))}}});
        for (size_t i = 0; i < y.size(); ++i)
            ASSERT_NEAR(y[i], i % kColumns == run ? kSideBySide : 0, 1e-4) << run << ": " << i;
    }
}

std::vector<std::byte> halves(size_t count, uint32_t seed) {
    std::vector<std::byte> out(2 * count);
    // Halves between -0.5 and 0.5: a sign, an exponent of 2^-2 or less, any digits.
    for (size_t i = 0; i < out.size(); ++i) {
        seed = seed * 1664525 + 1013904223;
        out[i] = static_cast<std::byte>(i % 2 == 0 ? seed >> 24 : (seed >> 24 & 0x80) | 0x30 | (seed >> 20 & 7));
    }
    return out;
}

std::map<std::string, std::vector<std::byte>> run_halves(const Device& device, std::string* summary) {
    std::map<std::string, std::vector<std::byte>, std::less<>> weights = {{"a", halves(48 * 20 * 9, 1)},
                                                                          {"b", halves(17 * 48, 2)},
                                                                          {"c", halves(16 * 17 * 9, 3)},
                                                                          {"d", halves(12 * 17 * 25, 4)}};
    Session session(device, half_graph(),
                    [&](std::string_view name) { return std::span<const std::byte>(weights.find(name)->second); });
    *summary = session.program().info().summary;
    const std::vector<std::byte> x = halves(20 * 11 * 38, 5);
    std::map<std::string, std::vector<std::byte>> out = {{"y", std::vector<std::byte>(2 * 16 * 5 * 18)},
                                                         {"z", std::vector<std::byte>(2 * 12 * 7 * 34)}};
    session.run({{{"x", x}}}, {{{"y", out["y"]}, {"z", out["z"]}}});
    return out;
}

TEST(MatrixUnits, AreChosenForConvolutionsOfHalvesThatSuitThem) {
    BP_NEEDS("opencl", true);
    const Place p;
    set_environment(quiet(p));
    const Opened opened(p, "matrix");
    const std::string plan = Program(opened.device, half_graph(), {.plan_only = true}).info().summary;
    EXPECT_NE(plan.find("Conv matrix tiles f16[48,20,3,3] -> f16[1,48,11,38] + Relu"), std::string::npos) << plan;
    EXPECT_NE(plan.find("Conv matrix tiles f16[17,48,1,1]"), std::string::npos) << plan;
    EXPECT_NE(plan.find("Conv matrix units f16[16,17,3,3]"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("Conv matrix tiles f16[12,17,5,5]"), std::string::npos) << plan;
    // Filters that are known from the start are laid out before anything else runs.
    EXPECT_LT(plan.rfind("Conv filters"), plan.find("Conv matrix tiles")) << plan;
    // Those that a node makes, also as a result, are laid out after it.
    Graph g;
    const TensorId made = g.add(Op::relu, {g.weight("a", DType::f16, {16, 16, 3, 3})});
    g.output(made, "made");
    g.output(g.add(Op::conv, {g.input("x", DType::f16, {1, 16, 8, 8}), made}), "y");
    const std::string after = Program(opened.device, g, {.plan_only = true}).info().summary;
    EXPECT_LT(after.find("Relu"), after.find("Conv filters")) << after;
    const std::string strict =
        Program(opened.device, half_graph(), {.plan_only = true, .math = Math::strict}).info().summary;
    EXPECT_EQ(strict.find("Conv matrix"), std::string::npos) << strict;
}

// y = Relu(a b + bias) + more, in f16.
Graph product_graph(int64_t rows, int64_t depth, int64_t columns) {
    Graph g;
    const TensorId a = g.input("x", DType::f16, {rows, depth});
    const TensorId b = g.weight("b", DType::f16, {depth, columns});
    const TensorId sum = g.add(Op::add, {g.add(Op::matmul, {a, b}), g.weight("bias", DType::f16, {columns})});
    g.output(g.add(Op::add, {g.add(Op::relu, {sum}), g.input("more", DType::f16, {rows, columns})}), "y");
    return g;
}

std::vector<double> run_product(const Device& device, int64_t rows, int64_t depth, int64_t columns) {
    const std::map<std::string, std::vector<std::byte>, std::less<>> weights = {{"b", halves(depth * columns, 1)},
                                                                                {"bias", halves(columns, 2)}};
    Session session(device, product_graph(rows, depth, columns),
                    [&](std::string_view name) { return std::span<const std::byte>(weights.find(name)->second); });
    const std::vector<std::byte> x = halves(rows * depth, 3);
    const std::vector<std::byte> more = halves(rows * columns, 4);
    std::vector<std::byte> y(2 * rows * columns);
    session.run({{{"x", x}, {"more", more}}}, {{{"y", y}}});
    return graph::decode(y, DType::f16);
}

TEST(MatrixUnits, AreChosenForProductsOfHalvesThatSuitThemAndGiveTheSame) {
    BP_NEEDS("opencl", true);
    const Place p;
    set_environment(quiet(p));
    const Opened asked(p, "matrix");
    const Opened plain(p, "patches");
    const auto plan = [&](int64_t rows, int64_t depth, int64_t columns, Math math) {
        return Program(asked.device, product_graph(rows, depth, columns), {.plan_only = true, .math = math}).info().summary;
    };
    EXPECT_NE(plan(40, 24, 72, Math::standard).find("matrix units"), std::string::npos);
    EXPECT_EQ(plan(40, 24, 72, Math::strict).find("matrix units"), std::string::npos);
    EXPECT_EQ(plan(40, 20, 72, Math::standard).find("matrix units"),
              std::string::npos);  // rows of memory of no whole eights
    EXPECT_EQ(plan(40, 24, 70, Math::standard).find("matrix units"), std::string::npos);
    const std::vector<double> got = run_product(asked.device, 40, 104, 72);
    const std::vector<double> wanted = run_product(plain.device, 40, 104, 72);
    ASSERT_EQ(got.size(), wanted.size());
    double largest = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(got[i], wanted[i], 0.004) << i;  // two roundings of a half below 4
        largest = std::max(largest, std::abs(wanted[i]));
    }
    EXPECT_GT(largest, 0.5);
}

// What becomes of a plan where the driver cannot build such a kernel, unit_gpu pins.
TEST(MatrixUnits, GiveTheSameAsOtherKernelsForConvolutions) {
    BP_NEEDS("opencl", true);
    const Place p;
    set_environment(quiet(p));
    const Opened asked(p, "matrix");
    const Opened plain(p, "patches");
    std::string summary;
    std::string without;
    const auto got = run_halves(asked.device, &summary);
    const auto wanted = run_halves(plain.device, &without);
    EXPECT_NE(summary.find("Conv matrix tiles"), std::string::npos) << summary;
    EXPECT_NE(summary.find("Conv matrix units"), std::string::npos) << summary;
    EXPECT_EQ(without.find("Conv matrix tiles"), std::string::npos) << without;
    EXPECT_EQ(asked.warnings, plain.warnings);  // none of a kernel that could not be built
    for (const auto& [name, bytes] : wanted) {
        const std::vector<double> mine = graph::decode(got.at(name), DType::f16);
        const std::vector<double> theirs = graph::decode(bytes, DType::f16);
        ASSERT_EQ(mine.size(), theirs.size());
        double largest = 0;
        for (const double v : theirs) largest = std::max(largest, std::abs(v));
        for (size_t i = 0; i < mine.size(); ++i) EXPECT_NEAR(mine[i], theirs[i], largest / 256) << name << " " << i;
        EXPECT_GT(largest, 0.1) << name;
    }
}

}  // namespace
}  // namespace backplane::drivers
