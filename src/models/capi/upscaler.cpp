#include "backplane/upscaler.h"

#include <memory>

#include "backplane/esrgan.hpp"
#include "base/file.hpp"
#include "capi/handles.hpp"

struct backplane_upscaler {
    std::shared_ptr<const backplane::Esrgan> model;
    backplane::Upscaler upscaler;
    backplane::DeviceInfo device;  // the first
    std::string why;
};

namespace backplane::capi {

namespace {

backplane_upscaler* upscaler_on(std::vector<Device> devices, const char* path, const backplane_upscaler_options* given,
                                std::string why) {
    const backplane_upscaler_options options = read_record(given);
    Esrgan model = Esrgan::open(base::path_of(path));
    if (options.dtype != 0) model = model.stored_as(static_cast<DType>(options.dtype));
    auto shared = std::make_shared<const Esrgan>(std::move(model));
    DeviceInfo first = devices.front().info();
    return new backplane_upscaler{shared, Upscaler(std::move(devices), shared), std::move(first), std::move(why)};
}

UpscaleOptions upscale_options_from(const backplane_upscale_options* given) {
    UpscaleOptions options;
    if (given == nullptr) return options;
    const backplane_upscale_options o = read_record(given);
    if (o.jpeg_quality > 100)
        throw Error(Code::invalid,
                    "jpeg_quality is " + std::to_string(o.jpeg_quality) + ": it takes 1 to 100, or 0 for the default");
    if (o.jpeg_quality != 0) options.image.jpeg_quality = static_cast<int>(o.jpeg_quality);
    options.tile = o.tile;
    options.overlap = o.overlap;
    options.memory = o.memory;
    options.cancel = cancel_of(o.cancel);
    if (o.progress != nullptr)
        options.tiles_done = [tell = o.progress, arg = o.progress_arg](int64_t done, int64_t of) { tell(arg, done, of); };
    return options;
}

void give_result(const UpscaleResult& from, backplane_upscale_result* out) {
    if (out == nullptr) return;
    backplane_upscale_result mine{};
    mine.width = from.width;
    mine.height = from.height;
    mine.channels = from.channels;
    mine.tiles = from.tiles;
    mine.tile = from.tile;
    mine.seconds = from.seconds;
    write_record(mine, out, BP_SIZE(backplane_upscale_result, channels), "backplane_upscale_result");
}

}  // namespace

}  // namespace backplane::capi

extern "C" {

bp_code backplane_upscaler_create(backplane_context* context, const char* filter, const char* model,
                                  const backplane_upscaler_options* options, backplane_upscaler** out, bp_error* error) {
    return backplane::capi::guarded(error, [&] {
        backplane::capi::require(context, "context");
        backplane::capi::require(model, "model");
        backplane::capi::require(out, "out");
        *out = nullptr;
        auto devices = context->context.choose_with_fallback(filter != nullptr ? filter : "");
        *out = backplane::capi::upscaler_on(std::move(devices), model, options, context->context.why());
    });
}

bp_code backplane_upscaler_create_on(backplane_device* const* devices, uint32_t device_count, const char* model,
                                     const backplane_upscaler_options* options, backplane_upscaler** out, bp_error* error) {
    return backplane::capi::guarded(error, [&] {
        backplane::capi::require(model, "model");
        backplane::capi::require(out, "out");
        *out = nullptr;
        *out = backplane::capi::upscaler_on(backplane::capi::devices_from(devices, device_count), model, options, "");
    });
}

void backplane_upscaler_destroy(backplane_upscaler* upscaler) { delete upscaler; }

bp_code backplane_upscaler_get_info(backplane_upscaler* upscaler, backplane_upscaler_info* info, bp_error* error) {
    return backplane::capi::guarded(error, [&] {
        backplane::capi::require(upscaler, "upscaler");
        backplane::capi::require(info, "info");
        backplane_upscaler_info mine{};
        mine.scale = static_cast<uint32_t>(upscaler->model->scale());
        mine.parameters = upscaler->model->parameters();
        backplane::capi::put(mine.name, upscaler->model->name());
        backplane::capi::put(mine.device, upscaler->device.id);
        backplane::capi::put(mine.device_name, upscaler->device.name);
        backplane::capi::put(mine.why, upscaler->why);
        backplane::capi::write_record(mine, info, BP_SIZE(backplane_upscaler_info, parameters), "backplane_upscaler_info");
    });
}

bp_code backplane_upscaler_run_file(backplane_upscaler* upscaler, const char* in, const char* out,
                                    const backplane_upscale_options* options, backplane_upscale_result* result,
                                    bp_error* error) {
    return backplane::capi::guarded(error, [&] {
        backplane::capi::require(upscaler, "upscaler");
        backplane::capi::require(in, "in");
        backplane::capi::require(out, "out");
        backplane::capi::give_result({}, result);  // a record without its size is refused before the work
        const auto reader = backplane::ImageReader::open(backplane::base::path_of(in));
        backplane::capi::give_result(
            upscaler->upscaler.run(*reader, backplane::base::path_of(out), backplane::capi::upscale_options_from(options)),
            result);
    });
}

bp_code backplane_upscaler_run(backplane_upscaler* upscaler, const void* in, uint64_t in_bytes, uint32_t width,
                               uint32_t height, uint32_t channels, void* out, uint64_t out_bytes,
                               const backplane_upscale_options* options, backplane_upscale_result* result, bp_error* error) {
    return backplane::capi::guarded(error, [&] {
        backplane::capi::require(upscaler, "upscaler");
        if (in_bytes > 0) backplane::capi::require(in, "in");
        if (out_bytes > 0) backplane::capi::require(out, "out");
        backplane::capi::give_result({}, result);
        backplane::capi::give_result(
            upscaler->upscaler.run({static_cast<const uint8_t*>(in), static_cast<size_t>(in_bytes)}, width, height, channels,
                                   {static_cast<uint8_t*>(out), static_cast<size_t>(out_bytes)},
                                   backplane::capi::upscale_options_from(options)),
            result);
    });
}

}  // extern "C"
