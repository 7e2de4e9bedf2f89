// clang-format off
// One record a line; the languages of kernels read this too.
// The parameters of each kernel, one text for C++, which fills them in, and for the languages of kernels, which read them: no positions. Every
// field is a word of 4 bytes. A kernel reads P.field; lists (WORDS) come last and are read by position, WORD(NAME_FIELD + i), because the elements
// of an array in a uniform buffer would lie 16 bytes apart. C++ asserts that these positions are those of the fields.
#if defined(__cplusplus)
#define RECORD(name) struct name##Parameters { using Self = name##Parameters;
#define UINT(name) uint32_t name;
#define FLOAT(name) float name;
#define WORDS(name, count, at) uint32_t name[count]; static void check_##name() { static_assert(offsetof(Self, name) == (at) * sizeof(uint32_t)); }
#else
#define RECORD(name) struct name##Parameters {
#define UINT(name) uint name;
#define FLOAT(name) float name;
#if !defined(WORDS)
#define WORDS(name, count, at)
#endif
#endif
#define END_RECORD };

// The most that a kernel is told.
#define PARAMETER_WORDS 64u
#define MOST_OPERANDS 9u

// What is done with a sum before it is stored: at most six steps, a count and then for each its kind and two numbers.
#define EPILOGUE_STEPS 6u
#define EPILOGUE_NONE 0xffffffffu
#define EPILOGUE_BIAS 0u
#define EPILOGUE_RELU 1u
#define EPILOGUE_LEAKY 2u
#define EPILOGUE_CLIP 3u
#define EPILOGUE_SCALE 4u
#define EPILOGUE_ADD_FIRST 5u
#define EPILOGUE_ADD_SECOND 6u
#define EPILOGUE_FUNCTION 7u

// Loops over up to 8 axes: their count, sizes, and the strides of each operand.
#define NEST_SIZES 1u
#define NEST_STRIDES 9u
#define NEST_SECOND_STRIDES 17u
#define NEST_THIRD_STRIDES 25u

// Per group: outputs, channels. kernel_w, stride_w and so on are along a row of the map, kernel_d from one of its planes to the next.
#define CONVOLUTION                                                                                                   \
    UINT(outputs) UINT(channels) UINT(groups) UINT(height) UINT(width) UINT(out_height) UINT(out_width) UINT(kernel_h) \
    UINT(kernel_w) UINT(stride_h) UINT(stride_w) UINT(pad_top) UINT(pad_left) UINT(dilation_h) UINT(dilation_w)       \
    UINT(planes) UINT(out_planes) UINT(kernel_d) UINT(stride_d) UINT(pad_front) UINT(dilation_d)

#define CONV_EPILOGUE 22u
RECORD(Conv) CONVOLUTION UINT(blocks) END_RECORD  // of output channels: workgroups beside each other for one patch of pixels
RECORD(ConvDepthwise) CONVOLUTION UINT(elements) END_RECORD
// What convolutions multiply as they read it (ops/conv_windows.hpp).
#define CONV_TAKES_GATED 1u
#define CONV_TAKES_MASK 2u
RECORD(ConvFilters) UINT(outputs) UINT(channels) UINT(taps) UINT(down) UINT(slices) UINT(blocks) UINT(tiles) END_RECORD

#define MATMUL_SIZES 6u
#define MATMUL_STEPS_A 14u
#define MATMUL_STEPS_B 22u
#define MATMUL_EPILOGUE 30u
// scales: how many spans a right-hand side in blocks has, each with its own (planes.h).
RECORD(MatMul) UINT(rows) UINT(columns) UINT(depth) UINT(blocks) UINT(scales) UINT(batch_rank) WORDS(sizes, 8, MATMUL_SIZES) WORDS(steps_a, 8, MATMUL_STEPS_A) WORDS(steps_b, 8, MATMUL_STEPS_B) END_RECORD

// Words that are made of columns of `depth` elements each.
RECORD(SplitBlocks) UINT(elements) UINT(type) UINT(depth) UINT(spans_of_column) UINT(scales) END_RECORD

// gated: where in a pair of halves that of the function lies.
RECORD(Gated) UINT(elements) UINT(half_size) UINT(gated) FLOAT(a) FLOAT(b) END_RECORD
// A chain of element-wise ops: where the elements of its first operand lie (inner, count: chain.hpp), then three words for each step: the op, which
// of the other operands it reads (0: none) and whether that is its first one; then a and b of the op, or inner and count of that operand.
#define CHAIN_STEPS 16u
#define CHAIN_OTHERS 7u
#define CHAIN_LIST 4u
#define CHAIN_STEP_WORDS 3u
#define CHAIN_OTHER_SHIFT 16u
#define CHAIN_FIRST 0x1000000u
RECORD(Chain) UINT(elements) UINT(steps) UINT(inner) UINT(count) WORDS(list, 48, CHAIN_LIST) END_RECORD
RECORD(Unary) UINT(elements) FLOAT(a) FLOAT(b) END_RECORD
// Which op is a parameter where it only steers a branch: each value of a constant is a kernel to build. Bounds of Clip: two words each for i64.
#define UNARY_INTEGER_BOUNDS 2u
RECORD(UnaryInteger) UINT(elements) UINT(op) WORDS(bounds, 4, UNARY_INTEGER_BOUNDS) END_RECORD
// truncates: of Mod, with the sign of the first operand.
#define BINARY_NEST 3u
RECORD(Binary) UINT(elements) UINT(op) UINT(truncates) WORDS(nest, 25, BINARY_NEST) END_RECORD
// flags: infinities that IsInf looks for.
#define JUDGE_NEGATIVE 1u
#define JUDGE_POSITIVE 2u
#define JUDGE_NEST 3u
RECORD(Judge) UINT(elements) UINT(op) UINT(flags) WORDS(nest, 25, JUDGE_NEST) END_RECORD
#define WHERE_NEST 1u
RECORD(Where) UINT(elements) WORDS(nest, 33, WHERE_NEST) END_RECORD
#define COPY_NEST 3u
RECORD(Copy) UINT(elements) UINT(first_x) UINT(first_y) WORDS(nest, 25, COPY_NEST) END_RECORD
// The axes that stay, then those that are summed over.
#define REDUCE_KEPT 3u
#define REDUCE_SUMMED 20u
RECORD(Reduce) UINT(results) UINT(n) UINT(op) WORDS(kept, 17, REDUCE_KEPT) WORDS(summed, 17, REDUCE_SUMMED) END_RECORD
// mode: BP_PAD_*, or that of Tile, where the operand begins anew behind its end.
#define PAD_TILE 3u
#define PAD_SIZES 5u
#define PAD_EXTENTS 13u
#define PAD_BEFORE 21u
RECORD(Pad) UINT(elements) UINT(mode) UINT(value_low) UINT(value_high) UINT(rank) WORDS(sizes, 8, PAD_SIZES) WORDS(extents, 8, PAD_EXTENTS) WORDS(before, 8, PAD_BEFORE) END_RECORD
// Elements along the axis, `stride` apart. The nest: places in the operand but for what the index says, and of the index.
#define GATHER_NEST 4u
RECORD(Gather) UINT(elements) UINT(stride) UINT(extent) UINT(index_words) WORDS(nest, 25, GATHER_NEST) END_RECORD
// Fours of the result; stride: columns from one index to the next. The nest is over columns.
#define GATHER_BLOCKS_NEST 6u
RECORD(GatherBlocks) UINT(elements) UINT(stride) UINT(extent) UINT(index_words) UINT(depth) UINT(scales) WORDS(nest, 25, GATHER_BLOCKS_NEST) END_RECORD
// which: the bounds that an axis has.
#define DYNAMIC_SLICE_SIZES 4u
#define DYNAMIC_SLICE_EXTENTS 12u
#define DYNAMIC_SLICE_STEPS 20u
#define DYNAMIC_SLICE_WHICH 28u
RECORD(DynamicSlice) UINT(elements) UINT(rank) UINT(ended) UINT(bound_words) WORDS(sizes, 8, DYNAMIC_SLICE_SIZES) WORDS(extents, 8, DYNAMIC_SLICE_EXTENTS) WORDS(steps, 8, DYNAMIC_SLICE_STEPS) WORDS(which, 8, DYNAMIC_SLICE_WHICH) END_RECORD
RECORD(OneHot) UINT(elements) UINT(inner) UINT(depth) UINT(index_words) END_RECORD
RECORD(Range) UINT(elements) END_RECORD
// before, after, cell, reached, update: rows of the result. functions: of two directions, three each.
#define RECURRENT_CELLS 0u    // a state beside the one that is shown
#define RECURRENT_BEHIND 1u   // the reset gate behind the product
#define RECURRENT_GATES 2u    // update and reset, then
#define RECURRENT_CONTENT 3u  // the rest
#define RECURRENT_FUNCTIONS 17u
RECORD(Recurrent) UINT(hidden) UINT(batch) UINT(blocks) UINT(directions) UINT(steps) UINT(step) UINT(reverse) UINT(biased) UINT(peeps) UINT(length_words) UINT(input_forget) FLOAT(clip) UINT(before) UINT(after) UINT(cell) UINT(reached) UINT(update) WORDS(functions, 6, RECURRENT_FUNCTIONS) END_RECORD
RECORD(RecurrentBegin) UINT(elements) UINT(before) UINT(cells) UINT(cell) UINT(given) END_RECORD
// n elements, `stride` apart, of each line.
RECORD(CumSum) UINT(lines) UINT(n) UINT(stride) UINT(exclusive) UINT(reverse) END_RECORD
// The first k of each line of n elements, `stride` apart; smallest: the order is that way round; last: of equal ones the last comes first.
RECORD(Order) UINT(lines) UINT(n) UINT(stride) UINT(k) UINT(smallest) UINT(last) END_RECORD
// In elements but `rows`; blocks: stretches of a sample that positions count in.
RECORD(Scatter) UINT(elements) UINT(inner) UINT(rows) UINT(extent) UINT(blocks) UINT(position_words) END_RECORD
// width: axes that an index names; op: of a reduction.
#define SCATTER_ND_EXTENTS 5u
#define SCATTER_ND_STRIDES 13u
RECORD(ScatterND) UINT(elements) UINT(inner) UINT(width) UINT(index_words) UINT(op) WORDS(extents, 8, SCATTER_ND_EXTENTS) WORDS(strides, 8, SCATTER_ND_STRIDES) END_RECORD
// Of three axes each, the outer ones of extent 1 where maps have fewer.
#define POOL_EXTENTS 4u
#define POOL_RESULTS 7u
#define POOL_WINDOW 10u
#define POOL_STEPS 13u
#define POOL_BEFORE 16u
#define POOL_AFTER 19u
#define POOL_DILATIONS 22u
RECORD(Pool) UINT(elements) UINT(average) UINT(counts_pads) UINT(first_is_innermost) WORDS(extents, 3, POOL_EXTENTS) WORDS(results, 3, POOL_RESULTS) WORDS(window, 3, POOL_WINDOW) WORDS(steps, 3, POOL_STEPS) WORDS(before, 3, POOL_BEFORE) WORDS(after, 3, POOL_AFTER) WORDS(dilations, 3, POOL_DILATIONS) END_RECORD
RECORD(Resize) UINT(elements) UINT(planes_in) UINT(rows_in) UINT(columns_in) UINT(planes_out) UINT(rows_out) UINT(columns_out) END_RECORD
RECORD(GridSample) UINT(elements) UINT(places) UINT(channels) UINT(axes) UINT(planes) UINT(rows) UINT(columns) UINT(nearest) UINT(cubic) UINT(zeros) UINT(reflects) UINT(corners) END_RECORD
// scale: a float64 as its words. index_words: of a batch.
RECORD(RoiAlign) UINT(elements) UINT(batches) UINT(channels) UINT(rows) UINT(columns) UINT(rows_out) UINT(columns_out) UINT(ratio) UINT(largest) UINT(asymmetric) UINT(scale_low) UINT(scale_high) UINT(index_words) END_RECORD
RECORD(Softmax) UINT(rows) UINT(n) UINT(stride) UINT(logarithm) END_RECORD
// pairs: heads of k in all, of which a batch has `heads`; rows: queries that share one of them. masked: 0: not; strides of the mask are in
// elements. sharing: pairs that share a head of k: more than 1 only where a pair is one head of q. padded: queries stand by the number
// of keys, not by the length. distances: rows of relative positions; added: ATTENTION_BIAS_U and so on.
#define MASKED_BY_NUMBERS 1u
#define MASKED_BY_TRUTHS 2u
#define ATTENTION_BIAS_U 1u
#define ATTENTION_BIAS_V 2u
RECORD(Attention) UINT(pairs) UINT(blocks) UINT(rows) UINT(queries) UINT(heads) UINT(keys) UINT(depth) UINT(width) FLOAT(scale) FLOAT(softcap) UINT(causal) UINT(window) UINT(length_words) UINT(masked) UINT(mask_batch) UINT(mask_head) UINT(mask_query) UINT(mask_key) UINT(sharing) UINT(padded) UINT(distances) UINT(added) END_RECORD
// Behind the record, for attention_warpgroup: how q, k, v and the result lie, four words each, in elements.
#define ATTENTION_VIEWS 22u
#define VIEW_ROW 0u    // from one row to the next,
#define VIEW_HEAD 1u   // head
#define VIEW_BATCH 2u  // and batch
#define VIEW_FIRST 3u  // from the operand's begin
// lines: of keys, of all pairs, then of positions, of all heads. sharing: as above. key_row and so on: how k lies, as there.
RECORD(AttentionBiases) UINT(lines) UINT(keys) UINT(heads) UINT(sharing) UINT(distances) UINT(depth) UINT(pairs) UINT(added) UINT(key_row) UINT(key_head) UINT(key_batch) UINT(key_first) END_RECORD
RECORD(RotaryEmbedding) UINT(elements) UINT(size) UINT(pairs) UINT(tokens) UINT(heads) UINT(heads_first) UINT(interleaved) UINT(rows) UINT(position_words) END_RECORD
#define NORM_CENTRED 1u
#define NORM_SCALE 2u
#define NORM_BIAS 4u
RECORD(Norm) UINT(rows) UINT(n) FLOAT(epsilon) UINT(flags) UINT(groups) UINT(per_row) UINT(divisor) END_RECORD
RECORD(BatchNorm) UINT(elements) UINT(channels) UINT(pixels) FLOAT(epsilon) END_RECORD
#define CAST_ANY 255u  // in place of a type that only the parameters know
RECORD(Cast) UINT(elements) UINT(from) UINT(to) END_RECORD
RECORD(Peak) UINT(rounds) END_RECORD
