#include "common/gpu/ops/tiles.hpp"

#include <algorithm>

namespace backplane::gpu {

namespace {

uint32_t kind_of(const PostOp& post, uint32_t added) {
    switch (post.kind) {
        case PostOp::bias: return EPILOGUE_BIAS;
        case PostOp::scale: return EPILOGUE_SCALE;
        case PostOp::add: return added == 0 ? EPILOGUE_ADD_FIRST : EPILOGUE_ADD_SECOND;
        default: break;
    }
    return post.op == BP_OP_relu         ? EPILOGUE_RELU
           : post.op == BP_OP_leaky_relu ? EPILOGUE_LEAKY
           : post.op == BP_OP_clip       ? EPILOGUE_CLIP
                                         : EPILOGUE_FUNCTION;
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
    uint32_t added = 0;
    for (size_t i = 0; i < node.post.size(); ++i) {
        kinds |= (kind_of(node.post[i], added) + 1) << (4 * i);
        if (node.post[i].kind == PostOp::add) ++added;
    }
    return kinds;
}

uint32_t epilogue_function(const Node& node) {
    for (const PostOp& post : node.post)
        if (post.kind == PostOp::unary && kind_of(post, 0) == EPILOGUE_FUNCTION) return post.op;
    return 0;
}

std::vector<uint32_t> tile_constants(const Tile& tile, const Node& node) {
    return {epilogue_kinds(node), epilogue_function(node), tile.rows, tile.columns, tile.down, tile.across, tile.depth};
}

void append_epilogue(std::vector<uint32_t>& parameters, const Node& node) {
    parameters.push_back(static_cast<uint32_t>(node.post.size()));
    uint32_t added = 0;
    for (const PostOp& post : node.post) {
        parameters.insert(parameters.end(), {kind_of(post, added), word(post.a), word(post.b)});
        if (post.kind == PostOp::add) ++added;
    }
}

void append_epilogue_operands(const Lowering& to, std::vector<Operand>& operands, const Node& node, ValueId otherwise) {
    ValueId bias = kNone;
    std::vector<ValueId> added;
    for (const PostOp& post : node.post) {
        if (post.kind == PostOp::bias) bias = post.value;
        if (post.kind == PostOp::add) added.push_back(post.value);
    }
    added.resize(2, kNone);
    operands.push_back(to.reads_or(bias, otherwise));
    for (const ValueId id : added) operands.push_back(to.reads_or(id, otherwise));
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
