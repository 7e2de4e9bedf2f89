// Module promises G1 to G9: queries and compiles, worst graphs first.
#include <functional>

#include "contract/module_under_test.hpp"

namespace contract {
namespace {

class Graphs : public Module {
protected:
    bp_code try_compile(const bp_graph* graph) {
        bp_compile how{};
        how.struct_size = BP_SIZE(bp_compile, math);
        bp_program* program = nullptr;
        const bp_code code = api->compile(device, graph, &how, &program, &error.error);
        if (program != nullptr) api->program_close(program);
        return code;
    }
    const bp_array* answer_room(const bp_graph* graph) {
        answers_.assign(graph->nodes.count, {BP_SIZE(bp_answer, cost_ns), -1, 0, 0, 0, nullptr, 0});
        room_ = {answers_.data(), graph->nodes.count, sizeof(bp_answer)};
        return &room_;
    }
    std::vector<bp_answer> query(const bp_graph* graph) {
        EXPECT_EQ(api->query(device, graph, answer_room(graph), &error.error), BP_OK) << error.text;
        return answers_;
    }

private:
    std::vector<bp_answer> answers_;
    bp_array room_{};
};

TEST_P(Graphs, G1_LyingIndicesAreInvalidNotACrash) {
    const std::vector<std::pair<const char*, std::function<void(GraphMaker&)>>> lies{
        {"an edge names no tensor", [](GraphMaker& g) { g.edges()[0] = 99; }},
        {"an output edge names no tensor", [](GraphMaker& g) { g.edges()[2] = 1u << 31; }},
        {"inputs lie outside the edges", [](GraphMaker& g) { g.edit_node(0).input = 1000; }},
        {"the end of the inputs overflows", [](GraphMaker& g) { g.edit_node(0).input = 0xFFFFFFFF; }},
        {"outputs lie outside the edges", [](GraphMaker& g) { g.edit_node(0).outputs = 1000; }},
        {"attributes lie outside their array", [](GraphMaker& g) { g.edit_node(0).attributes = 7; }},
        {"the rank is over 8", [](GraphMaker& g) { g.edit_tensor(0).rank = 9; }},
        {"a dimension names a symbol that is not there", [](GraphMaker& g) { g.edit_tensor(0).dim[0] = -5; }},
        {"a node has no output", [](GraphMaker& g) { g.edit_node(1).outputs = 0; }},
        {"a node has no input", [](GraphMaker& g) { g.edit_node(1).inputs = 0; }},
        {"a required input is left out", [](GraphMaker& g) { g.edges()[0] = BP_NO_TENSOR; }},
        {"an operand too many is left out",
         [](GraphMaker& g) {
             g.edges().insert(g.edges().begin() + 4, BP_NO_TENSOR);
             g.edit_node(1).inputs = 2;
             g.edit_node(1).output += 1;
         }},
        {"a temporary is read that nobody wrote", [](GraphMaker& g) { g.edges()[2] = 3; }},
        {"the output's shape does not follow from the inputs", [](GraphMaker& g) { g.edit_tensor(3).dim[0] = 9; }},
    };
    for (const auto& [what, lie] : lies) {
        GraphMaker g = sum_graph(8);
        lie(g);
        const bp_code code = try_compile(g.get());
        EXPECT_TRUE(code == BP_INVALID || code == BP_UNSUPPORTED) << what << ": code " << code;
        static_cast<void>(api->query(device, g.get(), answer_room(g.get()), &error.error));
        EXPECT_NE(error.text[0], '\0') << what;
    }
}

TEST_P(Graphs, G2_AnUnknownOpIsUnsupportedInQueryAndCompile) {
    GraphMaker g = sum_graph(8);
    g.edit_node(1).op = 60000;
    const auto answers = query(g.get());
    EXPECT_EQ(answers[0].code, BP_OK);
    EXPECT_EQ(answers[1].code, BP_UNSUPPORTED);
    EXPECT_EQ(answers[1].reason, uint32_t{BP_WHY_OP});
    EXPECT_EQ(try_compile(g.get()), BP_UNSUPPORTED);
}

TEST_P(Graphs, G3_AnUnknownAttributeIsUnsupported) {
    GraphMaker g = sum_graph(8);
    const uint32_t z = g.tensor(BP_ROLE_OUTPUT, {8});
    bp_attribute odd{};
    odd.id = 9999;
    odd.type = BP_ATTRIBUTE_INT;
    odd.integer = 1;
    g.node(BP_OP_relu, {0}, {z}, {odd});
    EXPECT_EQ(query(g.get())[2].code, BP_UNSUPPORTED);
    EXPECT_EQ(try_compile(g.get()), BP_UNSUPPORTED);
}

TEST_P(Graphs, G4_AnUnknownElementTypeIsUnsupported) {
    GraphMaker g;
    const uint32_t a = g.tensor(BP_ROLE_INPUT, {8}, 200);
    const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {8}, 200);
    g.node(BP_OP_relu, {a}, {y});
    EXPECT_EQ(query(g.get())[0].code, BP_UNSUPPORTED);
    const bp_code code = try_compile(g.get());
    EXPECT_TRUE(code == BP_UNSUPPORTED || code == BP_INVALID) << code;
}

TEST_P(Graphs, G5_RecordsOfANewerHostAreReadByTheirStride) {
    GraphMaker g = sum_graph(8, 40);
    EXPECT_EQ(query(g.get())[1].code, BP_OK);
    bp_program* program = compile(g.get());
    ASSERT_NE(program, nullptr);
    bp_buffer* a = buffer({1, -2, 3, -4, 5, -6, 7, -8});
    bp_buffer* b = buffer({1, 1, 1, 1, 1, 1, 1, 1});
    bp_buffer* y = buffer(std::vector<float>(8, 99));
    ASSERT_EQ(run(program, {bind(0, a, 32), bind(1, b, 32), bind(3, y, 32)}), BP_OK) << error.text;
    EXPECT_EQ(read(y, 8), (std::vector<float>{2, 0, 4, 0, 6, 0, 8, 0}));
}

TEST_P(Graphs, G6_TheGraphMayGoAfterCompile) {
    bp_program* program = nullptr;
    {
        GraphMaker g = sum_graph(4);
        const bp_graph* raw = g.get();
        program = compile(raw);
        std::memset(const_cast<void*>(raw->tensors.first), 0xEE, raw->tensors.count * size_t{raw->tensors.stride});
        std::memset(const_cast<void*>(raw->nodes.first), 0xEE, raw->nodes.count * size_t{raw->nodes.stride});
    }
    bp_buffer* a = buffer({1, -2, 3, -4});
    bp_buffer* b = buffer({0, 0, 0, 0});
    bp_buffer* y = buffer({9, 9, 9, 9});
    ASSERT_EQ(run(program, {bind(0, a, 16), bind(1, b, 16), bind(3, y, 16)}), BP_OK) << error.text;
    EXPECT_EQ(read(y, 4), (std::vector<float>{1, 0, 3, 0}));
}

TEST_P(Graphs, G7_SlotsAreTheTensorsToBindAndOnlyWeightsHaveLayouts) {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {4});
    const uint32_t w = g.tensor(BP_ROLE_WEIGHT, {4});
    const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {4});
    g.node(BP_OP_add, {x, w}, {y});
    const std::vector<bp_slot> found = slots(compile(g.get()));
    ASSERT_EQ(found.size(), 3U);
    for (const bp_slot& slot : found) {
        EXPECT_TRUE(slot.tensor == x || slot.tensor == w || slot.tensor == y);
        if (slot.tensor != w) {
            EXPECT_EQ(slot.layout, 0U);
            EXPECT_EQ(slot.bytes, 16U);
        }
    }
}

TEST_P(Graphs, G8_PlanOnlyAnswersMemoryAndRefusesToRun) {
    GraphMaker g = sum_graph(1000);
    bp_program* plan = compile(g.get(), BP_COMPILE_PLAN_ONLY);
    bp_program* real = compile(g.get());
    bp_program_info a{};
    bp_program_info b{};
    a.struct_size = b.struct_size = BP_SIZE(bp_program_info, workspace_alignment);  // a host that knows only these
    std::memset(reinterpret_cast<std::byte*>(&a) + a.struct_size, 0x77, sizeof a - a.struct_size);
    ASSERT_EQ(api->program_info(plan, &a, &error.error), BP_OK) << error.text;
    ASSERT_EQ(api->program_info(real, &b, &error.error), BP_OK) << error.text;
    EXPECT_EQ(a.workspace_bytes, b.workspace_bytes);
    EXPECT_EQ(a.resident_bytes, 0x7777777777777777ULL) << "written past struct_size";
    bp_buffer* x = buffer(std::vector<float>(1000, 1));
    bp_buffer* y = buffer_of(4000);
    EXPECT_EQ(run(plan, {bind(0, x, 4000), bind(1, x, 4000), bind(3, y, 4000)}), BP_INVALID);
}

TEST_P(Graphs, G9_AnAnswersTextStaysInTheRoomItIsGiven) {
    GraphMaker g = sum_graph(8);
    g.edit_node(1).op = 60000;
    char text[2][16];
    std::memset(text, 'x', sizeof text);
    bp_answer answers[2];
    for (int i = 0; i < 2; ++i) answers[i] = {BP_SIZE(bp_answer, capacity), -1, 0, 0, 0, text[i], 8};
    const bp_array room{answers, 2, sizeof(bp_answer)};
    ASSERT_EQ(api->query(device, g.get(), &room, &error.error), BP_OK) << error.text;
    EXPECT_EQ(answers[1].code, BP_UNSUPPORTED);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(answers[i].text, text[i]) << "the pointer is the caller's";
        EXPECT_EQ(answers[i].capacity, 8U);
        EXPECT_EQ(std::string(text[i] + 8, 8), "xxxxxxxx") << "written past its room";
        EXPECT_TRUE(text[i][0] == 'x' || std::memchr(text[i], 0, 8) != nullptr) << "a text ends in zero";
    }
    answers[0] = answers[1] = {BP_SIZE(bp_answer, capacity), -1, 0, 0, 0, nullptr, 0};  // no text wanted
    EXPECT_EQ(api->query(device, g.get(), &room, &error.error), BP_OK) << error.text;
}

INSTANTIATE_TEST_SUITE_P(Contract, Graphs, testing::Range<size_t>(0, modules().size()), module_name);

}  // namespace
}  // namespace contract
