// clang-format off
// What kernels share for which a convolution is a product of the filters [O, C kh kw] and the columns of the input, which are never stored: a
// workgroup makes BM output channels of BN pixels. STEP(field): a stride or dilation, where it is known.
CONSTANT(10, DEEP, 0)  // the maps, or the filters, have more than one plane
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
