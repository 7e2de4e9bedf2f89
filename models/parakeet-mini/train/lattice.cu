// Losses of connectionist temporal classification (Graves et al. 2006) and of the token and duration transducer (Xu et al. 2023, arXiv:2304.06795) with
// their gradients, over batches of clips. A block does a clip; compiled as C++ (g++ -x c++) the same text runs on the host, which is how it is tested.
//
// All tensors are dense float32, logarithms of probabilities; gradients are of each clip's loss, added by nobody. A clip that cannot be aligned has loss 0 and
// no gradient.
#include <math.h>

#ifdef __CUDACC__
#define ENTRY __global__ void
#define CLIP blockIdx.x
#define LANES(i, n) for (int i = threadIdx.x; i < (n); i += blockDim.x)
#define TOGETHER __syncthreads()
#define ADD(place, value) atomicAdd(&(place), value)
#define DEVICE __device__
#define LAUNCH(kernel, batch, stream, ...) kernel<<<batch, 256, 0, static_cast<cudaStream_t>(stream)>>>(__VA_ARGS__)
#define STREAM void* stream
#else
#define ENTRY static void
#define CLIP clip
#define LANES(i, n) for (int i = 0; i < (n); ++i)
#define TOGETHER
#define ADD(place, value) ((place) += (value))
#define DEVICE static
#define LAUNCH(kernel, batch, stream, ...) \
    for (clip = 0; clip < (batch); ++clip) kernel(__VA_ARGS__)
#define STREAM void*
static int clip;
#endif

#define NEVER -1e30F
#define DURATIONS 5

DEVICE float more(float a, float b) {
    float high = a > b ? a : b;
    float low = a > b ? b : a;
    return low <= NEVER ? high : high + log1pf(expf(low - high));
}

// log_probs [clips, frames, classes], labels [clips, most] (int), state [clips, 2, frames, 2 * most + 1].
ENTRY ctc_kernel(const float* log_probs, const int* labels, const int* frame_counts, const int* label_counts, int frames, int classes, int most, int blank,
                 float* state, float* loss, float* gradient) {
    const int count = frame_counts[CLIP];
    const int own = label_counts[CLIP];
    const int width = 2 * most + 1;
    const int states = 2 * own + 1;
    const float* p = log_probs + static_cast<long>(CLIP) * frames * classes;
    const int* y = labels + static_cast<long>(CLIP) * most;
    float* alpha = state + static_cast<long>(CLIP) * 2 * frames * width;
    float* beta = alpha + static_cast<long>(frames) * width;
    float* g = gradient + static_cast<long>(CLIP) * frames * classes;
#define SYMBOL(s) ((s) % 2 ? y[(s) / 2] : blank)
#define SKIPS(s) ((s) % 2 && (s) >= 3 && y[(s) / 2] != y[(s) / 2 - 1])
    LANES(i, frames * classes) g[i] = 0;
    for (int t = 0; t < count; ++t) {
        LANES(s, states) {
            float sum = t == 0 && s < 2 ? 0 : NEVER;
            if (t > 0) {
                const float* before = alpha + (t - 1) * width;
                sum = before[s];
                if (s >= 1) sum = more(sum, before[s - 1]);
                if (SKIPS(s)) sum = more(sum, before[s - 2]);
            }
            alpha[t * width + s] = sum <= NEVER ? NEVER : sum + p[t * classes + SYMBOL(s)];
        }
        TOGETHER;
    }
    for (int t = count - 1; t >= 0; --t) {
        LANES(s, states) {
            float sum = t == count - 1 && s >= states - 2 ? 0 : NEVER;
            if (t < count - 1) {
                const float* after = beta + (t + 1) * width;
                const float* q = p + (t + 1) * classes;
                sum = after[s] <= NEVER ? NEVER : after[s] + q[SYMBOL(s)];
                if (s + 1 < states && after[s + 1] > NEVER) sum = more(sum, after[s + 1] + q[SYMBOL(s + 1)]);
                if (s + 2 < states && SKIPS(s + 2) && after[s + 2] > NEVER) sum = more(sum, after[s + 2] + q[SYMBOL(s + 2)]);
            }
            beta[t * width + s] = sum;
        }
        TOGETHER;
    }
    float total = alpha[(count - 1) * width + states - 1];
    if (states > 1) total = more(total, alpha[(count - 1) * width + states - 2]);
    if (total <= NEVER) {
        LANES(i, 1) loss[CLIP] = 0;
        return;
    }
    LANES(i, 1) loss[CLIP] = -total;
    LANES(i, count * states) {
        const int t = i / states;
        const int s = i % states;
        const float both = alpha[t * width + s] + beta[t * width + s];
        if (both > NEVER) ADD(g[t * classes + SYMBOL(s)], -expf(both - total));
    }
}

// blank, label [clips, frames, most + 1] (the label that follows u labels), duration [clips, frames, most + 1, DURATIONS],
// state [clips, 2, frames, most + 1]. A blank moves on by 1 to 4 frames, a label by 0 to 4; the last blank ends exactly behind the last frame.
ENTRY tdt_kernel(const float* blank, const float* label, const float* duration, const int* frame_counts, const int* label_counts, int frames, int most,
                 float* state, float* loss, float* blank_gradient, float* label_gradient, float* duration_gradient) {
    const int count = frame_counts[CLIP];
    const int own = label_counts[CLIP];
    const int width = most + 1;
    const long place = static_cast<long>(CLIP) * frames * width;
    const float* pb = blank + place;
    const float* pl = label + place;
    const float* pd = duration + place * DURATIONS;
    float* alpha = state + 2 * place;
    float* beta = alpha + static_cast<long>(frames) * width;
    float* gb = blank_gradient + place;
    float* gl = label_gradient + place;
    float* gd = duration_gradient + place * DURATIONS;
    LANES(i, frames * width) {
        gb[i] = 0;
        gl[i] = 0;
        for (int d = 0; d < DURATIONS; ++d) gd[i * DURATIONS + d] = 0;
    }
    for (int n = 0; n < count + own; ++n) {
        LANES(u, own + 1) {
            const int t = n - u;
            if (t < 0 || t >= count) continue;
            float sum = n == 0 ? 0 : NEVER;
            for (int d = 0; d < DURATIONS && d <= t; ++d) {
                const int from = (t - d) * width + u;
                if (d > 0 && alpha[from] > NEVER) sum = more(sum, alpha[from] + pb[from] + pd[from * DURATIONS + d]);
                if (u > 0 && alpha[from - 1] > NEVER) sum = more(sum, alpha[from - 1] + pl[from - 1] + pd[(from - 1) * DURATIONS + d]);
            }
            alpha[t * width + u] = sum;
        }
        TOGETHER;
    }
    for (int n = count + own - 1; n >= 0; --n) {
        LANES(u, own + 1) {
            const int t = n - u;
            if (t < 0 || t >= count) continue;
            const int at = t * width + u;
            float sum = NEVER;
            for (int d = 0; d < DURATIONS && t + d <= count; ++d) {
                const int to = (t + d) * width + u;
                const float step = pd[at * DURATIONS + d];
                if (t + d == count) {
                    if (u == own) sum = more(sum, pb[at] + step);
                    continue;
                }
                if (d > 0 && beta[to] > NEVER) sum = more(sum, pb[at] + step + beta[to]);
                if (u < own && beta[to + 1] > NEVER) sum = more(sum, pl[at] + step + beta[to + 1]);
            }
            beta[at] = sum;
        }
        TOGETHER;
    }
    const float total = beta[0];
    if (total <= NEVER) {
        LANES(i, 1) loss[CLIP] = 0;
        return;
    }
    LANES(i, 1) loss[CLIP] = -total;
    LANES(i, count * (own + 1)) {
        const int t = i / (own + 1);
        const int u = i % (own + 1);
        const int at = t * width + u;
        if (alpha[at] <= NEVER) continue;
        for (int d = 0; d < DURATIONS && t + d <= count; ++d) {
            const int to = (t + d) * width + u;
            const float before = alpha[at] + pd[at * DURATIONS + d] - total;
            const float ends = t + d == count ? (u == own ? 0 : NEVER) : (d > 0 ? beta[to] : NEVER);
            const float by_blank = ends > NEVER ? expf(before + pb[at] + ends) : 0;
            const float by_label = t + d < count && u < own && beta[to + 1] > NEVER ? expf(before + pl[at] + beta[to + 1]) : 0;
            gb[at] -= by_blank;
            gl[at] -= by_label;
            gd[at * DURATIONS + d] -= by_blank + by_label;
        }
    }
}

extern "C" void ctc(const float* log_probs, const int* labels, const int* frame_counts, const int* label_counts, int clips, int frames, int classes, int most,
                    int blank, float* state, float* loss, float* gradient, STREAM) {
    LAUNCH(ctc_kernel, clips, stream, log_probs, labels, frame_counts, label_counts, frames, classes, most, blank, state, loss, gradient);
}

extern "C" void tdt(const float* blank, const float* label, const float* duration, const int* frame_counts, const int* label_counts, int clips, int frames,
                    int most, float* state, float* loss, float* blank_gradient, float* label_gradient, float* duration_gradient, STREAM) {
    LAUNCH(tdt_kernel, clips, stream, blank, label, duration, frame_counts, label_counts, frames, most, state, loss, blank_gradient, label_gradient,
           duration_gradient);
}
