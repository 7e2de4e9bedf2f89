// clang-format off
// What kernels share for which a convolution is a product of the filters [O, C kh kw] and the columns of the input, which are never stored: a
// workgroup makes BM output channels of BN pixels. STEP(field): a stride or dilation, where it is known.
CONSTANT(10, DEEP, 0)  // the maps, or the filters, have more than one plane
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
#define KNOWN_TAPS if (EVEN_TAPS != 0) row_taps = EVEN_TAPS / 256u, column_taps = EVEN_TAPS % 256u;
// A phase may meet no tap at all: nothing is divided by 0.
#define SOME_TAPS if (EVEN_TAPS == 0 && depth == 0u) row_taps = column_taps = plane_taps = 1u;
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
#define COLUMNS_OF_INPUT                                                                                                    \
    uint outputs = P.outputs;                                                                                               \
    uint groups = P.groups;                                                                                                 \
    int height = CAST(int, P.height);                                                                                       \
    int width = CAST(int, P.width);                                                                                         \
    uint image = BATCH_INDEX / PHASES / groups;                                                                             \
    uint group = BATCH_INDEX / PHASES % groups;                                                                             \
    uint phase = BATCH_INDEX % PHASES;                                                                                      \
    AXIS(plane, phase / P.stride_w / P.stride_h, P.out_planes, P.kernel_d, P.stride_d, P.pad_front, P.dilation_d)  \
    AXIS(row, phase / P.stride_w % P.stride_h, P.out_height, P.kernel_h, P.stride_h, P.pad_top, P.dilation_h)      \
    AXIS(column, phase % P.stride_w, P.out_width, P.kernel_w, P.stride_w, P.pad_left, P.dilation_w)                \
    KNOWN_TAPS \
    if (DEEP == 0) plane_taps = 1u;                                                                                         \
    uint pixels = plane_pixels * row_pixels * column_pixels;                                                                \
    uint first_row = GROUP_INDEX % P.blocks * BM;                                                                           \
    uint first_column = GROUP_INDEX / P.blocks * BN;                                                                        \
    if (first_column >= pixels) return;                                                                                     \
    uint pixel = first_column + LOCAL_INDEX % BN;                                                                           \
    bool valid = pixel < pixels;                                                                                            \
    int front = DEEP != 0 ? plane_begin + CAST(int, pixel / (row_pixels * column_pixels)) : 0;                              \
    int top = row_begin + CAST(int, pixel / column_pixels % row_pixels);                                                    \
    int left = column_begin + CAST(int, pixel % column_pixels);                                                             \
    uint depth = P.channels * plane_taps * row_taps * column_taps;                                                          \
    SOME_TAPS \
    uint taps = plane_taps * row_taps * column_taps;                                                                        \
    uint all_taps = P.kernel_d * P.kernel_h * P.kernel_w;                                                                   \
    uint plane = P.height * P.width;                                                                                        \
    uint map_size = P.planes * plane;                                                                                       \
    uint map = (image * groups + group) * P.channels * map_size;                                                            \
    uint filters = group * P.channels * outputs * all_taps;
#define COLUMN_AT(k, there, at)                                                                                             \
    uint tap = (k) % taps;                                                                                                  \
    int behind = DEEP != 0 ? front - CAST(int, tap / column_taps / row_taps) * plane_back : 0;                              \
    int row = top - CAST(int, tap / column_taps % row_taps) * row_back;                                                     \
    int column = left - CAST(int, tap % column_taps) * column_back;                                                         \
    bool there = (k) < depth && valid && row >= 0 && row < height && column >= 0 && column < width;                         \
    there = there && behind >= 0 && behind < CAST(int, P.planes);                                                           \
    uint at = there ? map + (k) / taps * map_size + CAST(uint, behind) * plane + CAST(uint, row * width + column) : map;
#else
#define COLUMNS_OF_INPUT                                                                             \
    uint outputs = P.outputs;                                                                        \
    uint groups = P.groups;                                                                          \
    int height = CAST(int, P.height);                                                                \
    int width = CAST(int, P.width);                                                                  \
    uint out_plane = P.out_height * P.out_width;                                                     \
    uint pixels = DEEP != 0 ? P.out_planes * out_plane : out_plane;                                  \
    uint kernel_h = KERNEL != 0 ? CAST(uint, KERNEL) : P.kernel_h;                                   \
    uint kernel_w = KERNEL != 0 ? CAST(uint, KERNEL) : P.kernel_w;                                   \
    uint plane_taps = kernel_h * kernel_w;                                                           \
    uint taps = DEEP != 0 ? P.kernel_d * plane_taps : plane_taps;                                    \
    uint depth = P.channels * taps;                                                                  \
    uint first_row = GROUP_INDEX % P.blocks * BM;                                                    \
    uint first_column = GROUP_INDEX / P.blocks * BN;                                                 \
    if (first_column >= pixels) return;                                                              \
    uint image = BATCH_INDEX / groups;                                                               \
    uint group = BATCH_INDEX % groups;                                                               \
    /* The pixel whose columns this invocation loads, and which taps of the filter meet the input there, for those that are unrolled. */ \
    uint pixel = first_column + LOCAL_INDEX % BN;                                                    \
    bool valid = pixel < pixels;                                                                     \
    int front = DEEP != 0 ? CAST(int, pixel / out_plane * P.stride_d) - CAST(int, P.pad_front) : 0;  \
    int top = CAST(int, (DEEP != 0 ? pixel % out_plane : pixel) / P.out_width) * STEP(stride_h) - CAST(int, P.pad_top);\
    int left = CAST(int, pixel % P.out_width) * STEP(stride_w) - CAST(int, P.pad_left);              \
    uint inside = 0u;                                                                                \
    if (KERNEL != 0) {                                                                               \
        UNROLL_ON_GPUS for (uint tap = 0u; tap < taps; ++tap) {                                      \
            int row = top + CAST(int, tap / kernel_w);                                               \
            int column = left + CAST(int, tap % kernel_w);                                           \
            if (valid && row >= 0 && row < height && column >= 0 && column < width) inside |= 1u << tap; \
        }                                                                                            \
    }                                                                                                \
    uint plane = P.height * P.width;                                                                 \
    uint map_size = DEEP != 0 ? P.planes * plane : plane;                                            \
    uint map = (image * groups + group) * P.channels * map_size;                                     \
    uint filters = group * outputs * depth;
// Element k of that column: whether it is there, and where; what is not there is at the first element.
#define COLUMN_AT(k, there, at)                                                                      \
    uint tap = (k) % taps;                                                                           \
    int behind = DEEP != 0 ? front + CAST(int, tap / plane_taps * P.dilation_d) : 0;                 \
    int row = top + CAST(int, (DEEP != 0 ? tap % plane_taps : tap) / kernel_w) * STEP(dilation_h);   \
    int column = left + CAST(int, tap % kernel_w) * STEP(dilation_w);                                \
    bool there = (k) < depth && valid;                                                               \
    if (KERNEL != 0) there = (k) < depth && (inside >> tap & 1u) != 0u;                              \
    else there = there && row >= 0 && row < height && column >= 0 && column < width;                 \
    if (DEEP != 0) there = there && behind >= 0 && behind < CAST(int, P.planes);                     \
    uint at = there ? map + (k) / taps * map_size + CAST(uint, behind) * plane + CAST(uint, row * width + column) : map;
// Element k of the filter of output channel m, and where a pixel of the result lies.
#define FILTER_AT(m, k) (filters + (m) * depth + (k))
#define PLACE_AT(channel, at) ((image * groups * outputs + (channel)) * pixels + (at))
#endif
