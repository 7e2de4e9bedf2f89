// What tests of the cpu backend compare with, compiled with optimisation, as tests are not: most of their time was here.
#include <algorithm>
#include <cmath>
#include <random>

#include "convolutions.hpp"
#include "products.hpp"

namespace harness {

Floats random_floats(int64_t n, unsigned seed, float scale) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<float> uniform(-scale, scale);
    Floats out(static_cast<size_t>(n));
    for (float& v : out) v = uniform(engine);
    return out;
}

Exact exact(const Floats& a, const Packed& b, int64_t k, int64_t r, int64_t c) {
    Exact out;
    for (int64_t i = 0; i < k; ++i) {
        const double term = double{a[static_cast<size_t>(r * k + i)]} * b.plain[static_cast<size_t>(c * k + i)];
        out.sum += term;
        out.size += std::fabs(term);
    }
    return out;
}

double byte_bound(const Floats& a, const Packed& b, int64_t k, int64_t r, int64_t c) {
    double bound = 0;
    for (int64_t i = 0; i < k; i += 32) {
        double largest = 0;
        double weights = 0;
        for (int64_t at = i; at < i + 32; ++at) {
            largest = std::max<double>(largest, std::fabs(a[static_cast<size_t>(r * k + at)]));
            weights += std::fabs(b.plain[static_cast<size_t>(c * k + at)]);
        }
        bound += largest / 254 * weights;
    }
    return bound;
}

std::vector<double> naive(const Case& k, const Floats& x, const Floats& weight, const Floats& bias, int64_t oh, int64_t ow) {
    std::vector<double> y(static_cast<size_t>(k.n * k.o * oh * ow));
    const int64_t cg = k.c / k.group;
    const int64_t og = k.o / k.group;
    size_t at = 0;
    for (int64_t n = 0; n < k.n; ++n)
        for (int64_t o = 0; o < k.o; ++o)
            for (int64_t i = 0; i < oh; ++i)
                for (int64_t j = 0; j < ow; ++j) {
                    double sum = bias[static_cast<size_t>(o)];
                    for (int64_t c = 0; c < cg; ++c)
                        for (int64_t a = 0; a < k.kh; ++a)
                            for (int64_t b = 0; b < k.kw; ++b) {
                                const int64_t yy = i * k.stride - k.pad + a * k.dilation;
                                const int64_t xx = j * k.stride - k.pad + b * k.dilation;
                                if (yy < 0 || yy >= k.h || xx < 0 || xx >= k.w) continue;
                                const int64_t channel = o / og * cg + c;
                                sum += double{x[static_cast<size_t>(((n * k.c + channel) * k.h + yy) * k.w + xx)]} *
                                       double{weight[static_cast<size_t>(((o * cg + c) * k.kh + a) * k.kw + b)]};
                            }
                    y[at++] = sum;
                }
    return y;
}

}  // namespace harness
