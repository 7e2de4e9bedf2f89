// A device with less memory than a network wants, from the start or from some moment on: weights are streamed without being asked for, sessions take turns,
// and what is held never passes the limit.
#include <atomic>
#include <map>
#include <thread>

#include "backplane/fit.hpp"
#include "support/modules_of_the_build.hpp"
#include "turning_network.hpp"

namespace backplane {
namespace {

using test::TurningNetwork;

class ShortOn : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (GetParam() == "reference:0") GTEST_SKIP() << "it computes in any memory where it lies";
        const Fit whole = fits({device_}, network_.graph, {.streaming = Streaming::never}).front();
        needs_ = whole.needs;
        weights_ = whole.weights;
        ASSERT_GT(needs_, uint64_t{6} << 20);
    }
    // Percent of what one session of the network needs.
    void limit(uint64_t percent) { limit_memory(device_, limit_ = needs_ * percent / 100); }
    void expect_within() const { EXPECT_LE(ledger(device_).held, limit_); }
    Session session(const Weights& weights, const SessionOptions& options = {}) const {
        return {{device_}, network_.graph, weights, options};
    }
    Weights weights(const char* name = "") { return Weights(network_.source(), name); }
    static bool streams(const Session& session) {
        return session.plan_json().find("\"weights\":\"streamed\"") != std::string::npos;
    }
    static std::string notes_of(const Session& session) {
        std::string all;
        for (const std::string& note : session.notes()) all += note + "\n";
        return all;
    }
    template <typename Body>
    static Code code_of(const Body& body, std::string& text) {
        try {
            body();
        } catch (const Error& error) {
            text = error.what();
            return error.code();
        }
        return Code::ok;
    }

    const Context context_{test::modules_of_the_build()};
    const Device device_ = context_.choose(GetParam());
    TurningNetwork network_;
    uint64_t needs_ = 0, weights_ = 0, limit_ = 0;
};

TEST_P(ShortOn, StreamingBeginsByItselfWhereAllWeightsHaveNoRoom) {
    for (const uint64_t percent : {105, 75, 50, 40}) {
        SCOPED_TRACE(percent);
        limit(percent);
        Session made = session(weights());
        EXPECT_EQ(streams(made), percent < 100) << made.describe();
        for (int pass = 0; pass < 3; ++pass) {
            TurningNetwork::run(made, static_cast<float>(pass + 1));
            expect_within();
        }
        EXPECT_EQ(notes_of(made).find("made anew") != std::string::npos, percent < 100) << notes_of(made);
    }
    EXPECT_EQ(ledger(device_).limit, limit_);
}

TEST_P(ShortOn, WhereNothingFitsTheErrorSaysWhatWouldAndNeverMeansNever) {
    limit(5);
    std::string text;
    EXPECT_EQ(code_of([&] { session(weights()); }, text), Code::no_device_memory);
    for (const char* part : {"needs 6.", " are free", "streamed there "})
        EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
    limit(75);
    EXPECT_EQ(code_of([&] { session(weights(), {.streaming = Streaming::never}); }, text), Code::no_device_memory) << text;
    EXPECT_NE(text.find(GetParam()), std::string::npos) << text;
    limit(0);
    Session always = session(weights(), {.streaming = Streaming::always});
    EXPECT_TRUE(streams(always));
    TurningNetwork::run(always, 3);
    EXPECT_LT(ledger(device_).held, needs_ / 2);
}

TEST_P(ShortOn, ALimitThatShrinksInMidRunIsAPlanMadeAnewSomeTimesAndNoMore) {
    Session made = session(weights());
    TurningNetwork::run(made, 1);
    EXPECT_FALSE(streams(made));
    for (const uint64_t percent : {80, 50}) {
        limit(percent);
        for (int pass = 0; pass < 2; ++pass) {
            TurningNetwork::run(made, static_cast<float>(pass));
            expect_within();
        }
        EXPECT_TRUE(streams(made));
    }
    EXPECT_NE(notes_of(made).find("made anew"), std::string::npos) << notes_of(made);
    limit(2);
    std::string text;
    for (int pass = 0; pass < 3; ++pass) {
        EXPECT_EQ(code_of([&] { TurningNetwork::run(made, 1); }, text), Code::no_device_memory);
        expect_within();
    }
    EXPECT_NE(text.find("streamed there "), std::string::npos) << text;
    limit(0);
    TurningNetwork::run(made, 5);  // there is memory again
}

TEST_P(ShortOn, StateIsAsItWasWhenThePlanIsMadeAnew) {
    Graph graph;
    const TensorId x = graph.input("x", DType::f32, {1, TurningNetwork::kWidth});
    const TensorId sum = graph.state("sum", DType::f32, {1, TurningNetwork::kWidth});
    TensorId at = graph.add(Op::add, {sum, x});
    graph.update(sum, at);
    for (int64_t k = 0; k < TurningNetwork::kLayers; ++k)
        at = graph.add(Op::matmul, {at, graph.weight("w " + std::to_string(k), DType::f32,
                                                     {TurningNetwork::kWidth, TurningNetwork::kWidth})});
    graph.output(at, "y");
    Session made({device_}, graph, weights());
    for (int pass = 1; pass <= 4; ++pass) {
        if (pass == 3) limit(60);
        const std::vector<float> given(TurningNetwork::kWidth, 1.0F);
        std::vector<float> y(given.size());
        made.run({{"x", std::as_bytes(std::span(given))}}, {{"y", std::as_writable_bytes(std::span(y))}});
        EXPECT_EQ(y, std::vector<float>(y.size(), static_cast<float>(pass) * 4096)) << pass;
    }
    EXPECT_TRUE(streams(made)) << made.describe();
}

TEST_P(ShortOn, SessionsThatDoNotFitTogetherTakeTurnsThoseUsedLongestAgoGoFirst) {
    limit(250);
    const Weights first = weights("first"), second = weights("second"), third = weights("third");
    Session a = session(first), b = session(second);
    TurningNetwork::run(a, 1);
    TurningNetwork::run(b, 2);
    EXPECT_EQ(first.bytes_on(device_), weights_);
    Session c = session(third);
    TurningNetwork::run(c, 3);
    EXPECT_EQ(second.bytes_on(device_), weights_) << "it was used after the first";
    EXPECT_LT(first.bytes_on(device_), weights_);
    expect_within();
    for (int pass = 0; pass < 3; ++pass)
        for (Session* one : {&a, &b, &c}) {
            TurningNetwork::run(*one, static_cast<float>(pass));
            EXPECT_FALSE(streams(*one));
            expect_within();
        }
    EXPECT_NE(notes_of(a).find("copied again"), std::string::npos) << "what it costs is said";
}

TEST_P(ShortOn, AComponentReadsItsWeightsWhenItRunsFirstAndGivesItsMemoryToTheNext) {
    std::map<std::string, int> read;
    const auto counted = [&](const char* name) {
        return Weights(
            [&read, name, source = network_.source()](std::string_view weight) {
                ++read[name];
                return source(weight);
            },
            name);
    };
    const auto held_by = [&](const std::string& holder) {
        uint64_t sum = 0;
        for (const Holder& one : ledger(device_).holders)
            if (one.name.find(holder) == 0) sum += one.bytes;
        return sum;
    };
    limit(130);
    const uint64_t before = ledger(device_).held;
    const Weights first = counted("encoder"), second = counted("denoiser");
    Session encoder = session(first, {.streaming = Streaming::never, .read_at_first_run = true});
    Session denoiser = session(second, {.streaming = Streaming::never, .read_at_first_run = true});
    EXPECT_TRUE(read.empty()) << "nothing is read before it runs";
    EXPECT_EQ(held_by("encoder") + held_by("denoiser"), 0U);
    TurningNetwork::run(encoder, 1);
    EXPECT_EQ(read["encoder"], TurningNetwork::kLayers);
    EXPECT_EQ(read.count("denoiser"), 0U);
    EXPECT_EQ(first.bytes_on(device_), weights_);
    EXPECT_GE(held_by("encoder"), weights_);
    encoder.release();
    EXPECT_EQ(held_by("encoder"), 0U);
    EXPECT_EQ(ledger(device_).held, before) << "all of it was given back";
    for (int pass = 0; pass < 2; ++pass) {
        TurningNetwork::run(denoiser, static_cast<float>(pass + 2));
        expect_within();
    }
    EXPECT_EQ(second.bytes_on(device_), weights_);
    EXPECT_EQ(held_by("encoder"), 0U);
    EXPECT_TRUE(notes_of(denoiser).empty()) << notes_of(denoiser);
    denoiser.release();
    TurningNetwork::run(encoder, 5);  // again
    EXPECT_EQ(read["encoder"], 2 * TurningNetwork::kLayers);
    EXPECT_TRUE(notes_of(encoder).empty()) << "it was not for want of memory: " << notes_of(encoder);
    expect_within();
}

TEST_P(ShortOn, WhatTwoSessionsUseStaysWhenOneGivesBackAndStreamedOnesRunAgain) {
    const Weights shared = weights("shared");
    Session a = session(shared), b = session(shared);
    TurningNetwork::run(a, 1);
    TurningNetwork::run(b, 2);
    a.release();
    EXPECT_EQ(shared.bytes_on(device_), weights_);
    TurningNetwork::run(b, 3);
    TurningNetwork::run(a, 4);
    a.release();
    b.release();
    EXPECT_EQ(shared.bytes_on(device_), 0U);
    const uint64_t before = ledger(device_).held;
    Session streamed = session(shared, {.budget = needs_ / 2});
    EXPECT_TRUE(streams(streamed));
    for (int pass = 0; pass < 3; ++pass) {
        TurningNetwork::run(streamed, static_cast<float>(pass));
        streamed.release();
        EXPECT_EQ(ledger(device_).held, before);
    }
}

// What is held of a device while the object lives, looked at all the time: by this library's ledger, and by what the module has of the driver since
// then. Only drivers of GPUs have buffers in stretches, which may be more than they are; those that compute on the CPU have each as it is.
class Looking {
public:
    explicit Looking(const Device& device)
        : before_(used(device)), thread_([this, device] {
              while (!stop_) {
                  ledger_ = std::max(ledger_.load(), ledger(device).held);
                  driver_ = std::max(driver_.load(), used(device) - std::min(used(device), before_));
                  ++looks_;
              }
          }) {}
    ~Looking() {
        stop_ = true;
        thread_.join();
    }
    Looking(const Looking&) = delete;
    Looking& operator=(const Looking&) = delete;
    void expect_within(uint64_t bytes) const {
        EXPECT_LE(ledger_, bytes);
        EXPECT_LE(driver_, bytes);
        EXPECT_GT(ledger_, bytes / 4) << "it looked while memory was held";
    }
    [[nodiscard]] int looks() const { return looks_; }

private:
    static uint64_t used(const Device& device) {
        const std::vector<Heap> heaps = device.heaps();
        return heaps.empty() ? 0 : heaps[0].used_by_us;
    }

    const uint64_t before_;
    std::atomic<bool> stop_{false};
    std::atomic<uint64_t> ledger_{0}, driver_{0};
    std::atomic<int> looks_{0};
    std::thread thread_;
};

TEST_P(ShortOn, ABudgetIsNeverPassedByTheLedgerAndTheDriversOwnFigures) {
    for (const uint64_t percent : {75, 50, 40}) {
        SCOPED_TRACE(percent);
        const uint64_t budget = needs_ * percent / 100;
        const Looking look(device_);
        Session made = session(weights(), {.budget = budget});
        EXPECT_TRUE(streams(made));
        for (int pass = 0; pass < 4 || (pass < 5000 && look.looks() < 8); ++pass)
            TurningNetwork::run(made, static_cast<float>(pass % 100));
        look.expect_within(budget);
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, ShortOn, testing::ValuesIn(test::devices_of_the_build()), test::NameOfDevice());

}  // namespace
}  // namespace backplane
