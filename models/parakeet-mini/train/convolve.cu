// Depthwise convolutions of a FastConformer with their gradients, channels last: a thread does a channel, a block some rows. PyTorch's own take half of a
// step of training. Compiled as C++ (g++ -x c++) the same text runs on the host, with float where the GPU has bfloat16.
#ifdef __CUDACC__
#include <cuda_bf16.h>
#define ENTRY __global__ void
#define CHANNELS(c, n) const int c = threadIdx.x;
#define ROWS(r, n) for (int r = blockIdx.x; r < (n); r += gridDim.x)
#define ADD(place, value) atomicAdd(&(place), value)
#define LAUNCH(kernel, rows, channels, stream, ...) \
    kernel<<<(rows) < 1056 ? (rows) : 1056, channels, 0, static_cast<cudaStream_t>(stream)>>>(__VA_ARGS__)
typedef __nv_bfloat16 Half;
__device__ inline float wide(Half value) { return __bfloat162float(value); }
__device__ inline Half narrow(float value) { return __float2bfloat16(value); }
#define RESTRICT __restrict__
#else
#define ENTRY static void
#define CHANNELS(c, n) for (int c = 0; c < (n); ++c)
#define ROWS(r, n) for (int r = 0; r < (n); ++r)
#define ADD(place, value) ((place) += (value))
#define LAUNCH(kernel, rows, channels, stream, ...) kernel(__VA_ARGS__)
typedef float Half;
static inline float wide(Half value) { return value; }
static inline Half narrow(float value) { return value; }
#define RESTRICT
#endif
#ifdef __CUDACC__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

// The 3x3 or 9 taps of channel c of a kernel [channels, 9].
#define TAPS(w, kernel) \
    float w[9];         \
    UNROLL for (int k = 0; k < 9; ++k) w[k] = (kernel)[c * 9 + k];
// What gradients of them are summed in, zeros.
#define SUMS(g) float g[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};

// The 7x7 features under one output of two convolutions of 3x3 with stride 2; zero outside.
#define PATCH(x, frames, bins, t, f)                                                                 \
    float patch[49];                                                                                 \
    UNROLL for (int i = 0; i < 7; ++i) UNROLL for (int j = 0; j < 7; ++j) {                          \
        const int row = 4 * (t) - 3 + i;                                                             \
        const int column = 4 * (f) - 3 + j;                                                          \
        patch[i * 7 + j] = row >= 0 && row < (frames) && column >= 0 && column < (bins) ? (x)[row * (bins) + column] : 0; \
    }

// Under output i, j of the second convolution: what the first gives before its ReLU, and whether it counts: it is within the clip, and above 0.
#define FIRST_OUTPUT(value, counts)                                                                                       \
    float value = b1;                                                                                                     \
    UNROLL for (int k = 0; k < 9; ++k) value += w1[k] * patch[(2 * i + k / 3) * 7 + 2 * j + k % 3];                       \
    const int row = 2 * t - 1 + i;                                                                                        \
    const int column = 2 * f - 1 + j;                                                                                     \
    const bool counts = row >= 0 && row < count && column >= 0 && column < bins / 2 && value > 0;

// x [clips, frames, bins] float, counts [clips] valid frames; first and second [channels, 9] with biases; y [clips, frames / 4, bins / 4, channels].
// y = second * relu(first * x), where what the first gives behind a clip's end counts as zero.
ENTRY stem_forward(const float* RESTRICT x, const int* RESTRICT counts, const float* RESTRICT first, const float* RESTRICT first_bias,
                   const float* RESTRICT second, const float* RESTRICT second_bias, Half* RESTRICT y, int clips, int frames, int bins, int channels) {
    const int high = frames / 4;
    const int across = bins / 4;
    CHANNELS(c, channels) {
        TAPS(w1, first)
        TAPS(w2, second)
        const float b1 = first_bias[c];
        const float b2 = second_bias[c];
        ROWS(r, clips * high) {
            const int clip = r / high;
            const int t = r % high;
            const int count = (counts[clip] - 1) / 2 + 1;
            for (int f = 0; f < across; ++f) {
                PATCH(x + static_cast<long>(clip) * frames * bins, frames, bins, t, f)
                float sum = b2;
                UNROLL for (int i = 0; i < 3; ++i) UNROLL for (int j = 0; j < 3; ++j) {
                    FIRST_OUTPUT(value, on)
                    sum += on ? w2[i * 3 + j] * value : 0;
                }
                y[(static_cast<long>(r) * across + f) * channels + c] = narrow(sum);
            }
        }
    }
}

// Adds to the gradients (which begin as zero) of both kernels and biases.
ENTRY stem_backward(const float* RESTRICT x, const int* RESTRICT counts, const float* RESTRICT first, const float* RESTRICT first_bias,
                    const float* RESTRICT second, const Half* RESTRICT gy, float* RESTRICT g_first, float* RESTRICT g_first_bias, float* RESTRICT g_second,
                    float* RESTRICT g_second_bias, int clips, int frames, int bins, int channels) {
    const int high = frames / 4;
    const int across = bins / 4;
    CHANNELS(c, channels) {
        TAPS(w1, first)
        TAPS(w2, second)
        SUMS(g1)
        SUMS(g2)
        float gb1 = 0;
        float gb2 = 0;
        const float b1 = first_bias[c];
        ROWS(r, clips * high) {
            const int clip = r / high;
            const int t = r % high;
            const int count = (counts[clip] - 1) / 2 + 1;
            for (int f = 0; f < across; ++f) {
                PATCH(x + static_cast<long>(clip) * frames * bins, frames, bins, t, f)
                const float g = wide(gy[(static_cast<long>(r) * across + f) * channels + c]);
                gb2 += g;
                UNROLL for (int i = 0; i < 3; ++i) UNROLL for (int j = 0; j < 3; ++j) {
                    FIRST_OUTPUT(value, on)
                    const float down = on ? g * w2[i * 3 + j] : 0;
                    g2[i * 3 + j] += on ? g * value : 0;
                    gb1 += down;
                    UNROLL for (int k = 0; k < 9; ++k) g1[k] += down * patch[(2 * i + k / 3) * 7 + 2 * j + k % 3];
                }
            }
        }
        UNROLL for (int k = 0; k < 9; ++k) {
            ADD(g_first[c * 9 + k], g1[k]);
            ADD(g_second[c * 9 + k], g2[k]);
        }
        ADD(g_first_bias[c], gb1);
        ADD(g_second_bias[c], gb2);
    }
}

// x [clips, rows, columns, channels] before its ReLU, counts [clips] valid rows; kernel [channels, 9] of stride 2;
// y [clips, rows / 2, columns / 2, channels].
ENTRY plane_forward(const Half* RESTRICT x, const int* RESTRICT counts, const float* RESTRICT kernel, const float* RESTRICT bias, Half* RESTRICT y, int clips,
                    int rows, int columns, int channels) {
    CHANNELS(c, channels) {
        TAPS(w, kernel)
        ROWS(r, clips * (rows / 2)) {
            const int clip = r / (rows / 2);
            const int t = r % (rows / 2);
            const int count = counts[clip];
            for (int f = 0; f < columns / 2; ++f) {
                float sum = bias[c];
                UNROLL for (int k = 0; k < 9; ++k) {
                    const int row = 2 * t - 1 + k / 3;
                    const int column = 2 * f - 1 + k % 3;
                    if (row < 0 || row >= count || column < 0 || column >= columns) continue;
                    const float value = wide(x[((static_cast<long>(clip) * rows + row) * columns + column) * channels + c]);
                    sum += value > 0 ? w[k] * value : 0;
                }
                y[(static_cast<long>(r) * (columns / 2) + f) * channels + c] = narrow(sum);
            }
        }
    }
}

ENTRY plane_backward(const Half* RESTRICT x, const int* RESTRICT counts, const float* RESTRICT kernel, const Half* RESTRICT gy, Half* RESTRICT gx,
                     float* RESTRICT g_kernel, float* RESTRICT g_bias, int clips, int rows, int columns, int channels) {
    CHANNELS(c, channels) {
        TAPS(w, kernel)
        SUMS(g)
        float gb = 0;
        ROWS(r, clips * rows) {
            const int clip = r / rows;
            const int row = r % rows;
            for (int column = 0; column < columns; ++column) {
                const long at = (static_cast<long>(r) * columns + column) * channels + c;
                const float value = wide(x[at]);
                const bool on = row < counts[clip] && value > 0;
                float sum = 0;
                UNROLL for (int k = 0; k < 9; ++k) {
                    const int twice_t = row + 1 - k / 3;
                    const int twice_f = column + 1 - k % 3;
                    if (twice_t % 2 || twice_f % 2 || twice_t < 0 || twice_f < 0 || twice_t >= rows || twice_f >= columns) continue;
                    const float down = wide(gy[((static_cast<long>(clip) * (rows / 2) + twice_t / 2) * (columns / 2) + twice_f / 2) * channels + c]);
                    if (k == 4) gb += down;
                    if (on) {
                        sum += w[k] * down;
                        g[k] += value * down;
                    }
                }
                gx[at] = narrow(sum);
            }
        }
        UNROLL for (int k = 0; k < 9; ++k) ADD(g_kernel[c * 9 + k], g[k]);
        ADD(g_bias[c], gb);
    }
}

// x and y [clips, frames, channels], kernel [channels, 9], zero beyond the ends.
ENTRY line_forward(const Half* RESTRICT x, const float* RESTRICT kernel, const float* RESTRICT bias, Half* RESTRICT y, int clips, int frames, int channels) {
    CHANNELS(c, channels) {
        TAPS(w, kernel)
        ROWS(r, clips * frames) {
            const int t = r % frames;
            float sum = bias[c];
            UNROLL for (int k = 0; k < 9; ++k) {
                if (t + k < 4 || t + k >= frames + 4) continue;
                sum += w[k] * wide(x[static_cast<long>(r + k - 4) * channels + c]);
            }
            y[static_cast<long>(r) * channels + c] = narrow(sum);
        }
    }
}

ENTRY line_backward(const Half* RESTRICT x, const float* RESTRICT kernel, const Half* RESTRICT gy, Half* RESTRICT gx, float* RESTRICT g_kernel,
                    float* RESTRICT g_bias, int clips, int frames, int channels) {
    CHANNELS(c, channels) {
        TAPS(w, kernel)
        SUMS(g)
        float gb = 0;
        ROWS(r, clips * frames) {
            const int t = r % frames;
            const float value = wide(x[static_cast<long>(r) * channels + c]);
            float sum = 0;
            UNROLL for (int k = 0; k < 9; ++k) {
                // Output t - k + 4 read this input by tap k.
                if (t + 4 < k || t + 4 - k >= frames) continue;
                const float down = wide(gy[static_cast<long>(r + 4 - k) * channels + c]);
                sum += w[k] * down;
                g[k] += value * down;
                if (k == 4) gb += down;
            }
            gx[static_cast<long>(r) * channels + c] = narrow(sum);
        }
        UNROLL for (int k = 0; k < 9; ++k) ADD(g_kernel[c * 9 + k], g[k]);
        ADD(g_bias[c], gb);
    }
}

extern "C" {
void stem(const float* x, const int* counts, const float* first, const float* first_bias, const float* second, const float* second_bias, void* y, int clips,
          int frames, int bins, int channels, void* stream) {
    LAUNCH(stem_forward, clips * (frames / 4), channels, stream, x, counts, first, first_bias, second, second_bias, static_cast<Half*>(y), clips, frames, bins,
           channels);
}

void stem_gradient(const float* x, const int* counts, const float* first, const float* first_bias, const float* second, const void* gy, float* g_first,
                   float* g_first_bias, float* g_second, float* g_second_bias, int clips, int frames, int bins, int channels, void* stream) {
    LAUNCH(stem_backward, clips * (frames / 4), channels, stream, x, counts, first, first_bias, second, static_cast<const Half*>(gy), g_first, g_first_bias,
           g_second, g_second_bias, clips, frames, bins, channels);
}

void plane(const void* x, const int* counts, const float* kernel, const float* bias, void* y, int clips, int rows, int columns, int channels, void* stream) {
    LAUNCH(plane_forward, clips * (rows / 2), channels, stream, static_cast<const Half*>(x), counts, kernel, bias, static_cast<Half*>(y), clips, rows, columns,
           channels);
}

void plane_gradient(const void* x, const int* counts, const float* kernel, const void* gy, void* gx, float* g_kernel, float* g_bias, int clips, int rows,
                    int columns, int channels, void* stream) {
    LAUNCH(plane_backward, clips * rows, channels, stream, static_cast<const Half*>(x), counts, kernel, static_cast<const Half*>(gy), static_cast<Half*>(gx),
           g_kernel, g_bias, clips, rows, columns, channels);
}

void line(const void* x, const float* kernel, const float* bias, void* y, int clips, int frames, int channels, void* stream) {
    LAUNCH(line_forward, clips * frames, channels, stream, static_cast<const Half*>(x), kernel, bias, static_cast<Half*>(y), clips, frames, channels);
}

void line_gradient(const void* x, const float* kernel, const void* gy, void* gx, float* g_kernel, float* g_bias, int clips, int frames, int channels,
                   void* stream) {
    LAUNCH(line_backward, clips * frames, channels, stream, static_cast<const Half*>(x), kernel, static_cast<const Half*>(gy), static_cast<Half*>(gx), g_kernel,
           g_bias, clips, frames, channels);
}
}
