#include "common/shape_rules.hpp"

namespace backplane::backend {

namespace {

backplane::ops::Operand operand_of(const Value* value) {
    backplane::ops::Operand operand;
    if (value == nullptr) return operand;
    operand.dtype = value->dtype;
    for (const int64_t extent : value->dim) operand.dims.push_back(extent);  // GraphView::validate has seen the rank
    return operand;
}

}  // namespace

Verdict check_shapes(const Node& node, std::span<const Value* const> inputs, const Value& output,
                     const std::vector<const Value*>& more) {
    const backplane::ops::Description* op = backplane::ops::find(node.op);
    if (op == nullptr) return {BP_WHY_OP, node.text() + " is an op that this module does not know"};
    const Room<backplane::ops::Operand, 4> given(inputs.size());
    const std::span<backplane::ops::Operand> operands = given.all();
    for (size_t k = 0; k < inputs.size(); ++k) operands[k] = operand_of(inputs[k]);
    try {
        backplane::ops::AnyAttributes attributes(*op);
        backplane::ops::apply(*op, node.attributes, attributes.get());
        const Room<backplane::ops::Operand, 1> made(op->outputs_of({*op, operands, attributes.get()}));
        const std::span<backplane::ops::Operand> results = made.all();
        backplane::ops::check(*op, operands, attributes.get(), results);
        for (size_t k = 0; k <= more.size(); ++k) {
            backplane::ops::require(node.part + k < results.size(),
                                    [&] { return "has " + std::to_string(results.size()) + " outputs, more are stated"; });
            const backplane::ops::Operand& result = results[node.part + k];
            const backplane::ops::Operand stated = operand_of(k == 0 ? &output : more[k - 1]);
            backplane::ops::require(result.dims == stated.dims && result.dtype == stated.dtype, [&] {
                return "gives " + std::string(backplane::ops::type_name(result.dtype)) + " " +
                       backplane::ops::text_of(result.dims) + ", its result is stated as " +
                       backplane::ops::type_name(stated.dtype) + " " + backplane::ops::text_of(stated.dims);
            });
        }
    } catch (const backplane::ops::Refusal& refusal) {
        return {refusal.why, node.text() + ": " + refusal.text};
    }
    return {};
}

}  // namespace backplane::backend
