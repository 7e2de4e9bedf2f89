#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backplane/esrgan.hpp"
#include "base/byte_count.hpp"
#include "base/elapsed.hpp"
#include "models/esrgan/tiled_upscale.hpp"

namespace backplane {

namespace {

using namespace models;

// Beyond this a larger tile gains little and a machine with little memory loses much.
constexpr uint64_t kMostWorkspace = uint64_t{512} << 20;
constexpr int64_t kTileSizes[] = {256, 192, 128, 96, 64};
constexpr std::size_t kMostSessions = 4;

struct Size {
    int64_t height = 0, width = 0;
    bool operator==(const Size&) const = default;
};

void check(const UpscaleOptions& options) {
    if (options.tile >= 0 && options.overlap >= 0) return;
    throw Error(Code::invalid, "cannot upscale with tiles of " + std::to_string(options.tile) + " and an overlap of " +
                                   std::to_string(options.overlap) + ": give 0 (chosen for you) or more");
}

}  // namespace

struct Upscaler::Impl {
    std::shared_ptr<const Esrgan> model;
    std::shared_ptr<SpreadDevices> devices;
    std::vector<std::pair<Size, SpreadSession>> sessions;  // the one used last comes last
    uint64_t memory = 0;                                   // that they were made for
    Streaming streaming = Streaming::automatic;
    std::string streamed;  // a note: what is moved for each tile; empty: all weights are there

    Impl(std::vector<Device> given, std::shared_ptr<const Esrgan> model_) : model(std::move(model_)) {
        if (given.empty() || !given.front())
            throw Error(Code::invalid, "cannot make an upscaler: no device given; use Context::choose");
        if (!model) throw Error(Code::invalid, "cannot make an upscaler: no model given; use Esrgan::open");
        devices = std::make_shared<SpreadDevices>(std::move(given), model->weights());
    }

    SpreadSession* compiled(Size size) {
        const auto found = std::find_if(sessions.begin(), sessions.end(), [&](const auto& s) { return s.first == size; });
        if (found == sessions.end()) return nullptr;
        std::rotate(found, found + 1, sessions.end());
        return &sessions.back().second;
    }

    // `last`: no smaller tile is to come, so that a device without memory for it hands over to the next.
    SpreadSession& session_for(Size size, const std::atomic<uint32_t>* cancel, bool last = true, uint64_t budget = 0) {
        if (SpreadSession* found = compiled(size)) return *found;
        if (sessions.size() >= kMostSessions) sessions.erase(sessions.begin());
        SpreadOptions options;
        options.budget = budget;
        options.compile.cancel = cancel;
        options.build_elsewhere = last;
        options.streaming = last ? streaming : Streaming::never;  // smaller tiles come before streamed weights
        sessions.emplace_back(size, SpreadSession(devices, model->graph(size.height, size.width), options));
        return sessions.back().second;
    }

    [[nodiscard]] bool fits(Size size, const UpscaleOptions& given) {
        const std::atomic<uint32_t>* cancel = given.cancel;
        if (compiled(size) != nullptr) return true;
        const Device& first = devices->devices().front();
        const bool counted = first.info().kind == DeviceKind::discrete || ledger(first).limit != 0;
        if (counted && !ways_for(size, given, Streaming::never).front().fits) return false;
        const uint64_t known = first.info().memory_free;
        SpreadOptions options;
        options.compile.plan_only = true;
        options.compile.cancel = cancel;
        const SpreadSession plan(devices, model->graph(size.height, size.width), options);
        return plan.workspace_bytes() <= (known == 0 ? kMostWorkspace : std::min(kMostWorkspace, known / 2));
    }

    [[nodiscard]] std::vector<Fit> ways_for(Size size, const UpscaleOptions& options, Streaming how_streamed) const {
        FitOptions how;
        how.compile.cancel = options.cancel;
        how.streaming = how_streamed;
        if (options.memory != 0) how.memory[devices->devices().front().info().id] = options.memory;
        return backplane::fits({devices->devices().front()}, model->graph(size.height, size.width), how);
    }

    // What any device would take of the memory for tiles of that size, streamed or not.
    [[nodiscard]] std::string what_would_do(Size size, const UpscaleOptions& options) const {
        std::vector<Fit> ways = ways_for(size, options, Streaming::automatic);
        const Graph graph = model->graph(size.height, size.width);
        FitOptions whole;
        whole.compile.cancel = options.cancel;
        whole.streaming = Streaming::never;
        for (size_t i = 1; i < devices->devices().size(); ++i)
            ways.push_back(backplane::fits({devices->devices()[i]}, graph, whole).front());
        std::vector<Fit> in_f16;
        if (model->dtype() == DType::f32)
            in_f16 = Impl(devices->devices(), std::make_shared<const Esrgan>(model->stored_as(DType::f16)))
                         .ways_for(size, options, options.streaming);
        return what_would_fit(ways, in_f16) + (options.streaming == Streaming::never ? "; streaming is turned off" : "");
    }

    struct Within {
        int64_t most = 0;     // pixels of a tile
        uint64_t budget = 0;  // of the session; 0: all weights are there
        uint64_t moved = 0;   // bytes of a run
    };
    using Overlap = std::function<int64_t(int64_t)>;  // of tiles of so many pixels
    [[nodiscard]] Overlap overlap_of(const UpscaleOptions& options) const {
        return [this, given = options.overlap](int64_t tile) {
            return given != 0 ? given : std::min<int64_t>({model->radius(), 16, tile / 4});
        };
    }
    [[nodiscard]] static Size tile_of(int64_t width, int64_t height, int64_t most, const UpscaleOptions& options,
                                      const Overlap& overlap_for) {
        const int64_t overlap = overlap_for(most);
        const auto along = [&](int64_t length) {
            return tile_axis(length, options.tile != 0 ? most : balanced_tile(length, most, overlap), overlap).tile;
        };
        return {along(height), along(width)};
    }
    static std::vector<int64_t> tile_sizes(const UpscaleOptions& options) {
        if (options.tile != 0) return {options.tile};
        return {std::begin(kTileSizes), std::end(kTileSizes)};
    }

    // Within options.memory: the largest tile with all weights there, else the largest with weights streamed; nothing: none has room.
    [[nodiscard]] std::optional<Within> room_for(int64_t width, int64_t height, const UpscaleOptions& options) const {
        const Overlap overlap_for = overlap_of(options);
        const auto size_of = [&](int64_t most) { return tile_of(width, height, most, options, overlap_for); };
        if (options.streaming != Streaming::always)
            for (const int64_t most : tile_sizes(options))
                if (ways_for(size_of(most), options, Streaming::never).front().fits) return Within{most, 0, 0};
        for (const int64_t most : tile_sizes(options)) {
            if (options.streaming == Streaming::never) break;
            const Fit way = ways_for(size_of(most), options, options.streaming).back();
            if (way.fits) return Within{most, way.budget, way.moved};
        }
        return {};
    }
    [[nodiscard]] Within tile_within(int64_t width, int64_t height, const UpscaleOptions& options) const {
        if (const std::optional<Within> room = room_for(width, height, options)) return *room;
        const int64_t least = tile_sizes(options).back();
        throw Error(Code::no_device_memory,
                    "cannot upscale within the memory with tiles of " + std::to_string(least) +
                        " pixels: " + what_would_do(tile_of(width, height, least, options, overlap_of(options)), options));
    }

    // Cuts the image; the tiles' program is compiled when this returns.
    TilePlan plan_for(int64_t width, int64_t height, int64_t channels, const UpscaleOptions& options) {
        check(options);
        TilePlan plan;
        plan.channels = channels;
        plan.scale = model->scale();
        const auto cut = [&](int64_t across, int64_t down, int64_t overlap, bool last, uint64_t budget = 0) {
            plan.across = tile_axis(width, across, overlap);
            plan.down = tile_axis(height, down, overlap);
            static_cast<void>(session_for({plan.down.tile, plan.across.tile}, options.cancel, last, budget));
        };
        const Overlap overlap_for = overlap_of(options);
        if (options.memory != memory || options.streaming != streaming) sessions.clear();  // they took what they could
        memory = options.memory;
        streaming = options.streaming;
        streamed.clear();
        if (memory != 0 || streaming == Streaming::always) {
            const auto [most, budget, moved] = tile_within(width, height, options);
            streamed = budget == 0 ? "" : "weights are streamed: " + base::byte_count(moved) + " are moved for each tile";
            const int64_t overlap = overlap_for(most);
            if (options.tile != 0)
                cut(most, most, overlap, true, budget);
            else
                cut(balanced_tile(width, most, overlap), balanced_tile(height, most, overlap), overlap, true, budget);
            return plan;
        }
        if (options.tile != 0) {
            cut(options.tile, options.tile, overlap_for(options.tile), true);
            return plan;
        }
        for (const int64_t most : kTileSizes) {
            const bool last = most == std::end(kTileSizes)[-1];
            const int64_t overlap = overlap_for(most);
            const Size tile{balanced_tile(height, most, overlap), balanced_tile(width, most, overlap)};
            try {
                if (!last && !fits(tile, options)) continue;
                cut(tile.width, tile.height, overlap, last);
                break;
            } catch (const Error& error) {
                if (last || error.code() != Code::no_device_memory) throw;
                if (compiled(tile) != nullptr) sessions.pop_back();
            }
        }
        return plan;
    }

    UpscaleResult run(const TilePlan& plan, std::function<void(std::span<uint8_t>)> read,
                      std::function<void(std::span<const uint8_t>)> write, const UpscaleOptions& options) {
        SpreadSession& session = session_for({plan.down.tile, plan.across.tile}, options.cancel);
        TileWork work;
        work.read = std::move(read);
        work.write = std::move(write);
        work.progress = options.progress;
        work.tiles_done = options.tiles_done;
        work.cancel = options.cancel;
        UpscaleResult result;
        work.upscale = [&](std::span<const float> in, std::span<float> out) {
            const auto start = std::chrono::steady_clock::now();
            const NamedBytes input{"image", std::as_bytes(in)};
            const NamedRoom output{"upscaled", std::as_writable_bytes(out)};
            session.run({&input, 1}, {&output, 1}, options.cancel);
            const double took = base::seconds_since(start);
            result.tile_seconds = result.tile_seconds > 0 ? std::min(result.tile_seconds, took) : took;
        };
        upscale_in_tiles(plan, work);
        result.width = static_cast<uint32_t>(plan.across.length * plan.scale);
        result.height = static_cast<uint32_t>(plan.down.length * plan.scale);
        result.channels = static_cast<uint32_t>(plan.channels);
        result.tiles = plan.tiles();
        result.tile = std::max(plan.across.tile, plan.down.tile);
        result.tile_width = plan.across.tile;
        result.tile_height = plan.down.tile;
        result.placement = session.report();
        if (!streamed.empty()) result.placement.notes.push_back(streamed);
        return result;
    }
};

Upscaler::Upscaler(const Device& device, std::shared_ptr<const Esrgan> model)
    : Upscaler(std::vector{device}, std::move(model)) {}
Upscaler::Upscaler(std::vector<Device> devices, std::shared_ptr<const Esrgan> model)
    : impl_(std::make_unique<Impl>(std::move(devices), std::move(model))) {}
Upscaler::~Upscaler() = default;
Upscaler::Upscaler(Upscaler&&) noexcept = default;
Upscaler& Upscaler::operator=(Upscaler&&) noexcept = default;

bool Upscaler::has_room(uint32_t width, uint32_t height, const UpscaleOptions& options) const {
    check(options);
    return impl_->room_for(width, height, options).has_value();
}

UpscaleResult Upscaler::run(ImageReader& in, const std::filesystem::path& out, const UpscaleOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    const ImageInfo& info = in.info();
    const auto scale = static_cast<uint32_t>(impl_->model->scale());
    ImageInfo larger = info;
    larger.width *= scale;
    larger.height *= scale;
    // Before the work, so that a name that cannot be written to is known at once.
    const std::unique_ptr<ImageWriter> writer = ImageWriter::create(out, larger, options.image);
    const TilePlan plan = impl_->plan_for(info.width, info.height, info.channels, options);
    UpscaleResult result = impl_->run(
        plan, [&](std::span<uint8_t> rows) { in.read(rows); }, [&](std::span<const uint8_t> rows) { writer->write(rows); },
        options);
    writer->finish();
    result.seconds = base::seconds_since(start);
    return result;
}

UpscaleResult Upscaler::run(std::span<const uint8_t> in, uint32_t width, uint32_t height, uint32_t channels,
                            std::span<uint8_t> out, const UpscaleOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    const auto scale = static_cast<uint64_t>(impl_->model->scale());
    const uint64_t pixels = uint64_t{width} * height;
    if (pixels > UINT64_MAX / (channels * scale * scale + 1)) {
        throw Error(Code::invalid, "cannot upscale " + std::to_string(width) + " x " + std::to_string(height) +
                                       " pixels: no memory holds as many");
    }
    if (pixels == 0 || (channels != 3 && channels != 4)) {
        throw Error(Code::invalid, "cannot upscale " + std::to_string(width) + " x " + std::to_string(height) +
                                       " pixels of " + std::to_string(channels) +
                                       " channels: give at least 1 x 1 of 3 (RGB) or 4 (RGBA)");
    }
    if (in.size() != pixels * channels || out.size() != pixels * channels * scale * scale) {
        throw Error(Code::invalid, "cannot upscale: " + std::to_string(in.size()) + " bytes in and " +
                                       std::to_string(out.size()) + " out were given, it takes " +
                                       std::to_string(pixels * channels) + " and " +
                                       std::to_string(pixels * channels * scale * scale));
    }
    const TilePlan plan = impl_->plan_for(width, height, channels, options);
    UpscaleResult result = impl_->run(
        plan,
        [&](std::span<uint8_t> rows) {
            std::copy_n(in.begin(), rows.size(), rows.begin());
            in = in.subspan(rows.size());
        },
        [&](std::span<const uint8_t> rows) {
            std::copy(rows.begin(), rows.end(), out.begin());
            out = out.subspan(rows.size());
        },
        options);
    result.seconds = base::seconds_since(start);
    return result;
}

}  // namespace backplane
