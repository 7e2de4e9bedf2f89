/* The weights of any network in fewer bits for C: quantize.hpp behind the line of backplane.h, whose rules for errors, handles and structs are those
 * here. In the library backplane_models, which holds what backplane holds (docs/c-api.md).
 *
 *     backplane_weight_file* file = NULL;
 *     backplane_quantize_options options = {BP_SIZE(backplane_quantize_options, cancel), BP_Q4_K};
 *     if (backplane_weight_file_open("model.safetensors", &file, &error) == BP_OK &&
 *         backplane_quantize(file, "model-q4_k.gguf", &options, NULL, &error) == BP_OK)
 *         puts("model-q4_k.gguf is written");
 *     backplane_weight_file_destroy(file);
 *
 * Any number of threads. */
#ifndef BACKPLANE_QUANTIZE_H
#define BACKPLANE_QUANTIZE_H

#include "backplane/weight_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct backplane_quantized backplane_quantized; /* what became of each tensor */

typedef struct backplane_quantize_options { /* a null pointer to this, or zeros in it: the defaults                             */
    uint32_t struct_size;
    uint32_t dtype;          /* of matrices: BP_F32, BP_F16, BP_BF16, BP_Q8_0, BP_Q6_K, BP_Q5_K, BP_Q5_0, BP_Q4_K or BP_Q4_0;
                                0: BP_Q8_0                                                                                      */
    const char* const* keep; /* patterns of names (`*`, `?`) that stay as they are                                             */
    uint32_t keep_count;
    uint32_t embeddings; /* 1: embeddings too, whose rows are looked up and not multiplied by                                  */
    uint32_t threads;    /* 0: as many as the machine has processors                                                           */
    uint32_t reserved;
    void (*progress)(void* progress_arg, double done); /* 0 to 1, on the calling thread; null: nobody is told                  */
    void* progress_arg;
    const volatile uint32_t* cancel; /* becoming non-zero ends the call soon with BP_CANCELLED and no file; may be null        */
} backplane_quantize_options;

/* Matrices, tensors of two axes or more whose rows are whole blocks, become `dtype`; what stays as it is, quantize.hpp says. gguf: the path of the file
 * that is written, UTF-8; it appears whole or not at all. out: may be null. BP_INVALID (a type that is not made; numbers that it does not hold,
 * naming the tensor), BP_UNSUPPORTED (a tensor whose type GGUF, or graphs, do not have), BP_CORRUPT (numbers that are not finite, naming the tensor),
 * BP_CANCELLED, and what the system says. */
BACKPLANE_API bp_code backplane_quantize(const backplane_weight_file* from, const char* gguf,
                                         const backplane_quantize_options* options, backplane_quantized** out,
                                         bp_error* error);

typedef struct backplane_quantized_tensor { /* pointers live as long as the list                                               */
    uint32_t struct_size;
    uint32_t dtype; /* that it has now                                                                                         */
    uint32_t rank;
    uint32_t reserved;
    const char* name;
    const char* from; /* its type before, as that file calls it                                                                */
    const char* why;  /* it stays as it is, or is of another type than asked for; else ""                                      */
    uint64_t bytes_before, bytes_after;
    double error; /* root of the mean square of what it differs by, by that of its numbers; of what stays as it is 0           */
    int64_t dims[BP_MAX_RANK]; /* outermost first                                                                              */
} backplane_quantized_tensor;
/* In the order of the file. Fills at most `capacity` records, each with its struct_size set by the caller; *count is how many there are. */
BACKPLANE_API bp_code backplane_quantized_tensors(const backplane_quantized* quantized, backplane_quantized_tensor* tensors,
                                                  uint32_t capacity, uint32_t* count, bp_error* error);
BACKPLANE_API void backplane_quantized_destroy(backplane_quantized* quantized);

#ifdef __cplusplus
}
#endif
#endif
