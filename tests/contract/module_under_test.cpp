#include "contract/module_under_test.hpp"

#include <algorithm>
#include <map>

#include "support/system.hpp"
#include "support/test_options.hpp"

namespace contract {

namespace {

void log_nothing(void*, uint32_t, const char*) {}
const char* option(void*, const char* name) {
    static const std::map<std::string, std::string> options = backplane::test::options_in(BP_TEST_OPTIONS);
    const auto found = options.find(name);
    return found == options.end() ? nullptr : found->second.c_str();
}
void* allocate(void*, size_t size, size_t alignment) {
    return backplane::test::allocate(std::max<size_t>(size, 1), alignment);
}
void release(void*, void* memory) { backplane::test::release(memory); }

}  // namespace

const bp_host* full_host() {
    static const bp_host host = [] {
        bp_host h{};
        h.struct_size = BP_SIZE(bp_host, extension);
        h.abi = BP_ABI;
        h.log = log_nothing;
        h.option = option;
        h.allocate = allocate;
        h.release = release;
        return h;
    }();
    return &host;
}

const bp_host* bare_host() {
    static const bp_host host = [] {
        bp_host h = *full_host();
        h.struct_size = BP_SIZE(bp_host, self);
        // Beyond struct_size there is nothing a module may read: a call through this would crash.
        h.log = reinterpret_cast<decltype(h.log)>(uintptr_t{1});
        h.option = reinterpret_cast<decltype(h.option)>(uintptr_t{1});
        h.allocate = reinterpret_cast<decltype(h.allocate)>(uintptr_t{1});
        h.release = reinterpret_cast<decltype(h.release)>(uintptr_t{1});
        return h;
    }();
    return &host;
}

uint32_t GraphMaker::tensor(uint32_t role, std::vector<int64_t> dims, uint32_t dtype) {
    bp_tensor t{};
    t.struct_size = BP_SIZE(bp_tensor, reserved);
    t.dtype = dtype;
    t.role = role;
    t.rank = static_cast<uint32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), t.dim);
    tensors_.push_back(t);
    return static_cast<uint32_t>(tensors_.size() - 1);
}

void GraphMaker::node(uint32_t op, const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs,
                      std::vector<bp_attribute> attributes) {
    bp_node n{};
    n.struct_size = BP_SIZE(bp_node, name);
    n.op = op;
    n.input = static_cast<uint32_t>(edges_.size());
    n.inputs = static_cast<uint32_t>(inputs.size());
    edges_.insert(edges_.end(), inputs.begin(), inputs.end());
    n.output = static_cast<uint32_t>(edges_.size());
    n.outputs = static_cast<uint32_t>(outputs.size());
    edges_.insert(edges_.end(), outputs.begin(), outputs.end());
    n.attribute = static_cast<uint32_t>(attributes_.size());
    n.attributes = static_cast<uint32_t>(attributes.size());
    for (bp_attribute& a : attributes) {
        a.struct_size = BP_SIZE(bp_attribute, integers);
        attributes_.push_back(a);
    }
    nodes_.push_back(n);
}

template <typename T>
bp_span GraphMaker::spread(const std::vector<T>& records, std::vector<std::byte>& into) const {
    const size_t stride = sizeof(T) + extra_;
    into.assign(records.size() * stride, std::byte{0xAB});
    for (size_t i = 0; i < records.size(); ++i) {
        T record = records[i];
        // A newer host knows more fields than this module does.
        record.struct_size += extra_;
        std::memcpy(into.data() + i * stride, &record, sizeof record);
    }
    return {into.data(), static_cast<uint32_t>(records.size()), static_cast<uint32_t>(stride)};
}

const bp_graph* GraphMaker::get() {
    graph_.struct_size = BP_SIZE(bp_graph, edges);
    graph_.tensors = spread(tensors_, tensor_bytes_);
    graph_.nodes = spread(nodes_, node_bytes_);
    graph_.attributes = spread(attributes_, attribute_bytes_);
    graph_.edges = {edges_.data(), static_cast<uint32_t>(edges_.size()), sizeof(uint32_t)};
    return &graph_;
}

GraphMaker sum_graph(int64_t n, uint32_t extra) {
    GraphMaker g(extra);
    const uint32_t a = g.tensor(BP_ROLE_INPUT, {n});
    const uint32_t b = g.tensor(BP_ROLE_INPUT, {n});
    const uint32_t sum = g.tensor(BP_ROLE_TEMPORARY, {n});
    const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {n});
    g.node(BP_OP_add, {a, b}, {sum});
    g.node(BP_OP_relu, {sum}, {y});
    return g;
}

void Module::SetUp() {
    entry = modules().at(GetParam()).entry;
    ASSERT_NE(entry, nullptr) << "the file does not load or has no backplane_module";
    api = entry(BP_ABI);
    ASSERT_NE(api, nullptr);
    ASSERT_EQ(api->open(full_host(), &module, &error.error), BP_OK) << error.text;
    info.struct_size = BP_SIZE(bp_device_info, copy_queues);
    const bp_array room{&info, 1, sizeof info};
    uint32_t count = 0;
    ASSERT_EQ(api->list(module, &room, &count, &error.error), BP_OK) << error.text;
    if (count == 0) {
        ASSERT_STRNE(error.text, "") << "a module that finds no device says why";
        GTEST_SKIP() << "it finds no device here: " << error.text;
    }
    device_id = info.id;
    ASSERT_EQ(api->device_open(module, device_id, &device, &error.error), BP_OK) << error.text;
}

void Module::TearDown() {
    for (bp_program* p : programs_) api->program_close(p);
    for (bp_buffer* b : buffers_) api->buffer_close(b);
    if (device != nullptr) api->device_close(device);
    if (module != nullptr) api->close(module);
}

bp_buffer* Module::buffer_of(uint64_t bytes) {
    bp_buffer* made = nullptr;
    EXPECT_EQ(api->buffer_create(device, 0, bytes, &made, &error.error), BP_OK) << error.text;
    if (made != nullptr) buffers_.push_back(made);
    return made;
}

bp_buffer* Module::buffer(const std::vector<float>& values) {
    bp_buffer* made = buffer_of(values.size() * sizeof(float));
    bp_copy copy{};
    copy.struct_size = BP_SIZE(bp_copy, signal);
    copy.from_host = values.data();
    copy.to_buffer = made;
    copy.bytes = values.size() * sizeof(float);
    EXPECT_EQ(api->copy(device, &copy, &error.error), BP_OK) << error.text;
    return made;
}

std::vector<float> Module::read(bp_buffer* from, size_t n, uint64_t offset) {
    std::vector<float> values(n);
    bp_copy copy{};
    copy.struct_size = BP_SIZE(bp_copy, signal);
    copy.from_buffer = from;
    copy.from_offset = offset;
    copy.to_host = values.data();
    copy.bytes = n * sizeof(float);
    EXPECT_EQ(api->copy(device, &copy, &error.error), BP_OK) << error.text;
    return values;
}

bp_program* Module::compile(const bp_graph* graph, uint32_t flags) {
    bp_compile how{};
    how.struct_size = BP_SIZE(bp_compile, math);
    how.flags = flags;
    bp_program* program = nullptr;
    EXPECT_EQ(api->compile(device, graph, &how, &program, &error.error), BP_OK) << error.text;
    if (program != nullptr) programs_.push_back(program);
    return program;
}

bp_program_info Module::info_of(bp_program* program) {
    bp_program_info found{};
    found.struct_size = BP_SIZE(bp_program_info, moved_bytes);
    EXPECT_EQ(api->program_info(program, &found, &error.error), BP_OK) << error.text;
    return found;
}

std::vector<bp_slot> Module::slots(bp_program* program) {
    const bp_program_info known = info_of(program);
    std::vector<bp_slot> found(known.slots.count);
    for (uint32_t i = 0; i < known.slots.count; ++i) {
        const auto* from = BP_AT(bp_slot, &known.slots, i);
        std::memcpy(&found[i], from, std::min<size_t>(from->struct_size, sizeof(bp_slot)));
    }
    return found;
}

bp_code Module::run(bp_program* program, const std::vector<bp_binding>& bindings, const volatile uint32_t* cancel) {
    const bp_program_info known = info_of(program);
    bp_run request{};
    request.struct_size = BP_SIZE(bp_run, cancel);
    request.bindings = {bindings.data(), static_cast<uint32_t>(bindings.size()), sizeof(bp_binding)};
    request.workspace = known.workspace_bytes == 0 ? nullptr : buffer_of(known.workspace_bytes);
    request.cancel = cancel;
    return api->run(program, &request, &error.error);
}

std::string module_name(const testing::TestParamInfo<size_t>& info) { return modules().at(info.param).name; }

}  // namespace contract
