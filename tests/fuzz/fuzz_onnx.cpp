// Any bytes as an ONNX model, made a graph as far as it goes, and as a tensor: only Error may come of it.
#include <cstdint>

#include "formats/onnx/convert.hpp"
#include "formats/onnx/prepare.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace backplane;
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto file = [&](const std::string& location) { return bytes.subspan(location.size() % (bytes.size() + 1)); };
    try {
        const formats::OnnxModel model = formats::prepared(formats::parse_onnx(bytes, "fuzz", file));
        formats::weights_of(model);
        formats::findings_of(model);
    } catch (const Error&) {  // NOLINT: what is wanted
    }
    try {
        const formats::OnnxTensor tensor = formats::parse_onnx_tensor(bytes, "fuzz");
        if (tensor.bytes().size() != backplane::bytes(tensor.dtype, tensor.shape)) __builtin_trap();
    } catch (const Error&) {  // NOLINT: what is wanted
    }
    return 0;
}
