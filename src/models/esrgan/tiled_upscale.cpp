#include "models/esrgan/tiled_upscale.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backplane/error.hpp"
#include "models/esrgan/bilinear_rows.hpp"

namespace backplane::models {

namespace {

constexpr int64_t kColours = 3;

constexpr float kHalf = 0.5F;  // what is not negative is rounded by adding it

uint8_t to_byte(float value) { return static_cast<uint8_t>(std::min(std::max(0.0F, value), 255.0F) + kHalf); }

// Equal values stay exactly what they are.
float mix(float from, float to, float weight) { return from + weight * (to - from); }

// Weights of the second tile over `count` pixels of a cross-fade.
std::vector<float> ramp(int64_t count) {
    std::vector<float> weights(static_cast<std::size_t>(count));
    for (int64_t k = 0; k < count; ++k) {
        weights[static_cast<std::size_t>(k)] = (static_cast<float>(k) + 0.5F) / static_cast<float>(count);
    }
    return weights;
}

// The rows of the input that a row of tiles and the alpha beside it look at.
class Window {
public:
    Window(const TilePlan& plan, const TileWork& work)
        : work_(work), row_bytes_(plan.across.length * plan.channels), height_(plan.down.length) {
        const int64_t most = std::min(plan.down.tile + 2, height_);
        rows_.resize(static_cast<std::size_t>(most * row_bytes_));
    }
    // Both ends are moved into the image and never move up.
    void move_to(int64_t first, int64_t end) {
        first = std::max<int64_t>(first, 0);
        end = std::min(end, height_);
        if (end_ > first) std::memmove(rows_.data(), row(first), static_cast<std::size_t>((end_ - first) * row_bytes_));
        first_ = first;
        const auto room = std::span(rows_).subspan(static_cast<std::size_t>((end_ - first) * row_bytes_),
                                                   static_cast<std::size_t>((end - end_) * row_bytes_));
        if (!room.empty()) work_.read(room);
        end_ = end;
    }
    [[nodiscard]] const uint8_t* row(int64_t y) const { return rows_.data() + (y - first_) * row_bytes_; }

private:
    const TileWork& work_;
    int64_t row_bytes_, height_, first_ = 0, end_ = 0;
    std::vector<uint8_t> rows_;
};

class TiledUpscale {
public:
    TiledUpscale(const TilePlan& plan, const TileWork& work)
        : plan_(plan),
          work_(work),
          window_(plan, work),
          alpha_(plan.across.length, plan.down.length, plan.scale),
          width_out_(plan.across.length * plan.scale) {
        const int64_t s = plan.scale, pixels = plan.across.tile * plan.down.tile;
        in_.resize(static_cast<std::size_t>(pixels * kColours));
        out_.resize(static_cast<std::size_t>(pixels * s * s * kColours));
        const int64_t fade_across = plan.across.fade_after(0) * s, fade_down = plan.down.fade_after(0) * s;
        ramp_across_ = ramp(fade_across);
        ramp_down_ = ramp(fade_down);
        beside_.resize(static_cast<std::size_t>(plan.down.tile * s * fade_across * kColours));
        above_.resize(static_cast<std::size_t>(fade_down * width_out_ * kColours));
        below_.resize(above_.size());
    }

    void run() {
        if (work_.tiles_done) work_.tiles_done(0, plan_.tiles());
        for (std::size_t j = 0; j < plan_.down.starts.size(); ++j) {
            window_.move_to(plan_.down.starts[j] - 1, plan_.down.starts[j] + plan_.down.tile + 1);
            band_.resize(static_cast<std::size_t>((plan_.down.end(j) - plan_.down.begin(j)) * plan_.scale * width_out_ *
                                                  plan_.channels));
            for (std::size_t i = 0; i < plan_.across.starts.size(); ++i) {
                if (work_.cancel != nullptr && work_.cancel->load() != 0) {
                    throw Error(Code::cancelled, "upscaling was cancelled after " + std::to_string(done_) + " of " +
                                                     std::to_string(plan_.tiles()) + " tiles");
                }
                load_tile(i, j);
                work_.upscale(in_, out_);
                keep_tile(i, j);
                ++done_;
                if (work_.progress) work_.progress(static_cast<double>(done_) / static_cast<double>(plan_.tiles()));
                if (work_.tiles_done) work_.tiles_done(done_, plan_.tiles());
            }
            if (plan_.channels == 4) keep_alpha(j);
            work_.write(band_);
            std::swap(above_, below_);
        }
    }

private:
    void load_tile(std::size_t i, std::size_t j) {
        float* to = in_.data();
        for (int64_t y = 0; y < plan_.down.tile; ++y) {
            const uint8_t* from = window_.row(plan_.down.starts[j] + y) + plan_.across.starts[i] * plan_.channels;
            for (int64_t x = 0; x < plan_.across.tile; ++x, from += plan_.channels, to += kColours) {
                std::copy_n(from, kColours, to);
            }
        }
    }

    // Rows of the output from where this tile counts to the end of its cross-fade with the one below.
    void keep_tile(std::size_t i, std::size_t j) {
        const int64_t s = plan_.scale;
        const AxisTiles& down = plan_.down;
        const int64_t first = down.begin(j) * s, end = down.end(j) * s, last = end + down.fade_after(j) * s;
        const int64_t x0 = plan_.across.begin(i) * s, count = (plan_.across.end(i) - plan_.across.begin(i)) * s * kColours;
        const int64_t faded = down.fade_before(j) * s;
        for (int64_t y = first; y < last; ++y) {
            const int64_t y_in_tile = y - down.starts[j] * s;
            const float* row = hand_over(i, y_in_tile);
            if (y >= end) {
                std::copy_n(row, count, below_.data() + ((y - end) * width_out_ + x0) * kColours);
                continue;
            }
            uint8_t* to = band_.data() + ((y - first) * width_out_ + x0) * plan_.channels;
            if (y - first < faded) {
                const float* above = above_.data() + ((y - first) * width_out_ + x0) * kColours;
                const float weight = ramp_down_[static_cast<std::size_t>(y - first)];
                store(to, count, [=](int64_t k) { return mix(above[k], row[k], weight); });
            } else {
                store(to, count, [=](int64_t k) { return row[k]; });
            }
        }
    }

    // Cross-fades the start of a row of tile i with what the tile before left, leaves its own end for the next one, and gives the
    // row from where the tile counts.
    const float* hand_over(std::size_t i, int64_t y_in_tile) {
        const int64_t s = plan_.scale;
        const AxisTiles& across = plan_.across;
        float* row = out_.data() + y_in_tile * across.tile * s * kColours;
        float* start = row + (across.begin(i) - across.starts[i]) * s * kColours;
        float* beside = beside_.data() + y_in_tile * static_cast<int64_t>(ramp_across_.size()) * kColours;
        for (int64_t k = 0; k < across.fade_before(i) * s * kColours; ++k) {
            start[k] = mix(beside[k], start[k], ramp_across_[static_cast<std::size_t>(k / kColours)]);
        }
        const float* end = row + (across.end(i) - across.starts[i]) * s * kColours;
        std::copy_n(end, across.fade_after(i) * s * kColours, beside);
        return start;
    }

    template <class Value>
    void store(uint8_t* to, int64_t count, const Value& value) const {
        for (int64_t k = 0; k < count; k += kColours, to += plan_.channels) {
            for (int64_t c = 0; c < kColours; ++c) to[c] = to_byte(value(k + c));
        }
    }

    void keep_alpha(std::size_t j) {
        const int64_t first = plan_.down.begin(j) * plan_.scale, end = plan_.down.end(j) * plan_.scale;
        for (int64_t y = first; y < end; ++y) {
            const BilinearRows::Pair rows = alpha_.rows_for(y);
            alpha_.resize(window_.row(rows.upper) + kColours, window_.row(rows.lower) + kColours, plan_.channels,
                          rows.weight, band_.data() + (y - first) * width_out_ * plan_.channels + kColours);
        }
    }

    const TilePlan& plan_;
    const TileWork& work_;
    Window window_;
    BilinearRows alpha_;
    int64_t width_out_, done_ = 0;
    std::vector<float> in_, out_, ramp_across_, ramp_down_;
    std::vector<float> beside_;         // the end of each row of the tile to the left, for the cross-fade
    std::vector<float> above_, below_;  // whole rows of the cross-fades with the tiles above and below
    std::vector<uint8_t> band_;         // rows of the output that are final
};

}  // namespace

void upscale_in_tiles(const TilePlan& plan, const TileWork& work) { TiledUpscale(plan, work).run(); }

}  // namespace backplane::models
