// Rules of the plan layer, each by itself: order, cancelling, loss, results on the device, who gives memory back.
#include <algorithm>
#include <cmath>
#include <thread>

#include "unit/plan/on_mock.hpp"

namespace backplane::plan {
namespace {

using mock::Arguments;
using mock::at;
using test::code_of;
using test::Door;
using test::in;
using test::out;

// y = 2 x + 1 of n floats, computed once the door is open, where there is one.
struct Network {
    static constexpr size_t kCount = 1024;
    mock::Device device;
    std::shared_ptr<Port> port = test::port_on(device);
    Executor executor;

    explicit Network(mock::Options options = {.copy_queues = 2}, Door* door = nullptr)
        : device(std::move(options)),
          executor(
              plan(), {port},
              [this, door](uint32_t, uint32_t) {
                  return test::program_on(port, device, {.tensors = {0, 1}}, [door](const Arguments& a) {
                      EXPECT_TRUE(door == nullptr || door->pass());
                      for (size_t i = 0; i < kCount; ++i) at<float>(a, 1)[i] = 2 * at<float>(a, 0)[i] + 1;
                  });
              },
              {}, "net") {}
    static Plan plan() {
        Plan plan;
        plan.ports = {"mock"};
        plan.values = {{"x", Kind::input, kCount * 4}, {"y", Kind::output, kCount * 4}};
        plan.stages = {{"net", {0}, {{0, 0, false}, {1, 1, true}}}};
        plan.frames = 3;
        return plan;
    }
};

TEST(Executor, AResultOnTheDeviceGoesIntoTheNextRunWithoutTheHost) {
    Network net;
    std::vector<float> x(Network::kCount, 1.0F), y(Network::kCount);
    const Given first[] = {{0, in(x), {}}};
    const Wanted stays[] = {{1, {}, {}}};
    Located at = net.executor.submit(first, stays).result(1);  // usable before it is done
    for (int k = 0; k < 8; ++k) {
        const Given given[] = {{0, {}, at}};
        at = net.executor.submit(given, stays).result(1);
    }
    const Given given[] = {{0, {}, at}};
    const Wanted wanted[] = {{1, out(y), {}}};
    net.executor.run(given, wanted);
    EXPECT_EQ(y.back(), 2047.0F);  // 2^11 - 1
    EXPECT_EQ(net.port->moved().up, Network::kCount * 4);
    EXPECT_EQ(net.port->moved().down, Network::kCount * 4);
    EXPECT_EQ(net.device.violations, 0U);
}

TEST(Executor, ATensorThatIsGivenForAnOutputIsWrittenWhereItLies) {
    Network net;
    const Bytes room = net.port->allocate(Network::kCount * 4 + 256, "test");
    const std::vector<float> x(Network::kCount, 3.0F);
    std::vector<float> y(Network::kCount);
    const Given given[] = {{0, in(x), {}}};
    const Wanted wanted[] = {{1, {}, {room, 256}}};
    net.executor.run(given, wanted);
    net.port->download(*room, 256, out(y), true);
    EXPECT_EQ(y.front(), 7.0F);
    EXPECT_EQ(net.port->moved().inside, 0U);
}

TEST(Executor, ASubmitThatIsCancelledSaysSoAndTheNextOneIsRight) {
    Door door;
    Network net({.copy_queues = 1}, &door);
    const std::vector<float> x(Network::kCount, 1.0F);
    std::vector<float> y(Network::kCount), z(Network::kCount);
    std::atomic<uint32_t> cancel{0};
    const Given given[] = {{0, in(x), {}}};
    const Wanted wanted[] = {{1, out(y), {}}}, next[] = {{1, out(z), {}}};
    const Event first = net.executor.submit(given, wanted, &cancel);
    const Event second = net.executor.submit(given, next);
    EXPECT_FALSE(second.wait_for(1000));
    cancel = 1;
    door.open();
    EXPECT_EQ(code_of([&] { first.wait(); }), Code::cancelled);
    EXPECT_EQ(code_of([&] { first.wait(); }), Code::cancelled) << "the same answer each time";
    second.wait();
    EXPECT_EQ(z.front(), 3.0F);
    EXPECT_EQ(code_of([&] { net.executor.run(given, wanted, &cancel); }), Code::cancelled);
    net.executor.run(given, wanted);
    EXPECT_EQ(y.front(), 3.0F);
}

TEST(Executor, ALostDeviceWithoutAnotherIsTheSameErrorEachTime) {
    Door door;
    Network net({.copy_queues = 1}, &door);
    const std::vector<float> x(Network::kCount, 1.0F);
    std::vector<float> y(Network::kCount);
    const Given given[] = {{0, in(x), {}}};
    const Wanted wanted[] = {{1, out(y), {}}};
    const Event event = net.executor.submit(given, wanted);
    net.device.lose();
    door.open();
    EXPECT_EQ(code_of([&] { event.wait(); }), Code::device_lost);
    EXPECT_EQ(code_of([&] { event.wait(); }), Code::device_lost);
    EXPECT_EQ(code_of([&] { net.executor.run(given, wanted); }), Code::device_lost);
    EXPECT_EQ(net.device.violations, 0U);
}

TEST(Executor, StateOfALostDeviceIsLostAndASmallOneOfTwoDevicesIsKept) {
    for (const bool cut : {false, true}) {
        mock::Device a({.name = "a"}), b({.name = "b"});
        const std::vector<std::shared_ptr<Port>> ports{test::port_on(a), test::port_on(b)};
        const std::vector<mock::Device*> devices{&a, &b};
        Plan plan;  // s += x; y = s, and with two devices y = s on the second
        plan.ports = {"a", "b"};
        plan.values = {{"x", Kind::input, 4}, {"s", Kind::state, 4}, {"v", Kind::boundary, 4}, {"y", Kind::output, 4}};
        plan.stages = {{"sum", {0, 1}, {{0, 0, false}, {1, 1, false}, {2, 1, true}, {3, 2, true}}},
                       {"copy", {cut ? 1U : 0U, cut ? 0U : 1U}, {{0, 2, false}, {1, 3, true}}}};
        Executor executor(
            plan, ports,
            [&](uint32_t stage, uint32_t port) {
                if (stage == 0)
                    return test::program_on(ports[port], *devices[port], {.tensors = {0, 1, 2, 3}}, [](const Arguments& t) {
                        *at<float>(t, 2) = *at<float>(t, 1) + *at<float>(t, 0);
                        *at<float>(t, 3) = *at<float>(t, 2);
                    });
                return test::program_on(ports[port], *devices[port], {.tensors = {0, 1}},
                                        [](const Arguments& t) { *at<float>(t, 1) = *at<float>(t, 0); });
            },
            {}, "sum");
        const std::vector<float> x{1};
        std::vector<float> y(1);
        const Given given[] = {{0, in(x), {}}};
        const Wanted wanted[] = {{3, out(y), {}}};
        executor.run(given, wanted);
        executor.run(given, wanted);
        EXPECT_EQ(y[0], 2.0F);
        a.lose();
        std::string text;
        if (cut) {
            executor.run(given, wanted);
            EXPECT_EQ(y[0], 3.0F) << "it goes on where it was";
        } else {
            EXPECT_EQ(code_of([&] { executor.run(given, wanted); }, &text), Code::device_lost);
            EXPECT_NE(text.find("reset_state()"), std::string::npos) << text;
            executor.reset_state();
            executor.run(given, wanted);
            EXPECT_EQ(y[0], 1.0F);
        }
    }
}

TEST(Executor, AStageWithoutMemoryGoesToTheNextDeviceAndIsSaid) {
    mock::Device small({.name = "small", .budget = 1000}), large({.name = "large"});
    const std::vector<std::shared_ptr<Port>> ports{test::port_on(small), test::port_on(large)};
    Plan plan = Network::plan();
    plan.ports = {"small", "large"};
    plan.stages[0].ports = {0, 1};
    Executor executor(
        plan, ports,
        [&](uint32_t, uint32_t port) {
            return test::program_on(ports[port], port == 0 ? small : large, {.tensors = {0, 1}}, [](const Arguments& a) {
                for (size_t i = 0; i < Network::kCount; ++i) at<float>(a, 1)[i] = 2 * at<float>(a, 0)[i] + 1;
            });
        },
        {}, "net");
    const std::vector<float> x(Network::kCount, 1.0F);
    std::vector<float> y(Network::kCount);
    const Given given[] = {{0, in(x), {}}};
    const Wanted wanted[] = {{1, out(y), {}}};
    executor.run(given, wanted);
    EXPECT_EQ(y.back(), 3.0F);
    ASSERT_EQ(executor.notes().size(), 1U);
    EXPECT_NE(executor.notes()[0].find("what remained was done by large"), std::string::npos) << executor.notes()[0];
    EXPECT_EQ(executor.port_now(0), 1U);
}

// ---- memory ----

TEST(PortMemory, WhatIsLetGoOfIsGivenBackWhenItsWorkIsDoneAndNotBefore) {
    mock::Device device({.copy_queues = 1});
    const auto port = test::port_on(device);
    Door door;
    const auto slow = test::program_on(port, device, {.tensors = {0}}, [&](const Arguments& a) {
        EXPECT_TRUE(door.pass());
        ++*at<float>(a, 0);
    });
    Bytes bytes = port->allocate(64, "test");
    port->zero(*bytes, 0, 64);
    const Use use{0, bytes.get(), 0, 64, true};
    const Point point = port->run(*slow, {&use, 1}, nullptr);
    bytes.reset();
    port->sweep();
    EXPECT_EQ(port->held(), 64U);
    door.open();
    port->wait(point);
    port->sweep();
    EXPECT_EQ(port->held(), 0U);
    EXPECT_EQ(device.violations, 0U);
}

TEST(PortMemory, AnErrorForWantOfItSaysWhoHoldsHowMuch) {
    mock::Device device({.budget = 1 << 20});
    const auto port = test::port_on(device);
    const Bytes held = port->allocate(1000000, "caption model: weights");
    std::string text;
    EXPECT_EQ(code_of([&] { static_cast<void>(port->allocate(100000, "test")); }, &text), Code::no_device_memory);
    EXPECT_NE(text.find("caption model: weights 1000000"), std::string::npos) << text;
    EXPECT_EQ(port->ledger().front().holder, "caption model: weights");
}

TEST(Residency, EqualContentIsOneCopyAndWhatNobodyUsesGoesFirstAndComesAgain) {
    constexpr size_t kBytes = 400000;
    const std::vector<std::byte> content(kBytes,
                                         std::byte{7});  // outlives the device, whose copies may be under way to the end
    mock::Device device({.budget = 1 << 20});
    const auto port = test::port_on(device);
    Residency& residency = port->residency();
    const Image a = test::image_of(*port, 1, content), same = test::image_of(*port, 1, content);
    const Image b = test::image_of(*port, 2, content), c = test::image_of(*port, 3, content);
    EXPECT_EQ(residency.acquire(a.interest, a.make), residency.acquire(same.interest, same.make));
    EXPECT_EQ(residency.copied(), kBytes);
    const Bytes used = residency.acquire(b.interest, b.make);
    static_cast<void>(residency.acquire(c.interest, c.make));
    EXPECT_EQ(a.interest->bytes, nullptr) << "nobody held it";
    EXPECT_EQ(b.interest->bytes, used);
    EXPECT_FALSE(residency.prefetch(a.interest, a.make, kBytes)) << "somebody else would have to go";
    residency.pin(c.interest, c.make);
    EXPECT_EQ(code_of([&] { static_cast<void>(residency.acquire(a.interest, a.make)); }), Code::no_device_memory);
    residency.unpin(c.interest);
    static_cast<void>(residency.acquire(a.interest, a.make));
    EXPECT_EQ(c.interest->bytes, nullptr);
    EXPECT_LE(device.peak, device.options.budget);
}

TEST(Residency, IdleModelsGiveWayAndRunAgain) {
    constexpr size_t kBytes = 600000;
    mock::Device device({.copy_queues = 1, .budget = 1 << 20});
    const auto port = test::port_on(device);
    const std::vector<float> weights(kBytes / 4, 5.0F);
    Plan plan;
    plan.ports = {"mock"};
    plan.values = {{"x", Kind::input, 4}, {"w", Kind::weight, kBytes}, {"y", Kind::output, 4}};
    plan.stages = {{"net", {0}, {{0, 0, false}, {1, 1, false}, {2, 2, true}}}};
    std::vector<std::unique_ptr<Executor>> models;
    for (uint64_t m = 0; m < 3; ++m)
        models.push_back(std::make_unique<Executor>(
            plan, std::vector{port},
            [&](uint32_t, uint32_t) {
                return test::program_on(port, device, {.tensors = {0, 1, 2}}, [](const Arguments& a) {
                    *at<float>(a, 2) = *at<float>(a, 0) + at<float>(a, 1)[kBytes / 4 - 1];
                });
            },
            [&, m](uint32_t, uint32_t, const auto&, uint32_t) { return test::image_of(*port, m + 1, in(weights)); },
            "model " + std::to_string(m)));
    const std::vector<float> x{2};
    for (int round = 0; round < 2; ++round)
        for (const auto& model : models) {
            std::vector<float> y(1);
            const Given given[] = {{0, in(x), {}}};
            const Wanted wanted[] = {{2, out(y), {}}};
            model->run(given, wanted);
            EXPECT_EQ(y[0], 7.0F);
        }
    EXPECT_LE(device.peak, device.options.budget);
    EXPECT_EQ(device.violations, 0U);
}

TEST(PlanText, SaysStagesDevicesAndBytes) {
    Plan plan = Network::plan();
    plan.stages[0].ops = "Mul, Add";
    const std::string text = plan.describe();
    EXPECT_NE(text.find("stage 1 on mock: Mul, Add"), std::string::npos) << text;
    EXPECT_NE(text.find("mock holds 24576 bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("8192 bytes\n"), std::string::npos) << text;
    EXPECT_NE(plan.json().find("\"bytes_moved\":8192"), std::string::npos) << plan.json();
}

// ---- memory that nobody wrote ----

TEST(FreshMemory, HoldsNoNumberWhereThatIsWanted) {
    mock::Device device({});
    const backplane::Device handle = device.handle();
    DeviceAccess::state(handle)->no_numbers = true;
    const auto port = std::make_shared<Port>(handle, Port::Shape{1, 0, 1, 0});
    const auto is_spoilt = [&](Storage& bytes) {
        std::vector<float> numbers(16);
        port->download(bytes, 0, test::out(numbers), true);
        return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isnan(x); });
    };
    EXPECT_TRUE(is_spoilt(*port->allocate(64, "test")));
    const auto pool = port->workspace();
    const Bytes workspace = port->workspace_of(*pool, 64);
    EXPECT_TRUE(is_spoilt(*workspace));
    port->upload(test::in(std::vector<float>(16)), *workspace, 0, true);
    EXPECT_FALSE(is_spoilt(*workspace));
    EXPECT_EQ(port->workspace_of(*pool, 64), workspace);
    EXPECT_TRUE(is_spoilt(*workspace));
}

}  // namespace
}  // namespace backplane::plan
