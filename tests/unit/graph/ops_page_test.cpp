// docs/ops.md is made from the op table: BACKPLANE_WRITE=1 writes it anew, else it is compared.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "backplane/ops/table.hpp"

namespace backplane::ops {
namespace {

std::string text_of_types(const Description& op, const TypeRule& rule) {
    if (rule.like >= 0)
        return std::string("as ") + op.inputs[static_cast<size_t>(rule.like)].name +
               (rule.others == 0 ? "" : "; " + names_of(rule.others) + " beside " + names_of(rule.beside));
    if (rule.types == kPlain) return "any but blocks";
    if (rule.types == (kPlain | kBlocks)) return "any";
    return names_of(rule.types);
}

std::string text_of_number(double value) {
    if (std::isinf(value)) return value < 0 ? "-infinity" : "infinity";
    std::ostringstream text;
    text << value;
    return text.str();
}

std::string text_of_default(const Description& op, const AttributeRule& rule) {
    AttributeValue value;
    if (!rule.get(op.defaults, value)) return "required";
    if (rule.kind == Kind::integer) return std::to_string(value.integer);
    if (rule.kind == Kind::number) return text_of_number(value.number);
    std::string text;
    for (const int64_t v : value.list) text += (text.empty() ? "" : " ") + std::to_string(v);
    return text.empty() ? "none" : text;
}

std::string text_of_limits(const Description& op, const Limits& limits) {
    if (limits.axis_of >= 0) return std::string("an axis of ") + op.inputs[static_cast<size_t>(limits.axis_of)].name;
    if (limits.least == -kLargestAttribute || limits.least == INT64_MIN) return {};
    if (limits.most >= kLargestAttribute) return std::to_string(limits.least) + " or more";
    return std::to_string(limits.least) + " to " + std::to_string(limits.most);
}

// A bar would end the cell.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

std::string text_of(const std::string& path) {
    std::ifstream file(std::string(BP_TEST_SOURCE_DIR) + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// Every backend has every op but ggml's, whose table of lowerings says which; Split is slices there. The conformance tests hold the modules to it.
std::string backends_of(const Description& op) {
    static const std::string lowerings = text_of("/backends/ggml/lowering.cpp");
#define BP_ROW(number, identifier, name) \
    if (op.id == (number))               \
        return lowerings.find("{BP_OP_" #identifier ", lower_") != std::string::npos ? "all" : "all but ggml";
    if (op.id == BP_OP_split) return "all";
    BP_OPS(BP_ROW)
#undef BP_ROW
    return {};
}

std::string row_of(const Description& op) {
    std::string inputs;
    for (const Input& input : op.inputs)
        inputs += std::string(inputs.empty() ? "" : ", ") + input.name + (input.optional ? "?" : "") +
                  (op.any_inputs ? "..." : "") + " (" + text_of_types(op, input.type) + ")";
    std::string attributes;
    for (const AttributeRule& rule : op.attributes) {
        const std::string limits = text_of_limits(op, rule.limits);
        attributes += std::string(attributes.empty() ? "" : ", ") + attribute_name(rule.id) + " (" +
                      text_of_default(op, rule) + (limits.empty() ? "" : "; " + limits) + ")";
    }
    return std::string("| ") + op.name() + " | " + cell(op.summary) + " | " + inputs + " | " +
           (attributes.empty() ? "-" : attributes) + " | " + op.shapes + " | " + backends_of(op) + " |\n";
}

std::string page() {
    std::string text =
        "# Ops\n\n"
        "Made from the descriptions in `include/backplane/ops/`, which the host, every module and the typed builders "
        "(`backplane/ops.hpp`)\n"
        "read alike. What an op computes to the last digit is its float64 reference, `src/graph/ops/NAME.cpp`. Behind an "
        "attribute stand its\n"
        "default and its limits; `?` marks an optional operand. Names and meaning follow ONNX where ONNX has the op.\n\n"
        "All backends are reference, cpu, vulkan, opencl, cuda and ggml. `backplane verify --all` says what a device does "
        "not "
        "do of an op, and why.\n\n"
        "| op | what it is | operands (element types) | attributes (default; limits) | shapes | backends |\n"
        "| --- | --- | --- | --- | --- | --- |\n";
    for (const Description* op : kTable) text += row_of(*op);
    return text;
}

TEST(OpsPage, IsWhatTheTableSays) {
    const std::string path = std::string(BP_TEST_SOURCE_DIR) + "/docs/ops.md";
    if (std::getenv("BACKPLANE_WRITE") != nullptr) std::ofstream(path) << page();
    EXPECT_EQ(text_of("/docs/ops.md"), page()) << "write it anew: BACKPLANE_WRITE=1 unit_graph --gtest_filter='OpsPage.*'";
}

}  // namespace
}  // namespace backplane::ops
