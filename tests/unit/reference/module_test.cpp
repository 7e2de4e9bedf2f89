// The reference backend through its table, linked in: worst hosts first.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backplane/graph.hpp"

extern "C" const bp_module_api* backplane_reference(uint32_t host_abi);

namespace backplane {
namespace {

using Floats = std::vector<float>;

bp_host bare_host() {
    bp_host host{};
    host.struct_size = BP_SIZE(bp_host, self);
    host.abi = BP_ABI;
    // Beyond what this host says it knows: never to be called.
    host.allocate = [](void*, size_t, size_t) -> void* { std::abort(); };
    host.release = [](void*, void*) { std::abort(); };
    return host;
}

struct Counts {
    int allocations = 0;
};
bp_host counting_host(Counts& counts) {
    bp_host host{};
    host.struct_size = BP_SIZE(bp_host, release);
    host.abi = BP_ABI;
    host.self = &counts;
    host.allocate = [](void* self, size_t size, size_t) {
        ++static_cast<Counts*>(self)->allocations;
        return std::malloc(size);
    };
    host.release = [](void* self, void* memory) {
        --static_cast<Counts*>(self)->allocations;
        std::free(memory);
    };
    return host;
}

class Reference : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_NE(api, nullptr);
        error = {BP_SIZE(bp_error, capacity), BP_OK, 0, text, sizeof text};
        ASSERT_EQ(api->open(&host, &module, &error), BP_OK) << text;
        ASSERT_EQ(api->device_open(module, 1, &device, &error), BP_OK) << text;
    }
    void TearDown() override {
        for (bp_program* p : programs) api->program_close(p);
        for (bp_buffer* b : buffers) api->buffer_close(b);
        api->device_close(device);
        api->close(module);
        EXPECT_EQ(counts.allocations, 0);
    }

    bp_buffer* room(uint64_t size) {
        bp_buffer* b = nullptr;
        EXPECT_EQ(api->buffer_create(device, 0, size, &b, &error), BP_OK) << text;
        buffers.push_back(b);
        return b;
    }
    bp_buffer* buffer(const Floats& values) {
        bp_buffer* b = room(values.size() * 4);
        bp_copy copy{};
        copy.struct_size = BP_SIZE(bp_copy, signal);
        copy.from_host = values.data();
        copy.to_buffer = b;
        copy.bytes = values.size() * 4;
        EXPECT_EQ(api->copy(device, &copy, &error), BP_OK) << text;
        return b;
    }
    Floats read(bp_buffer* from, size_t n) {
        void* at = nullptr;
        EXPECT_EQ(api->buffer_map(from, 0, n * 4, &at, &error), BP_OK) << text;
        Floats values(n);
        if (n != 0) std::memcpy(values.data(), at, n * 4);
        EXPECT_EQ(api->buffer_unmap(from, &error), BP_OK);
        return values;
    }
    bp_code try_compile(const bp_graph* graph, bp_program** out, uint32_t flags = 0) {
        bp_compile how{};
        how.struct_size = BP_SIZE(bp_compile, flags);  // an old host
        how.flags = flags;
        return api->compile(device, graph, &how, out, &error);
    }
    bp_program* compile(const bp_graph* graph, uint32_t flags = 0) {
        bp_program* p = nullptr;
        EXPECT_EQ(try_compile(graph, &p, flags), BP_OK) << text;
        if (p != nullptr) programs.push_back(p);
        return p;
    }
    bp_code run(bp_program* program, const std::vector<bp_binding>& bindings, const std::vector<int64_t>& symbols = {},
                const volatile uint32_t* cancel = nullptr) {
        bp_run r{};
        r.struct_size = BP_SIZE(bp_run, cancel);
        r.bindings = {bindings.data(), static_cast<uint32_t>(bindings.size()), sizeof(bp_binding)};
        r.symbols = {symbols.data(), static_cast<uint32_t>(symbols.size()), sizeof(int64_t)};
        r.cancel = cancel;
        return api->run(program, &r, &error);
    }
    static bp_binding bind(TensorId tensor, bp_buffer* b, uint64_t bytes, uint64_t offset = 0) {
        return {BP_SIZE(bp_binding, bytes), tensor.index, b, offset, bytes};
    }

    const bp_module_api* api = backplane_reference(BP_ABI);
    Counts counts;
    bp_host host = counting_host(counts);
    bp_module* module = nullptr;
    bp_device* device = nullptr;
    bp_error error{};
    char text[512] = "";
    std::vector<bp_program*> programs;
    std::vector<bp_buffer*> buffers;
};

struct Sum {
    Graph g;
    TensorId a = g.input("a", DType::f32, {3});
    TensorId b = g.input("b", DType::f32, {3});
    TensorId y = g.add(Op::relu, {g.add(Op::add, {a, b})});
    Sum() { g.output(y, "y"); }
};

TEST(ReferenceEntry, AForeignMajorIsAnsweredWithNull) {
    EXPECT_EQ(backplane_reference(0), nullptr);
    EXPECT_EQ(backplane_reference((BP_ABI_MAJOR + 1) << 16), nullptr);
    EXPECT_NE(backplane_reference(BP_ABI_MAJOR << 16 | 99), nullptr);
}

TEST(ReferenceEntry, AHostThatPassesNothingOrAShortTableIsAnswered) {
    const bp_module_api* api = backplane_reference(BP_ABI);
    bp_module* module = nullptr;
    EXPECT_EQ(api->open(nullptr, &module, nullptr), BP_INVALID);
    EXPECT_EQ(module, nullptr);
    const bp_host host = bare_host();
    EXPECT_EQ(api->open(&host, nullptr, nullptr), BP_INVALID);
    ASSERT_EQ(api->open(&host, &module, nullptr), BP_OK);
    bp_device* device = nullptr;
    EXPECT_EQ(api->device_open(module, 7, &device, nullptr), BP_NOT_FOUND);
    ASSERT_EQ(api->device_open(module, 1, &device, nullptr), BP_OK);
    bp_buffer* buffer = nullptr;
    ASSERT_EQ(api->buffer_create(device, 0, 64, &buffer, nullptr), BP_OK);
    api->buffer_close(buffer);
    api->device_close(device);
    api->close(module);
}

TEST_F(Reference, NullPointersAreInvalidNotACrash) {
    EXPECT_EQ(api->list(module, nullptr, nullptr, &error), BP_INVALID);
    EXPECT_EQ(api->query(device, nullptr, nullptr, &error), BP_INVALID);
    EXPECT_EQ(api->compile(device, nullptr, nullptr, nullptr, &error), BP_INVALID);
    bp_program* p = nullptr;
    EXPECT_EQ(api->compile(device, nullptr, nullptr, &p, &error), BP_INVALID);
    EXPECT_EQ(api->run(nullptr, nullptr, &error), BP_INVALID);
    EXPECT_EQ(api->copy(device, nullptr, &error), BP_INVALID);
    EXPECT_EQ(api->buffer_create(device, 0, 4, nullptr, &error), BP_INVALID);
    EXPECT_EQ(api->option_set(device, nullptr, &error), BP_INVALID);
    bp_buffer* b = nullptr;
    EXPECT_EQ(api->buffer_import(device, nullptr, 4, &b, &error), BP_INVALID);
    EXPECT_EQ(api->buffer_create(device, 3, 4, &b, &error), BP_INVALID);
    EXPECT_EQ(api->buffer_create(device, 0, UINT64_MAX, &b, &error), BP_NO_DEVICE_MEMORY);
    EXPECT_EQ(b, nullptr);
}

TEST_F(Reference, BindingsThatAreWrongAreInvalidAndNothingIsWritten) {
    const Sum s;
    const GraphData data = s.g.data();
    bp_program* p = compile(data.get());
    bp_buffer* a = buffer({1, -2, 3});
    bp_buffer* y = buffer({9, 9, 9});
    const std::vector<std::pair<const char*, std::vector<bp_binding>>> wrong{
        {"none", {}},
        {"one missing", {bind(s.a, a, 12), bind(s.y, y, 12)}},
        {"no output", {bind(s.a, a, 12), bind(s.b, a, 12)}},
        {"too few bytes", {bind(s.a, a, 8), bind(s.b, a, 12), bind(s.y, y, 12)}},
        {"past the end", {bind(s.a, a, 12), bind(s.b, a, 12), bind(s.y, y, 12, 4)}},
        {"an offset that overflows", {bind(s.a, a, 12), bind(s.b, a, 12), bind(s.y, y, 12, UINT64_MAX - 3)}},
        {"a size that overflows", {bind(s.a, a, 12), bind(s.b, a, 12), bind(s.y, y, UINT64_MAX)}},
        {"no buffer", {bind(s.a, nullptr, 12), bind(s.b, a, 12), bind(s.y, y, 12)}},
        {"twice", {bind(s.a, a, 12), bind(s.a, a, 12), bind(s.b, a, 12), bind(s.y, y, 12)}},
        {"a temporary", {bind({2}, a, 12), bind(s.a, a, 12), bind(s.b, a, 12), bind(s.y, y, 12)}},
        {"no such tensor", {bind({99}, a, 12), bind(s.a, a, 12), bind(s.b, a, 12), bind(s.y, y, 12)}},
    };
    for (const auto& [what, bindings] : wrong) {
        text[0] = '\0';
        EXPECT_EQ(run(p, bindings), BP_INVALID) << what;
        EXPECT_NE(text[0], '\0') << what;
    }
    EXPECT_EQ(run(p, {bind(s.a, a, 12), bind(s.b, a, 12), bind(s.y, y, 12)}, {3}), BP_INVALID)
        << "a symbol the graph does not have";
    EXPECT_EQ(read(y, 3), (Floats{9, 9, 9}));
    EXPECT_EQ(run(p, {bind(s.a, a, 12), bind(s.b, a, 12), bind(s.y, y, 12)}), BP_OK) << text;
    EXPECT_EQ(read(y, 3), (Floats{2, 0, 6}));
}

TEST_F(Reference, CopiesStayInsideBothSidesAndMayOverlap) {
    bp_buffer* b = buffer({1, 2, 3, 4});
    const float host_side[4] = {5, 6, 7, 8};
    bp_copy copy{};
    copy.struct_size = BP_SIZE(bp_copy, signal);
    copy.from_host = host_side;
    copy.bytes = 4;
    EXPECT_EQ(api->copy(device, &copy, &error), BP_INVALID) << "no destination";
    copy.to_buffer = b;
    copy.bytes = 20;
    EXPECT_EQ(api->copy(device, &copy, &error), BP_INVALID);
    copy.bytes = 8;
    copy.to_offset = UINT64_MAX - 3;
    EXPECT_EQ(api->copy(device, &copy, &error), BP_INVALID);
    copy.to_offset = 0;
    copy.from_buffer = b;
    EXPECT_EQ(api->copy(device, &copy, &error), BP_INVALID) << "two sources";
    copy.from_host = nullptr;
    copy.to_offset = 4;
    copy.bytes = 12;
    EXPECT_EQ(api->copy(device, &copy, &error), BP_OK) << text;
    EXPECT_EQ(read(b, 4), (Floats{1, 1, 2, 3}));
    void* at = nullptr;
    EXPECT_EQ(api->buffer_map(b, 8, 12, &at, &error), BP_INVALID);
}

TEST_F(Reference, AQueueForCopiesDoesNotCompute) {
    const Sum s;
    const GraphData data = s.g.data();
    bp_program* p = compile(data.get());
    bp_run r{};
    r.struct_size = BP_SIZE(bp_run, flags);
    r.queue = 1;
    EXPECT_EQ(api->run(p, &r, &error), BP_INVALID);
    EXPECT_NE(std::string(text).find("queue 1"), std::string::npos) << text;
}

TEST_F(Reference, AStateIsKeptBetweenRuns) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {2});
    const TensorId s = g.state("s", DType::f32, {2});
    const TensorId next = g.add(Op::add, {s, x});
    const TensorId y = g.add(Op::neg, {next});
    g.update(s, next);
    g.output(y, "y");
    const GraphData data = g.data();
    bp_program* p = compile(data.get());
    bp_program_info info{};
    info.struct_size = BP_SIZE(bp_program_info, summary);
    ASSERT_EQ(api->program_info(p, &info, &error), BP_OK) << text;
    ASSERT_EQ(info.slots.count, 3U) << "the updated state is bound once, as the state";
    bp_buffer* in = buffer({1, 2});
    bp_buffer* kept = buffer({0, 0});
    bp_buffer* out = buffer({0, 0});
    for (int round = 0; round < 3; ++round)
        ASSERT_EQ(run(p, {bind(x, in, 8), bind(s, kept, 8), bind(y, out, 8)}), BP_OK) << text;
    EXPECT_EQ(read(kept, 2), (Floats{3, 6}));
    EXPECT_EQ(read(out, 2), (Floats{-3, -6}));
}

// y = relu(a + b) for [symbol, 2]: records of a graph with one symbol.
struct Symbolic {
    Symbolic() : data(make()) {
        const bp_graph& g = *data.get();
        for (uint32_t i = 0; i < g.tensors.count; ++i) {
            tensors.push_back(*BP_AT(bp_tensor, &g.tensors, i));
            tensors.back().dim[0] = -1;
        }
        graph = g;
        graph.tensors.first = tensors.data();
        graph.symbols = {&symbol, 1, sizeof symbol};
    }
    static GraphData make() {
        Graph g;
        const TensorId a = g.input("a", DType::f32, {4, 2});
        const TensorId y = g.add(Op::relu, {g.add(Op::add, {a, a})});
        g.output(y, "y");
        return g.data();
    }
    GraphData data;
    std::vector<bp_tensor> tensors;
    bp_symbol symbol{BP_SIZE(bp_symbol, likely), 1, 0, 4, 2};
    bp_graph graph{};
};

TEST_F(Reference, SymbolsTakeTheirValuesAtTheRun) {
    bp_program* p = nullptr;
    {
        Symbolic s;
        bp_answer answers[2]{{BP_SIZE(bp_answer, cost_ns), -1, 0, 0, 0, nullptr, 0},
                             {BP_SIZE(bp_answer, cost_ns), -1, 0, 0, 0, nullptr, 0}};
        const bp_array room_for{answers, 2, sizeof(bp_answer)};
        ASSERT_EQ(api->query(device, &s.graph, &room_for, &error), BP_OK) << text;
        EXPECT_EQ(answers[0].code, BP_OK);
        EXPECT_EQ(answers[1].code, BP_OK);
        p = compile(&s.graph);
        // The graph is lent for the call: what it points to may change afterwards.
        s.symbol.most = 0;
        for (bp_tensor& t : s.tensors) t.rank = 77;
    }
    bp_program_info info{};
    info.struct_size = BP_SIZE(bp_program_info, slots);
    ASSERT_EQ(api->program_info(p, &info, &error), BP_OK);
    EXPECT_EQ(BP_AT(bp_slot, &info.slots, 0)->bytes, 32U) << "at the symbol's most";
    bp_buffer* a = buffer({1, -1, 2, -2, 3, -3, 4, -4});
    bp_buffer* y = buffer(Floats(8, 9));
    const std::vector<bp_binding> bindings{bind({0}, a, 32), bind({2}, y, 32)};
    EXPECT_EQ(run(p, bindings, {}), BP_INVALID);
    EXPECT_EQ(run(p, bindings, {5}), BP_INVALID);
    EXPECT_EQ(run(p, bindings, {-1}), BP_INVALID);
    EXPECT_EQ(run(p, bindings, {0}), BP_OK) << text;
    EXPECT_EQ(read(y, 8), Floats(8, 9));
    EXPECT_EQ(run(p, bindings, {2}), BP_OK) << text;
    EXPECT_EQ(read(y, 8), (Floats{2, 0, 4, 0, 9, 9, 9, 9}));
}

TEST_F(Reference, AGraphThatHoldsForSomeSizesOnlyIsUnsupported) {
    Symbolic s;
    s.symbol = {BP_SIZE(bp_symbol, likely), 1, 2, 4, 4};
    s.tensors[2].dim[0] = 4;  // the result is stated as [4, 2] whatever the symbol is
    bp_answer answers[2]{{BP_SIZE(bp_answer, cost_ns), -1, 0, 0, 0, nullptr, 0},
                         {BP_SIZE(bp_answer, cost_ns), -1, 0, 0, 0, nullptr, 0}};
    const bp_array room_for{answers, 2, sizeof(bp_answer)};
    ASSERT_EQ(api->query(device, &s.graph, &room_for, &error), BP_OK) << text;
    EXPECT_EQ(answers[0].code, BP_OK);
    EXPECT_EQ(answers[1].code, BP_UNSUPPORTED);
    EXPECT_EQ(answers[1].reason, uint32_t{BP_WHY_SYMBOLIC});
    bp_program* p = nullptr;
    EXPECT_EQ(try_compile(&s.graph, &p), BP_UNSUPPORTED);
    EXPECT_EQ(p, nullptr);
}

TEST_F(Reference, APlanTellsItsMemoryAndDoesNotRun) {
    const Sum s;
    const GraphData data = s.g.data();
    bp_program* p = compile(data.get(), BP_COMPILE_PLAN_ONLY);
    bp_program_info info{};
    info.struct_size = BP_SIZE(bp_program_info, summary);
    ASSERT_EQ(api->program_info(p, &info, &error), BP_OK);
    EXPECT_EQ(info.workspace_bytes, 0U);
    EXPECT_EQ(info.slots.count, 3U);
    EXPECT_EQ(run(p, {}), BP_INVALID);
}

TEST_F(Reference, ARaisedFlagCancelsCompileAndRun) {
    const Sum s;
    const GraphData data = s.g.data();
    const uint32_t raised = 1;
    bp_compile how{};
    how.struct_size = BP_SIZE(bp_compile, math);
    how.cancel = &raised;
    bp_program* none = nullptr;
    EXPECT_EQ(api->compile(device, data.get(), &how, &none, &error), BP_CANCELLED);
    bp_program* p = compile(data.get());
    bp_buffer* a = buffer({1, -2, 3});
    bp_buffer* y = buffer({9, 9, 9});
    EXPECT_EQ(run(p, {bind(s.a, a, 12), bind(s.b, a, 12), bind(s.y, y, 12)}, {}, &raised), BP_CANCELLED);
    EXPECT_EQ(read(y, 3), (Floats{9, 9, 9}));
}

TEST_F(Reference, ImportedMemoryIsUsedInPlace) {
    const Sum s;
    const GraphData data = s.g.data();
    bp_program* p = compile(data.get());
    char memory[25];  // at no particular alignment
    const Floats values{1, -2, 3};
    std::memcpy(memory + 1, values.data(), 12);
    bp_buffer* b = nullptr;
    ASSERT_EQ(api->buffer_import(device, memory + 1, 24, &b, &error), BP_OK) << text;
    buffers.push_back(b);
    ASSERT_EQ(run(p, {bind(s.a, b, 12), bind(s.b, b, 12), bind(s.y, b, 12, 12)}), BP_OK) << text;
    Floats result(3);
    std::memcpy(result.data(), memory + 13, 12);
    EXPECT_EQ(result, (Floats{2, 0, 6}));
}

TEST_F(Reference, TellsWhatItIsAndWhatItUses) {
    bp_device_info info{};
    info.struct_size = BP_SIZE(bp_device_info, warning);
    const bp_array one{&info, 1, sizeof info};
    uint32_t count = 0;
    ASSERT_EQ(api->list(module, &one, &count, &error), BP_OK);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(info.kind, uint32_t{BP_KIND_SOFTWARE});
    EXPECT_NE(info.warning, nullptr);
    room(100);
    bp_heap heap{};
    heap.struct_size = BP_SIZE(bp_heap, alignment);
    const bp_array heaps{&heap, 1, sizeof heap};
    ASSERT_EQ(api->heaps(device, &heaps, &count, &error), BP_OK);
    EXPECT_EQ(heap.used_by_us, 100U);
    ASSERT_EQ(api->options(device, nullptr, &count, &error), BP_OK);
    EXPECT_EQ(count, 0U);
    bp_option option{};
    option.struct_size = BP_SIZE(bp_option, text);
    option.name = "threads";
    EXPECT_EQ(api->option_set(device, &option, &error), BP_NOT_FOUND);
}

}  // namespace
}  // namespace backplane
