// ESRGAN: image super-resolution by residual (in residual) dense networks, from the weights of the @upscalerjs/esrgan-* packages.
//
//   auto model = std::make_shared<const Esrgan>(Esrgan::open("esrgan-medium-x2.gguf"));
//   Upscaler upscaler(context.choose(), model);
//   upscaler.run(*ImageReader::open("in.png"), "out.png");
//
// Paper: Wang et al., ESRGAN, 2018 (arXiv:1809.00219). The network is stored as a list of layers (docs/formats.md), so that the three
// published shapes of it, and others of the same layers, are one kind of file.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/fit.hpp"
#include "backplane/gguf.hpp"
#include "backplane/graph.hpp"
#include "backplane/image.hpp"
#include "backplane/runtime.hpp"
#include "backplane/spread.hpp"

namespace backplane {

// Reads a TensorFlow.js layers model (FOLDER/models/xSCALE/model.json of an unpacked package, or the path of a model.json) and writes it
// as GGUF. Throws Error(corrupt) naming layer and file when the JSON or its weight files lie, Error(unsupported) for a layer that is not
// Conv2D, Activation (relu, linear), Concatenate, Add, UpSampling2D (nearest), MultiplyBeta or PixelShuffle. scale 0: the only one there is.
void import_esrgan_tfjs(const std::filesystem::path& from, int scale, const std::filesystem::path& gguf);

// Reads an RRDBNet, the network of Real-ESRGAN and of ESRGAN (github.com/xinntao), as .safetensors, or as .onnx whose weights have PyTorch's names,
// and writes it as GGUF. Of any width and depth; x1 and x2 by pixel unshuffling. Its pixels are 0 to 1, RGB. Throws Error as WeightFile::open() does, and
// corrupt or unsupported, naming the tensor, for a file that holds another network.
void import_esrgan_rrdb(const std::filesystem::path& from, const std::filesystem::path& gguf);

class Esrgan {
public:
    // A .gguf file, or one that import_esrgan_rrdb() reads, converted in memory. Throws like GgufFile::open, and Error(corrupt) for a file that holds
    // another model or whose layers do not fit together.
    static Esrgan open(const std::filesystem::path& path);
    static Esrgan from_gguf(GgufFile file);

    // The same network with weights and feature maps of `dtype`, f32 or f16: half the memory and, where a device has matrix units, faster;
    // sums stay float32 on every backend that has f16. Input and output stay f32. Throws Error(invalid) for another type.
    [[nodiscard]] Esrgan stored_as(DType dtype) const;

    [[nodiscard]] const std::string& name() const noexcept;  // "esrgan-medium-x2"
    [[nodiscard]] DType dtype() const noexcept;              // of weights and feature maps
    [[nodiscard]] int scale() const noexcept;
    [[nodiscard]] int radius() const noexcept;  // of the receptive field, in input pixels
    [[nodiscard]] uint64_t parameters() const noexcept;
    [[nodiscard]] double flops(int64_t height, int64_t width) const;  // of the convolutions: 2 a multiply-add
    // Input "image": f32 [1, height, width, 3], 0 to 255, RGB. Output "upscaled": f32 [1, height * scale, width * scale, 3], not clamped.
    [[nodiscard]] Graph graph(int64_t height, int64_t width) const;
    [[nodiscard]] WeightSource weights() const;  // valid while any copy of this Esrgan lives

private:
    static Esrgan from_gguf(GgufFile file, std::shared_ptr<const std::vector<std::byte>> bytes);

    struct State;
    std::shared_ptr<const State> state_;
};

struct UpscaleOptions {
    int64_t tile = 0;  // pixels of input a tile covers in each direction; 0: chosen from the image and the device's memory
    int64_t overlap = 0;  // pixels of input that neighbouring tiles share on each side; 0: min(radius, 16)
    // Bytes of the first device that weights, workspace and all else may take; 0: what it has. Tiles are made as small as that needs (fit.hpp); where
    // no tile is small enough weights are copied for each tile, and where `streaming` says always. Error(no_device_memory) that says what would do.
    uint64_t memory = 0;
    Streaming streaming = Streaming::automatic;
    ImageWriteOptions image;
    std::function<void(double done)> progress;      // 0 to 1, on the calling thread
    const std::atomic<uint32_t>* cancel = nullptr;  // non-zero: stops with Error(cancelled), leaving no file
    std::function<void(int64_t done, int64_t of)>
        tiles_done;  // after each tile, and with none done before the first; as `progress`
};

struct UpscaleResult {
    uint32_t width = 0, height = 0, channels = 0;  // of the output
    int64_t tiles = 0, tile = 0;                   // how many, and of what size
    int64_t tile_width = 0, tile_height = 0;       // pixels of input; `tile` is the larger of them
    double tile_seconds = 0;                       // of one of these on the device, the shortest
    double seconds = 0;                            // compile and run, without reading the model
    SpreadReport placement;                        // of a tile: what ran where, and what went wrong on the way
};

// Upscales images of any size in overlapping tiles, holding one row of tiles. Compiled programs are kept for the next image.
class Upscaler {
public:
    Upscaler(const Device& device, std::shared_ptr<const Esrgan> model);
    // Best first: what the first cannot do, or fails at, the next one does (spread.hpp; Context::choose_with_fallback).
    Upscaler(std::vector<Device> devices, std::shared_ptr<const Esrgan> model);
    ~Upscaler();
    Upscaler(Upscaler&&) noexcept;
    Upscaler& operator=(Upscaler&&) noexcept;

    // Alpha is resized bilinearly. Throws Error; the output file then does not exist (or is the old one).
    UpscaleResult run(ImageReader& in, const std::filesystem::path& out, const UpscaleOptions& options = {});
    // Pixels in memory: rows of width * channels bytes; `out` has width * scale * height * scale * channels.
    UpscaleResult run(std::span<const uint8_t> in, uint32_t width, uint32_t height, uint32_t channels,
                      std::span<uint8_t> out, const UpscaleOptions& options = {});

    // Whether a picture of that size would be enlarged on the first device with the memory that is there or that the options give: with
    // Streaming::never with all weights there. No weight is read.
    [[nodiscard]] bool has_room(uint32_t width, uint32_t height, const UpscaleOptions& options = {}) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace backplane
