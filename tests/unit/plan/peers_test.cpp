// Values that go from device to device without the host: ordered by points, counted, and made again when a device is lost.
#include "on_mock.hpp"

namespace backplane::plan {
namespace {

using mock::Arguments;
using mock::at;
using test::in;
using test::out;

constexpr uint64_t kFloats = 1024;  // floats of a value

// y = ((x + 1) * 2 + 1) * 2 ..., stages on two devices in turns.
class Turns {
public:
    Turns(uint32_t stages, bool peers, bool with_state) {
        plan.ports = {"a", "b"};
        if (peers) plan.fabric = {0, 0};
        plan.frames = 3;
        plan.values.push_back({"x", Kind::input, kFloats * sizeof(float)});
        for (uint32_t s = 0; s < stages; ++s) {
            plan.values.push_back(
                {"v" + std::to_string(s), s + 1 == stages ? Kind::output : Kind::boundary, kFloats * sizeof(float)});
            plan.stages.push_back({"s" + std::to_string(s), {s % 2, 1 - s % 2}, {{0, s, false}, {1, s + 1, true}}});
        }
        if (!with_state) return;
        plan.values.push_back({"state", Kind::state, 4});
        plan.stages[0].uses.push_back({2, stages + 1, true});
    }
    [[nodiscard]] std::shared_ptr<const Program> program(uint32_t stage, const std::shared_ptr<Port>& port,
                                                         mock::Device& device) const {
        mock::ProgramOptions options{.tensors = {0, 1}};
        for (const SlotUse& use : plan.stages[stage].uses)
            if (use.tensor == 2) options = {.tensors = {0, 1, 2}, .bytes = {{2, 4}}};
        return test::program_on(port, device, std::move(options), [stage](const Arguments& t) {
            for (uint64_t i = 0; i < kFloats; ++i)
                at<float>(t, 1)[i] = stage % 2 == 0 ? at<float>(t, 0)[i] + 1 : at<float>(t, 0)[i] * 2;
        });
    }
    [[nodiscard]] float expected(float x) const {
        for (uint32_t s = 0; s < plan.stages.size(); ++s) x = s % 2 == 0 ? x + 1 : x * 2;
        return x;
    }
    Plan plan;
};

struct Came {
    std::vector<std::vector<float>> y;
    uint64_t host = 0, peer = 0;  // bytes, of the last submit
    std::vector<std::string> notes;
};

Came run(const Turns& chain, mock::Device& a, mock::Device& b, int submits) {
    const std::vector<std::shared_ptr<Port>> ports{test::port_on(a), test::port_on(b)};
    const std::vector<mock::Device*> devices{&a, &b};
    Executor executor(
        chain.plan, ports, [&](uint32_t s, uint32_t p) { return chain.program(s, ports[p], *devices[p]); }, {}, "chain");
    Came came;
    came.y.assign(static_cast<size_t>(submits), std::vector<float>(kFloats));
    std::vector<std::vector<float>> x;
    std::vector<Event> events;
    for (int i = 0; i < submits; ++i) x.emplace_back(kFloats, static_cast<float>(i));
    for (size_t i = 0; i < x.size(); ++i) {
        const Given given[] = {{0, in(x[i]), {}}};
        const Wanted wanted[] = {{static_cast<uint32_t>(chain.plan.stages.size()), out(came.y[i]), {}}};
        events.push_back(executor.submit(given, wanted));
    }
    for (const Event& event : events) event.wait();
    came.host = events.back().bytes_moved();
    came.peer = events.back().bytes_peer();
    came.notes = executor.notes();
    return came;
}

void expect_right(const Turns& chain, const Came& came) {
    for (size_t i = 0; i < came.y.size(); ++i)
        ASSERT_EQ(came.y[i], std::vector<float>(kFloats, chain.expected(static_cast<float>(i)))) << "submit " << i;
}

class Queues : public testing::TestWithParam<uint32_t> {};  // for copies
INSTANTIATE_TEST_SUITE_P(Copy, Queues, testing::Values(0, 1, 2), testing::PrintToStringParamName());

TEST_P(Queues, ValuesGoFromDeviceToDeviceAndThePlanSaysSo) {
    mock::Device a({.name = "a", .copy_queues = GetParam(), .peers = true}),
        b({.name = "b", .copy_queues = GetParam(), .peers = true});
    const Turns chain(6, true, false);
    constexpr int kSubmits = 40;
    const Came came = run(chain, a, b, kSubmits);
    expect_right(chain, came);
    constexpr uint64_t kBytes = kFloats * sizeof(float);
    EXPECT_EQ(came.peer, 5 * kBytes);
    EXPECT_EQ(came.host, 2 * kBytes) << "what is given, and what is wanted";
    EXPECT_EQ(a.peer + b.peer, kSubmits * 5 * kBytes);
    EXPECT_EQ(a.up + b.up + a.down + b.down, kSubmits * 2 * kBytes);
    EXPECT_EQ(a.violations + b.violations, 0U);
    EXPECT_EQ(a.used + b.used, 0U);
    EXPECT_EQ(chain.plan.crossing().host, came.host);
    EXPECT_EQ(chain.plan.crossing().peer, came.peer);
    EXPECT_NE(chain.plan.describe().find("from device to device: " + std::to_string(came.peer) + " bytes"),
              std::string::npos)
        << chain.plan.describe();
    EXPECT_NE(chain.plan.json().find("\"bytes_peer\":" + std::to_string(came.peer)), std::string::npos);
}

// Two stages read what is given, and their sum is wanted.
class BothRead {
public:
    static constexpr uint64_t kMany = uint64_t{1} << 18;  // floats: a MiB
    explicit BothRead(uint64_t count) : count_(count) {
        plan.ports = {"a", "b"};
        plan.fabric = {0, 0};
        for (const Kind kind : {Kind::input, Kind::boundary, Kind::boundary, Kind::output})
            plan.values.push_back({"v", kind, count * sizeof(float)});
        plan.stages.push_back({"s0", {0, 1}, {{0, 0, false}, {1, 1, true}}});
        plan.stages.push_back({"s1", {1, 0}, {{0, 0, false}, {1, 2, true}}});
        plan.stages.push_back({"s2", {0, 1}, {{0, 1, false}, {2, 2, false}, {1, 3, true}}});
    }
    void run(mock::Device& a, mock::Device& b) {
        const std::vector<std::shared_ptr<Port>> ports{test::port_on(a), test::port_on(b)};
        const std::vector<mock::Device*> devices{&a, &b};
        Executor executor(
            plan, ports,
            [&](uint32_t s, uint32_t p) {
                mock::ProgramOptions options{.tensors = {0, 1}};
                if (s == 2) options.tensors = {0, 1, 2};
                return test::program_on(ports[p], *devices[p], std::move(options), [this, s](const Arguments& t) {
                    if (meet && s < 2) wait_for_the_other();
                    for (uint64_t i = 0; i < count_; ++i)
                        at<float>(t, 1)[i] = s == 2 ? at<float>(t, 0)[i] + at<float>(t, 2)[i]
                                                    : at<float>(t, 0)[i] * static_cast<float>(s + 2);
                });
            },
            {}, "both");
        std::vector<float> x(count_, 3), y(count_);
        const Given given[] = {{0, in(x), {}}};
        const Wanted wanted[] = {{3, out(y), {}}};
        for (int k = 0; k < 3; ++k) {
            std::fill(x.begin(), x.end(), static_cast<float>(k + 1));
            const Event event = executor.submit(given, wanted);
            event.wait();
            ASSERT_EQ(y, std::vector<float>(count_, 5 * static_cast<float>(k + 1)));
            peer = event.bytes_peer();
            host = event.bytes_moved();
        }
        notes = executor.notes();
    }
    Plan plan;
    uint64_t peer = 0, host = 0;
    std::vector<std::string> notes;
    bool meet = false;  // the first two wait for each other
    std::atomic<int> met{0};

private:
    void wait_for_the_other() {
        const int mine = ++here_;
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (here_ < (mine + 1) / 2 * 2 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
        if (here_ >= (mine + 1) / 2 * 2 && mine % 2 == 0) ++met;
    }
    uint64_t count_;
    std::atomic<int> here_{0};
};

TEST(Peers, WhatTheHostGivesToTwoComesToTheSecondFromTheFirstWhereItIsLarge) {
    for (const uint64_t count : {BothRead::kMany, BothRead::kMany - 1}) {
        mock::Device a({.name = "a", .copy_queues = 2, .peers = true}), b({.name = "b", .copy_queues = 2, .peers = true});
        BothRead both(count);
        both.run(a, b);
        const uint64_t bytes = count * sizeof(float);
        EXPECT_EQ(both.peer, (count == BothRead::kMany ? 2 : 1) * bytes);
        EXPECT_EQ(both.host, (count == BothRead::kMany ? 2 : 3) * bytes);
        EXPECT_EQ(both.plan.crossing().peer, both.peer);
        EXPECT_EQ(both.plan.crossing().host, both.host);
        EXPECT_EQ(a.violations + b.violations, 0U);
    }
}

// Handing work over may take as long as the work does.
TEST(Peers, StagesThatNeedNothingOfEachOtherAreHandedOverAtATime) {
    mock::Device a({.name = "a", .async = false}), b({.name = "b", .async = false});
    BothRead both(16);
    EXPECT_EQ(both.plan.groups(), (std::vector<uint32_t>{0, 0, 2}));
    both.meet = true;
    both.run(a, b);
    EXPECT_EQ(both.met, 3);
}

TEST(Peers, WhatTheHostGaveIsGivenAgainWhereTheDeviceWasLostThatItCameFrom) {
    for (const bool first : {true, false})
        for (int after = 0; after < 6; ++after) {
            mock::Device a({.name = "a", .copy_queues = 2, .peers = true}),
                b({.name = "b", .copy_queues = 2, .peers = true});
            (first ? a : b).lose_after_runs = after;
            BothRead both(BothRead::kMany);
            both.run(a, b);
            EXPECT_EQ(a.violations + b.violations, 0U);
        }
}

TEST(Peers, OfWhichOneDoesNotSaySoValuesGoByTheHost) {
    mock::Device a({.name = "a", .peers = true}), b({.name = "b"});
    const Turns chain(6, false, false);
    const Came came = run(chain, a, b, 4);
    expect_right(chain, came);
    EXPECT_EQ(came.peer, 0U);
    EXPECT_EQ(came.host, chain.plan.crossing().host);
    EXPECT_EQ(a.peer + b.peer, 0U);
}

TEST(Peers, InAPlanWithStateValuesGoByTheHostWhichKnowsThatAllIsWell) {
    mock::Device a({.name = "a", .peers = true}), b({.name = "b", .peers = true});
    const Turns chain(4, true, true);
    const Came came = run(chain, a, b, 4);
    expect_right(chain, came);
    EXPECT_EQ(came.peer, 0U);
    EXPECT_EQ(came.host, chain.plan.crossing().host);
    EXPECT_EQ(chain.plan.crossing().peer, 0U);
    EXPECT_EQ(a.violations + b.violations, 0U);
}

class LostPeer : public testing::TestWithParam<int> {};  // after so many runs; of the second device where it is odd
INSTANTIATE_TEST_SUITE_P(After, LostPeer, testing::Range(0, 24));

TEST_P(LostPeer, WhatCameOfItIsMadeAgainByTheOther) {
    mock::Device a({.name = "a", .copy_queues = 2, .peers = true}), b({.name = "b", .copy_queues = 2, .peers = true});
    (GetParam() % 2 == 0 ? a : b).lose_after_runs = GetParam() / 2;
    const Turns chain(6, true, false);
    const Came came = run(chain, a, b, 5);
    expect_right(chain, came);
    EXPECT_FALSE(came.notes.empty());
    EXPECT_EQ(a.violations + b.violations, 0U);
}

TEST(Peers, MemoryThatAnotherDeviceStillReadsIsNotGivenBack) {
    mock::Device a({.name = "a", .peers = true}), b({.name = "b", .peers = true});
    const auto from = test::port_on(a), to = test::port_on(b);
    ASSERT_TRUE(to->reaches(*from) && from->reaches(*to) && !from->reaches(*from));
    const std::vector<float> values(kFloats, 3), later(kFloats, 4);
    std::vector<float> read(kFloats);
    {
        const auto slow = test::program_on(to, b, {.tensors = {0}, .microseconds = 20000}, [](const Arguments&) {});
        Bytes there = from->allocate(kFloats * sizeof(float), "there");
        const Bytes kept = from->allocate(kFloats * sizeof(float), "kept");
        const Bytes here = to->allocate(kFloats * sizeof(float), "here"),
                    also = to->allocate(kFloats * sizeof(float), "also");
        from->upload(in(values), *there);
        from->upload(in(values), *kept);
        const Use use[] = {{0, here.get(), 0, kFloats * sizeof(float), true}};
        to->run(*slow, use, nullptr);
        to->pull(*there, 0, *here, 0, kFloats * sizeof(float));
        to->pull(*kept, 0, *also, 0, kFloats * sizeof(float));
        there.reset();                   // it is still to be read
        from->upload(in(later), *kept);  // and this comes behind that
        to->download(*here, 0, out(read), true);
        EXPECT_EQ(read, values);
        to->download(*also, 0, out(read), true);
        EXPECT_EQ(read, values);
        from->download(*kept, 0, out(read), true);
        EXPECT_EQ(read, later);
    }
    from->sweep();
    EXPECT_EQ(from->held(), 0U);
    EXPECT_EQ(a.violations + b.violations, 0U) << "closed, or written, while it was read";
}

}  // namespace
}  // namespace backplane::plan
