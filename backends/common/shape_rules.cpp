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

Verdict check_shapes(const Node& node, const std::vector<const Value*>& inputs, const Value& output,
                     const std::vector<const Value*>& more) {
    const backplane::ops::Description* op = backplane::ops::find(node.op);
    if (op == nullptr) return {BP_WHY_OP, node.text() + " is an op that this module does not know"};
    std::vector<backplane::ops::Operand> operands;
    operands.reserve(inputs.size());
    for (const Value* input : inputs) operands.push_back(operand_of(input));
    try {
        backplane::ops::AnyAttributes attributes(*op);
        backplane::ops::apply(*op, node.attributes, attributes.get());
        std::vector<backplane::ops::Operand> results(op->outputs_of({*op, operands, attributes.get()}));
        backplane::ops::check(*op, operands, attributes.get(), results);
        for (size_t k = 0; k <= more.size(); ++k) {
            const backplane::ops::Operand& result = results.at(node.part + k);
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
