// The work of a compile and a plan grows with the nodes, not with their square: counted in allocations, never in time.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "backplane/ops.hpp"
#include "backplane/runtime.hpp"
#include "support/modules_of_the_build.hpp"

namespace {

std::atomic<uint64_t> allocations{0}, allocated{0};

void* counted(std::size_t bytes) noexcept {
    ++allocations;
    allocated += bytes;
    return std::malloc(bytes == 0 ? 1 : bytes);
}
void* counted_or_thrown(std::size_t bytes) {
    if (void* memory = counted(bytes)) return memory;
    throw std::bad_alloc();
}

}  // namespace

// Of the whole program, and of modules where the system binds them to it. Not in builds with a sanitizer, which has its own of these.
void* operator new(std::size_t bytes) { return counted_or_thrown(bytes); }
void* operator new[](std::size_t bytes) { return counted_or_thrown(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace backplane {
namespace {

// A network in layers of four nodes, each with a weight of its own and a value that is read again later.
Graph layers(int64_t nodes) {
    Graph g;
    TensorId x = g.input("x", DType::f32, {4, 32});
    for (int64_t k = 0; k < nodes / 4; ++k) {
        const TensorId w = g.weight("w" + std::to_string(k), DType::f32, {32, 32});
        const TensorId y = ops::relu(g, ops::matmul(g, x, w));
        x = ops::add(g, ops::tanh(g, y), x);
    }
    g.output(x, "y");
    return g;
}

class Linear : public testing::TestWithParam<std::string> {};

struct Taken {
    uint64_t times = 0, bytes = 0;
};

// By a session of so many nodes. `budget`: bytes; of a graph that is cut into parts with a few weights each. 0: it is one program.
Taken taken_by(const Device& device, int64_t nodes, uint64_t budget) {
    const std::vector<float> zeros(32 * 32);
    const Graph graph = layers(nodes);
    const Weights weights([&](std::string_view) { return std::as_bytes(std::span(zeros)); });
    SessionOptions options;
    options.budget = budget;
    const Taken before{allocations, allocated};
    const Session session({device}, graph, weights, options);
    return {allocations - before.times, allocated - before.bytes};
}

void expect_ten_times(const Device& device, uint64_t budget) {
    static_cast<void>(taken_by(device, 100, budget));  // what is made once
    const Taken hundred = taken_by(device, 100, budget), thousand = taken_by(device, 1000, budget);
    EXPECT_GT(hundred.times, 100U) << "they are counted";
    EXPECT_LE(thousand.times, 12 * hundred.times);
    EXPECT_LE(thousand.bytes, 12 * hundred.bytes);
}

TEST_P(Linear, TenTimesTheNodesAreTenTimesTheAllocationsOfASession) {
    const Context context(test::modules_of_the_build());
    expect_ten_times(context.choose(GetParam()), 0);
}

TEST_P(Linear, TenTimesThePartsAreTenTimesTheAllocationsOfAPlan) {
    const Context context(test::modules_of_the_build());
    expect_ten_times(context.choose(GetParam()), 48000);
}

// Drivers have threads of their own, which allocate when they like.
std::vector<std::string> devices_without_drivers() {
    std::vector<std::string> ids = test::devices_of_the_build();
    std::erase_if(ids, [](const std::string& id) { return id != "cpu:0" && id != "reference:0"; });
    return ids;
}

INSTANTIATE_TEST_SUITE_P(Devices, Linear, testing::ValuesIn(devices_without_drivers()), test::NameOfDevice());
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Linear);

}  // namespace
}  // namespace backplane
