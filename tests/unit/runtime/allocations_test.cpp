// Memory that runs out at every single allocation of a session, one at a time and from one on: it ends right, perhaps by a plan that is made anew, or
// with an error that says so; the next run is right; nothing is left behind.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "backplane/fit.hpp"
#include "backplane/sdk.hpp"
#include "registry/device_state.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane {
namespace {

const bp_module_api* honest = nullptr;  // what replaced functions call on
std::atomic<int> asked{0};              // allocations of memory that the device computes in
std::atomic<int> fail_from{-1};         // the number of the first that fails, from 0; -1: none does
std::atomic<int> failures{1};           // how many then fail
std::atomic<int> alive{0};              // buffers

bp_code create(bp_device* device, uint32_t heap, uint64_t bytes, bp_buffer** out, bp_error* error) {
    if (heap == 0) {
        const int number = asked++, first = fail_from;
        if (first >= 0 && number >= first && number - first < failures) return BP_NO_DEVICE_MEMORY;
    }
    const bp_code code = honest->buffer_create(device, heap, bytes, out, error);
    if (code == BP_OK) ++alive;
    return code;
}
bp_code import(bp_device* device, void* memory, uint64_t bytes, bp_buffer** out, bp_error* error) {
    const bp_code code = honest->buffer_import(device, memory, bytes, out, error);
    if (code == BP_OK) ++alive;
    return code;
}
void close(bp_buffer* buffer) {
    --alive;
    honest->buffer_close(buffer);
}

struct Case {
    uint64_t percent;  // of what the network needs: the session's budget; 0: none
    int failures;
};

class EveryAllocationOn : public testing::TestWithParam<std::string> {
protected:
    static constexpr int64_t kLayers = 8, kWidth = 128;

    void SetUp() override {
        if (GetParam() == "reference:0") GTEST_SKIP() << "it computes in any memory where it lies";
        const Device device = context_.choose(GetParam());
        honest = DeviceAccess::state(device)->api;
        table_ = *honest;
        table_.device_close = [](bp_device*) {};  // the device itself closes it
        table_.buffer_create = create;
        table_.buffer_close = close;
        if (honest->buffer_import != nullptr) table_.buffer_import = import;
        auto state = std::make_shared<Device::State>();
        state->info = device.info();
        state->api = &table_;
        state->in_its_place = &changed_;
        state->handle = DeviceAccess::state(device)->handle;
        state->module = DeviceAccess::state(device)->module;
        of_ = device;
        device_ = DeviceAccess::handle(state);
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
        asked = 0;
        fail_from = -1;
        {
            Session whole = session(c.percent);
            for (int pass = 0; pass < 2; ++pass) run(whole, 1);
        }
        const int all = asked;
        ASSERT_GT(all, 3);
        const uint64_t held = ledger(device_).held;
        const int buffers = alive;
        int ended = 0;
        for (int n = 0; n < all; ++n) {
            SCOPED_TRACE(std::to_string(c.percent) + " %, allocation " + std::to_string(n) + " of " + std::to_string(all));
            asked = 0;
            failures = c.failures;
            fail_from = n;
            {
                std::optional<Session> made;
                bool failed = !wrong([&] { made.emplace(session(c.percent)); }).empty();
                for (int pass = 0; made && pass < 2; ++pass)
                    failed |= !wrong([&] { run(*made, static_cast<float>(pass)); }).empty();
                ended += failed ? 1 : 0;
                fail_from = -1;
                if (!made) made.emplace(session(c.percent));
                for (int pass = 0; pass < 2; ++pass) run(*made, static_cast<float>(7 + pass));
                for (const std::string& note : made->notes()) anew_ += note.find("made anew") != std::string::npos ? 1 : 0;
            }
            EXPECT_EQ(ledger(device_).held, held);
            EXPECT_EQ(alive, buffers) << "nothing is left behind";
            EXPECT_LE(asked, 40 * all) << "it tries for a bounded time";
        }
        EXPECT_TRUE(c.failures == 1 || ended > 0) << "else nothing was tried";
    }

    const Context context_{test::modules_of_the_build()};
    bp_module_api table_{};
    registry::Guarded changed_{"changed", table_, std::make_shared<registry::HostServices>()};
    Graph graph_;
    std::vector<float> twice_ = std::vector<float>(1 + kWidth * kWidth, 0.0F);
    uint64_t needs_ = 0;
    int anew_ = 0;  // plans
    Device of_, device_;
};

TEST_P(EveryAllocationOn, OfASessionFailsAndItEndsRightOrSaysSoAndTheNextRunIsRight) {
    for (const Case& c : {Case{0, 1}, Case{0, 1000000}, Case{70, 1}, Case{70, 1000000}}) fail_each(c);
    EXPECT_GT(anew_, 0) << "plans were made anew";
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryAllocationOn, testing::ValuesIn(test::devices_of_the_build()), test::NameOfDevice());

}  // namespace
}  // namespace backplane
