// Any bytes as an ONNX model, and as a tensor: only Error may come of it.
#include <cstdint>

#include "formats/onnx/model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace backplane;
    const auto bytes = std::as_bytes(std::span(data, size));
    try {
        formats::parse_onnx(bytes, "fuzz");
    } catch (const Error&) {  // NOLINT: what is wanted
    }
    try {
        const formats::OnnxTensor tensor = formats::parse_onnx_tensor(bytes, "fuzz");
        if (tensor.data.size() != backplane::bytes(tensor.dtype, tensor.shape)) __builtin_trap();
    } catch (const Error&) {  // NOLINT: what is wanted
    }
    return 0;
}
