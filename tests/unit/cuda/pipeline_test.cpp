// Layers over two cards: what the host gives them goes up beside the work of the passes before, through the runtime, the whole backend and a libcuda that adds.
#include <gtest/gtest.h>

#include <deque>
#include <numeric>

#include "backplane/pipeline.hpp"
#include "common/gpu/module_table.hpp"
#include "device.hpp"
#include "runtime_device.hpp"
#include "scripted_cuda.hpp"

namespace backplane::inputs_of_layers {
namespace {

using cuda::scripted::world;

constexpr int64_t kLarge = int64_t{1} << 20, kSmall = 64;  // numbers: with memory and copies of their own, or with the work
constexpr int kPasses = 14;

// A sum, as its kernel has its operands.
template <int64_t kCount>
std::function<void()> sum(const std::string& kernel, const cuda::scripted::Constants&, void** arguments) {
    if (kernel.find("binary") == std::string::npos) return {};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the card's memory is the host's
    const auto place = [&](int i) { return reinterpret_cast<float*>(*static_cast<const uint64_t*>(arguments[i])); };
    return [a = place(1), b = place(2), z = place(3)] {
        for (int64_t i = 0; i < kCount; ++i) z[i] = a[i] + b[i];
    };
}

class InputsOfLayers : public testing::Test {
protected:
    void SetUp() override {
        cuda::scripted::start_anew();
        world().cards = {{.name = "First Card", .pci_bus = 7, .uuid = 1}, {.name = "Second Card", .pci_bus = 8, .uuid = 2}};
        host_.struct_size = BP_SIZE(bp_host, extension);
        host_.abi = BP_ABI;
        host_.option = [](void*, const char*) -> const char* { return nullptr; };
        ASSERT_EQ(table_.open(&host_, &module_, nullptr), BP_OK);
        devices_ = cuda::scripted::runtime_devices(table_, module_, guarded_, 2);
    }
    void TearDown() override {
        devices_.clear();
        if (module_ != nullptr) table_.close(std::exchange(module_, nullptr));
        EXPECT_EQ(world().alive, std::set<void*>());
        EXPECT_EQ(world().contexts, 0);
    }
    // y = (x + b) + c, an addition a card.
    static Graph sums(int64_t count) {
        Graph g;
        const TensorId first = g.add(Op::add, {g.input("x", DType::f32, {1, count}), g.input("b", DType::f32, {1, count})});
        g.output(g.add(Op::add, {first, g.input("c", DType::f32, {1, count})}), "y");
        return g;
    }
    static std::vector<float> numbers(int64_t count, int pass, int which) {
        std::vector<float> all(static_cast<size_t>(count));
        std::iota(all.begin(), all.end(), static_cast<float>(1000 * pass + which));
        return all;
    }
    // Of both cards' memory: in no plan.
    [[nodiscard]] uint64_t in_tensors() const {
        uint64_t held = 0;
        for (const Device& device : devices_)
            for (const Holder& holder : ledger(device).holders)
                if (holder.name == "tensors") held += holder.bytes;
        return held;
    }
    // Passes, three at a time, after which so many bytes for inputs of a pass are there, of three passes at most, beside those for what parts make; then no
    // card is asked for memory any more.
    void expect_right(Pipeline& pipeline, int64_t count, uint64_t of_a_pass, uint64_t made = 0) const {
        struct UnderWay {
            std::vector<float> x, b, c;
            Pipeline::Pass pass;
        };
        std::deque<UnderWay> under_way;
        int finished = 0, asked = 0;
        const auto finish = [&] {
            std::vector<float> y(static_cast<size_t>(count));
            UnderWay& one = under_way.front();
            pipeline.finish(one.pass, {{"y", std::as_writable_bytes(std::span(y))}});
            for (size_t i = 0; i < y.size(); ++i)
                ASSERT_EQ(y[i], one.x[i] + one.b[i] + one.c[i]) << "pass " << finished << ", number " << i;
            under_way.pop_front();
            ++finished;
        };
        for (int pass = 0; pass < kPasses; ++pass) {
            UnderWay& one = under_way.emplace_back(
                UnderWay{numbers(count, pass, 0), numbers(count, pass, 1), numbers(count, pass, 2), {}});
            one.pass = pipeline.start({{"x", std::as_bytes(std::span(one.x))},
                                       {"b", std::as_bytes(std::span(one.b))},
                                       {"c", std::as_bytes(std::span(one.c))}});
            if (under_way.size() == 3) finish();
            if (pass == kPasses / 2) asked = world().calls["cuMemAlloc_v2"];
        }
        while (!under_way.empty()) finish();
        EXPECT_GE(in_tensors(), of_a_pass) << "inputs went up with the work of their own pass";
        EXPECT_LE(in_tensors(), 3 * of_a_pass + made) << "each pass had tensors of its own";
        // A thread that comes late may make one more of the four that each part's output has at most.
        EXPECT_LE(world().calls["cuMemAlloc_v2"], asked + 2 * 4) << "a driver that is asked for memory waits for all passes";
    }

    std::vector<Device> devices_;

private:
    bp_host host_{};
    bp_module* module_ = nullptr;
    bp_module_api table_ = gpu::ModuleTable<cuda::Api>::make();
    registry::Guarded guarded_{"cuda", table_, std::make_shared<registry::HostServices>()};
};

TEST_F(InputsOfLayers, GoUpBesideTheWorkOfPassesBeforeIntoTensorsThatPassesTakeInTurns) {
    world().computes = sum<kLarge>;
    Pipeline pipeline(devices_, 2, sums(kLarge), Weights());
    expect_right(pipeline, kLarge, 3 * kLarge * sizeof(float), 2 * 4 * kLarge * sizeof(float));
}

TEST_F(InputsOfLayers, ThatAreSmallGoWithTheWork) {
    world().computes = sum<kSmall>;
    Pipeline pipeline(devices_, 2, sums(kSmall), Weights());
    expect_right(pipeline, kSmall, 0);
}

// What there is of memory is the plan's.
TEST_F(InputsOfLayers, OfOnePartGoWithTheWork) {
    world().computes = sum<kLarge>;
    Graph g;
    const TensorId x = g.input("x", DType::f32, {1, kLarge}), b = g.input("b", DType::f32, {1, kLarge});
    g.output(g.add(Op::add, {x, b}), "y");
    Pipeline pipeline(devices_, 1, g, Weights());
    pipeline.hand_over_early();
    for (int pass = 0; pass < kPasses; ++pass) {
        const std::vector<float> one = numbers(kLarge, pass, 0), other = numbers(kLarge, pass, 1);
        std::vector<float> y(one.size());
        Pipeline::Pass under_way =
            pipeline.start({{"x", std::as_bytes(std::span(one))}, {"b", std::as_bytes(std::span(other))}});
        pipeline.finish(under_way, {{"y", std::as_writable_bytes(std::span(y))}});
        for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], one[i] + other[i]) << "pass " << pass << ", number " << i;
    }
    EXPECT_EQ(in_tensors(), 0U);
}

}  // namespace
}  // namespace backplane::inputs_of_layers
