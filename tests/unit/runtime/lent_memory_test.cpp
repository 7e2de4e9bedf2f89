// Memory of the caller's, of all sizes at which a device copies it, names it for a run or has it named from run to run: a run reads what is there now
// and writes there, whatever lay there before, and memory that inputs and outputs share is as if each had its own.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "backplane/runtime.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane {
namespace {

class Lent : public testing::TestWithParam<std::string> {
protected:
    const Context context_{test::modules_of_the_build()};
    const Device device_ = context_.choose(GetParam());
    const std::vector<int64_t> sizes_{1, 500, 1024, 4096, 20000, 70000};

    // Two outputs, of which one is read again.
    static Graph graph(int64_t n) {
        Graph g;
        const TensorId x = g.input("x", DType::f32, {n}), b = g.input("b", DType::f32, {n});
        const TensorId sum = g.add(Op::add, {x, b});
        g.output(sum, "sum");
        g.output(g.add(Op::mul, {sum, x}), "product");
        return g;
    }
    static void run(Session& session, std::span<const float> x, std::span<const float> b, std::span<float> sum,
                    std::span<float> product) {
        session.run({{"x", std::as_bytes(x)}, {"b", std::as_bytes(b)}},
                    {{"sum", std::as_writable_bytes(sum)}, {"product", std::as_writable_bytes(product)}});
    }
};

TEST_P(Lent, MemoryOfItsOwnForEachRunAndGoneAfterIt) {
    for (const int64_t n : sizes_) {
        Session session(device_, graph(n), Weights([](std::string_view) { return std::span<const std::byte>(); }));
        for (int round = 1; round <= 4; ++round) {
            const auto at = static_cast<float>(round);
            const std::vector<float> x(static_cast<size_t>(n), at), b(x.size(), 2 * at);
            std::vector<float> sum(x.size()), product(x.size());
            run(session, x, b, sum, product);
            EXPECT_EQ(sum, std::vector<float>(x.size(), 3 * at)) << n;
            EXPECT_EQ(product, std::vector<float>(x.size(), 3 * at * at)) << n;
        }
    }
}

TEST_P(Lent, TheSameMemoryWithOtherNumbersAtEachRun) {
    for (const int64_t n : sizes_) {
        Session session(device_, graph(n), Weights([](std::string_view) { return std::span<const std::byte>(); }));
        std::vector<float> x(static_cast<size_t>(n)), b(x.size()), sum(x.size()), product(x.size());
        for (int round = 1; round <= 4; ++round) {
            std::iota(x.begin(), x.end(), static_cast<float>(round));
            std::fill(b.begin(), b.end(), static_cast<float>(-round));
            run(session, x, b, sum, product);
            for (size_t i = 0; i < x.size(); ++i) {
                ASSERT_EQ(sum[i], x[i] + b[i]) << n << ' ' << i;
                ASSERT_EQ(product[i], sum[i] * x[i]) << n << ' ' << i;
            }
        }
    }
}

// Up to 64 KiB, which has always been copied.
TEST_P(Lent, MemoryThatInputsAndOutputsShareIsAsIfEachHadItsOwn) {
    for (const int64_t n : {int64_t{1}, int64_t{500}, int64_t{1024}, int64_t{4096}, int64_t{16000}}) {
        Session session(device_, graph(n), Weights([](std::string_view) { return std::span<const std::byte>(); }));
        const auto size = static_cast<size_t>(n);
        for (const size_t apart : {size_t{0}, size_t{1}, size / 2, size - 1}) {
            std::vector<float> memory(3 * size), product(size);
            std::iota(memory.begin(), memory.end(), 1.0F);
            const std::vector<float> was = memory;
            const std::span<float> x(memory.data(), size), sum(memory.data() + apart, size);
            const std::span<float> b(memory.data() + 2 * size, size);
            for (int round = 0; round < 2; ++round) {
                std::copy(was.begin(), was.end(), memory.begin());
                run(session, x, b, sum, product);
                for (size_t i = 0; i < size; ++i) {
                    ASSERT_EQ(sum[i], was[i] + was[2 * size + i]) << n << ' ' << apart << ' ' << i;
                    ASSERT_EQ(product[i], sum[i] * was[i]) << n << ' ' << apart << ' ' << i;
                }
            }
        }
        std::vector<float> one(size, 3), both(size, 4), out(size);
        run(session, one, one, out, both);  // one memory for two inputs
        EXPECT_EQ(out, std::vector<float>(size, 6)) << n;
        EXPECT_EQ(both, std::vector<float>(size, 18)) << n;
        run(session, one, both, one, both);  // each output on an input
        EXPECT_EQ(one, std::vector<float>(size, 21)) << n;
        EXPECT_EQ(both, std::vector<float>(size, 63)) << n;
    }
}

TEST_P(Lent, MemoryAtAnyByteOfItsAlignment) {
    for (const int64_t n : sizes_)
        for (const size_t shift : {size_t{1}, size_t{2}, size_t{3}}) {
            Session session(device_, graph(n), Weights([](std::string_view) { return std::span<const std::byte>(); }));
            const auto size = static_cast<size_t>(n);
            std::vector<float> x(size + shift, 2), b(size + shift, 3), sum(size + shift, -1), product(size + shift, -1);
            run(session, std::span(x).subspan(shift), std::span(b).subspan(shift), std::span(sum).subspan(shift),
                std::span(product).subspan(shift));
            for (size_t i = 0; i < sum.size(); ++i) {
                ASSERT_EQ(sum[i], i < shift ? -1.0F : 5.0F) << n << ' ' << i;
                ASSERT_EQ(product[i], i < shift ? -1.0F : 10.0F) << n << ' ' << i;
            }
        }
}

TEST_P(Lent, SubmitsWithMemoryOfTheirOwnAreEachDoneWithIt) {
    constexpr int64_t kSize = 4096;
    Session session(device_, graph(kSize), Weights([](std::string_view) { return std::span<const std::byte>(); }));
    struct One {
        std::vector<float> x, b, sum, product;
        Event done;
    };
    for (int round = 0; round < 3; ++round) {
        std::vector<std::unique_ptr<One>> all;
        for (int i = 1; i <= 6; ++i) {
            auto one = std::make_unique<One>();
            one->x.assign(kSize, static_cast<float>(i));
            one->b.assign(kSize, 1);
            one->sum.assign(kSize, -1);
            one->product.assign(kSize, -1);
            one->done = session.submit({{"x", std::as_bytes(std::span(one->x))}, {"b", std::as_bytes(std::span(one->b))}},
                                       {{"sum", std::as_writable_bytes(std::span(one->sum))},
                                        {"product", std::as_writable_bytes(std::span(one->product))}});
            all.push_back(std::move(one));
        }
        for (size_t i = 0; i < all.size(); ++i) {
            const auto x = static_cast<float>(i + 1);
            all[i]->done.wait();
            EXPECT_EQ(all[i]->sum, std::vector<float>(kSize, x + 1));
            EXPECT_EQ(all[i]->product, std::vector<float>(kSize, (x + 1) * x));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, Lent, testing::ValuesIn(test::devices_of_the_build()), test::NameOfDevice());

}  // namespace
}  // namespace backplane
