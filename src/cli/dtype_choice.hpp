// --dtype auto: f32, or f16 where that has room and f32 has not.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backplane/esrgan.hpp"
#include "backplane/fit.hpp"

namespace backplane::cli {

// f32 where it has room with all weights there, else f16 where it has then; else likewise as `streaming` says. f32 where neither has: what is wrong is said
// of that.
DType dtype_with_room(Streaming streaming, const std::function<bool(DType dtype, Streaming streaming)>& has_room);

// An upscaler of a model, and where it `chooses` one of the same in f16, made when it is taken.
class AnyDtype {
public:
    AnyDtype(std::vector<Device> devices, std::shared_ptr<const Esrgan> model, bool chooses);
    Upscaler& with_room(const ImageInfo& picture, const UpscaleOptions& how);
    [[nodiscard]] const std::string& note() const { return note_; }  // of the last; empty: it is as it was given
    [[nodiscard]] const Esrgan& model() const { return note_.empty() ? *model_ : *in_f16_; }

private:
    Upscaler& in(DType dtype);

    bool chooses_;
    std::vector<Device> devices_;
    std::shared_ptr<const Esrgan> model_, in_f16_;
    Upscaler given_;
    std::optional<Upscaler> half_;
    std::string note_;
};

}  // namespace backplane::cli
