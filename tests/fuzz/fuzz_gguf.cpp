// Any bytes as a GGUF file, and what is in it as an ESRGAN: only Error may come of it.
#include <cstdint>

#include "backplane/esrgan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace backplane;
    try {
        const GgufFile file = GgufFile::from_memory(std::as_bytes(std::span(data, size)));
        unsigned sum = 0;
        for (const GgufTensor& tensor : file.tensors())
            for (const std::byte b : file.data(tensor.name)) sum += static_cast<unsigned>(b);
        volatile unsigned keep = sum;  // so that every byte of the data is really read
        static_cast<void>(keep);
        const Esrgan model = Esrgan::from_gguf(file);
        const Graph graph = model.graph(3, 5);
        const WeightSource weights = model.weights();
        for (const TensorId id : graph.with_role(Role::weight))
            if (weights(graph[id].name).size() != bytes(graph[id].dtype, graph[id].shape)) __builtin_trap();
    } catch (const Error&) {  // NOLINT: what is wanted
    }
    return 0;
}
