// Any text as a model.json: only Error may come of it. What follows the first zero byte are the weights, in one shard "a.bin".
#include <algorithm>
#include <cstdint>

#include "formats/tfjs.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace backplane;
    const auto* text = reinterpret_cast<const char*>(data);
    const size_t length = static_cast<size_t>(std::find(text, text + size, '\0') - text);
    const auto shard = std::as_bytes(std::span(data + std::min(length + 1, size), data + size));
    try {
        const formats::TfjsModel model = formats::parse_tfjs({text, length}, "fuzz", [&](const std::string& path) {
            if (path != "a.bin") throw Error(Code::not_found, "no shard");
            return std::vector<std::byte>(shard.begin(), shard.end());
        });
        for (size_t i = 0; i < model.layers.size(); ++i)
            for (const size_t input : model.layers[i].inputs)
                if (input >= i) __builtin_trap();
        for (const formats::TfjsWeight& weight : model.weights)
            if (weight.values.size() != static_cast<size_t>(elements(weight.shape))) __builtin_trap();
    } catch (const Error&) {  // NOLINT: what is wanted
    }
    return 0;
}
