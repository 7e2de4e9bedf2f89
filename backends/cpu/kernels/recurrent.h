// A step of a recurrence, a block of units (one vector) at a time: the state's product by the weights, then the gates.
#pragma once

#include <stdint.h>

#include "kernels/matmul.h"

namespace backplane::cpu {

// sums[row][gate][lane] = the state of the row by the weights of the block, which are packed as [depth][gate][lane].
struct RecurrentSums {
    const void* weights = nullptr;
    const void* next = nullptr;    // the weights that are read after these
    const float* state = nullptr;  // rows x depth
    float* sums = nullptr;
    int64_t depth = 0, rows = 0;
};

enum RecurrentFunction : uint8_t { kRecurrentSigmoid, kRecurrentTanh, kRecurrentRelu };

// A block of one row. Pointers are to its first unit; of a gate: in the order of the op.
struct RecurrentCell {
    int64_t units = 0;                  // of the block; the lanes behind them are not written
    const float* sums = nullptr;        // [gate][lane]
    const float* inputs = nullptr;      // those of the next gate are `stride` away, here and in the biases and peepholes
    const float* input_bias = nullptr;  // null: none, also of what follows
    const float* state_bias = nullptr;
    const float* peepholes = nullptr;
    int64_t stride = 0;
    const float* before = nullptr;  // the state
    float* after = nullptr;
    float* result = nullptr;  // of the step, the same again
    float* cell = nullptr;
    float* reached = nullptr;
    float* update = nullptr;
    RecurrentFunction functions[3] = {};
    float clip = 0;  // infinity: none
    bool input_forget = false;
};

struct RecurrentKernels {
    int64_t lanes;
    // By gates - 1, and the type of the weights: f32, f16, bf16.
    void (*sums[4][3])(const RecurrentSums& task);
    void (*lstm)(const RecurrentCell& task);
    void (*gru)(const RecurrentCell& task);          // the reset gate behind the product
    void (*gru_gates)(const RecurrentCell& task);    // update and reset
    void (*gru_content)(const RecurrentCell& task);  // sums: of the content alone
};

}  // namespace backplane::cpu
