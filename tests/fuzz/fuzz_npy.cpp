// Any bytes as an array of NumPy: only Error may come of it.
#include <cstdint>

#include "formats/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace backplane;
    try {
        const formats::NpyArray array = formats::parse_npy(std::as_bytes(std::span(data, size)), "fuzz");
        if (array.bytes.size() != backplane::bytes(array.dtype, array.shape)) __builtin_trap();
        if (formats::arranged(array).size() != array.bytes.size()) __builtin_trap();
    } catch (const Error&) {  // NOLINT: what is wanted
    }
    return 0;
}
