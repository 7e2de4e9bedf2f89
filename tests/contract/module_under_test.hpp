// A module under test, driven through the bare ABI as any host would drive it: no code of src/ is in between.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backplane/module.h"
#include "backplane/ops.h"

namespace contract {

struct Entry {
    std::string name;  // "file_cpu", "linked_reference"
    backplane_module_fn entry = nullptr;
};

// Those that the program is made for: all of this build (files of lib/backplane, the minimal example, and those linked in), or one on a scripted driver
// (tests/unit/cuda/contract_test.cpp).
const std::vector<Entry>& modules();

struct ErrorText {
    ErrorText() { error = {BP_SIZE(bp_error, capacity), BP_OK, 0, text, sizeof text}; }
    ErrorText(const ErrorText&) = delete;
    ErrorText& operator=(const ErrorText&) = delete;
    char text[512] = "";
    bp_error error{};
};

const bp_host* full_host();
const bp_host* bare_host();  // a host of a time when the table ended after `self`

// A graph of arrays. Records are padded to `extra` more bytes of stride, filled with junk, as a newer host's would be.
class GraphMaker {
public:
    explicit GraphMaker(uint32_t extra = 0) : extra_(extra) {}
    uint32_t tensor(uint32_t role, std::vector<int64_t> dims, uint32_t dtype = BP_F32);
    void node(uint32_t op, const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs,
              std::vector<bp_attribute> attributes = {});
    bp_tensor& edit_tensor(uint32_t i) { return tensors_[i]; }
    bp_node& edit_node(uint32_t i) { return nodes_[i]; }
    std::vector<uint32_t>& edges() { return edges_; }
    const bp_graph* get();  // valid until the next change

private:
    template <typename T>
    bp_span spread(const std::vector<T>& records, std::vector<std::byte>& into) const;
    uint32_t extra_;
    std::vector<bp_tensor> tensors_;
    std::vector<bp_node> nodes_;
    std::vector<bp_attribute> attributes_;
    std::vector<uint32_t> edges_;
    std::vector<std::byte> tensor_bytes_, node_bytes_, attribute_bytes_;
    bp_graph graph_{};
};

// y = relu(a + b), all [n]: what every module here can do, the minimal example too.
GraphMaker sum_graph(int64_t n, uint32_t extra = 0);

// Each test runs once per module. Opens the module and its first device.
class Module : public testing::TestWithParam<size_t> {
protected:
    void SetUp() override;
    void TearDown() override;

    bp_buffer* buffer(const std::vector<float>& values);  // closed in TearDown
    bp_buffer* buffer_of(uint64_t bytes);
    std::vector<float> read(bp_buffer* from, size_t n, uint64_t offset = 0);
    bp_program* compile(const bp_graph* graph, uint32_t flags = 0);
    bp_program_info info_of(bp_program* program);
    // Binds by tensor; adds the workspace.
    bp_code run(bp_program* program, const std::vector<bp_binding>& bindings, const volatile uint32_t* cancel = nullptr);
    static bp_binding bind(uint32_t tensor, bp_buffer* buffer, uint64_t bytes, uint64_t offset = 0) {
        return {BP_SIZE(bp_binding, bytes), tensor, buffer, offset, bytes};
    }
    std::vector<bp_slot> slots(bp_program* program);

    backplane_module_fn entry = nullptr;
    const bp_module_api* api = nullptr;
    bp_module* module = nullptr;
    bp_device* device = nullptr;
    uint64_t device_id = 0;
    bp_device_info info{};
    ErrorText error;

private:
    std::vector<bp_buffer*> buffers_;
    std::vector<bp_program*> programs_;
};

std::string module_name(const testing::TestParamInfo<size_t>& info);

}  // namespace contract
