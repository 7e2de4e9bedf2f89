#include "cli/dtype_choice.hpp"

#include <utility>

namespace backplane::cli {

DType dtype_with_room(Streaming streaming, const std::function<bool(DType dtype, Streaming streaming)>& has_room) {
    for (const Streaming how : {Streaming::never, streaming}) {
        if (how == Streaming::never && streaming == Streaming::always) continue;
        for (const DType dtype : {DType::f32, DType::f16})
            if (has_room(dtype, how)) return dtype;
    }
    return DType::f32;
}

AnyDtype::AnyDtype(std::vector<Device> devices, std::shared_ptr<const Esrgan> model, bool chooses)
    : chooses_(chooses), devices_(std::move(devices)), model_(std::move(model)), given_(devices_, model_) {}

Upscaler& AnyDtype::with_room(const ImageInfo& picture, const UpscaleOptions& how) {
    const auto has_room = [&](DType dtype, Streaming streaming) {
        UpscaleOptions asked = how;
        asked.streaming = streaming;
        return in(dtype).has_room(picture.width, picture.height, asked);
    };
    const bool half = chooses_ && dtype_with_room(how.streaming, has_room) == DType::f16;
    note_ = half ? "f16 is taken: all weights in f32 have no room on " + devices_.front().info().id : "";
    return half ? *half_ : given_;
}

Upscaler& AnyDtype::in(DType dtype) {
    if (dtype == DType::f32) return given_;
    if (!half_) {
        in_f16_ = std::make_shared<const Esrgan>(model_->stored_as(DType::f16));
        half_.emplace(devices_, in_f16_);
    }
    return *half_;
}

}  // namespace backplane::cli
