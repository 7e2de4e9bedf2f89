// Upscales an image of any size tile by tile, in bounded memory: rows of one row of tiles, as they come in and as they go out.
// Knows no network: what upscales a tile is a function.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "models/esrgan/tiles.hpp"

namespace backplane::models {

struct TilePlan {
    AxisTiles across, down;
    int64_t channels = 3;  // 4: the last is alpha, which is resized bilinearly
    int64_t scale = 1;
    [[nodiscard]] int64_t tiles() const { return static_cast<int64_t>(across.starts.size() * down.starts.size()); }
};

struct TileWork {
    std::function<void(std::span<uint8_t>)> read;  // the next whole rows of the input
    // f32 [down.tile, across.tile, 3] to f32 [down.tile * scale, across.tile * scale, 3]
    std::function<void(std::span<const float>, std::span<float>)> upscale;
    std::function<void(std::span<const uint8_t>)> write;  // the next whole rows of the output
    std::function<void(double)> progress;                 // 0 to 1; may be empty
    std::function<void(int64_t, int64_t)> tiles_done;     // how many, of how many; may be empty
    const std::atomic<uint32_t>* cancel = nullptr;
};

// Throws what the functions throw, and Error(cancelled).
void upscale_in_tiles(const TilePlan& plan, const TileWork& work);

}  // namespace backplane::models
