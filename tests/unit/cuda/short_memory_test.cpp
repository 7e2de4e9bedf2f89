// Sessions on a card of which other processes take memory while a run is under way, and give it back: through the runtime, the whole backend and a libcuda
// that computes products. A run ends right, by plans that are made anew a bounded number of times, and says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>

#include "backplane/fit.hpp"
#include "common/gpu/module_table.hpp"
#include "device.hpp"
#include "runtime_device.hpp"
#include "scripted_cuda.hpp"

namespace backplane {
namespace {

using cuda::scripted::world;

// y = a b^T of a few rows, as the kernel has its operands.
std::function<void()> product(const std::string& kernel, const cuda::scripted::Constants&, void** arguments) {
    if (kernel.find("matvec_f32") == std::string::npos) return {};
    const auto* words = static_cast<const uint32_t*>(arguments[0]);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the card's memory is the host's
    const auto place = [&](int i) { return reinterpret_cast<float*>(*static_cast<const uint64_t*>(arguments[i])); };
    return [rows = words[0], columns = words[1], depth = words[2], a = place(1), b = place(2), y = place(6)] {
        for (uint32_t r = 0; r < rows; ++r)
            for (uint32_t c = 0; c < columns; ++c) {
                float sums[8] = {};  // in any order: whole numbers
                for (uint32_t k = 0; k < depth; ++k) sums[k % 8] += a[r * depth + k] * b[uint64_t{c} * depth + k];
                y[r * columns + c] = std::accumulate(std::begin(sums), std::end(sums), 0.0F);
            }
    };
}

// The scripted card as the runtime has it.
class CudaDevice {
public:
    CudaDevice() {
        bp_host host{};
        host.struct_size = BP_SIZE(bp_host, extension);
        host.abi = BP_ABI;
        host_ = host;
        EXPECT_EQ(table_.open(&host_, &module_, nullptr), BP_OK);
        device = cuda::scripted::runtime_devices(table_, module_, guarded_, 1).front();
    }
    CudaDevice(const CudaDevice&) = delete;
    CudaDevice& operator=(const CudaDevice&) = delete;
    ~CudaDevice() {
        device = {};
        table_.close(module_);
    }
    Device device;

private:
    bp_host host_{};
    bp_module* module_ = nullptr;
    bp_module_api table_ = gpu::ModuleTable<cuda::Api>::make();
    registry::Guarded guarded_{"cuda", table_, std::make_shared<registry::HostServices>()};
};

constexpr int64_t kLayers = 16, kWidth = 768;  // 2.25 MiB of weights each: none of them shares a stretch
constexpr int kMostPlans = 6;                  // that a session makes anew

class ShortOnScriptedCuda : public testing::Test {
protected:
    void SetUp() override {
        cuda::scripted::start_anew();
        world().computes = product;
        card_.emplace();
        TensorId at = graph_.input("x", DType::f32, {1, kWidth});
        for (int64_t k = 0; k < kLayers; ++k)
            at = graph_.add(Op::matmul, {at, graph_.weight("w " + std::to_string(k), DType::f32, {kWidth, kWidth})},
                            {{Attr::transpose_b, 1}});
        graph_.output(at, "y");
        // One and two above the diagonal in turns, which goes around: where an element ends says that each layer was there once.
        for (size_t k = 0; k < 2; ++k)
            for (size_t i = 0; i < kWidth; ++i) layers_[k][i * kWidth + (i + k + 1) % kWidth] = static_cast<float>(k + 1);
    }
    void TearDown() override {
        card_.reset();
        EXPECT_EQ(world().alive, std::set<void*>()) << "given back, whatever happened";
        EXPECT_EQ(world().cards[0].used, 0U);
    }
    [[nodiscard]] Session session() const {
        const Weights weights([this](std::string_view name) {
            return std::as_bytes(std::span(layers_[static_cast<size_t>(name.back() - '0') % 2]));
        });
        return {{card_->device}, graph_, weights};
    }
    static void run(Session& session, float first) {
        std::vector<float> given(kWidth), y(kWidth);
        for (size_t i = 0; i < kWidth; ++i) given[i] = first + static_cast<float>(i);
        session.run({{"x", std::as_bytes(std::span(given))}}, {{"y", std::as_writable_bytes(std::span(y))}});
        std::rotate(given.begin(), given.begin() + 3 * kLayers / 2, given.end());
        for (float& value : given) value *= 1 << (kLayers / 2);
        ASSERT_EQ(y, given);
    }
    // Notes of plans that were made anew.
    static int anew(const Session& session) {
        int count = 0;
        for (const std::string& note : session.notes()) count += note.find("made anew") != std::string::npos ? 1 : 0;
        return count;
    }
    static bool streams(const Session& session) {
        return session.plan_json().find("\"weights\":\"streamed\"") != std::string::npos;
    }

    Graph graph_;
    std::vector<float> layers_[2] = {std::vector<float>(kWidth * kWidth), std::vector<float>(kWidth* kWidth)};
    std::optional<CudaDevice> card_;
};

// What becomes of the card at a call of the driver, and so many calls later.
struct Change {
    const char* what;
    uint64_t left;         // percent of what the session takes of the card
    uint64_t then;         // the same, later; 0: as much as the card has
    int later = 0;         // calls; 0: never
    bool repeats = false;  // to and fro, as often as it takes
    bool enough = true;    // for some plan
};

// The n-th call changes the card, counted from now.
class Changing {
public:
    Changing(const Change& change, int at, uint64_t takes) : change_(change), at_(at), takes_(takes) {
        world().before = [this](const std::string&) { next(); };
    }
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;
    ~Changing() {
        world().before = {};
        world().cards[0].others = 0;
    }
    [[nodiscard]] int calls() const { return calls_; }

private:
    void next() {
        const int since = calls_++ - at_;
        if (since < 0) return;
        const bool later = change_.later != 0 && (change_.repeats ? since / change_.later % 2 == 1 : since >= change_.later);
        const uint64_t left = later ? change_.then : change_.left;
        cuda::scripted::Card& card = world().cards[0];
        card.others = later && left == 0 ? 0 : card.memory - takes_ * left / 100;
    }
    const Change change_;
    const int at_;
    const uint64_t takes_;
    int calls_ = 0;
};

class ShortAtAnyMoment : public ShortOnScriptedCuda, public testing::WithParamInterface<Change> {};

// What a session does that has all its weights there: bytes of the card, and calls of the driver in making it and two runs.
struct Whole {
    uint64_t bytes = 0;
    int calls = 0;
};

TEST_P(ShortAtAnyMoment, APlanIsMadeAnewAFewTimesAndTheRunIsRight) {
    Whole whole;
    {
        const Changing none({}, 1000000, 0);
        Session made = session();
        for (int pass = 0; pass < 2; ++pass) run(made, 1);
        EXPECT_FALSE(streams(made));
        whole = {world().cards[0].used, none.calls()};
    }
    constexpr int kMoments = 4;
    const Change change = GetParam();
    int plans = 0;
    for (int moment = 0; moment < kMoments; ++moment) {
        const int at = whole.calls * moment / kMoments;
        SCOPED_TRACE(std::to_string(at) + " of " + std::to_string(whole.calls) + " calls");
        std::optional<Session> made;
        bool ended = false;
        {
            const Changing changing(change, at, whole.bytes);
            try {
                made.emplace(session());
                for (int pass = 0; pass < 2; ++pass) run(*made, static_cast<float>(pass));
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), Code::no_device_memory) << error.what();
                EXPECT_NE(std::string(error.what()).find("streamed there "), std::string::npos) << error.what();
                ended = true;
            }
            EXPECT_LT(changing.calls(), 12 * whole.calls) << "it tries for a bounded time";
            EXPECT_FALSE(ended && change.enough) << "there was memory for a plan";
        }
        if (!made) made.emplace(session());
        run(*made, 7);  // there is memory again
        EXPECT_LE(anew(*made), kMostPlans);
        EXPECT_EQ(streams(*made), anew(*made) > 0) << "which is said: " << made->describe();
        plans += anew(*made);
    }
    EXPECT_EQ(plans > 0, change.enough);
}

INSTANTIATE_TEST_SUITE_P(Changes, ShortAtAnyMoment,
                         testing::Values(Change{"LittleForGood", 45, 45}, Change{"LessAndLess", 80, 50, 50},
                                         Change{"LittleForAWhile", 45, 0, 25}, Change{"ToAndFro", 45, 0, 7, true},
                                         Change{"LessThenNothing", 70, 1, 60, false, false}),
                         [](const auto& change) { return std::string(change.param.what); });

// Nothing is allocated meanwhile, so no allocation fails.
TEST_F(ShortOnScriptedCuda, WhereNothingIsLeftForAWhileThePlanIsMadeAnewAndOnceIsNotAWhile) {
    cuda::scripted::Card& card = world().cards[0];
    Session made = session();
    const auto run_at_the_next_look = [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(260));
        run(made, 3);
    };
    run(made, 1);
    card.others = card.memory - card.used;
    run_at_the_next_look();
    card.others = 0;
    run_at_the_next_look();
    card.others = card.memory - card.used;
    run_at_the_next_look();
    EXPECT_EQ(anew(made), 0) << "it passed, and came once more";
    EXPECT_FALSE(streams(made));
    const uint64_t before = card.used;
    run_at_the_next_look();
    EXPECT_EQ(anew(made), 1);
    EXPECT_TRUE(streams(made));
    EXPECT_LT(card.used, before);
    ASSERT_FALSE(made.notes().empty());
    EXPECT_NE(made.notes().front().find("nothing is left of what cuda:0 gives"), std::string::npos) << made.notes().front();
    for (int pass = 0; pass < 3; ++pass) run_at_the_next_look();
    EXPECT_EQ(anew(made), 1) << "there is something left now";
    card.others = 0;
}

TEST_F(ShortOnScriptedCuda, EachAllocationThatFailsOnceIsTriedAgainOrPlannedAround) {
    const char* const kinds[] = {"cuMemAlloc_v2", "cuMemHostAlloc"};
    int all[2];
    {
        Session made = session();
        run(made, 1);
        for (int kind = 0; kind < 2; ++kind) all[kind] = world().calls[kinds[kind]];
    }
    for (int kind = 0; kind < 2; ++kind)
        for (int n = 0; n < all[kind]; n += 5) {
            SCOPED_TRACE(std::string(kinds[kind]) + " " + std::to_string(n));
            world().failures[kinds[kind]] = {2, world().calls[kinds[kind]] + n};
            Session made = session();
            for (int pass = 0; pass < 2; ++pass) run(made, static_cast<float>(pass));
            EXPECT_LE(anew(made), 1);
            world().failures.clear();
        }
}

}  // namespace
}  // namespace backplane
