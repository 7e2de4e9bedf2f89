#include "common/gpu/ops/tiles.hpp"

#include <algorithm>

namespace backplane::gpu {

namespace {

// Of each step of the epilogue.
std::vector<uint32_t> kinds_of(const Node& node) {
    std::vector<uint32_t> kinds;
    for (const PostOp& post : node.post) {
        const bool adds_again = std::ranges::count(kinds, EPILOGUE_ADD_FIRST) != 0;
        kinds.push_back(post.kind == PostOp::bias     ? EPILOGUE_BIAS
                        : post.kind == PostOp::scale  ? EPILOGUE_SCALE
                        : post.kind == PostOp::add    ? (adds_again ? EPILOGUE_ADD_SECOND : EPILOGUE_ADD_FIRST)
                        : post.op == BP_OP_relu       ? EPILOGUE_RELU
                        : post.op == BP_OP_leaky_relu ? EPILOGUE_LEAKY
                        : post.op == BP_OP_clip       ? EPILOGUE_CLIP
                                                      : EPILOGUE_FUNCTION);
    }
    return kinds;
}

// Workgroups that keep a large GPU busy.
constexpr int64_t kManyTiles = 256;

}  // namespace

uint32_t variant(uint32_t f32, const Lowering& to, const Node& node) {
    if (to[node.inputs[0]].dtype == BP_F16) return f32 + 1;
    return to[node.inputs[1]].dtype == BP_F16 ? f32 + 2 : f32;
}

Tile choose_tile(const Abilities& can, int64_t rows, int64_t columns, int64_t batch) {
    constexpr Tile small = {32, 32, 4, 4, 16};
    if (can.most_invocations < 256 || can.software) return small;
    if (rows <= 16 && columns >= 128) return {16, 64, 4, 4, 16};
    const auto tiles = [&](int64_t down, int64_t across) { return batch * up(rows, down) * up(columns, across); };
    if (rows <= 32) return tiles(32, 128) >= kManyTiles ? Tile{32, 128, 4, 4, 16} : small;
    if (rows > 64 && tiles(128, 128) >= kManyTiles && can.shared_bytes >= 32768) return {128, 128, 8, 8, 16};
    if (tiles(64, 128) >= kManyTiles) return {64, 128, 8, 8, 16};
    if (tiles(64, 64) >= kManyTiles) return {64, 64, 4, 4, 16};
    return small;
}

uint32_t epilogue_kinds(const Node& node) {
    uint32_t kinds = 0;
    uint32_t at = 0;
    for (const uint32_t kind : kinds_of(node)) kinds |= (kind + 1) << (4 * at++);
    return kinds;
}

uint32_t epilogue_function(const Node& node) {
    const std::vector<uint32_t> kinds = kinds_of(node);
    const auto found = std::ranges::find(kinds, EPILOGUE_FUNCTION);
    return found != kinds.end() ? node.post[static_cast<size_t>(found - kinds.begin())].op : 0;
}

void append_epilogue(std::vector<uint32_t>& parameters, const Node& node) {
    const std::vector<uint32_t> kinds = kinds_of(node);
    parameters.push_back(static_cast<uint32_t>(kinds.size()));
    for (size_t i = 0; i < kinds.size(); ++i)
        parameters.insert(parameters.end(), {kinds[i], word(node.post[i].a), word(node.post[i].b)});
}

void append_epilogue_operands(const Lowering& to, std::vector<Operand>& operands, const Node& node, ValueId otherwise) {
    ValueId bias = kNone;
    std::vector<ValueId> added;
    for (const PostOp& post : node.post) {
        if (post.kind == PostOp::bias) bias = post.value;
        if (post.kind == PostOp::add) added.push_back(post.value);
    }
    added.resize(2, kNone);
    for (const ValueId id : {bias, added[0], added[1]}) operands.push_back(to.reads_or(id, otherwise));
}

std::string epilogue_text(const Node& node) {
    std::string text;
    for (const PostOp& post : node.post) {
        text += " + ";
        text += post.kind == PostOp::bias    ? "bias"
                : post.kind == PostOp::scale ? "scale"
                : post.kind == PostOp::add   ? "add"
                                             : sdk::op_name(post.op);
    }
    return text;
}

}  // namespace backplane::gpu
