/* The op table: ids, names, attributes. Part of the module ABI: numbers are never reused, a changed meaning is a new id.
 *
 * Names and meaning follow ONNX where ONNX has the op (opset 13 unless said otherwise); differences are stated here. What an op
 * means to the last detail is its description in backplane/ops/ and its float64 reference in src/graph/ops/. Adding an op: one line here,
 * src/graph/ops/NAME.cpp, its conformance cases in src/conformance/NAME.cpp, and the kernels of the backends that want it.
 *
 * Axes count from 0; a negative axis is not allowed in a graph (the builder normalises). Broadcasting is numpy's. */
#ifndef BACKPLANE_OPS_H
#define BACKPLANE_OPS_H

/* X(id, identifier, "Name") */
#define BP_OPS(X)                                                                                                          \
    /* Conv: x[N,C,H,W], w[O,C/group,kh,kw], b[O]? -> [N,O,H',W']. strides[2], pads[4] = top left bottom right,            \
     * dilations[2], group. Cross-correlation, zero padding. */                                                            \
    X(1, conv, "Conv")                                                                                                     \
    /* MatMul: a[...,M,K], b[...,K,N] -> [...,M,N], numpy batching (batch axes broadcast), ranks 2 and up. transpose_a and \
     * transpose_b swap the last two axes. b may be of blocks when transpose_b is set (they run along K). */               \
    X(2, matmul, "MatMul")                                                                                                 \
    /* ConvTranspose: x[N,C,...], w[C,O/group,...], b[O]?; as Conv and output_padding. ONNX 22 */                           \
    X(3, conv_transpose, "ConvTranspose")                                                                                  \
    /* unary, element-wise */                                                                                              \
    X(10, abs, "Abs")                                                                                                      \
    X(11, neg, "Neg")                                                                                                      \
    X(12, exp, "Exp")                                                                                                      \
    X(13, log, "Log")                                                                                                      \
    X(14, sqrt, "Sqrt")                                                                                                    \
    X(15, reciprocal, "Reciprocal")                                                                                        \
    X(16, erf, "Erf")                                                                                                      \
    X(17, sin, "Sin")                                                                                                      \
    X(18, cos, "Cos")                                                                                                      \
    X(19, relu, "Relu")                                                                                                    \
    X(20, leaky_relu, "LeakyRelu") /* alpha */                                                                             \
    X(21, sigmoid, "Sigmoid")                                                                                              \
    X(22, tanh, "Tanh")                                                                                                    \
    X(23, gelu, "Gelu") /* approximate: 0 erf, 1 tanh */                                                                   \
    X(24, silu, "Silu") /* x * sigmoid(x) */                                                                               \
    X(25, softplus, "Softplus")                                                                                            \
    X(26, clip, "Clip") /* least, most (attributes) */                                                                     \
    X(27, floor, "Floor")                                                                                                  \
    X(28, ceil, "Ceil")                                                                                                    \
    X(29, round, "Round") /* halves to the even number */                                                                  \
    X(30, sign, "Sign")                                                                                                    \
    X(31, elu, "Elu")                  /* alpha */                                                                         \
    X(32, selu, "Selu")                /* alpha, gamma */                                                                  \
    X(33, hard_sigmoid, "HardSigmoid") /* alpha, beta */                                                                   \
    X(34, hard_swish, "HardSwish")     /* x * HardSigmoid(x) with alpha 1/6, beta 1/2 */                                   \
    X(35, mish, "Mish")                /* x * tanh(ln(1 + e^x)) */                                                         \
    /* unary, element-wise, to bool */                                                                                     \
    X(36, is_nan, "IsNaN")                                                                                                 \
    X(37, is_inf, "IsInf")    /* detect_negative, detect_positive */                                                       \
    X(38, logical_not, "Not") /* of bool */                                                                                \
    /* binary, element-wise, broadcast */                                                                                  \
    X(40, add, "Add")                                                                                                      \
    X(41, sub, "Sub")                                                                                                      \
    X(42, mul, "Mul")                                                                                                      \
    X(43, div, "Div")                                                                                                      \
    X(44, pow, "Pow")                                                                                                      \
    X(45, max, "Max") /* two inputs */                                                                                     \
    X(46, min, "Min") /* two inputs */                                                                                     \
    X(47, mod, "Mod")       /* fmod: 0, of whole numbers: with the sign of b; 1: with that of a, as C's fmod */            \
    X(48, p_relu, "PRelu")  /* x, slope, which broadcasts to x */                                                          \
    /* binary, element-wise, broadcast, to bool; a comparison with NaN is false */                                         \
    X(49, equal, "Equal") /* of bool too */                                                                                \
    X(50, less, "Less")                                                                                                    \
    X(51, less_or_equal, "LessOrEqual")                                                                                    \
    X(52, greater, "Greater")                                                                                              \
    X(53, greater_or_equal, "GreaterOrEqual")                                                                              \
    X(54, logical_and, "And") /* of bool, as the next two */                                                               \
    X(55, logical_or, "Or")                                                                                                \
    X(56, logical_xor, "Xor")                                                                                              \
    /* moving data; any element type but the block types */                                                                \
    X(60, concat, "Concat")       /* one or more inputs; axis */                                                           \
    X(61, slice, "Slice")         /* starts[r], ends[r], steps[r] as attributes over all r axes; steps >= 1 */             \
    X(62, pad, "Pad")             /* pads[2r] = before all axes, then after; mode BP_PAD_*; value */                       \
    X(63, reshape, "Reshape")     /* shape[r'] as attribute: final numbers */                                              \
    X(64, transpose, "Transpose") /* perm[r] */                                                                            \
    X(65, gather, "Gather")       /* x, indices (i32 or i64; negative counts from the end); axis; blocks to f32     */     \
    X(66, cast, "Cast")           /* to: BP_F32 ...; among integers the lowest bits stay; float to integer truncates and   \
                                     saturates, NaN gives 0; to a smaller float rounds to nearest even; blocks decode */    \
    X(67, depth_to_space, "DepthToSpace") /* blocksize, mode BP_DTS_* */                                                   \
    X(68, resize, "Resize")               /* x[N,C,...]; sizes: of H, W or alike; mode BP_RESIZE_*; coordinates BP_COORDINATES_* */ \
    X(69, tensor_scatter, "TensorScatter") /* cache[N,...], update, positions[N]? (i32 or i64); axis, mode BP_SCATTER_* */   \
    X(70, split, "Split")                  /* axis, sizes: one output for each, the extents of x along the axis in turn */   \
    X(71, where, "Where")                  /* condition (bool), x, y, broadcast: x where it holds, else y */                 \
    X(72, expand, "Expand")       /* shape[r'] as attribute: that of the result, to which x broadcasts */                  \
    X(73, tile, "Tile")           /* repeats[r] */                                                                         \
    X(74, gather_elements, "GatherElements") /* x, indices (i32 or i64; negative counts from the end), of the same rank; axis */ \
    X(75, one_hot, "OneHot")      /* indices (i32 or i64), values[2] = off, on; depth, axis of the result */               \
    X(76, range, "Range")         /* start, delta (scalars); count: start + i * delta */                                   \
    X(77, space_to_depth, "SpaceToDepth") /* blocksize */                                                                  \
    X(78, scatter_nd, "ScatterND") /* data, indices (i32 or i64; negative counts from the end), updates; reduction. ONNX 18 */ \
    X(79, grid_sample, "GridSample") /* x[N,C,...], grid[N,...,axes] from -1 to 1; mode BP_SAMPLE_*, padding_mode, align_corners. ONNX 20 */ \
    /* normalisation and reduction */                                                                                      \
    X(80, softmax, "Softmax")      /* axis */                                                                              \
    X(81, layer_norm, "LayerNorm") /* x, scale?, bias? (shape of x from axis on); axis, epsilon */                         \
    X(82, rms_norm, "RMSNormalization") /* x, scale?; axis, epsilon: x / sqrt(mean(x^2) + epsilon) * scale */              \
    X(83, batch_norm, "BatchNorm") /* x[N,C,...], scale[C], bias[C], mean[C], variance[C]; epsilon */                      \
    X(84, group_norm, "GroupNorm") /* x[N,C,...], scale[C]?, bias[C]?; groups, epsilon */                                  \
    X(85, log_softmax, "LogSoftmax") /* axis */                                                                            \
    X(86, instance_norm, "InstanceNorm") /* x[N,C,...], scale[C], bias[C]; epsilon */                                      \
    X(90, reduce_sum, "ReduceSum") /* axes (ascending; empty: all), keepdims */                                            \
    X(91, reduce_mean, "ReduceMean")                                                                                       \
    X(92, reduce_max, "ReduceMax")                                                                                         \
    X(93, reduce_min, "ReduceMin")                                                                                         \
    X(94, reduce_prod, "ReduceProd")                                                                                       \
    X(95, reduce_l1, "ReduceL1") /* sum of |x| */                                                                          \
    X(96, reduce_l2, "ReduceL2") /* square root of the sum of squares */                                                   \
    X(97, reduce_sum_square, "ReduceSumSquare")                                                                            \
    X(98, reduce_log_sum_exp, "ReduceLogSumExp") /* ln of the sum of e^x */                                                \
    X(99, cum_sum, "CumSum") /* axis, exclusive, reverse */ \
    /* positions along an axis, as i64; NaN comes before all numbers */                                                    \
    X(100, arg_max, "ArgMax") /* axis, keepdims, select_last_index */                                                      \
    X(101, arg_min, "ArgMin")                                                                                              \
    X(102, top_k, "TopK") /* axis, k, largest, sorted: values, indices */ \
    /* pooling of feature maps x[N, C, ...] */                                                                             \
    X(103, global_average_pool, "GlobalAveragePool")                                                                       \
    X(104, max_pool, "MaxPool") /* kernel_shape, strides, pads, dilations, ceil_mode */                                    \
    X(105, average_pool, "AveragePool") /* the same, count_include_pad */ \
    /* Attention: q[N,H,T,D], k[N,K,S,D], v[N,K,S,E], mask?, lengths[N]?, and relative positions: positions[H,R,D]?, */ \
    /* pos_bias_u[H,D]?, pos_bias_v[H,D]?; causal, window, scale, softcap, padded. ONNX 24 */ \
    X(110, attention, "Attention") \
    X(111, rotary_embedding, "RotaryEmbedding") /* x, cos, sin, positions?; interleaved, num_heads, rotary_embedding_dim. ONNX 23 */ \
    /* recurrent, over the whole sequence x[T,N,I] (layout 1: [N,T,I]); d: directions. ONNX 22 */ \
    X(112, lstm, "LSTM") /* x, w[d,4H,I], r[d,4H,H], b[d,8H]?, sequence_lens[N]?, initial_h?, initial_c?, p[d,3H]?: y, y_h, y_c */ \
    X(113, gru, "GRU") /* x, w[d,3H,I], r[d,3H,H], b[d,6H]?, sequence_lens[N]?, initial_h?: y, y_h; linear_before_reset */ \
    /* moving data, too */ \
    X(114, dynamic_slice, "DynamicSlice") /* x, starts[k], ends[k]? (i32 or i64); axes, sizes, steps: Slice 13 in a result of these sizes */ \
    /* pooling, too */ \
    X(115, max_pool_indices, "MaxPoolIndices") /* as MaxPool, and storage_order: where in x[N, C, ...] its results lie, as i64. ONNX MaxPool 22 */ \
    X(116, roi_align, "RoiAlign") /* x[N,C,H,W], rois[R,4], batch_indices[R] (i32 or i64); sizes, mode BP_ROI_*, sampling_ratio, scale, coordinates. ONNX 22 */

/* X(id, identifier, type, "name"): type is INT, FLOAT or INTS. The default holds when a node does not state it. */
#define BP_ATTRIBUTES(X)                                                                                                   \
    X(1, strides, INTS, "strides")     /* default 1 1 */                                                                   \
    X(2, pads, INTS, "pads")           /* default 0 */                                                                     \
    X(3, dilations, INTS, "dilations") /* default 1 1 */                                                                   \
    X(4, group, INT, "group")          /* default 1 */                                                                     \
    X(5, transpose_a, INT, "transpose_a")                                                                                  \
    X(6, transpose_b, INT, "transpose_b")                                                                                  \
    X(7, alpha, FLOAT, "alpha") /* default: the op's own */                                                                \
    X(8, approximate, INT, "approximate")                                                                                  \
    X(9, least, FLOAT, "least") /* default -inf */                                                                         \
    X(10, most, FLOAT, "most")  /* default +inf */                                                                         \
    X(11, axis, INT, "axis")                                                                                               \
    X(12, starts, INTS, "starts")                                                                                          \
    X(13, ends, INTS, "ends")                                                                                              \
    X(14, steps, INTS, "steps") /* default 1 */                                                                            \
    X(15, mode, INT, "mode")                                                                                               \
    X(16, value, FLOAT, "value")                                                                                           \
    X(17, shape, INTS, "shape")                                                                                            \
    X(18, perm, INTS, "perm") /* default: reversed */                                                                      \
    X(19, to, INT, "to")                                                                                                   \
    X(20, blocksize, INT, "blocksize")                                                                                     \
    X(21, sizes, INTS, "sizes")                                                                                            \
    X(22, coordinates, INT, "coordinates")                                                                                 \
    X(23, epsilon, FLOAT, "epsilon") /* default 1e-5 */                                                                    \
    X(24, groups, INT, "groups")                                                                                           \
    X(25, axes, INTS, "axes")                                                                                              \
    X(26, keepdims, INT, "keepdims") /* default 1 */                                                                       \
    X(27, beta, FLOAT, "beta")                                                                                             \
    X(28, gamma, FLOAT, "gamma")                                                                                           \
    X(29, detect_negative, INT, "detect_negative") /* default 1 */                                                         \
    X(30, detect_positive, INT, "detect_positive") /* default 1 */                                                         \
    X(31, fmod, INT, "fmod")                                                                                               \
    X(32, repeats, INTS, "repeats")                                                                                        \
    X(33, depth, INT, "depth")                                                                                             \
    X(34, count, INT, "count")                                                                                             \
    X(35, exclusive, INT, "exclusive")                                                                                     \
    X(36, reverse, INT, "reverse") \
    X(37, select_last_index, INT, "select_last_index")                                                                     \
    X(38, k, INT, "k")                                                                                                     \
    X(39, largest, INT, "largest") /* default 1 */                                                                         \
    X(40, sorted, INT, "sorted") /* default 1 */ \
    X(41, kernel_shape, INTS, "kernel_shape") \
    X(42, ceil_mode, INT, "ceil_mode") \
    X(43, count_include_pad, INT, "count_include_pad") \
    X(44, causal, INT, "causal") \
    X(45, window, INT, "window") \
    X(46, scale, FLOAT, "scale") /* default 1 / sqrt(D) */ \
    X(47, softcap, FLOAT, "softcap") \
    X(48, interleaved, INT, "interleaved") \
    X(49, num_heads, INT, "num_heads") \
    X(50, rotary_embedding_dim, INT, "rotary_embedding_dim") \
    X(51, direction, INT, "direction") /* BP_DIRECTION_* */ \
    X(52, activations, INTS, "activations") /* numbers of ops; default: the op's own */ \
    X(53, clip, FLOAT, "clip") /* default 0: none */ \
    X(54, hidden_size, INT, "hidden_size") /* default 0: that of the operands */ \
    X(55, input_forget, INT, "input_forget") \
    X(56, layout, INT, "layout") \
    X(57, linear_before_reset, INT, "linear_before_reset") \
    X(58, output_padding, INTS, "output_padding") /* default 0 */ \
    X(59, cubic_coeff_a, FLOAT, "cubic_coeff_a") /* default -0.75 */ \
    X(60, exclude_outside, INT, "exclude_outside") \
    X(61, padding_mode, INT, "padding_mode") /* BP_SAMPLE_* */ \
    X(62, align_corners, INT, "align_corners") \
    X(63, padded, INT, "padded") \
    X(64, reduction, INT, "reduction") /* BP_REDUCTION_* */ \
    X(65, storage_order, INT, "storage_order") /* 1: the first spatial axis is the innermost */ \
    X(66, sampling_ratio, INT, "sampling_ratio") /* default 0: a place a pixel */

#define BP_OP_ENUMERATOR(id, identifier, name) BP_OP_##identifier = id,
#define BP_ATTRIBUTE_ENUMERATOR(id, identifier, type, name) BP_ATTR_##identifier = id,
enum { BP_OP_unknown = 0, BP_OPS(BP_OP_ENUMERATOR) };
enum { BP_ATTR_unknown = 0, BP_ATTRIBUTES(BP_ATTRIBUTE_ENUMERATOR) };

/* mode of Pad */
enum { BP_PAD_CONSTANT = 0, BP_PAD_EDGE = 1, BP_PAD_REFLECT = 2 };
/* mode of DepthToSpace: column-row-depth keeps the channels of one pixel apart differently (ONNX) */
enum { BP_DTS_DCR = 0, BP_DTS_CRD = 1 };
/* mode of TensorScatter: rows behind the last one are dropped, or begin again at the first (ONNX 24) */
enum { BP_SCATTER_LINEAR = 0, BP_SCATTER_CIRCULAR = 1 };
/* reduction of ScatterND: what becomes of an update and of what is there already */
enum { BP_REDUCTION_NONE = 0, BP_REDUCTION_ADD = 1, BP_REDUCTION_MUL = 2, BP_REDUCTION_MAX = 3, BP_REDUCTION_MIN = 4 };
/* mode of GridSample, and padding_mode: what lies beside x */
enum { BP_SAMPLE_LINEAR = 0, BP_SAMPLE_NEAREST = 1, BP_SAMPLE_CUBIC = 2 };
enum { BP_SAMPLE_ZEROS = 0, BP_SAMPLE_BORDER = 1, BP_SAMPLE_REFLECTION = 2 };
/* mode of RoiAlign */
enum { BP_ROI_AVERAGE = 0, BP_ROI_MAX = 1 };
/* mode of Resize */
enum { BP_RESIZE_NEAREST = 0, BP_RESIZE_LINEAR = 1, BP_RESIZE_CUBIC = 2 };
/* coordinates of Resize, scale = size / size': asymmetric x = x' * scale (nearest rounds down);
 * half_pixel x = (x' + 0.5) * scale - 0.5 (nearest: floor(x + 0.5) clamped); align_corners x = x' * (size-1)/(size'-1);
 * pytorch_half_pixel is half_pixel, but 0 where size' is 1 */
enum {
    BP_COORDINATES_ASYMMETRIC = 0,
    BP_COORDINATES_HALF_PIXEL = 1,
    BP_COORDINATES_ALIGN_CORNERS = 2,
    BP_COORDINATES_PYTORCH_HALF_PIXEL = 3
};
/* direction of LSTM and GRU */
enum { BP_DIRECTION_FORWARD = 0, BP_DIRECTION_REVERSE = 1, BP_DIRECTION_BIDIRECTIONAL = 2 };

#endif
