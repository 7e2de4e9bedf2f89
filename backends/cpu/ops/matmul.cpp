// Matrix product: the right-hand side is packed into panels (at pack or compile when it is a weight or constant, by a step of
// every run when it is computed), whatever its element type; sums are in float32.
#include <algorithm>
#include <array>
#include <cstring>

#include "backplane/ops/blocks.hpp"
#include "ops/table.hpp"
#include "tile_plan.hpp"
#include "weights.hpp"

namespace backplane::cpu::ops::matmul {

namespace {

Verdict check(const Plan& plan, const Node& node) {
    const Value& a = plan[node.inputs[0]];
    const Value& b = plan[node.inputs[1]];
    if (a.dim.size() < 2 || b.dim.size() < 2) return {BP_WHY_SHAPE, node.text() + ": operands of rank below 2"};
    if (!can_decode(b.dtype)) return {BP_WHY_DTYPE, node.text() + " is not done for a right-hand side " + b.text()};
    if (is_block(b.dtype) && !node.as<backplane::ops::MatMulAttributes>().transpose_b)
        return {BP_WHY_ATTRIBUTE, node.text() + ": a right-hand side in blocks needs transpose_b"};
    return {};
}

// Rows that one chunk takes: enough to use a panel often, few enough that all threads get work. What rounded activations leave of a product
// is little beside decoding its panel: more rows share it where that leaves chunks enough.
constexpr int64_t kRowsOfChunk = 96;
constexpr int64_t kMostRowsOfChunk = 384;
constexpr int64_t kEnoughChunks = 32;

struct Product {
    int64_t rows = 0, depth = 0, columns = 0;
    bool transpose_a = false, transpose_b = false;
    uint32_t b_dtype = BP_F32;
    int64_t batches = 1, b_batches = 0;  // of the result and of b

    PackedType type = kPackedF32;
    bool rounds = false;  // activations, to bytes
    bool halves = false;  // both sides are bf16, or may be
    TilePlan tiles;       // where it goes to the matrix unit
    int64_t chunk = kRowsOfChunk;

    // The last rows, that are few in their chunk and of a type that has them in fixed point, where they are not rounded.
    [[nodiscard]] int64_t fixed_rows(bool bytes) const {
        const int64_t last = rows % chunk;
        return !rounds && in_fixed_point(type, bytes) && last < kManyRows ? last : 0;
    }
    // Bytes of one packed matrix.
    [[nodiscard]] int64_t b_bytes(int64_t lanes) const {
        return packed_column_bytes(type, depth) * padded_columns(columns, lanes);
    }
};

// Which matrix of an operand each batch of the result uses, by numpy's broadcasting. Empty where there is one batch: the first.
std::vector<int64_t> batches_of(const Value& operand, const std::vector<int64_t>& out) {
    const size_t rank = out.size() - 2;
    int64_t count = 1;
    for (size_t d = 0; d < rank; ++d) count *= out[d];
    if (count == 1) return {};
    std::vector<int64_t> result(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i;
        int64_t stride = 1;
        int64_t at = 0;
        for (size_t d = rank; d-- > 0;) {
            const int64_t index = rest % out[d];
            rest /= out[d];
            const size_t shift = out.size() - operand.dim.size();
            if (d < shift) continue;
            const int64_t own = operand.dim[d - shift];
            if (own != 1) at += index * stride;
            stride *= own;
        }
        result[static_cast<size_t>(i)] = at;
    }
    return result;
}

// Weights keep their type where the kernels decode it in registers: a product with a vector is bound by memory.
PackedType packed_type(uint32_t dtype, const MatMulKernels& k) {
    switch (dtype) {
        case BP_F16: return k.converts_f16 ? kPackedF16 : kPackedF32;
        case BP_BF16: return kPackedBF16;
        case BP_Q8_0: return kPackedQ8;
        case BP_Q4_0: return kPackedQ4;
        case BP_Q4_1: return kPackedQ41;
        case BP_Q5_0: return kPackedQ50;
        case BP_Q5_1: return kPackedQ51;
        case BP_IQ4_NL: return kPackedIq4;
        case BP_IQ4_XS: return kPackedIq4Xs;
        case BP_Q2_K: return kPackedQ2K;
        case BP_Q3_K: return kPackedQ3K;
        case BP_Q4_K: return kPackedQ4K;
        case BP_Q5_K: return kPackedQ5K;
        case BP_Q6_K: return kPackedQ6K;
        default: return kPackedF32;
    }
}

// Bits of the numbers that a value holds: of one that is widened those of what it comes from, which loses nothing on its way back.
int bits_of(const Lowering& to, ValueId value) {
    const Node* maker = to.maker(value);
    if (maker == nullptr || maker->op != BP_OP_cast || !maker->post.empty()) return 24;
    const uint32_t dtype = to[maker->inputs[0]].dtype;
    return dtype == BP_BF16 ? 8 : dtype == BP_F16 ? 11 : 24;
}

Product product_of(const Lowering& to, const Node& node) {
    const Value& a = to[node.inputs[0]];
    const Value& b = to[node.inputs[1]];
    const std::vector<int64_t>& out = to[node.output].dim;
    Product p;
    const auto how = node.as<backplane::ops::MatMulAttributes>();
    p.transpose_a = how.transpose_a;
    p.transpose_b = how.transpose_b;
    p.rows = out[out.size() - 2];
    p.columns = out.back();
    p.depth = a.dim[a.dim.size() - (p.transpose_a ? 2 : 1)];
    p.b_dtype = b.dtype;
    p.type = packed_type(b.dtype, to.kernels.matmul);
    for (size_t d = 0; d + 2 < out.size(); ++d) p.batches *= out[d];
    p.b_batches = 1;
    for (size_t d = 0; d + 2 < b.dim.size(); ++d) p.b_batches *= b.dim[d];
    const int a_bits = bits_of(to, node.inputs[0]);
    p.rounds = to.plan.math == BP_MATH_RELAXED && to.kernels.matmul.round != nullptr &&
               rounds_activations(p.type, to.kernels.matmul.multiplies_bytes);
    // Where there is a matrix unit, vectors multiply bf16 at half the speed of floats (Sapphire Rapids).
    p.halves = p.type == kPackedBF16 && to.kernels.halves.run != nullptr && to.kernels.tiles.run == nullptr &&
               p.rows >= kManyRows && (to.plan.math == BP_MATH_RELAXED || (to.plan.math == BP_MATH_DEFAULT && a_bits == 8));
    TileRequest request;
    request.batches = p.batches;
    request.rows = p.rows;
    request.depth = p.depth;
    request.columns = p.columns;
    request.type = p.type;
    request.math = to.plan.math;
    request.a_bits = a_bits;
    request.rounds = p.rounds;
    request.threads = to.plan.threads;
    request.shares_cores = to.plan.shares_cores;
    p.tiles = plan_tiles(to.kernels, request);
    if (p.tiles.used) {
        p.rounds = p.halves = false;
        p.chunk = p.tiles.chunk;
    }
    const auto chunks = [&](int64_t rows) {
        return p.batches * ((p.rows + rows - 1) / rows) * ((p.columns + to.kernels.conv.block - 1) / to.kernels.conv.block);
    };
    for (int64_t rows = kMostRowsOfChunk; (p.rounds || p.halves) && rows > p.chunk; rows /= 2)
        if (chunks(rows) >= kEnoughChunks) p.chunk = rows;
    return p;
}

// One block of columns of one matrix.
struct PackTask {
    const std::byte* plain = nullptr;  // the matrix
    std::byte* packed = nullptr;
    int64_t first = 0, valid = 0, width = 0;  // columns
};

// into[c * into_row + r] = from[r * from_row + c], floats.
CopyTask transposition(const void* from, int64_t from_row, void* into, int64_t into_row, int64_t rows, int64_t columns) {
    CopyTask task;
    task.from = from;
    task.into = into;
    task.from_outer = task.into_inner = 1;
    task.from_inner = from_row;
    task.into_outer = into_row;
    task.outer = columns;
    task.inner = rows;
    task.size = sizeof(float);
    return task;
}

void pack_floats(const Product& p, const MoveKernels& move, const PackTask& t) {
    const sdk::DTypeInfo type = sdk::dtype_info(p.b_dtype);
    auto* into = reinterpret_cast<float*>(t.packed);
    auto at = [&](int64_t element) { return t.plain + element / type.block * type.bytes; };
    if (p.transpose_b && p.b_dtype == BP_F32) {
        for (int64_t d = 0; t.valid < t.width && d < p.depth; ++d)
            std::fill_n(into + d * t.width + t.valid, t.width - t.valid, 0.0f);
        return move.transpose(transposition(at(t.first * p.depth), p.depth, into, t.width, t.valid, p.depth));
    }
    constexpr int64_t kPiece = 256;  // elements decoded at a time; a multiple of the blocks
    float piece[kPiece];
    for (int64_t c = 0; p.transpose_b && c < t.width; ++c)
        for (int64_t depth = 0; depth < p.depth; depth += kPiece) {
            const int64_t n = std::min(kPiece, p.depth - depth);
            if (c < t.valid) decode(at((t.first + c) * p.depth + depth), p.b_dtype, n, piece);
            for (int64_t d = 0; d < n; ++d) into[(depth + d) * t.width + c] = c < t.valid ? piece[d] : 0.0f;
        }
    for (int64_t d = 0; !p.transpose_b && d < p.depth; ++d) {
        float* row = into + d * t.width;
        std::fill(row + t.valid, row + t.width, 0.0f);
        decode(at(d * p.columns + t.first), p.b_dtype, t.valid, row);
    }
}

void pack_halves(const Product& p, const PackTask& t) {
    std::memset(t.packed, 0, static_cast<size_t>(p.depth * t.width) * sizeof(uint16_t));
    const int64_t depth_step = p.transpose_b ? 1 : p.columns;
    const int64_t column_step = p.transpose_b ? p.depth : 1;
    for (int64_t d = 0; d < p.depth; ++d)
        for (int64_t c = 0; c < t.valid; ++c)
            std::memcpy(t.packed + (d * t.width + c) * 2, t.plain + (d * depth_step + (t.first + c) * column_step) * 2,
                        sizeof(uint16_t));
}

void put(std::byte* at, int value) { *at = static_cast<std::byte>(value); }

// Bits of each four of 32 digits, from `shift` on, as words of one column (BlockForm); `into`: the column's first, words are `apart`.
void pack_bits(const std::array<int, 32>& digits, int shift, int bits, std::byte* into, int64_t apart) {
    for (size_t i = 0; i < digits.size(); ++i) {
        const auto quad = static_cast<int>(i / 4);
        std::byte& at = into[quad * bits / 8 * apart + static_cast<int64_t>(i % 4)];
        at |= static_cast<std::byte>((digits[i] >> shift & ((1 << bits) - 1)) << quad * bits % 8);
    }
}

// One column's part of a block (BlockForm), of zeros so far.
template <uint32_t kType>
void pack_block(const BlockForm& form, const std::byte* from, std::byte* into, int64_t c, int64_t width) {
    constexpr blocks::Facts kFacts = blocks::facts_of(kType);
    const blocks::Block<kType> block(from);
    std::memcpy(into + 2 * c, from + kFacts.scale, sizeof(uint16_t));
    if (form.leasts) {
        std::byte* least = into + 2 * (width + c);
        std::memcpy(least, from + kFacts.least, sizeof(uint16_t));
        if (form.group == 0) least[1] ^= std::byte{0x80};  // there it is added
    }
    into += form.factor_bytes() * width;
    if constexpr (kType == BP_Q8_0) {  // words as they are but for what they begin at
        for (int64_t quad = 0; quad < 8; ++quad) {
            uint32_t word = 0;
            std::memcpy(&word, from + 2 + 4 * quad, sizeof word);
            word ^= 0x80808080U;
            std::memcpy(into + 4 * (quad * width + c), &word, sizeof word);
        }
        return;
    }
    for (int part = 0; part < form.depth; part += 32, into += form.part_bytes() * width) {
        std::byte* row = into + c;
        for (int g = 0; form.group != 0 && g < form.groups(); ++g, row += form.group_rows() * width) {
            const int group = (part + g * form.group) / blocks::Block<kType>::kGroup;
            const int least = block.least_digit(group);
            put(row, block.scale_digit(group) | (form.paired ? least << 4 : 0));
            if (form.group_rows() == 2) put(row + width, least);
        }
        std::array<int, 32> digits{};
        for (int i = 0; i < 32; ++i) {
            const int digit = block.digit(part + i);
            digits[static_cast<size_t>(i)] =
                kType == BP_IQ4_NL || kType == BP_IQ4_XS
                    ? static_cast<int>(std::ranges::find(blocks::kIq4Digits, digit) - blocks::kIq4Digits)
                    : digit + form.middle;
        }
        std::byte* words = into + form.digits_at() * width + 4 * c;
        const int low = form.lower_bits();
        pack_bits(digits, 0, low, words, 4 * width);
        if (form.bits > low) pack_bits(digits, low, form.bits - low, words + 4 * low * width, 4 * width);
    }
}

decltype(&pack_block<BP_Q4_0>) pack_block_of(uint32_t dtype) {
    switch (dtype) {
        case BP_Q8_0: return pack_block<BP_Q8_0>;
        case BP_Q4_0: return pack_block<BP_Q4_0>;
        case BP_Q4_1: return pack_block<BP_Q4_1>;
        case BP_Q5_0: return pack_block<BP_Q5_0>;
        case BP_Q5_1: return pack_block<BP_Q5_1>;
        case BP_IQ4_NL: return pack_block<BP_IQ4_NL>;
        case BP_IQ4_XS: return pack_block<BP_IQ4_XS>;
        case BP_Q2_K: return pack_block<BP_Q2_K>;
        case BP_Q3_K: return pack_block<BP_Q3_K>;
        case BP_Q4_K: return pack_block<BP_Q4_K>;
        case BP_Q5_K: return pack_block<BP_Q5_K>;
        default: return pack_block<BP_Q6_K>;
    }
}

void pack_digits(const Product& p, const PackTask& t) {
    const sdk::DTypeInfo type = sdk::dtype_info(p.b_dtype);
    const BlockForm form = block_form(p.type);
    const auto pack_one = pack_block_of(p.b_dtype);
    const int64_t blocks = p.depth / form.depth;
    const int64_t packed = form.bytes() * t.width;
    std::memset(t.packed, 0, static_cast<size_t>(blocks * packed));
    for (int64_t block = 0; block < blocks; ++block)
        for (int64_t c = 0; c < t.valid; ++c)
            pack_one(form, t.plain + ((t.first + c) * blocks + block) * type.bytes, t.packed + block * packed, c, t.width);
}

void pack(const Product& p, const Kernels& k, const std::byte* plain, std::byte* out, ThreadPool& pool) {
    if (p.depth == 0) return;
    const sdk::DTypeInfo type = sdk::dtype_info(p.b_dtype);
    const int64_t blocks = (p.columns + k.conv.block - 1) / k.conv.block;
    pool.run(static_cast<uint32_t>(p.b_batches * blocks), [&](uint32_t i, std::byte*) {
        const int64_t batch = i / blocks;
        PackTask t;
        t.plain = plain + batch * p.depth * p.columns / type.block * type.bytes;
        t.first = i % blocks * k.conv.block;
        t.valid = std::min(k.conv.block, p.columns - t.first);
        t.width = padded_columns(t.valid, k.conv.lanes);
        t.packed = out + batch * p.b_bytes(k.conv.lanes) + t.first * packed_column_bytes(p.type, p.depth);
        if (p.type == kPackedF32) return pack_floats(p, k.move, t);
        if (block_form(p.type).depth != 0) return pack_digits(p, t);
        pack_halves(p, t);
    });
}

// Matrices of depth x rows become rows x depth.
void transpose_rows(const Run& run, const MoveKernels& move, const float* from, float* into, int64_t batches, int64_t rows,
                    int64_t depth) {
    constexpr int64_t kRows = 64;
    const int64_t bands = (rows + kRows - 1) / kRows;
    run.ranges(batches * bands, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, kRows * depth)),
               [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                       const int64_t matrix = i / bands * rows * depth;
                       const int64_t first = i % bands * kRows;
                       const int64_t count = std::min(kRows, rows - first);
                       move.transpose(
                           transposition(from + matrix + first, rows, into + matrix + first * depth, depth, depth, count));
                   }
               });
}

// A product as a step: where its values are, and what it does with them.
struct Multiplication {
    Product p;
    const Kernels* k = nullptr;
    const Plan* plan = nullptr;
    std::vector<PostOp> post;
    ValueId a = kNone, b = kNone, out = kNone;
    std::vector<int64_t> a_batch, b_batch;  // for each batch of the result: which matrix of a and b; empty: of one the first
    int64_t a_batches = 0;
    // What the left side becomes first, if anything.
    ValueId turned = kNone, fixed = kNone, rounded = kNone, halves = kNone, tiles = kNone, held = kNone;
    int64_t fixed_rows = 0, parts = 0, halves_row = 0, tile_numbers = 0;
    // Of a thread's scratch: a panel, then sums.
    int64_t panel = 0, sums = 0;

    Multiplication(Lowering& to, const Node& node);
    void operator()(const Run& run) const;

private:
    void prepare(const Run& run, const float* left) const;
    void make_tiles(const Run& run, const float* left) const;
    // What a thread does at a time.
    struct Part {
        int64_t batch, row, row_end, column, column_end;
    };
    void multiply(const Run& run, const float* left, Epilogue epilogue, const Part& part, std::byte* scratch) const;
    [[nodiscard]] bool holds_in_planes(const Run& run, int64_t left_batch, const Part& part) const;
    [[nodiscard]] Part part_of(const Run& run, int64_t i, int64_t at_once, int64_t row_chunks, int64_t column_chunks) const;
};

Multiplication::Multiplication(Lowering& to, const Node& node)
    : p(product_of(to, node)),
      k(&to.kernels),
      plan(&to.plan),
      post(node.post),
      a(node.inputs[0]),
      out(node.output),
      a_batch(batches_of(to[a], to[out].dim)),
      b_batch(batches_of(to[node.inputs[1]], to[out].dim)) {
    const ConvKernels* shape = &k->conv;
    const auto bytes = static_cast<uint64_t>(p.b_batches * p.b_bytes(shape->lanes));
    std::string kind;
    kind.reserve(96);
    kind += "matmul/";
    backend::append_number(kind, shape->lanes);
    kind += 'x';
    backend::append_number(kind, shape->block);
    for (const int64_t n : {int64_t{p.b_dtype}, int64_t{p.type}, p.b_batches, p.depth, p.columns, int64_t{p.transpose_b}}) {
        kind += ',';
        backend::append_number(kind, n);
    }
    b = to.packed(
        node.inputs[1], layout_id(kind), bytes,
        [p = p, k = k](const std::byte* plain, std::byte* packed, ThreadPool& pool) { pack(p, *k, plain, packed, pool); });
    panel = p.halves ? k->halves.panel_words : p.type != kPackedF32 ? k->matmul.panel_floats : 0;
    const bool in_parts = !p.rounds && !p.halves && p.depth > k->matmul.part_depth;
    sums = in_parts ? product_sums(std::min(p.chunk, p.rows), shape->block) : 0;
    to.lane_scratch(static_cast<uint64_t>(panel + sums) * sizeof(float));
    a_batches = to[a].elements() / std::max<int64_t>(1, p.rows * p.depth);
    parts = p.depth / 32;
    const auto scratch = [&](bool wanted, int64_t numbers, size_t size) {
        return wanted ? to.scratch(static_cast<uint64_t>(a_batches * numbers) * size) : kNone;
    };
    turned = p.transpose_a ? to.scratch(to[a].bytes) : kNone;
    fixed_rows = k->matmul.to_fixed_point != nullptr ? p.fixed_rows(k->matmul.multiplies_bytes) : 0;
    fixed = scratch(fixed_rows > 0, fixed_rows * parts, sizeof(FixedPoint));
    rounded = scratch(p.rounds, p.rows * parts, sizeof(RoundedPart));
    halves_row = (p.depth + 1) / 2 * 2;
    halves = scratch(p.halves, p.rows * halves_row, sizeof(uint16_t));
    if (!p.tiles.used) return;
    tile_numbers = split_numbers(p.rows, p.depth, p.tiles.a_planes);
    tiles = scratch(true, tile_numbers, sizeof(uint16_t));
    held = scratch(true, whole_tiles(p.rows, kTileRows), sizeof(uint8_t));
    const int64_t rows = whole_tiles(std::min(p.chunk, p.rows), kTileRows) * kTileRows;
    to.lane_scratch(static_cast<uint64_t>(k->tiles.scratch_bytes + kMostTileBlocks * rows * k->tiles.row_bytes));
}

void Multiplication::make_tiles(const Run& run, const float* left) const {
    const int64_t count = whole_tiles(p.rows, kTileRows);
    const int64_t of_tile = tile_numbers / count;
    run.ranges(a_batches * count, std::max<int64_t>(1, 4096 / (kTileRows * p.depth)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t row = i % count * kTileRows;
            run.at<uint8_t>(held)[i] =
                k->tiles.split(left + (i / count * p.rows + row) * p.depth, std::min(kTileRows, p.rows - row), p.depth,
                               p.depth, p.tiles.a_planes, run.at<uint16_t>(tiles) + i * of_tile)
                    ? 1
                    : 0;
        }
    });
}

// What the left side becomes first.
void Multiplication::prepare(const Run& run, const float* left) const {
    for (int64_t i = 0; i < a_batches && fixed_rows > 0; ++i)
        run.ranges(fixed_rows * parts, 64, [&](int64_t begin, int64_t end) {
            const float* from = left + ((i + 1) * p.rows - fixed_rows) * p.depth;
            k->matmul.to_fixed_point(p.type, from + begin * 32, end - begin,
                                     run.at<FixedPoint>(fixed) + i * fixed_rows * parts + begin);
        });
    if (p.rounds)
        run.ranges(a_batches * p.rows * parts, 64, [&](int64_t begin, int64_t end) {
            k->matmul.round(p.type, left + begin * 32, end - begin, run.at<RoundedPart>(rounded) + begin);
        });
    if (p.halves)
        run.ranges(a_batches * p.rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, p.depth)),
                   [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i)
                           k->halves.round(left + i * p.depth, p.depth, run.at<uint16_t>(halves) + i * halves_row);
                   });
    if (p.tiles.used) make_tiles(run, left);
}

// All rows by some blocks of columns, then by the next: the weights are read from memory once, whatever the rows are.
void Multiplication::multiply(const Run& run, const float* left, Epilogue epilogue, const Part& part,
                              std::byte* scratch) const {
    const int64_t block = k->conv.block;
    const auto batch_of = [&](const std::vector<int64_t>& of) {
        return of.empty() ? 0 : of[static_cast<size_t>(part.batch)];
    };
    const int64_t left_batch = batch_of(a_batch);
    const std::byte* right = run.at<std::byte>(b) + batch_of(b_batch) * p.b_bytes(k->conv.lanes);
    for (int32_t o = 0; o < epilogue.count; ++o)
        if (epilogue.ops[o].kind == kEpilogueAdd) epilogue.ops[o].data += part.batch * p.rows * p.columns;
    const auto common = [&](auto& task) {
        task.out = run.at<float>(out) + part.batch * p.rows * p.columns;
        task.out_row = p.columns;
        task.depth = p.depth;
        task.columns = p.columns;
        task.epilogue = epilogue;
    };
    uint32_t missing = ~0U;
    if (p.tiles.used && holds_in_planes(run, left_batch, part)) {
        TilesTask task;
        common(task);
        task.a = run.at<uint16_t>(tiles) + left_batch * tile_numbers;
        task.a_planes = p.tiles.a_planes;
        task.b_planes = p.tiles.b_planes;
        task.exact = p.tiles.exact;
        task.type = p.type;
        task.b = right;
        task.decode = k->matmul.decode;
        task.scratch = reinterpret_cast<uint8_t*>(scratch);
        missing = k->tiles.run(task, part.row, part.row_end, part.column, part.column_end);
    }
    if (p.halves) {
        HalvesTask task;
        common(task);
        task.a = run.at<uint16_t>(halves) + left_batch * p.rows * halves_row;
        task.a_row = halves_row;
        task.b = reinterpret_cast<const uint16_t*>(right);
        task.panel = reinterpret_cast<uint32_t*>(scratch);
        return k->halves.run(task, part.row, part.row_end, part.column, part.column_end);
    }
    MatMulTask task;
    common(task);
    task.a = left + left_batch * p.rows * p.depth;
    task.a_row = p.depth;
    task.type = p.type;
    task.b = right;
    if (fixed_rows > 0) task.fixed = run.at<FixedPoint>(fixed) + left_batch * fixed_rows * parts;
    task.first_fixed = p.rows - fixed_rows;
    if (p.rounds) task.rounded = run.at<RoundedPart>(rounded) + left_batch * p.rows * parts;
    task.panel = reinterpret_cast<float*>(scratch);
    if (sums > 0) task.sums = task.panel + panel;
    for (int64_t column = part.column; column < part.column_end; column += block, missing >>= 1)
        if ((missing & 1) != 0)
            k->matmul.run(task, part.row, part.row_end, column, std::min(column + block, part.column_end));
}

bool Multiplication::holds_in_planes(const Run& run, int64_t left_batch, const Part& part) const {
    const uint8_t* of_tile = run.at<uint8_t>(held) + left_batch * whole_tiles(p.rows, kTileRows);
    return !p.tiles.exact || std::all_of(of_tile + part.row / kTileRows, of_tile + whole_tiles(part.row_end, kTileRows),
                                         [](uint8_t holds) { return holds != 0; });
}

Multiplication::Part Multiplication::part_of(const Run& run, int64_t i, int64_t at_once, int64_t row_chunks,
                                             int64_t column_chunks) const {
    const bool whole = p.tiles.used && by_whole_depth(p.type, p.tiles.exact, p.depth);
    const int64_t width = at_once * k->conv.block;
    Part part{};
    part.batch = i / (row_chunks * column_chunks);
    // Of whole depths a thread's next part has the same rows, which its second-level cache holds.
    const int64_t rows = whole ? i / column_chunks % row_chunks : i % row_chunks;
    const int64_t columns = whole ? i % column_chunks : i / row_chunks % column_chunks;
    part.row = rows * p.chunk;
    part.row_end = std::min(p.rows, part.row + p.chunk);
    part.column = columns * width;
    part.column_end = std::min(p.columns, part.column + width);
    // Of four parts next to each other the last are the least, for all threads wait for the last part of all.
    constexpr std::array<int64_t, 5> kEighths = {0, 4, 6, 7, 8};
    if (const int64_t first = columns / 4 * 4 * width; whole && run.pool().threads() > 1 && first + 4 * width <= p.columns) {
        part.column = first + kEighths[static_cast<size_t>(columns % 4)] * width / 2;
        part.column_end = first + kEighths[static_cast<size_t>(columns % 4) + 1] * width / 2;
    }
    return part;
}

void Multiplication::operator()(const Run& run) const {
    const float* left = run.at<float>(a);
    if (p.transpose_a) {
        transpose_rows(run, k->move, left, run.at<float>(turned), a_batches, p.rows, p.depth);
        left = run.at<float>(turned);
    }
    prepare(run, left);
    const Epilogue epilogue = epilogue_of(post, *plan, run, p.columns);
    const int64_t batches = p.batches;
    const int64_t row_chunks = whole_tiles(p.rows, p.chunk);
    const int64_t blocks = whole_tiles(p.columns, k->conv.block);
    // Several blocks of columns at a time spare the unit much of the left side's way, where that leaves each thread two parts. Where sides are rounded
    // and threads are many it has four: a core with a neighbour takes up to four times as long for tiles as another.
    const bool whole = p.tiles.used && by_whole_depth(p.type, p.tiles.exact, p.depth);
    const int64_t most = !p.tiles.used ? 1 : whole ? blocks : kMostTileBlocks;
    const int64_t parts_of_thread = p.tiles.used && !p.tiles.exact && row_chunks > 1 ? 4 : 2;
    const int64_t at_once =
        std::clamp<int64_t>(batches * row_chunks * blocks / (parts_of_thread * run.pool().threads()), 1, most);
    const int64_t column_chunks = whole_tiles(blocks, at_once);
    run.parallel(batches * row_chunks * column_chunks, [&](uint32_t i, std::byte* scratch) {
        multiply(run, left, epilogue, part_of(run, i, at_once, row_chunks, column_chunks), scratch);
    });
}

void lower(Lowering& to, const Node& node) {
    if (to[node.output].elements() == 0) return;
    Multiplication work(to, node);
    std::vector<ValueId> reads;
    reads.reserve(node.post.size() + 2);
    for (const PostOp& post : node.post)
        if (post.value != kNone) reads.push_back(post.value);
    reads.insert(reads.end(), {work.a, work.b});
    std::string label;
    label.reserve(96);
    label += "MatMul ";
    to[work.a].append_text(label);
    label += " x ";
    to[node.inputs[1]].append_text(label);
    label += epilogue_text(node);
    if (work.p.tiles.used) label += ", tiles";
    to.step(std::move(label), std::move(reads), {node.output}, std::move(work));
}

constexpr OpLowering table[] = {{BP_OP_matmul, Types::computes, Wants::row_major, 1u << 1, check, lower}};

}  // namespace

const OpFamily ops_matmul = {table, std::size(table)};

}  // namespace backplane::cpu::ops::matmul
