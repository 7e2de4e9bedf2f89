// What Attention means by positions, against what the papers and frameworks that have them compute.
#include <cmath>

#include "backplane/ops.hpp"
#include "graphs.hpp"

namespace backplane {
namespace {

Numbers attend(const std::vector<Given>& inputs, const std::vector<Attribute>& attributes = {}) {
    return run_all(Op::attention, inputs, attributes)[0];
}

Numbers waves(size_t n, double step) {
    Numbers values(n);
    for (size_t i = 0; i < n; ++i) values[i] = std::sin(step * static_cast<double>(i + 1));
    return values;
}

Numbers part(const Numbers& all, size_t first, size_t n) {
    return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + n)};
}

// Five tokens, one head of two numbers.
constexpr size_t kRows = 9;
const Numbers kQ = waves(10, 0.7), kK = waves(10, 1.3), kV = waves(10, 2.1);
const Given kPositions{{1, kRows, 2}, waves(18, 0.9)}, kBiasU{{1, 2}, waves(2, 3.0)}, kBiasV{{1, 2}, waves(2, 5.0)};

Given heads(int64_t tokens, const Numbers& values) { return {{1, 1, tokens, 2}, values}; }

// Transformer-XL, appendix B: the products of all queries by all positions, a column of zeros before them, read in rows that are one longer.
TEST(RelativePositions, AreThoseOfTransformerXL) {
    const Numbers y = attend({heads(5, kQ), heads(5, kK), heads(5, kV), {}, {}, kPositions, kBiasU, kBiasV});
    const Numbers &p = kPositions.values, &u = kBiasU.values, &v = kBiasV.values;
    Numbers padded;
    for (size_t i = 0; i < 5; ++i) {
        padded.push_back(0);
        for (size_t r = 0; r < kRows; ++r)
            padded.push_back((kQ[2 * i] + v[0]) * p[2 * r] + (kQ[2 * i + 1] + v[1]) * p[2 * r + 1]);
    }
    for (size_t i = 0; i < 5; ++i) {
        double sum = 0, first = 0, second = 0;
        for (size_t j = 0; j < 5; ++j) {
            const double content = (kQ[2 * i] + u[0]) * kK[2 * j] + (kQ[2 * i + 1] + u[1]) * kK[2 * j + 1];
            const double e = std::exp((content + padded[5 + i * kRows + j]) / std::sqrt(2.0));
            sum += e, first += e * kV[2 * j], second += e * kV[2 * j + 1];
        }
        EXPECT_NEAR(y[2 * i], first / sum, 1e-12) << i;
        EXPECT_NEAR(y[2 * i + 1], second / sum, 1e-12) << i;
    }
}

TEST(RelativePositions, AClipThatWasPaddedIsWhatItIsAlone) {
    const Given three{{1}, {3}, DType::i64};
    for (const int64_t window : {0, 2}) {
        const Attribute near{Attr::window, window};
        const Numbers batched = attend({heads(5, kQ), heads(5, kK), heads(5, kV), {}, three, kPositions, kBiasU, kBiasV},
                                       {near, {Attr::padded, 1}});
        const Numbers alone = attend({heads(3, part(kQ, 0, 6)),
                                      heads(3, part(kK, 0, 6)),
                                      heads(3, part(kV, 0, 6)),
                                      {},
                                      {},
                                      kPositions,
                                      kBiasU,
                                      kBiasV},
                                     {near});
        expect_close(part(batched, 0, 6), alone, 1e-12);
    }
}

TEST(RelativePositions, AQueryBehindACacheIsTheLastOfTheWhole) {
    const Attribute causal{Attr::causal, 1};
    const Given four{{1}, {4}, DType::i64};
    const Numbers whole = attend({heads(5, kQ), heads(5, kK), heads(5, kV), {}, {}, kPositions, kBiasU, kBiasV}, {causal});
    const Numbers step =
        attend({heads(1, part(kQ, 6, 2)), heads(5, kK), heads(5, kV), {}, four, kPositions, kBiasU, kBiasV}, {causal});
    expect_close(step, part(whole, 6, 2), 1e-12);
}

TEST(RelativePositions, TablesThatDoNotFitAreRefused) {
    const auto why = [](const Given& positions, const Given& bias, const std::vector<Attribute>& attributes = {}) {
        return error_of([&] { attend({heads(5, kQ), heads(5, kK), heads(5, kV), {}, {}, positions, bias}, attributes); });
    };
    EXPECT_NE(why({{1, 7, 2}, waves(14, 1)}, {}).find("positions [1, 7, 2] has too few rows"), std::string::npos);
    EXPECT_NE(why({{1, 10, 2}, waves(20, 1)}, {}).find("positions [1, 10, 2] must be [1, R, 2] with an odd R"),
              std::string::npos);
    EXPECT_NE(why({}, kBiasU).find("pos_bias_u [1, 2] is of relative positions"), std::string::npos);
    EXPECT_NE(why(kPositions, {{2}, waves(2, 1)}).find("pos_bias_u [2] must be [1, 2]"), std::string::npos);
    EXPECT_NE(why({{1, 3, 2}, waves(6, 1)}, {}, {{Attr::window, 3}}).find("need 5"), std::string::npos);
    EXPECT_EQ(
        attend({heads(5, kQ), heads(5, kK), heads(5, kV), {}, {}, {{1, 5, 2}, waves(10, 1)}}, {{Attr::window, 3}}).size(),
        10U);
}

TEST(Attention, KeysAndValuesOfACacheAreOfOneElementType) {
    const auto attend_to = [](DType of_k, DType of_v) {
        Graph g;
        const TensorId q = g.input("q", DType::f16, {1, 1, 2, 32});
        const TensorId y = g.add(Op::attention, {q, g.input("k", of_k, {1, 1, 3, 32}), g.input("v", of_v, {1, 1, 3, 32})});
        return g[y].dtype;
    };
    EXPECT_EQ(attend_to(DType::q8_0, DType::q8_0), DType::f16);
    EXPECT_NE(error_of([&] {
                  attend_to(DType::q8_0, DType::f16);
              }).find("k q8_0 [1, 1, 3, 32] and v f16 [1, 1, 3, 32] must be of one element type"),
              std::string::npos);
    EXPECT_NE(error_of([&] { attend_to(DType::q4_0, DType::q4_0); }).find("or be q8_0 for f32, f16, bf16 or f64"),
              std::string::npos);
}

}  // namespace
}  // namespace backplane
