// ONNX's own tests of operators on the reference, which docs/onnx.md tells of, and on every device of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "backplane/ops/table.hpp"
#include "backplane/runtime.hpp"
#include "graph/evaluate.hpp"
#include "onnx/node_cases.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane::test {
namespace {

#define BP_NEEDS_CASES() \
    if (node_cases_folder().empty()) GTEST_SKIP() << "libonnx-testdata is not installed: scripts/setup.sh --test"

using Results = std::vector<std::pair<TensorId, std::vector<std::byte>>>;

Results room_for(const Graph& graph) {
    Results results;
    for (const TensorId id : graph.with_role(Role::output))
        results.emplace_back(id, std::vector<std::byte>(bytes(graph[id].dtype, graph[id].shape)));
    return results;
}

// What is wrong with the results that `run` writes; empty: nothing.
std::string wrong_with(const NodeCase& of, const std::function<void(Results&)>& run, double further = 0) {
    Results results = room_for(of.graph);
    try {
        run(results);
    } catch (const Error& e) {
        return e.what();
    }
    for (const auto& [id, data] : results) {
        const std::string& name = of.graph[id].name;
        const std::string text = difference(of, of.graph[id], data, further);
        if (!text.empty()) return name + ": " + text;
    }
    return results.size() == of.outputs.size() ? "" : "it has other outputs";
}

std::string wrong_on_reference(const NodeCase& of) {
    // It keeps digits between nodes that float32 has not, and rounds a quotient to another whole number where they decide.
    const double further = of.name.rfind("dynamicquantizelinear", 0) == 0 ? 1 : 0;
    return wrong_with(
        of,
        [&](Results& results) {
            std::vector<graph::TensorBytes> in;
            for (const TensorId id : of.graph.with_role(Role::input))
                in.push_back({id, of.inputs.at(of.graph[id].name).data});
            std::vector<graph::TensorRoom> out;
            for (auto& [id, data] : results) out.push_back({id, data});
            graph::evaluate(of.graph, in, out);
        },
        further);
}

// On the first device, and what it does not do on the next.
std::string wrong_on(const std::vector<Device>& devices, const NodeCase& of) {
    return wrong_with(of, [&](Results& results) {
        SessionOptions options;
        options.check_ops = false;  // this is what checks
        options.plans_kept = 0;
        Session session(devices, of.graph, Weights(), options);
        std::vector<Input> in;
        for (const TensorId id : of.graph.with_role(Role::input))
            in.emplace_back(of.graph[id].name, of.inputs.at(of.graph[id].name).data);
        std::vector<Output> out;
        for (auto& [id, data] : results) out.emplace_back(of.graph[id].name, data);
        session.run(in, out);
    });
}

// Why the device does not do a graph; empty: it does.
std::string refusal(const Device& device, const Graph& graph) {
    const std::vector<NodeSupport> support = query(device, graph);
    for (size_t i = 0; i < support.size(); ++i)
        if (!support[i].supported) return std::string(name_of(graph.nodes()[i].op)) + ": " + support[i].text;
    return {};
}

TEST(OnnxNodes, TheReferenceGivesOnnxsResults) {
    BP_NEEDS_CASES();
    for (const NodeCase& c : node_cases()) {
        if (!c.left_out.empty()) continue;
        EXPECT_EQ(wrong_on_reference(c), "") << c.name;
    }
}

// ---- devices ------------------------------------------------------------------------------------------------------------------

// The devices whose kernels are ours: the reference is tested above, ggml's are stock.
std::vector<std::string> devices() {
    std::vector<std::string> ids = devices_of_the_build();
    const auto other = [](const std::string& id) { return id.rfind("reference", 0) == 0 || id.rfind("ggml", 0) == 0; };
    ids.erase(std::remove_if(ids.begin(), ids.end(), other), ids.end());
    return ids;
}

// Nodes of f64, and RoiAlign on a GPU without arithmetic in float64: its places decide by a rounding whether they count at all.
bool is_for_doubles(const std::string& why) {
    return why.find(" f64[") != std::string::npos || why.find("no arithmetic in float64") != std::string::npos;
}

class OnnxNodesOn : public testing::TestWithParam<std::string> {};

TEST_P(OnnxNodesOn, EveryResultIsOnnxs) {
    BP_NEEDS_CASES();
    const Context context(modules_of_the_build());
    const std::vector<Device> devices = context.choose_with_fallback(GetParam());
    size_t passed = 0, whole = 0;
    std::map<std::string, size_t> elsewhere;
    for (const NodeCase& c : node_cases()) {
        if (!c.left_out.empty()) continue;
        const std::string why = refusal(devices.front(), c.graph);
        EXPECT_TRUE(why.empty() || (is_for_doubles(why) && GetParam() != "cpu:0"))
            << c.name << " is not done, and not for double precision by kernels of GPUs: " << why;
        if (!why.empty()) ++elsewhere[why];
        if (!why.empty() && devices.size() == 1) continue;  // a build without the CPU
        const std::string wrong = wrong_on(devices, c);
        EXPECT_EQ(wrong, "") << c.name;
        passed += wrong.empty() ? 1 : 0;
        whole += wrong.empty() && why.empty() ? 1 : 0;
    }
    std::cout << "[ NOTE     ] " << passed << " passed, " << whole << " of them on the device alone\n";
    for (const auto& [why, count] : elsewhere)
        std::cout << "[ NOTE     ] " << (devices.size() == 1 ? "nobody" : devices.back().info().id) << " stands in for "
                  << count << ": " << why << '\n';
    EXPECT_GT(whole, 0U);
}

INSTANTIATE_TEST_SUITE_P(Devices, OnnxNodesOn, testing::ValuesIn(devices()), [](const auto& which) {
    std::string name = which.param;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxNodesOn);

// ---- the page -----------------------------------------------------------------------------------------------------------------

struct Count {
    size_t passed = 0, left_out = 0;
};

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

// What is before it is written by hand.
constexpr const char* kHeading = "## What ONNX's own tests say";

// A node whose numbers are f64 and more than moved.
bool computes_in_doubles(const Graph& graph, const Node& node) {
    const ops::Description* op = ops::find(static_cast<uint32_t>(node.op));
    return !op->moves && node.op != Op::cast && node.inputs[0].valid() && graph[node.inputs[0]].dtype == DType::f64;
}

// The tests that compute in f64: "CumSum 7, Max 1".
std::string tests_of_doubles(size_t& count) {
    std::map<std::string, size_t> by_name;
    for (const NodeCase& c : node_cases()) {
        const std::vector<Node>& nodes = c.graph.nodes();
        if (!c.left_out.empty() ||
            std::none_of(nodes.begin(), nodes.end(), [&](const Node& node) { return computes_in_doubles(c.graph, node); }))
            continue;
        ++by_name[c.folder == "node" ? c.op : "the small networks of " + c.folder];
        ++count;
    }
    std::vector<std::string> names;
    for (const auto& [name, of_it] : by_name) names.push_back(name + " " + std::to_string(of_it));
    return joined(names);
}

std::string head(const Count& all) {
    size_t doubles = 0;
    const std::string of_doubles = tests_of_doubles(doubles);
    std::ostringstream text;
    text << kHeading
         << "\n\n"
            "`src/formats/onnx` reads ONNX models and makes graphs of them. ONNX's own tests of its operators (Debian's "
            "`libonnx-testdata`) "
            "say how far that goes.\nEach is a model of one node, or of the nodes that it stands for, with inputs and "
            "results. "
            "`tests/onnx` converts it and compares what the reference\nand every device here compute: all that are "
            "converted, on "
            "lavapipe (Vulkan) and PoCL (OpenCL), too. Operands that are attributes here (axes, pads, a shape, k,\nlimits) "
            "are read from "
            "the inputs of the test. This part of the page is made by `BACKPLANE_WRITE=1 build/release/bin/onnx_nodes "
            "--gtest_filter='OnnxPage.*'`.\n\n"
            "A result passes where it is within absolute + relative * |ONNX's|; whole numbers and bool are the same. Those "
            "of "
            "gridsample_bicubic and roialign are\nwritten with four digits behind the point, and may be 5e-05 further off; "
            "those of "
            "windows (hannwindow "
            "and the like) were made with 3.1415 for\npi, and may be 2e-04 further off. On the reference, which keeps more "
            "digits "
            "between nodes than float32 has, whole numbers that are rounded\nquotients (dynamicquantizelinear) may be 1 "
            "off.\n\n"
            "| type | absolute | relative |\n| --- | --- | --- |\n";
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
        text << "| " << name_of(dtype) << " | " << tolerance_of(dtype).absolute << " | " << tolerance_of(dtype).relative
             << " |\n";
    text << "\nOf " << all.passed + all.left_out << " tests " << all.passed << " pass and " << all.left_out
         << " are left out, each for a reason. Those that pass do so on the reference and on the CPU alone.\nA GPU leaves "
            "nodes that compute in f64 to the CPU, and RoiAlign where it has no arithmetic in float64, as in any session of "
            "several\ndevices: the device says so itself, `model check` shows it, and the test prints it. In f64 are "
         << doubles << " tests:\n"
         << of_doubles << ".\n\n";
    return text.str();
}

// Of the tests of these folders by operator or folder, and why some are left out.
struct Counts {
    std::map<std::string, Count> rows;
    std::map<std::string, std::vector<std::string>> reasons;
    Count all;

    explicit Counts(bool of_operators) {
        for (const NodeCase& c : node_cases()) {
            if ((c.folder == "node") != of_operators) continue;
            const bool runs = c.left_out.empty();
            for (Count* count : {&rows[of_operators ? c.op : c.folder], &all}) ++(runs ? count->passed : count->left_out);
            if (!runs) reasons[c.left_out].push_back(c.name);
        }
    }
    [[nodiscard]] std::string why() const {
        std::ostringstream text;
        text << "| reason | tests | names |\n| --- | --- | --- |\n";
        for (const auto& [why, names] : reasons)
            text << "| " << why << " | " << names.size() << " | " << joined(names) << " |\n";
        return text.str();
    }
};

std::string page() {
    const Counts nodes(true), networks(false);
    std::ostringstream text;
    text << head(nodes.all) << "### What passes\n\n| operator | passed | left out |\n| --- | --- | --- |\n";
    for (const auto& [op, count] : nodes.rows)
        if (count.passed != 0) text << "| " << op << " | " << count.passed << " | " << count.left_out << " |\n";
    text << "\n### What is left out, and why\n\n"
         << nodes.why()
         << "\n### Small networks\n\nOf the package's small networks, most of which PyTorch wrote in opset 6, "
         << networks.all.passed << " of " << networks.all.passed + networks.all.left_out
         << " pass, on the same devices. Of those that it calls `real`\nit has the addresses alone.\n\n"
            "| folder | passed | left out |\n| --- | --- | --- |\n";
    for (const auto& [folder, count] : networks.rows)
        text << "| " << folder << " | " << count.passed << " | " << count.left_out << " |\n";
    text << '\n' << networks.why();
    return text.str();
}

TEST(OnnxPage, IsWhatIsSo) {
    BP_NEEDS_CASES();
    const std::string path = std::string(BP_TEST_SOURCE_DIR) + "/docs/onnx.md";
    std::ifstream file(path);
    std::ostringstream all;
    all << file.rdbuf();
    const size_t begins = std::min(all.str().find(kHeading), all.str().size());
    if (std::getenv("BACKPLANE_WRITE") != nullptr) {
        std::ofstream(path) << all.str().substr(0, begins) << page();
        return;
    }
    EXPECT_EQ(all.str().substr(begins), page()) << "write it anew: BACKPLANE_WRITE=1 onnx_nodes --gtest_filter='OnnxPage.*'";
}

}  // namespace
}  // namespace backplane::test
