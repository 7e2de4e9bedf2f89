// Names of ops and attributes, from the op table.
#include <algorithm>
#include <array>
#include <iterator>

#include "graph/attributes.hpp"

namespace backplane {

const char* name_of(Op op) noexcept {
    switch (op) {
#define BP_OP_CASE(id, identifier, name) \
    case Op::identifier: return name;
        BP_OPS(BP_OP_CASE)
#undef BP_OP_CASE
        case Op::unknown: break;
    }
    return "unknown";
}

const char* name_of(Attr attr) noexcept {
    switch (attr) {
#define BP_ATTRIBUTE_CASE(id, identifier, type, name) \
    case Attr::identifier: return name;
        BP_ATTRIBUTES(BP_ATTRIBUTE_CASE)
#undef BP_ATTRIBUTE_CASE
        case Attr::unknown: break;
    }
    return "unknown";
}

Op op_from_name(std::string_view name) noexcept {
#define BP_OP_NAMED(id, identifier, spelling) \
    if (name == (spelling) || name == #identifier) return Op::identifier;
    BP_OPS(BP_OP_NAMED)
#undef BP_OP_NAMED
    if (name == "RMSNorm") return op_from_name("rms_norm");  // its name before ONNX had the op
    return Op::unknown;
}

std::string_view why_no_op(std::string_view name) noexcept {
    constexpr std::string_view kOfValues[] = {"NonZero", "Unique", "Compress", "NonMaxSuppression"};
    if (std::find(std::begin(kOfValues), std::end(kOfValues), name) != std::end(kOfValues))
        return "the size of its result depends on the values of its operands, and sizes in a graph do not: compute it on "
               "the host, or "
               "keep a mask of fixed size (Equal, Where) in its place";
    if (name == "Einsum")
        return "it is no op of its own here: einsum() of backplane/einsum.hpp adds the products and transposes that it is";
    return {};
}

Attr attr_from_name(std::string_view name) noexcept {
#define BP_ATTRIBUTE_NAMED(id, identifier, type, spelling) \
    if (name == (spelling)) return Attr::identifier;
    BP_ATTRIBUTES(BP_ATTRIBUTE_NAMED)
#undef BP_ATTRIBUTE_NAMED
    return Attr::unknown;
}

std::span<const Op> all_ops() noexcept {
#define BP_OP_LISTED(id, identifier, name) Op::identifier,
    static constexpr Op ops[] = {BP_OPS(BP_OP_LISTED)};
#undef BP_OP_LISTED
    return ops;
}

uint32_t graph::type_of(Attr attr) noexcept {
    switch (attr) {
#define BP_ATTRIBUTE_TYPED(id, identifier, type, name) \
    case Attr::identifier: return BP_ATTRIBUTE_##type;
        BP_ATTRIBUTES(BP_ATTRIBUTE_TYPED)
#undef BP_ATTRIBUTE_TYPED
        case Attr::unknown: break;
    }
    return 0;
}

}  // namespace backplane
