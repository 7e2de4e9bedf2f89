// Tiles put together again, with networks whose answer for the whole image is known.
#include "models/esrgan/tiled_upscale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "backplane/error.hpp"

namespace backplane::models {
namespace {

using Bytes = std::vector<uint8_t>;
using Floats = std::vector<float>;

Bytes noise(int64_t size) {
    Bytes bytes(static_cast<std::size_t>(size));
    uint32_t state = 99;
    for (uint8_t& byte : bytes) {
        state = state * 1664525U + 1013904223U;
        byte = static_cast<uint8_t>(state >> 24);
    }
    return bytes;
}

struct Rows {  // an image in memory, handed over row by row
    const Bytes& bytes;
    std::size_t next = 0;
    void operator()(std::span<uint8_t> into) {
        ASSERT_LE(next + into.size(), bytes.size()) << "more rows were read than there are";
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(next), into.size(), into.begin());
        next += into.size();
    }
};

using Network = std::function<void(std::span<const float>, int64_t height, int64_t width, std::span<float>)>;

Network nearest(int64_t s) {
    return [s](std::span<const float> in, int64_t height, int64_t width, std::span<float> out) {
        for (int64_t y = 0; y < height * s; ++y) {
            for (int64_t x = 0; x < width * s; ++x) {
                for (int64_t c = 0; c < 3; ++c) {
                    out[static_cast<std::size_t>((y * width * s + x) * 3 + c)] =
                        in[static_cast<std::size_t>((y / s * width + x / s) * 3 + c)];
                }
            }
        }
    };
}

// A box blur with black beyond the edge, as a network's zero padding is: it sees `radius` pixels around it.
Network blur(int64_t radius) {
    return [radius](std::span<const float> in, int64_t height, int64_t width, std::span<float> out) {
        for (int64_t y = 0; y < height; ++y) {
            for (int64_t x = 0; x < width; ++x) {
                for (int64_t c = 0; c < 3; ++c) {
                    float sum = 0;
                    for (int64_t v = std::max<int64_t>(0, y - radius); v <= std::min(height - 1, y + radius); ++v) {
                        for (int64_t u = std::max<int64_t>(0, x - radius); u <= std::min(width - 1, x + radius); ++u) {
                            sum += in[static_cast<std::size_t>((v * width + u) * 3 + c)];
                        }
                    }
                    out[static_cast<std::size_t>((y * width + x) * 3 + c)] =
                        sum / static_cast<float>((2 * radius + 1) * (2 * radius + 1));
                }
            }
        }
    };
}

TilePlan plan_of(int64_t width, int64_t height, int64_t channels, int64_t scale, int64_t tile, int64_t overlap) {
    return {tile_axis(width, tile, overlap), tile_axis(height, tile, overlap), channels, scale};
}

Bytes upscaled(const Bytes& image, const TilePlan& plan, const Network& network) {
    Bytes out;
    TileWork work;
    Rows rows{image};
    work.read = std::ref(rows);
    work.write = [&](std::span<const uint8_t> more) { out.insert(out.end(), more.begin(), more.end()); };
    work.upscale = [&](std::span<const float> in, std::span<float> room) {
        network(in, plan.down.tile, plan.across.tile, room);
    };
    upscale_in_tiles(plan, work);
    EXPECT_EQ(rows.next, image.size()) << "rows of the input were left unread";
    return out;
}

Bytes whole(const Bytes& image, int64_t width, int64_t height, int64_t channels, int64_t scale, const Network& network) {
    return upscaled(image, plan_of(width, height, channels, scale, std::max(width, height), 0), network);
}

TEST(TiledUpscale, ANetworkThatSeesOnePixelGivesExactlyTheWholeImage) {
    const std::pair<int64_t, int64_t> tiles[] = {{1, 0}, {2, 0}, {3, 1}, {8, 0}, {8, 2}, {8, 3}, {16, 7}, {33, 8}};
    for (int64_t size = 1; size <= 70; ++size) {
        for (const auto& [width, height] :
             {std::pair{size, 71 - size}, {size, int64_t{1}}, {int64_t{1}, size}, {size, size}}) {
            const Bytes image = noise(width * height * 3);
            Bytes want;
            for (int64_t i = 0; i < width * height * 4 * 3; ++i) {
                const int64_t y = i / (width * 6), x = i / 3 % (width * 2);
                want.push_back(image[static_cast<std::size_t>((y / 2 * width + x / 2) * 3 + i % 3)]);
            }
            for (const auto& [tile, overlap] : tiles) {
                ASSERT_EQ(upscaled(image, plan_of(width, height, 3, 2, tile, overlap), nearest(2)), want)
                    << width << " x " << height << " in tiles of " << tile << ", overlap " << overlap;
            }
        }
    }
}

TEST(TiledUpscale, OtherScalesGiveExactlyTheWholeImage) {
    const Bytes image = noise(31 * 23 * 3);
    for (const int64_t scale : {1, 3, 4, 8}) {
        const Bytes want = whole(image, 31, 23, 3, scale, nearest(scale));
        EXPECT_EQ(upscaled(image, plan_of(31, 23, 3, scale, 9, 2), nearest(scale)), want) << scale;
    }
}

TEST(TiledUpscale, ANetworkThatSeesHalfTheOverlapGivesExactlyTheWholeImage) {
    for (const auto& [width, height] : {std::pair<int64_t, int64_t>{70, 53}, {25, 70}, {70, 1}, {1, 70}, {24, 25}}) {
        const Bytes image = noise(width * height * 3);
        const Bytes want = whole(image, width, height, 3, 1, blur(3));
        EXPECT_EQ(upscaled(image, plan_of(width, height, 3, 1, 24, 6), blur(3)), want) << width << " x " << height;
    }
}

TEST(TiledUpscale, ANetworkThatSeesFurtherThanTheOverlapShowsNoSeam) {
    // On an even grey each tile darkens towards its edges; what is left of that at a hand-over must be no step that an eye sees.
    const Bytes image(200 * 200 * 3, 200);
    const Bytes with = upscaled(image, plan_of(200, 200, 3, 1, 64, 8), blur(12));
    const Bytes without = upscaled(image, plan_of(200, 200, 3, 1, 64, 0), blur(12));
    const auto steepest = [&](const Bytes& picture) {
        int most = 0;
        for (std::size_t y = 20; y < 180; ++y) {
            for (std::size_t x = 20; x < 180; ++x) {
                const int here = picture[(y * 200 + x) * 3];
                most = std::max({most, std::abs(here - picture[(y * 200 + x - 1) * 3]),
                                 std::abs(here - picture[((y - 1) * 200 + x) * 3])});
            }
        }
        return most;
    };
    EXPECT_LE(steepest(with), 12);
    EXPECT_GE(steepest(without), 7);
}

TEST(TiledUpscale, AlphaIsResizedBilinearlyWhateverTheTiles) {
    const int64_t width = 29, height = 37, scale = 2;
    const Bytes image = noise(width * height * 4);
    for (const auto& [tile, overlap] : {std::pair<int64_t, int64_t>{37, 0}, {8, 0}, {1, 0}, {9, 3}, {16, 2}}) {
        const Bytes out = upscaled(image, plan_of(width, height, 4, scale, tile, overlap), nearest(scale));
        ASSERT_EQ(out.size(), image.size() * 4);
        for (int64_t y = 0; y < height * scale; ++y) {
            for (int64_t x = 0; x < width * scale; ++x) {
                const auto at = [&](int64_t v, int64_t u) {
                    v = std::clamp<int64_t>(v, 0, height - 1), u = std::clamp<int64_t>(u, 0, width - 1);
                    return double{static_cast<double>(image[static_cast<std::size_t>((v * width + u) * 4 + 3)])};
                };
                const double fy = (static_cast<double>(y) + 0.5) / scale - 0.5,
                             fx = (static_cast<double>(x) + 0.5) / scale - 0.5;
                const auto v = static_cast<int64_t>(std::floor(fy)), u = static_cast<int64_t>(std::floor(fx));
                const double wy = fy - static_cast<double>(v), wx = fx - static_cast<double>(u);
                const double want = (at(v, u) * (1 - wx) + at(v, u + 1) * wx) * (1 - wy) +
                                    (at(v + 1, u) * (1 - wx) + at(v + 1, u + 1) * wx) * wy;
                const std::size_t i = static_cast<std::size_t>((y * width * scale + x) * 4);
                ASSERT_NEAR(out[i + 3], want, 0.51);
                ASSERT_EQ(out[i], image[static_cast<std::size_t>((y / 2 * width + x / 2) * 4)]);
            }
        }
    }
}

TEST(TiledUpscale, ValuesAreRoundedAndClampedAndNotANumberIsBlack) {
    const std::pair<float, int> cases[] = {{-1e30F, 0},   {-0.4F, 0},   {0.49F, 0},         {0.5F, 1},       {254.5F, 255},
                                           {255.4F, 255}, {1e30F, 255}, {std::nanf(""), 0}, {INFINITY, 255}, {-INFINITY, 0}};
    for (const auto& [value, want] : cases) {
        const Network constant = [v = value](std::span<const float>, int64_t, int64_t, std::span<float> out) {
            std::fill(out.begin(), out.end(), v);
        };
        EXPECT_EQ(upscaled(Bytes(3, 0), plan_of(1, 1, 3, 1, 1, 0), constant), Bytes(3, static_cast<uint8_t>(want))) << value;
    }
}

TEST(TiledUpscale, HoldsOneRowOfTiles) {
    // The rows that are read ahead of those written are never more than a tile and its neighbours' edges.
    const TilePlan plan = plan_of(40, 1000, 3, 2, 16, 4);
    int64_t read = 0, written = 0, most_ahead = 0;
    TileWork work;
    work.read = [&](std::span<uint8_t> rows) {
        read += static_cast<int64_t>(rows.size()) / (40 * 3);
        most_ahead = std::max(most_ahead, read - written / 2);
    };
    work.write = [&](std::span<const uint8_t> rows) { written += static_cast<int64_t>(rows.size()) / (80 * 3); };
    work.upscale = [](std::span<const float>, std::span<float>) {};
    upscale_in_tiles(plan, work);
    EXPECT_EQ(read, 1000);
    EXPECT_EQ(written, 2000);
    EXPECT_LE(most_ahead, 16 + 2);
}

TEST(TiledUpscale, CancellingStopsBeforeTheNextTile) {
    const Bytes image = noise(40 * 40 * 3);
    const TilePlan plan = plan_of(40, 40, 3, 2, 16, 4);
    std::atomic<uint32_t> cancel{0};
    int tiles = 0;
    TileWork work;
    work.read = Rows{image};
    work.write = [](std::span<const uint8_t>) {};
    work.upscale = [&](std::span<const float>, std::span<float>) { cancel = ++tiles == 3 ? 1 : 0; };
    work.cancel = &cancel;
    try {
        upscale_in_tiles(plan, work);
        FAIL() << "it was not cancelled";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::cancelled);
    }
    EXPECT_EQ(tiles, 3);
}

TEST(TiledUpscale, ProgressRisesToOneATileATime) {
    const Bytes image = noise(40 * 40 * 3);
    const TilePlan plan = plan_of(40, 40, 3, 2, 16, 4);
    std::vector<double> seen;
    TileWork work;
    work.read = Rows{image};
    work.write = [](std::span<const uint8_t>) {};
    work.upscale = [](std::span<const float>, std::span<float>) {};
    work.progress = [&](double done) { seen.push_back(done); };
    upscale_in_tiles(plan, work);
    ASSERT_EQ(static_cast<int64_t>(seen.size()), plan.tiles());
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_EQ(seen.back(), 1.0);
}

}  // namespace
}  // namespace backplane::models
