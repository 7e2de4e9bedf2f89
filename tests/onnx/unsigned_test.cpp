// uint32 and uint64 of ONNX, which graphs hold as the bits of i32 and i64: every bit is right at the edges of both, on every device of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "backplane/model.hpp"
#include "support/modules_of_the_build.hpp"
#include "unit/formats/onnx_bytes.hpp"

namespace backplane::test {
namespace {

namespace of = onnx_bytes;

template <typename U>
constexpr uint64_t kType = sizeof(U) == 1   ? of::kU8
                           : sizeof(U) == 4 ? of::kU32
                                            : of::kU64;

// Around 0, the top bit and the end. Of 64 bits the reference has no more than 53.
template <typename U>
std::vector<U> edges(bool small) {
    if (small) return {0, 1, 2, 3, 5, 31, 32, 63, 64, 65, 1000003, 4294967295U, static_cast<U>(4294967296ULL * 1024 + 1)};
    constexpr U most = std::numeric_limits<U>::max(), top = most / 2 + 1;
    return {0,  1,       2,       3,       5,   31,      32,      33,       63,       64,
            65, 1000003, top - 2, top - 1, top, top + 1, top + 2, most - 4, most - 1, most};
}

// All of them against all of them.
template <typename U>
struct Pairs {
    std::vector<U> a, b;
    explicit Pairs(bool small) {
        for (const U x : edges<U>(small))
            for (const U y : edges<U>(small)) {
                a.push_back(x);
                b.push_back(y);
            }
    }
};

template <typename U>
U shifted(U x, U by, bool left) {
    if (by >= 8 * sizeof(U)) return 0;
    return left ? static_cast<U>(x << by) : static_cast<U>(x >> by);
}

template <typename U>
using Wanted = std::map<std::string, std::function<U(U, U)>>;

template <typename U>
Wanted<U> arithmetic() {
    return {{"Add", [](U a, U b) { return a + b; }},
            {"Sub", [](U a, U b) { return a - b; }},
            {"Mul", [](U a, U b) { return a * b; }},
            {"Div", [](U a, U b) { return b == 0 ? 0 : a / b; }},
            {"Mod", [](U a, U b) { return b == 0 ? 0 : a % b; }},
            {"Max", [](U a, U b) { return std::max(a, b); }},
            {"Min", [](U a, U b) { return std::min(a, b); }},
            {"LEFT", [](U a, U b) { return shifted(a, b, true); }},
            {"RIGHT", [](U a, U b) { return shifted(a, b, false); }}};
}
template <typename U>
Wanted<U> comparisons() {
    return {{"Less", [](U a, U b) { return a < b; }},
            {"LessOrEqual", [](U a, U b) { return a <= b; }},
            {"Greater", [](U a, U b) { return a > b; }},
            {"GreaterOrEqual", [](U a, U b) { return a >= b; }},
            {"Equal", [](U a, U b) { return a == b; }}};
}

template <typename T>
ModelInput given(const char* name, const std::vector<T>& numbers) {
    return {name, std::as_bytes(std::span(numbers)), {static_cast<int64_t>(numbers.size())}};
}

// Rows of which the largest, the smallest and their places are wanted: of numbers on one side of the top bit, on the other and on both.
template <typename U>
std::vector<std::vector<U>> rows(bool small) {
    constexpr U most = std::numeric_limits<U>::max(), top = most / 2 + 1;
    if (small) return {{5, 1, 9, 1, 9, 3}, {0, 0, 0, 0, 0, 0}, {7, 7, 1, 2, 3, 1}};
    return {{5, 1, 9, 1, 9, 3},
            {top, 1, most, 0, most, 0},
            {top, top + 1, most - 1, most - 1, top, top + 5},
            {top, 0, top, 0, 3, 1}};
}
template <typename U>
std::string ranking_graph(size_t count) {
    const std::string n = std::to_string(count);
    std::string graph = of::input(of::value("x", kType<U>, {n, "6"}));
    const auto add = [&](const std::string& op, uint64_t type, const std::string& attributes) {
        graph += of::node(op, {"x"}, {op}, attributes + of::integer("keepdims", 0)) + of::output(of::value(op, type, {n}));
    };
    add("ReduceMax", kType<U>, of::integers("axes", {1}));
    add("ReduceMin", kType<U>, of::integers("axes", {1}));
    add("ArgMax", of::kI64, of::integer("axis", 1) + of::integer("select_last_index", 1));
    add("ArgMin", of::kI64, of::integer("axis", 1));
    graph += of::initializer(of::tensor("k", of::kI64, {1}, of::raw<int64_t>({4})));
    const auto add_first = [&](const std::string& values, const std::string& places, int64_t largest) {
        graph += of::node("TopK", {"x", "k"}, {values, places}, of::integer("axis", 1) + of::integer("largest", largest)) +
                 of::output(of::value(values, kType<U>, {n, "4"})) + of::output(of::value(places, of::kI64, {n, "4"}));
    };
    add_first("largest", "places of them", 1);
    add_first("smallest", "places of these", 0);
    return graph;
}

class Unsigned : public testing::TestWithParam<std::string> {
protected:
    std::vector<ModelResult> results_of(const std::string& bytes, std::initializer_list<ModelInput> inputs) {
        const Model model = Model::from_onnx(std::as_bytes(std::span(bytes)), "a file");
        return ModelSession({context_.choose(GetParam())}, model).run(inputs);
    }
    [[nodiscard]] static bool is_small() { return GetParam().rfind("reference", 0) == 0; }

    template <typename U>
    void expect_arithmetic() {
        const Pairs<U> pairs(is_small() && sizeof(U) == 8);
        const std::string n = std::to_string(pairs.a.size());
        std::string graph = of::input(of::value("a", kType<U>, {n})) + of::input(of::value("b", kType<U>, {n}));
        const auto add = [&](const std::string& name, uint64_t type) {
            const bool shift = name == "LEFT" || name == "RIGHT";
            graph += of::node(shift ? "BitShift" : name, {"a", "b"}, {name}, shift ? of::word("direction", name) : "") +
                     of::output(of::value(name, type, {n}));
        };
        for (const auto& [name, want] : arithmetic<U>()) add(name, kType<U>);
        for (const auto& [name, want] : comparisons<U>()) add(name, of::kBool);
        Wanted<U> wanted = arithmetic<U>();
        wanted.merge(comparisons<U>());
        for (const ModelResult& result : results_of(of::model(graph), {given("a", pairs.a), given("b", pairs.b)})) {
            const bool numbers = result.dtype != DType::boolean;
            EXPECT_EQ(result.is_unsigned, numbers);
            for (size_t i = 0; i < pairs.a.size(); ++i) {
                const U got = numbers ? result.as<U>()[i] : result.as<uint8_t>()[i];
                const U want = wanted.at(result.name)(pairs.a[i], pairs.b[i]);
                if (is_small() && static_cast<double>(want) >= 0x1p53) continue;  // a difference below 0, a product
                EXPECT_EQ(got, want) << result.name << " of " << pairs.a[i] << " and " << pairs.b[i];
            }
        }
    }

    template <typename U>
    void expect_casts() {
        const std::vector<U> x = edges<U>(is_small() && sizeof(U) == 8);
        const std::vector<float> floats{0,     -1,      0.9F,           2147483648.0F, 4294967040.0F, 4294967296.0F,
                                        1e10F, 0x1p63F, 0x1.fffffep63F, 0x1p64F,       1e30F};
        const std::string n = std::to_string(x.size()), m = std::to_string(floats.size());
        std::string graph = of::input(of::value("x", kType<U>, {n})) + of::input(of::value("f", of::kF32, {m}));
        const auto add = [&](const std::string& from, const std::string& name, uint64_t type) {
            graph += of::node("Cast", {from}, {name}, of::integer("to", static_cast<int64_t>(type))) +
                     of::output(of::value(name, type, {from == "x" ? n : m}));
        };
        add("x", "f32", of::kF32);
        add("x", "i32", of::kI32);
        add("x", "i64", of::kI64);
        add("x", "u8", of::kU8);
        add("x", "u32", of::kU32);
        add("x", "u64", of::kU64);
        add("x", "bool", of::kBool);
        add("f", "of f32", kType<U>);
        const std::vector<ModelResult> results = results_of(of::model(graph), {given("x", x), given("f", floats)});
        for (size_t i = 0; i < x.size(); ++i) {
            EXPECT_EQ(results[0].as<float>()[i], static_cast<float>(x[i])) << x[i];
            EXPECT_EQ(results[1].as<int32_t>()[i], static_cast<int32_t>(x[i])) << x[i];
            EXPECT_EQ(results[2].as<int64_t>()[i], static_cast<int64_t>(x[i])) << x[i];
            EXPECT_EQ(results[3].as<uint8_t>()[i], static_cast<uint8_t>(x[i])) << x[i];
            EXPECT_EQ(results[4].as<uint32_t>()[i], static_cast<uint32_t>(x[i])) << x[i];
            EXPECT_EQ(results[5].as<uint64_t>()[i], static_cast<uint64_t>(x[i])) << x[i];
            EXPECT_EQ(results[6].as<uint8_t>()[i], x[i] != 0) << x[i];
        }
        for (size_t i = 0; i < floats.size(); ++i) {
            constexpr U most = std::numeric_limits<U>::max();
            const double f = floats[i];
            const U want = f < 0 ? 0 : f >= std::exp2(8.0 * sizeof(U)) ? most : static_cast<U>(f);
            EXPECT_EQ(results[7].as<U>()[i], want) << f;
        }
    }

    // Of a row of six what TopK has: the first four of its order, equal ones by their places.
    template <typename U, typename Before>
    static void expect_first(const std::vector<U>& row, size_t i, const ModelResult& values, const ModelResult& found,
                             Before before) {
        std::vector<size_t> places{0, 1, 2, 3, 4, 5};
        std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) { return before(row[a], row[b]); });
        EXPECT_EQ(values.is_unsigned, sizeof(U) > 1);
        EXPECT_FALSE(found.is_unsigned);
        for (size_t k = 0; k < 4; ++k) {
            EXPECT_EQ(found.as<int64_t>()[4 * i + k], static_cast<int64_t>(places[k])) << "row " << i << ", " << k;
            EXPECT_EQ(values.as<U>()[4 * i + k], row[places[k]]) << "row " << i << ", " << k;
        }
    }

    template <typename U>
    void expect_ranks() {
        const auto all = rows<U>(is_small() && sizeof(U) == 8);
        std::vector<U> x;
        for (const std::vector<U>& row : all) x.insert(x.end(), row.begin(), row.end());
        const ModelInput given{"x", std::as_bytes(std::span(x)), {static_cast<int64_t>(all.size()), 6}};
        const std::vector<ModelResult> results = results_of(of::model(ranking_graph<U>(all.size())), {given});
        EXPECT_EQ(results[0].is_unsigned, sizeof(U) > 1);
        EXPECT_FALSE(results[2].is_unsigned);
        for (size_t i = 0; i < all.size(); ++i) {
            const std::vector<U>& row = all[i];
            EXPECT_EQ(results[0].as<U>()[i], *std::max_element(row.begin(), row.end())) << "row " << i;
            EXPECT_EQ(results[1].as<U>()[i], *std::min_element(row.begin(), row.end())) << "row " << i;
            const auto last = std::max_element(row.rbegin(), row.rend());
            EXPECT_EQ(results[2].as<int64_t>()[i], row.rend() - last - 1) << "row " << i;
            EXPECT_EQ(results[3].as<int64_t>()[i], std::min_element(row.begin(), row.end()) - row.begin()) << "row " << i;
            expect_first(row, i, results[4], results[5], std::greater<>());
            expect_first(row, i, results[6], results[7], std::less<>());
        }
    }

private:
    Context context_{modules_of_the_build()};
};

TEST_P(Unsigned, ArithmeticOf32Bits) { expect_arithmetic<uint32_t>(); }
TEST_P(Unsigned, ArithmeticOf64Bits) { expect_arithmetic<uint64_t>(); }
TEST_P(Unsigned, CastsOf32Bits) { expect_casts<uint32_t>(); }
TEST_P(Unsigned, CastsOf64Bits) { expect_casts<uint64_t>(); }
TEST_P(Unsigned, RanksOf8Bits) { expect_ranks<uint8_t>(); }
TEST_P(Unsigned, RanksOf32Bits) { expect_ranks<uint32_t>(); }
TEST_P(Unsigned, RanksOf64Bits) { expect_ranks<uint64_t>(); }

TEST_P(Unsigned, BitsAreMovedAndBoundsAreOnesWithoutASign) {
    constexpr uint64_t large = 0xFFFFFFFFFFFFFF01, top = 0x8000000000000000;
    const std::vector<uint64_t> x = is_small() ? std::vector<uint64_t>{1, 2, 3} : std::vector<uint64_t>{1, large, top};
    const uint64_t low = 2, high = is_small() ? 2 : top;
    std::string graph = of::input(of::value("x", of::kU64, {"3"})) + of::output(of::value("y", of::kU64, {"6"})) +
                        of::output(of::value("z", of::kU64, {"3"})) +
                        of::initializer(of::tensor("low", of::kU64, {}, of::raw<uint64_t>({low}))) +
                        of::initializer(of::tensor("high", of::kU64, {}, of::raw<uint64_t>({high}))) +
                        of::node("Concat", {"x", "x"}, {"y"}, of::integer("axis", 0)) +
                        of::node("Clip", {"x", "low", "high"}, {"z"});
    const std::vector<ModelResult> results = results_of(of::model(graph), {given("x", x)});
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(results[0].as<uint64_t>()[i], x[i % 3]);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(results[1].as<uint64_t>()[i], std::clamp(x[i], low, high));
}

// Powers of whole numbers with exponents beyond those of i64, and of floats.
TEST_P(Unsigned, ExponentsAreNeverBelowZero) {
    constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
    const std::vector<int64_t> base{3, 2, -1, 1, 0, -3};
    const std::vector<uint64_t> exponent =
        is_small() ? std::vector<uint64_t>{5, 9, 3, 4, 2, 3} : std::vector<uint64_t>{most, most, most, most, most, 3};
    const std::vector<float> floats{2, 3, -1, 0.5F, 1, 1};
    const std::vector<uint64_t> few{10, 3, 5, 2, most, 0};
    std::string graph = of::input(of::value("a", of::kI64, {"6"})) + of::input(of::value("e", of::kU64, {"6"})) +
                        of::input(of::value("f", of::kF32, {"6"})) + of::input(of::value("few", of::kU64, {"6"})) +
                        of::output(of::value("whole", of::kI64, {"6"})) + of::output(of::value("power", of::kF32, {"6"})) +
                        of::node("Pow", {"a", "e"}, {"whole"}) + of::node("Pow", {"f", "few"}, {"power"});
    const std::vector<ModelResult> results =
        results_of(of::model(graph), {given("a", base), given("e", exponent), given("f", floats), given("few", few)});
    for (size_t i = 0; i < base.size(); ++i) {
        uint64_t want = 1;
        for (uint64_t e = exponent[i], square = static_cast<uint64_t>(base[i]); e > 0; e /= 2, square *= square)
            if (e % 2 == 1) want *= square;
        EXPECT_EQ(results[0].as<int64_t>()[i], static_cast<int64_t>(want)) << base[i];
    }
    const std::vector<float> wanted{1024, 27, -1, 0.25F, 1, 1};
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(results[1].as<float>()[i], wanted[i], 1e-3) << i;
}

std::vector<std::string> own_devices() {
    std::vector<std::string> ids = devices_of_the_build();
    ids.erase(std::remove_if(ids.begin(), ids.end(), [](const std::string& id) { return id.rfind("ggml", 0) == 0; }),
              ids.end());
    return ids;
}

INSTANTIATE_TEST_SUITE_P(Devices, Unsigned, testing::ValuesIn(own_devices()), [](const auto& which) {
    std::string name = which.param;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
});

TEST(UnsignedOnnx, WhatIsNotDoneOnThemIsRefused) {
    const auto refusal = [](const std::string& bytes) -> std::string {
        const Model model = Model::from_onnx(std::as_bytes(std::span(bytes)), "a file");
        EXPECT_STREQ(element_name(model.inputs()[0].dtype, model.inputs()[0].is_unsigned), "u64");
        try {
            static_cast<void>(model.graph({}));
        } catch (const Error& error) {
            EXPECT_EQ(error.code() == Code::unsupported || error.code() == Code::invalid, true);
            return error.what();
        }
        return "";
    };
    const std::string x = of::input(of::value("x", of::kU64, {"3"}));
    EXPECT_EQ(refusal(of::model(x + of::node("ReduceMean", {"x"}, {"y"}) + of::output(of::value("y", of::kU64, {"1"})))),
              "ReduceMean: operand 0 is of uint64, whose bits graphs hold as i64: this is not done on them");
    EXPECT_EQ(refusal(of::model(x + of::node("Identity", {"x"}, {"y"}) + of::output(of::value("y", of::kI64, {"3"})))),
              "output 'y' is declared as int64, and its node makes an unsigned type");
}

}  // namespace
}  // namespace backplane::test
