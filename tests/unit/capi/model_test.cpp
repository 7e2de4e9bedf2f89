// Gives model_test.c a network as the bytes of an ONNX file: y = relu(x * w + b), x of [batch, 4].
#include "model_test.h"

#include <string>

#include "onnx_bytes.hpp"

int main() {
    const std::string modules = std::string(BP_TEST_BINARY_DIR) + "/lib/backplane";
    const std::string dense = backplane::onnx_bytes::dense_network();
    return check_model(modules.c_str(), dense.data(), dense.size());
}
