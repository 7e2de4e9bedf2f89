#include "backplane/quantize.h"

#include <algorithm>

#include "backplane/quantize.hpp"
#include "base/file.hpp"
#include "capi/handles.hpp"
#include "models/capi/handles.hpp"

struct backplane_quantized {
    std::vector<backplane::QuantizedTensor> tensors;
};

namespace backplane::capi {

namespace {

QuantizeOptions quantize_options_from(const backplane_quantize_options* given) {
    QuantizeOptions options;
    if (given == nullptr) return options;
    const backplane_quantize_options o = read_record(given);
    if (o.dtype != 0) options.dtype = static_cast<DType>(o.dtype);
    if (o.keep_count > 0) require(o.keep, "keep");
    for (uint32_t i = 0; i < o.keep_count; ++i) {
        require(o.keep[i], "an item of keep");
        options.keep.emplace_back(o.keep[i]);
    }
    options.embeddings = o.embeddings != 0;
    options.threads = o.threads;
    options.cancel = cancel_of(o.cancel);
    if (o.progress != nullptr)
        options.progress = [tell = o.progress, arg = o.progress_arg](double done) { tell(arg, done); };
    return options;
}

void write_quantized(const QuantizedTensor& from, backplane_quantized_tensor* out) {
    backplane_quantized_tensor mine{};
    mine.dtype = static_cast<uint32_t>(from.to);
    mine.rank = static_cast<uint32_t>(from.shape.size());
    mine.name = from.name.c_str();
    mine.from = from.from.c_str();
    mine.why = from.why.c_str();
    mine.bytes_before = from.bytes_before;
    mine.bytes_after = from.bytes_after;
    mine.error = from.error;
    std::copy(from.shape.begin(), from.shape.end(), mine.dims);
    write_record(mine, out, BP_SIZE(backplane_quantized_tensor, dims), "backplane_quantized_tensor");
}

}  // namespace

}  // namespace backplane::capi

extern "C" {

bp_code backplane_quantize(const backplane_weight_file* from, const char* gguf, const backplane_quantize_options* options,
                           backplane_quantized** out, bp_error* error) {
    return backplane::capi::guarded(error, [&] {
        if (out != nullptr) *out = nullptr;
        backplane::capi::require(from, "from");
        backplane::capi::require(gguf, "gguf");
        auto tensors =
            backplane::quantize(from->file, backplane::base::path_of(gguf), backplane::capi::quantize_options_from(options));
        if (out != nullptr) *out = new backplane_quantized{std::move(tensors)};
    });
}

bp_code backplane_quantized_tensors(const backplane_quantized* quantized, backplane_quantized_tensor* tensors,
                                    uint32_t capacity, uint32_t* count, bp_error* error) {
    return backplane::capi::guarded(error, [&] {
        backplane::capi::require(quantized, "quantized");
        backplane::capi::require(count, "count");
        *count = static_cast<uint32_t>(quantized->tensors.size());
        if (capacity > 0) backplane::capi::require(tensors, "tensors");
        for (size_t i = 0; i < std::min<size_t>(quantized->tensors.size(), capacity); ++i)
            backplane::capi::write_quantized(quantized->tensors[i], backplane::capi::record_at(tensors, i));
    });
}

void backplane_quantized_destroy(backplane_quantized* quantized) { delete quantized; }

}  // extern "C"
