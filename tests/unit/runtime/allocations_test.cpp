// Memory that runs out at every single allocation of a session, one at a time and from one on: it ends right, perhaps by a plan that is made anew, or
// with an error that says so; the next run is right; nothing is left behind.
#include <gtest/gtest.h>

#include <optional>

#include "backplane/fit.hpp"
#include "support/failing_allocations.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane {
namespace {

using Failing = test::FailingAllocations;

struct Case {
    uint64_t percent;  // of what the network needs: the session's budget; 0: none
    int failures;
    uint64_t left =
        0;  // percent of what the session holds that are there from the failure on; 0: what fails is told by `failures`
};

class EveryAllocationOn : public testing::TestWithParam<std::string> {
protected:
    static constexpr int64_t kLayers = 8, kWidth = 128;
    static constexpr int kMostPlans = 6;  // that a session makes anew

    void SetUp() override {
        if (GetParam() == "reference:0") GTEST_SKIP() << "it computes in any memory where it lies";
        failing_.emplace(context_.choose(GetParam()));
        device_ = failing_->device;
        TensorId at = graph_.input("x", DType::f32, {4, kWidth});
        for (int64_t k = 0; k < kLayers; ++k)
            at = graph_.add(Op::matmul, {at, graph_.weight("w " + std::to_string(k), DType::f32, {kWidth, kWidth})});
        graph_.output(at, "y");
        needs_ = fits({device_}, graph_, {.streaming = Streaming::never}).front().needs;
        limit_memory(device_, 4 * needs_);  // a reason to stream where a device computes in the host's memory
        for (size_t i = 0; i < kWidth; ++i) twice_[1 + i * kWidth + i] = 2;
    }
    [[nodiscard]] Session session(uint64_t percent) {
        // Nowhere a device would use it in place.
        const Weights weights([this](std::string_view) { return std::as_bytes(std::span(twice_).subspan(1)); });
        return {{device_}, graph_, weights, {.budget = needs_ * percent / 100}};
    }
    static void run(Session& session, float x) {
        const std::vector<float> given(4 * kWidth, x);
        std::vector<float> y(given.size());
        session.run({{"x", std::as_bytes(std::span(given))}}, {{"y", std::as_writable_bytes(std::span(y))}});
        EXPECT_EQ(y, std::vector<float>(y.size(), x * 256));
    }
    // What went wrong; empty: nothing did.
    template <typename Body>
    std::string wrong(const Body& body) const {
        try {
            body();
            return {};
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::no_device_memory) << error.what();
            EXPECT_NE(std::string(error.what()).find(GetParam()), std::string::npos) << error.what();
            return error.what();
        }
    }
    void fail_each(const Case& c) {
        Failing::start_anew();
        uint64_t most = 0;
        {
            Session whole = session(c.percent);
            for (int pass = 0; pass < 2; ++pass) run(whole, 1);
            most = Failing::bytes_alive;
        }
        const int all = Failing::asked;
        ASSERT_GT(all, 3);
        const uint64_t held = ledger(device_).held;
        const int buffers = Failing::alive;
        int ended = 0;
        for (int n = 0; n < all; ++n) {
            SCOPED_TRACE(std::to_string(c.percent) + " %, allocation " + std::to_string(n) + " of " + std::to_string(all));
            Failing::start_anew();
            Failing::failures = c.failures;
            Failing::most = most * c.left / 100;
            Failing::fail_from = n;
            {
                std::optional<Session> made;
                bool failed = !wrong([&] { made.emplace(session(c.percent)); }).empty();
                for (int pass = 0; made && pass < 2; ++pass)
                    failed |= !wrong([&] { run(*made, static_cast<float>(pass)); }).empty();
                ended += failed ? 1 : 0;
                Failing::fail_from = -1;
                if (!made) made.emplace(session(c.percent));
                for (int pass = 0; pass < 2; ++pass) run(*made, static_cast<float>(7 + pass));
                int here = 0;
                for (const std::string& note : made->notes()) here += note.find("made anew") != std::string::npos ? 1 : 0;
                EXPECT_LE(here, kMostPlans);
                anew_ += here;
            }
            EXPECT_EQ(ledger(device_).held, held);
            EXPECT_EQ(Failing::alive, buffers) << "nothing is left behind";
            EXPECT_LE(Failing::asked, 40 * all) << "it tries for a bounded time";
        }
        EXPECT_TRUE(c.failures == 1 || ended > 0) << "else nothing was tried";
        EXPECT_TRUE(c.left == 0 || ended == 0) << "a plan within what is left was made";
    }

    const Context context_{test::modules_of_the_build()};
    std::optional<Failing> failing_;
    Graph graph_;
    std::vector<float> twice_ = std::vector<float>(1 + kWidth * kWidth, 0.0F);
    uint64_t needs_ = 0;
    int anew_ = 0;  // plans
    Device device_;
};

TEST_P(EveryAllocationOn, OfASessionFailsAndItEndsRightOrSaysSoAndTheNextRunIsRight) {
    for (const Case& c : {Case{0, 1}, Case{0, 1000000}, Case{70, 1}, Case{70, 1000000}}) fail_each(c);
    EXPECT_GT(anew_, 0) << "plans were made anew";
}

// As another program takes it, or a driver's budget shrinks, while the session is being made and runs.
TEST_P(EveryAllocationOn, MemoryThatOthersTakeFromAnyMomentOnIsAPlanMadeAnewThatEndsRight) {
    fail_each({0, 1, 70});
    EXPECT_GT(anew_, 0) << "plans were made anew";
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryAllocationOn, testing::ValuesIn(test::devices_of_the_build()), test::NameOfDevice());

}  // namespace
}  // namespace backplane
