// Rows of products on two cards whose sums go by NCCL: through the runtime, the whole backend, a libcuda that computes and a libnccl that adds up.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "backplane/runtime.hpp"
#include "common/gpu/module_table.hpp"
#include "device.hpp"
#include "runtime_device.hpp"
#include "scripted_cuda.hpp"
#include "scripted_nccl.hpp"

namespace backplane::sums_by_nccl {
namespace {

using cuda::scripted::NcclWorld;
using cuda::scripted::world;

constexpr uint32_t kWidth = 512;

// Products of few rows and sums, as the kernels have their operands. Whole numbers: the same in any order.
std::function<void()> computes(const std::string& kernel, const cuda::scripted::Constants&, void** arguments) {
    const auto* words = static_cast<const uint32_t*>(arguments[0]);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the card's memory is the host's
    const auto place = [&](int i) { return reinterpret_cast<float*>(*static_cast<const uint64_t*>(arguments[i])); };
    if (kernel.find("binary") != std::string::npos)
        return [a = place(1), b = place(2), z = place(3)] {
            for (uint32_t i = 0; i < kWidth; ++i) z[i] = a[i] + b[i];
        };
    if (kernel.find("matvec_f32") == std::string::npos) return {};
    return [columns = words[1], depth = words[2], a = place(1), b = place(2), y = place(6)] {
        for (uint32_t c = 0; c < columns; ++c) {
            float sum = 0;
            for (uint32_t k = 0; k < depth; ++k) sum += a[k] * b[uint64_t{c} * depth + k];
            y[c] = sum;
        }
    };
}

class SumsByNccl : public testing::Test {
protected:
    void SetUp() override {
        cuda::scripted::start_anew();
        graph_ = {};
        world().cards = {{.name = "First Card", .pci_bus = 7, .uuid = 1}, {.name = "Second Card", .pci_bus = 8, .uuid = 2}};
        world().computes = computes;
        TensorId at = graph_.input("x", DType::f32, {1, kWidth});
        for (int k = 0; k < 4; ++k)
            at = graph_.add(Op::matmul, {at, graph_.weight("w" + std::to_string(k), DType::f32, {kWidth, kWidth})},
                            {{Attr::transpose_b, 1}});
        graph_.output(at, "y");
        // An element of what one card makes and one of the other's.
        for (uint32_t c = 0; c < kWidth; ++c)
            weight_[c * kWidth + (c + 1) % kWidth] = 1, weight_[c * kWidth + (c + kWidth / 2) % kWidth] = 2;
    }
    void TearDown() override {
        devices_.clear();
        if (module_ != nullptr) table_.close(std::exchange(module_, nullptr));
        EXPECT_EQ(world().alive, std::set<void*>());
        EXPECT_EQ(world().contexts, 0);
    }
    static NcclWorld& nccl(const char* path = BP_SCRIPTED_NCCL) {
        void* library = dlopen(path, RTLD_NOW);
        return *reinterpret_cast<NcclWorld* (*)()>(dlsym(library, "scripted_nccl"))();
    }
    // Both cards, with the option cuda.nccl as it is.
    void open(const std::string& how) {
        how_ = how;
        host_.struct_size = BP_SIZE(bp_host, extension);
        host_.abi = BP_ABI;
        host_.self = this;
        host_.option = [](void* self, const char* name) -> const char* {
            return std::string_view(name) == "cuda.nccl" ? static_cast<SumsByNccl*>(self)->how_.c_str() : nullptr;
        };
        ASSERT_EQ(table_.open(&host_, &module_, nullptr), BP_OK);
        devices_ = cuda::scripted::runtime_devices(table_, module_, guarded_, 2);
    }
    void turn(const std::string& how) { how_ = how; }
    [[nodiscard]] Session session(uint32_t rows) const {
        const Weights weights([this](std::string_view) { return std::as_bytes(std::span(weight_)); });
        SessionOptions options;
        options.rows = rows;
        options.check_ops = false;
        return {devices_, graph_, weights, options};
    }
    static std::vector<float> input(float first) {
        std::vector<float> x(kWidth);
        for (size_t i = 0; i < kWidth; ++i) x[i] = first + static_cast<float>(i % 3);
        return x;
    }
    static std::vector<float> run(Session& session, float first) {
        const std::vector<float> x = input(first);
        std::vector<float> y(kWidth);
        session.run({{"x", std::as_bytes(std::span(x))}}, {{"y", std::as_writable_bytes(std::span(y))}});
        return y;
    }
    [[nodiscard]] std::vector<float> product(const std::vector<float>& x) const {
        std::vector<float> y(kWidth);
        for (uint32_t c = 0; c < kWidth; ++c)
            for (uint32_t k = 0; k < kWidth; ++k) y[c] += x[k] * weight_[uint64_t{c} * kWidth + k];
        return y;
    }
    [[nodiscard]] std::vector<float> made_of(std::vector<float> at) const {
        for (int layer = 0; layer < 4; ++layer) at = product(at);
        return at;
    }
    // Runs on both are what the graph says.
    void expect_right(Session& both, int runs) const {
        for (int i = 0; i < runs; ++i) {
            const auto first = static_cast<float>(i);
            EXPECT_EQ(run(both, first), made_of(input(first))) << "run " << i;
        }
    }
    // From the sum after so many on the library adds nothing up and says so when it is asked; work that waits ends when it is aborted.
    static void fail_in_the_background_after(int sums) {
        nccl().hangs = [sums] {
            if (nccl().sums <= sums) return false;
            nccl().async = 1;
            for (auto& card : world().cards) card.stuck = true;
            return true;
        };
        nccl().at_abort = [] {
            for (auto& card : world().cards) card.stuck = false;
        };
    }
    static bool said(const Session& session, const char* words) {
        return std::ranges::any_of(session.notes(),
                                   [&](const std::string& note) { return note.find(words) != std::string::npos; });
    }

    std::vector<Device> devices_;

private:
    Graph graph_;
    std::vector<float> weight_ = std::vector<float>(kWidth * kWidth);
    std::string how_;
    bp_host host_{};
    bp_module* module_ = nullptr;
    bp_module_api table_ = gpu::ModuleTable<cuda::Api>::make();
    registry::Guarded guarded_{"cuda", table_, std::make_shared<registry::HostServices>()};
};

TEST_F(SumsByNccl, AreWhatOneCardMakesAndNothingIsCopiedForThem) {
    nccl() = {};
    open(BP_SCRIPTED_NCCL);
    {
        Session both = session(2);
        expect_right(both, 3);
        EXPECT_TRUE(both.notes().empty());
        EXPECT_NE(both.describe().find("by all devices at a time"), std::string::npos) << both.describe();
        EXPECT_EQ(nccl().sums, 2 * 3) << "one that both go on with, a run";
        EXPECT_EQ(world().crossings.size(), 3U) << "what the output is made of, a run";
        Session again = session(2);
        expect_right(again, 1);
    }
    EXPECT_EQ(nccl().inits, 1) << "once for two cards";
    devices_.clear();
    EXPECT_EQ(nccl().alive, 0);
    EXPECT_EQ(nccl().aborted, 0);
}

TEST_F(SumsByNccl, ThatFailInMidRunAreCopiedAndAddedFromThenOnAndTheLibrarysWordsAreSaid) {
    for (const int right : {0, 1, 2}) {
        nccl() = {.right_sums = right};
        open(BP_SCRIPTED_NCCL);
        {
            Session both = session(2);
            expect_right(both, 4);
            EXPECT_TRUE(said(both, "ncclAllReduce: unhandled cuda error (the library's last words)"));
            EXPECT_EQ(both.notes().size(), 1U);
        }
        EXPECT_EQ(nccl().aborted, 2);
        EXPECT_EQ(nccl().alive, 0);
        TearDown(), SetUp();
    }
}

TEST_F(SumsByNccl, AreCopiedAndAddedWhereTheLibraryDoesNotStartIsTooOldOrLacksAFunction) {
    const auto expect = [&](const char* how, const char* words) {
        open(how);
        {
            Session both = session(2);
            expect_right(both, 2);
            EXPECT_TRUE(said(both, words)) << how;
        }
        TearDown(), SetUp();
    };
    nccl() = {.init = 3};
    expect(BP_SCRIPTED_NCCL, "ncclCommInitAll: internal error (the library's last words)");
    expect(BP_SCRIPTED_NCCL_OLD, "is NCCL 2.8; install 2.10 or later");
    expect(BP_SCRIPTED_NCCL_INCOMPLETE, "has no ncclAllReduce");
    expect("/nowhere/libnccl.so.2", "/nowhere/libnccl.so.2 does not open");
    EXPECT_EQ(nccl().sums, 0);
}

TEST_F(SumsByNccl, GoByTheLibraryThatIsNamedWhenASessionIsMade) {
    NcclWorld &first = nccl(), &other = nccl(BP_SCRIPTED_NCCL_OTHER);
    first = {}, other = {};
    open(BP_SCRIPTED_NCCL);
    {
        Session both = session(2);
        expect_right(both, 1);
        turn(BP_SCRIPTED_NCCL_OTHER);
        Session by_other = session(2);
        expect_right(by_other, 3);
        EXPECT_EQ(other.sums, 2 * 3);
        EXPECT_EQ(first.sums, 2);
        EXPECT_EQ(first.inits, 1);
        turn("/nowhere/libnccl.so.2");
        Session by_none = session(2);
        expect_right(by_none, 1);
        EXPECT_TRUE(said(by_none, "/nowhere/libnccl.so.2 does not open"));
        turn(BP_SCRIPTED_NCCL);
        Session again = session(2);
        expect_right(again, 1);
        expect_right(by_other, 1);
        EXPECT_TRUE(said(by_none, "sums are copied and added"));
        for (const Session* one : {&both, &by_other, &again}) EXPECT_TRUE(one->notes().empty());
        EXPECT_EQ(first.inits + other.inits, 2) << "once for each library";
    }
    devices_.clear();
    EXPECT_EQ(first.alive, 0);
    EXPECT_EQ(other.alive, 0);
}

// A card is lost while it adds up, as the library tells of it, or when it has been handed the sum; of both cards, and in each run.
TEST_F(SumsByNccl, AreMadeGoodByTheOtherCardWhenOneIsLostInMidRun) {
    constexpr int kLost = 719;
    for (const size_t card : {size_t{0}, size_t{1}})
        for (const bool told : {true, false})
            for (const int before : {0, 1, 2}) {
                SCOPED_TRACE(std::to_string(card) + (told ? " told " : " not told ") + std::to_string(before));
                nccl() = {.right_sums = told ? before : 1'000'000};
                open(BP_SCRIPTED_NCCL);
                nccl().before = [&] {
                    if (nccl().sums >= before * 2) world().cards[card].lost = kLost;
                };
                {
                    Session both = session(2);
                    ASSERT_NO_THROW(expect_right(both, 4)) << testing::PrintToString(both.notes());
                    EXPECT_TRUE(said(both, card == 0 ? "First Card" : "Second Card"))
                        << testing::PrintToString(both.notes());
                    EXPECT_TRUE(DeviceAccess::state(devices_[card])->lost());
                    EXPECT_FALSE(DeviceAccess::state(devices_[1 - card])->lost());
                    // What is made anew with one card that is left.
                    EXPECT_THROW(static_cast<void>(session(2)), Error);
                }
                devices_.clear();
                EXPECT_EQ(nccl().alive, 0);
                nccl().before = {};
                TearDown(), SetUp();
            }
}

// NCCL has been handed the sum when a card dies: the other one's work waits for what never comes, and so does whoever waits for that.
TEST_F(SumsByNccl, ThatACardNeverAddsToEndWhenSomebodyWaitsForThem) {
    for (const size_t card : {size_t{0}, size_t{1}})
        for (const int before : {0, 1, 3}) {
            SCOPED_TRACE(std::to_string(card) + " " + std::to_string(before));
            nccl() = {};
            open(BP_SCRIPTED_NCCL);
            nccl().hangs = [&, card, before] {
                if (nccl().sums <= before * 2) return false;
                world().cards[card].lost = 719;
                world().cards[1 - card].stuck = true;
                return true;
            };
            nccl().at_abort = [&, card] { world().cards[1 - card].stuck = false; };
            {
                Session both = session(2);
                ASSERT_NO_THROW(expect_right(both, 5)) << testing::PrintToString(both.notes());
                EXPECT_TRUE(said(both, card == 0 ? "First Card" : "Second Card")) << testing::PrintToString(both.notes());
                EXPECT_FALSE(DeviceAccess::state(devices_[1 - card])->lost());
            }
            EXPECT_EQ(world().hung, 0) << "nobody waits without asking";
            EXPECT_EQ(nccl().aborted, 2);
            devices_.clear();
            EXPECT_EQ(nccl().alive, 0);
            nccl() = {};
            TearDown(), SetUp();
        }
}

// No card is lost, the library alone has failed, and says so when it is asked: both cards go on, in its words, and nothing is made of what it left.
TEST_F(SumsByNccl, ThatFailInTheBackgroundAreMadeAnewByCopies) {
    for (const int before : {0, 1, 2, 5}) {
        SCOPED_TRACE(before);
        nccl() = {};
        open(BP_SCRIPTED_NCCL);
        fail_in_the_background_after(before);
        {
            Session both = session(2);
            ASSERT_NO_THROW(expect_right(both, 4)) << testing::PrintToString(both.notes());
            EXPECT_TRUE(said(both, "failed: unhandled cuda error (the library's last words); sums are copied and added"))
                << testing::PrintToString(both.notes());
            EXPECT_EQ(both.notes().size(), 1U);
            for (const Device& device : devices_) EXPECT_FALSE(DeviceAccess::state(device)->lost());
            EXPECT_EQ(nccl().sums, (before / 2 + 1) * 2) << "none but those of the run that it failed in";
        }
        EXPECT_EQ(world().hung, 0);
        EXPECT_EQ(nccl().aborted, 2);
        devices_.clear();
        EXPECT_EQ(nccl().alive, 0);
        nccl() = {};
        TearDown(), SetUp();
    }
}

// Whoever is asked first ends them; what the others waited for is not taken for made.
TEST_F(SumsByNccl, ThatFailInTheBackgroundAreMadeAnewInEachRunThatIsUnderWay) {
    nccl() = {};
    open(BP_SCRIPTED_NCCL);
    fail_in_the_background_after(1);
    {
        Session both = session(2);
        std::array<std::vector<float>, 3> x, y;
        std::vector<Event> events;
        for (size_t i = 0; i < x.size(); ++i) {
            x[i] = input(static_cast<float>(i)), y[i].resize(kWidth);
            events.push_back(
                both.submit({{"x", std::as_bytes(std::span(x[i]))}}, {{"y", std::as_writable_bytes(std::span(y[i]))}}));
        }
        for (size_t i = x.size(); i-- > 0;) ASSERT_NO_THROW(events[i].wait());
        for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], made_of(x[i])) << i;
        for (const Device& device : devices_) EXPECT_FALSE(DeviceAccess::state(device)->lost());
    }
    EXPECT_EQ(world().hung, 0);
    devices_.clear();
    EXPECT_EQ(nccl().alive, 0);
    nccl() = {};
}

TEST_F(SumsByNccl, EndWithAnErrorWhenBothCardsAreLost) {
    nccl() = {.right_sums = 1};
    open(BP_SCRIPTED_NCCL);
    nccl().before = [&] {
        if (nccl().sums >= 2) world().cards[0].lost = world().cards[1].lost = 719;
    };
    {
        Session both = session(2);
        expect_right(both, 1);
        try {
            run(both, 0);
            FAIL() << "both are lost";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::device_lost) << error.what();
        }
        EXPECT_THROW(run(both, 0), Error);
    }
    devices_.clear();
    EXPECT_EQ(nccl().alive, 0);
    nccl() = {};
}

TEST_F(SumsByNccl, AreNotAskedForWhereItIsTurnedOffOrNotKnownToBeFaster) {
    for (const char* how : {"off", "auto", ""}) {
        open(how);
        {
            Session both = session(2);
            expect_right(both, 1);
            EXPECT_TRUE(both.notes().empty()) << how;
            EXPECT_EQ(both.describe().find("at a time"), std::string::npos);
        }
        TearDown(), SetUp();
    }
}

}  // namespace
}  // namespace backplane::sums_by_nccl
