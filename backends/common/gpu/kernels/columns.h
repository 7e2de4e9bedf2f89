// clang-format off
// What convolutions share for which the input lies as columns [C kd kh kw] of its pixels, which are never stored. KERNEL: kh = kw when not 0, and
// strides and dilations are 1 then; UNIT_STEPS: they are.
CONSTANT(10, DEEP, 0)  // the maps, or the filters, have more than one plane
// Constants that CUDA reads at run time cost its compiler registers: what is asked of them, and where, decides how many workgroups run at a time.
// Along an axis pixel q meets by tap k the input at begin + q * by - k * back. It is number first + k * step of the filters' taps there.
#if defined(TRANSPOSED)
CONSTANT(11, EVEN_TAPS, 0)  // where all phases have as many: 256 times those of rows, and those of columns
// Of a transposed convolution a workgroup makes pixels of one phase: every n-th along each axis, n the stride, meet the same taps of the filters
// [C, O kh kw]. The batch counts phases, too.
#define PHASES (P.stride_d * P.stride_h * P.stride_w)
// The first tap from `from` on whose reach leaves `want` when the stride divides it; `dilation` is what the stride leaves of it.
FUNCTION uint tap_of(uint want, uint dilation, uint stride, uint from) {
    for (uint tap = from; tap < from + stride; ++tap)
        if (tap * dilation % stride == want) return tap;
    return 0x7fffffffu;
}
#define AXIS(axis, phase, result, kernel, stride, pad, dilation)                                                            \
    uint axis##_phase = phase;                                                                                              \
    uint axis##_pixels = result > axis##_phase ? (result - axis##_phase + stride - 1u) / stride : 0u;                       \
    uint axis##_first = tap_of((axis##_phase + pad) % stride, dilation % stride, stride, 0u);                               \
    uint axis##_step = tap_of(0u, dilation % stride, stride, 1u);                                                           \
    uint axis##_taps = axis##_first < kernel ? (kernel - axis##_first + axis##_step - 1u) / axis##_step : 0u;               \
    int axis##_begin = CAST(int, axis##_phase + pad - axis##_first * dilation) / CAST(int, stride);                         \
    int axis##_by = 1;                                                                                                      \
    int axis##_back = CAST(int, axis##_step * dilation / stride);
#define STEP(field) P.field
#define KNOWN_TAPS if (EVEN_TAPS != 0) row_taps = EVEN_TAPS / 256u, column_taps = EVEN_TAPS % 256u;
// A phase may meet no tap at all: nothing is divided by 0.
#define SOME_TAPS if (EVEN_TAPS == 0 && depth == 0u) row_taps = column_taps = plane_taps = 1u;
#define HAS_PLANES true
#define ROW_OF_TAPS(number) ((number) % row_taps)
// Element k of the filter of output channel m, and where a pixel of the result lies.
#define FILTER_AT(m, k)                                                                                                     \
    (filters + ((k) / taps * outputs + (m)) * all_taps +                                                                    \
     ((DEEP != 0 ? plane_first + (k) % taps / column_taps / row_taps * plane_step : 0u) * P.kernel_h + row_first +          \
      (k) / column_taps % row_taps * row_step) * P.kernel_w + column_first + (k) % column_taps * column_step)
#define PLACE_AT(channel, at) \
    (PLANE_ROW_AT(channel, at) * P.out_width + column_phase + (at) % column_pixels * P.stride_w)
#define PLANE_ROW_AT(channel, at)                                                                                           \
    (((image * groups * outputs + (channel)) * P.out_planes +                                                               \
      (DEEP != 0 ? plane_phase + (at) / column_pixels / row_pixels * P.stride_d : 0u)) * P.out_height +                     \
     row_phase + (at) / column_pixels % row_pixels * P.stride_h)
#else
#define PHASES 1u
#define AXIS(axis, phase, result, kernel, stride, pad, dilation) \
    uint axis##_pixels = result;                                 \
    uint axis##_taps = kernel;                                   \
    uint axis##_first = 0u;                                      \
    uint axis##_step = 1u;                                       \
    int axis##_begin = -CAST(int, pad);                          \
    int axis##_by = CAST(int, stride);                           \
    int axis##_back = -CAST(int, dilation);
#define STEP(field) (UNIT_STEPS != 0 ? 1u : P.field)
#define KNOWN_TAPS
#define SOME_TAPS
#define HAS_PLANES (DEEP != 0)
#define ROW_OF_TAPS(number) (DEEP != 0 ? (number) % row_taps : (number))
#define FILTER_AT(m, k) (filters + (m) * depth + (k))
#define PLACE_AT(channel, at) ((image * groups * outputs + (channel)) * pixels + (at))
#endif
#define TAPS_OF(field) (KERNEL != 0 ? CAST(uint, KERNEL) : P.field)
// The maps of an image and group, those of the input and one of the result.
#define MAPS_OF_INPUT                                                                                                       \
    uint outputs = P.outputs;                                                                                               \
    uint groups = P.groups;                                                                                                 \
    int height = CAST(int, P.height);                                                                                       \
    int width = CAST(int, P.width);                                                                                         \
    uint image = BATCH_INDEX / PHASES / groups;                                                                             \
    uint group = BATCH_INDEX / PHASES % groups;                                                                             \
    uint phase = BATCH_INDEX % PHASES;                                                                                      \
    AXIS(plane, phase / P.stride_w / P.stride_h, P.out_planes, P.kernel_d, P.stride_d, P.pad_front, P.dilation_d)           \
    AXIS(row, phase / P.stride_w % P.stride_h, P.out_height, TAPS_OF(kernel_h), STEP(stride_h), P.pad_top, STEP(dilation_h)) \
    AXIS(column, phase % P.stride_w, P.out_width, TAPS_OF(kernel_w), STEP(stride_w), P.pad_left, STEP(dilation_w)) \
    uint layer = row_pixels * column_pixels;                                                                                \
    uint pixels = HAS_PLANES ? plane_pixels * layer : layer;                                                                \
    uint all_taps = P.kernel_d * P.kernel_h * P.kernel_w;                                                                   \
    uint plane = P.height * P.width;                                                                                        \
    uint map_size = HAS_PLANES ? P.planes * plane : plane;                                                                  \
    uint map = (image * groups + group) * P.channels * map_size;
// Where pixel q begins to meet the input.
#define FRONT_OF(q) (DEEP != 0 ? plane_begin + CAST(int, (q) / layer) * plane_by : 0)
#define TOP_OF(q) (row_begin + CAST(int, (DEEP != 0 ? (q) % layer : (q)) / column_pixels) * row_by)
#define LEFT_OF(q) (column_begin + CAST(int, (q) % column_pixels) * column_by)

// Where a convolution is a product of the filters and these columns: a workgroup makes BM output channels of BN pixels, an invocation loads the
// columns of one; `inside`: which taps meet the input there, where they are unrolled.
#define COLUMNS_OF_INPUT                                                                                                    \
    MAPS_OF_INPUT                                                                                                           \
    uint first_row = GROUP_INDEX % P.blocks * BM;                                                                           \
    uint first_column = GROUP_INDEX / P.blocks * BN;                                                                        \
    if (first_column >= pixels) return;                                                                                     \
    KNOWN_TAPS                                                                                                              \
    if (DEEP == 0) plane_taps = 1u;                                                                                         \
    uint depth = P.channels * plane_taps * row_taps * column_taps;                                                          \
    SOME_TAPS                                                                                                               \
    uint taps = plane_taps * row_taps * column_taps;                                                                        \
    uint filters = group * P.channels * outputs * all_taps;                                                                 \
    uint pixel = first_column + LOCAL_INDEX % BN;                                                                           \
    bool valid = pixel < pixels;                                                                                            \
    int front = FRONT_OF(pixel);                                                                                            \
    int top = TOP_OF(pixel);                                                                                                \
    int left = LEFT_OF(pixel);                                                                                              \
    uint inside = 0u;                                                                                                       \
    if (KERNEL != 0) {                                                                                                      \
        UNROLL_ON_GPUS for (uint tap = 0u; tap < taps; ++tap) {                                                             \
            int row = top + CAST(int, tap / column_taps);                                                                   \
            int column = left + CAST(int, tap % column_taps);                                                               \
            if (valid && row >= 0 && row < height && column >= 0 && column < width) inside |= 1u << tap;                    \
        }                                                                                                                   \
    }
// Element k of that column: whether it is there, and where; what is not there is at the first element.
#define COLUMN_AT(k, there, at)                                                                                             \
    uint tap = (k) % taps;                                                                                                  \
    int behind = DEEP != 0 ? front - CAST(int, tap / column_taps / row_taps) * plane_back : 0;                              \
    int row = top - CAST(int, ROW_OF_TAPS(tap / column_taps)) * row_back;                                                   \
    int column = left - CAST(int, tap % column_taps) * column_back;                                                         \
    bool there = (k) < depth && valid;                                                                                      \
    if (KERNEL != 0) there = (k) < depth && (inside >> tap & 1u) != 0u;                                                     \
    else there = there && row >= 0 && row < height && column >= 0 && column < width;                                        \
    if (HAS_PLANES) there = there && behind >= 0 && behind < CAST(int, P.planes);                                           \
    uint at = there ? map + (k) / taps * map_size + CAST(uint, behind) * plane + CAST(uint, row * width + column) : map;
