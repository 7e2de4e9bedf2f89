// Memory that runs out at every single allocation of a run, one at a time: the run ends right, or with an error that says who holds what; the next
// one is right; nothing is left behind.
#include "on_mock.hpp"

namespace backplane::plan {
namespace {

using mock::Arguments;
using mock::at;
using test::in;
using test::out;

constexpr size_t kSums = 6, kNumbers = 1024;

// Sums: two weights are resident, the rest streamed, values between, a workspace; every second stage has what the one before the last gave, too.
class Sums {
public:
    // The first device fails; with a second one there is somebody to go on.
    Sums(mock::Device& first, mock::Device* second, bool streamed) : first_(first) {
        ports_.push_back(test::port_on(first));
        devices_.push_back(&first);
        plan_.ports = {first.options.name};
        if (second != nullptr) {
            ports_.push_back(test::port_on(*second));
            devices_.push_back(second);
            plan_.ports.push_back(second->options.name);
        }
        for (size_t k = 0; k < kSums; ++k) weights_.emplace_back(kNumbers, static_cast<float>(k + 1));
        plan_.values.push_back({"x", Kind::input, kNumbers * 4});
        for (size_t k = 0; k < kSums; ++k) {
            plan_.values.push_back({"w", Kind::weight, kNumbers * 4});
            plan_.values.push_back({"v", k + 1 == kSums ? Kind::output : Kind::boundary, kNumbers * 4});
        }
        for (uint32_t k = 0; k < kSums; ++k)
            plan_.stages.push_back(
                {"s" + std::to_string(k),
                 second != nullptr ? std::vector<uint32_t>{0, 1} : std::vector<uint32_t>{0},
                 {{0, k == 0 ? 0 : 2 * k, false}, {1, 1 + 2 * k, false, streamed && k >= 2}, {2, 2 + 2 * k, true}},
                 64});
        make();
    }

    Code run(float x, std::string* text = nullptr) {
        std::vector<float> given(kNumbers, x), got(kNumbers);
        const Given inputs[] = {{0, in(given), {}}};
        const Wanted wanted[] = {{2 * kSums, out(got), {}}};
        const Code code = test::code_of([&] { executor_->run(inputs, wanted); }, text);
        if (code == Code::ok) {
            EXPECT_EQ(got, std::vector<float>(kNumbers, x + kSums * (kSums + 1) / 2));
        }
        return code;
    }
    // As a program that has done with it.
    void close() {
        executor_.reset();
        for (const auto& port : ports_) {
            port->drain();
            port->sweep();
        }
        ports_.clear();
    }

private:
    void make() {
        executor_ = std::make_unique<Executor>(
            plan_, ports_,
            [this](uint32_t, uint32_t port) {
                return test::program_on(ports_[port], *devices_[port], {.tensors = {0, 1, 2}, .workspace = 64},
                                        [](const Arguments& a) {
                                            for (size_t i = 0; i < kNumbers; ++i)
                                                at<float>(a, 2)[i] = at<float>(a, 0)[i] + at<float>(a, 1)[i];
                                        });
            },
            [this](uint32_t value, uint32_t, const std::shared_ptr<const Program>& program, uint32_t) {
                return test::image_of(program->port(), value, std::as_bytes(std::span(weights_[(value - 1) / 2])));
            },
            "sums");
    }

    mock::Device& first_;
    std::vector<std::shared_ptr<Port>> ports_;
    std::vector<mock::Device*> devices_;
    std::vector<std::vector<float>> weights_;
    Plan plan_;
    std::unique_ptr<Executor> executor_;
};

struct Case {
    bool streamed, second;
    int failures;
    bool async;
};

class EveryAllocation : public testing::TestWithParam<Case> {};

TEST_P(EveryAllocation, FailsOnceAndTheRunEndsRightOrSaysWhoHoldsWhatAndTheNextIsRight) {
    const Case c = GetParam();
    const auto options = [&](const char* name) {
        return mock::Options{.name = name, .copy_queues = c.async ? 2U : 0U, .async = c.async};
    };
    int all = 0;
    {
        mock::Device device(options("first"));
        Sums sums(device, nullptr, c.streamed);
        for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(sums.run(1), Code::ok);
        all = device.allocations;
        sums.close();
    }
    ASSERT_GT(all, 4);
    int ended = 0;
    for (int n = 0; n < all; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " of " + std::to_string(all));
        mock::Device first(options("first")), second(options("second"));
        first.fail_from = n;
        first.failures = c.failures;
        {
            Sums sums(first, c.second ? &second : nullptr, c.streamed);
            for (int pass = 0; pass < 2; ++pass) {
                std::string text;
                const Code code = sums.run(static_cast<float>(pass), &text);
                if (code == Code::ok) continue;
                ++ended;
                EXPECT_EQ(code, Code::no_device_memory) << text;
                EXPECT_FALSE(c.second) << "the other device had memory: " << text;
                EXPECT_NE(text.find("first"), std::string::npos) << text;
            }
            first.fail_from = -1;
            for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(sums.run(static_cast<float>(7 + pass)), Code::ok);
            sums.close();
        }
        EXPECT_EQ(first.used, 0U) << "nothing is left behind";
        EXPECT_EQ(second.used, 0U);
        EXPECT_EQ(first.violations + second.violations, 0U);
        EXPECT_LE(first.allocations, 40 * all) << "it tries for a bounded time";
    }
    EXPECT_TRUE(c.second || ended > 0) << "else nothing was tried";
}

INSTANTIATE_TEST_SUITE_P(All, EveryAllocation,
                         testing::Values(Case{false, false, 1, true}, Case{true, false, 1, true}, Case{false, true, 1, true},
                                         Case{true, true, 1, true}, Case{true, false, 1000000, true},
                                         Case{true, true, 1000000, true}, Case{true, false, 1, false},
                                         Case{true, true, 1000000, false}),
                         [](const auto& p) {
                             return std::string(p.param.streamed ? "Streamed" : "Resident") +
                                    (p.param.second ? "OfTwo" : "Alone") + (p.param.failures == 1 ? "Once" : "ForEver") +
                                    (p.param.async ? "" : "InTheCall");
                         });

}  // namespace
}  // namespace backplane::plan
