// Any bytes as a safetensors file: only Error may come of it, and every tensor lies inside.
#include <cstdint>

#include "backplane/error.hpp"
#include "formats/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace backplane;
    try {
        const auto whole = std::as_bytes(std::span(data, size));
        unsigned sum = 0;
        for (const formats::SafetensorsTensor& tensor : formats::parse_safetensors(whole, "fuzz")) {
            if (tensor.dtype != DType::unknown && tensor.bytes.size() != bytes(tensor.dtype, tensor.shape)) __builtin_trap();
            for (const std::byte b : tensor.bytes) sum += static_cast<unsigned>(b);
        }
        volatile unsigned keep = sum;  // so that every byte of the data is really read
        static_cast<void>(keep);
    } catch (const Error&) {  // NOLINT: what is wanted
    }
    return 0;
}
