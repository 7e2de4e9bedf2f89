/* Weights by name from GGUF, safetensors and ONNX files for C: weight_file.hpp behind the line of backplane.h, whose rules for errors, handles and structs
 * are those here. In the library backplane_models, which holds what backplane holds (docs/c-api.md).
 *
 *     backplane_weight_file* file = NULL;
 *     backplane_weights* weights = NULL;
 *     uint32_t operands[] = {x, 0}, y;
 *     if (backplane_weight_file_open("model.safetensors", &file, &error) == BP_OK &&
 *         backplane_weight_file_add(file, graph, "fc.weight", &operands[1], &error) == BP_OK &&
 *         backplane_graph_add(graph, BP_OP_matmul, operands, 2, NULL, 0, &y, &error) == BP_OK &&
 *         backplane_graph_output(graph, y, "y", &error) == BP_OK &&
 *         backplane_weight_file_weights(file, &weights, &error) == BP_OK)
 *         backplane_session_create_shared(&device, 1, graph, weights, BP_MATH_DEFAULT, &session, &error);
 *     backplane_weights_destroy(weights);
 *     backplane_weight_file_destroy(file);
 *
 * Files do not change: any number of threads. */
#ifndef BACKPLANE_WEIGHT_FILE_H
#define BACKPLANE_WEIGHT_FILE_H

#include "backplane/backplane.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct backplane_weight_file backplane_weight_file; /* a file that is mapped */

/* path, UTF-8: a .gguf, .safetensors or .onnx file, an index of several safetensors files (.json), or a folder that has one of model.safetensors.index.json,
 * model.safetensors. BP_NOT_FOUND, BP_DENIED, BP_CORRUPT (also: none of these formats), BP_UNSUPPORTED (another version of one). */
BACKPLANE_API bp_code backplane_weight_file_open(const char* path, backplane_weight_file** out, bp_error* error);
/* Records and bytes that it gave are gone then; weights that were made of it stay. */
BACKPLANE_API void backplane_weight_file_destroy(backplane_weight_file* file);

typedef struct backplane_weight_file_info {
    uint32_t struct_size;
    uint32_t tensor_count;
    uint64_t bytes;  /* of all tensors                     */
    char format[16]; /* "GGUF", "safetensors", "ONNX"      */
} backplane_weight_file_info;
BACKPLANE_API bp_code backplane_weight_file_get_info(const backplane_weight_file* file, backplane_weight_file_info* info,
                                                     bp_error* error);

typedef struct backplane_weight_tensor { /* pointers live as long as the file                                             */
    uint32_t struct_size;
    uint32_t dtype;            /* BP_F32 ..; 0: a type that graphs do not have                                              */
    uint32_t rank;
    uint32_t reserved;
    uint64_t bytes;
    const char* name;
    const char* type;          /* as the file calls it: "Q4_K", "F8_E4M3"                                                   */
    int64_t dims[BP_MAX_RANK]; /* outermost first                                                                          */
} backplane_weight_tensor;
/* Fills at most `capacity` records, each with its struct_size set by the caller; *count is how many there are. */
BACKPLANE_API bp_code backplane_weight_file_tensors(const backplane_weight_file* file, backplane_weight_tensor* tensors,
                                                    uint32_t capacity, uint32_t* count, bp_error* error);
/* BP_NOT_FOUND names the nearest name. */
BACKPLANE_API bp_code backplane_weight_file_find(const backplane_weight_file* file, const char* name,
                                                 backplane_weight_tensor* tensor, bp_error* error);
/* Dense and row-major, in the mapping but where the file has it off its alignment; null: there is no such tensor. It is a backplane_weight_source, too,
 * with the file as its argument. */
BACKPLANE_API const void* backplane_weight_file_data(void* file, const char* name, uint64_t* bytes);
/* What the file says of itself, {"general.architecture": "llama", ..}, as JSON. As backplane_context_report gives its text. */
BACKPLANE_API bp_code backplane_weight_file_metadata(const backplane_weight_file* file, char* json, size_t capacity, size_t* size,
                                                     bp_error* error);

/* The tensor as a weight of the graph, of its name, type and shape. BP_NOT_FOUND; BP_UNSUPPORTED: a type that graphs do not have. */
BACKPLANE_API bp_code backplane_weight_file_add(const backplane_weight_file* file, backplane_graph* graph, const char* name,
                                                uint32_t* out, bp_error* error);
/* For all sessions of graphs whose weights have names of the file. They keep it mapped. */
BACKPLANE_API bp_code backplane_weight_file_weights(const backplane_weight_file* file, backplane_weights** out,
                                                    bp_error* error);

#ifdef __cplusplus
}
#endif
#endif
