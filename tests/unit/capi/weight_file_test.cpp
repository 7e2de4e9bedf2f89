// Gives weight_file_test.c the same tensor as GGUF and as safetensors.
#include "weight_file_test.h"

#include <string>
#include <vector>

#include "backplane/gguf.hpp"
#include "support.hpp"

int main() {
    const std::string modules = std::string(BP_TEST_BINARY_DIR) + "/lib/backplane";
    const backplane::TemporaryFolder folder;
    const std::vector<float> w{1, 2, 3, 4, 5, 6};
    const std::string gguf = (folder / "w.gguf").string(), safetensors = (folder / "w.safetensors").string();
    backplane::GgufWriter writer;
    writer.set("general.architecture", std::string("none"));
    writer.add("w", backplane::DType::f32, {2, 3}, std::as_bytes(std::span(w)));
    writer.write(folder / "w.gguf");
    const std::string header = R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
    const uint64_t length = header.size();
    std::string file(reinterpret_cast<const char*>(&length), sizeof length);
    file += header;
    file.append(reinterpret_cast<const char*>(w.data()), 24);
    backplane::write_file(folder / "w.safetensors", file);
    const char* const paths[] = {gguf.c_str(), safetensors.c_str()};
    const char* const formats[] = {"GGUF", "safetensors"};
    return check_weight_files(modules.c_str(), paths, formats, 2, (folder / "out.gguf").string().c_str());
}
