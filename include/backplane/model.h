/* Networks from ONNX files for C: model.hpp behind the line of backplane.h, whose rules for errors, handles and structs are those here. In the library
 * backplane_models, which holds what backplane holds (docs/c-api.md).
 *
 *     backplane_model* model = NULL;
 *     backplane_model_session* session = NULL;
 *     backplane_model_results* results = NULL;
 *     const int64_t dims[] = {1, 3, 640, 480};
 *     const backplane_model_input x = {"x", pixels, bytes, dims, 4, 0, NULL};
 *     if (backplane_model_from_onnx("det.onnx", &model, &error) == BP_OK &&
 *         backplane_model_session_create(model, context, NULL, NULL, &session, &error) == BP_OK &&
 *         backplane_model_session_run(session, &x, 1, NULL, &results, &error) == BP_OK)
 *         use(backplane_model_results_data(results, 0));
 *     backplane_model_results_destroy(results);
 *     backplane_model_session_destroy(session);
 *     backplane_model_destroy(model);
 *
 * Models and results do not change: any number of threads. One call at a time on a session; sessions of one model may run beside each other. */
#ifndef BACKPLANE_MODEL_H
#define BACKPLANE_MODEL_H

#include "backplane/backplane.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct backplane_model backplane_model;                 /* a file that was read       */
typedef struct backplane_model_session backplane_model_session; /* it, on devices             */
typedef struct backplane_model_results backplane_model_results; /* the outputs of one run     */

/* ---- files ------------------------------------------------------------------------------------------------------------ */

/* path: UTF-8. Weights are used where they lie in the file; tensors in other files are found in its folder alone. BP_NOT_FOUND, BP_DENIED, BP_CORRUPT,
 * BP_UNSUPPORTED (an opset outside 6 to 24). */
BACKPLANE_API bp_code backplane_model_from_onnx(const char* path, backplane_model** out, bp_error* error);
/* The same from memory, which stays as it is while the model and what was made from it live. name: for messages, may be null. */
BACKPLANE_API bp_code backplane_model_from_onnx_bytes(const void* data, uint64_t bytes, const char* name, backplane_model** out,
                                                      bp_error* error);
BACKPLANE_API void backplane_model_destroy(backplane_model* model);

typedef struct backplane_model_info {
    uint32_t struct_size;
    uint32_t input_count, output_count;
    uint32_t reserved;
    int64_t opset, ir_version;
    uint64_t nodes, parameters, weight_bytes;
    char format[16]; /* "ONNX" */
    char name[256], producer[128];
} backplane_model_info;
BACKPLANE_API bp_code backplane_model_get_info(const backplane_model* model, backplane_model_info* info, bp_error* error);

typedef struct backplane_model_value { /* an input or output as the file declares it                                      */
    uint32_t struct_size;
    uint32_t dtype;             /* BP_F32 ..; 0: of a type that graphs do not have                                         */
    uint32_t rank;              /* UINT32_MAX: not even that is said                                                      */
    uint32_t is_unsigned;       /* 1: ONNX's uint32 or uint64; dtype is BP_I32 or BP_I64, data that of uint32_t or uint64_t */
    const char* name;           /* lives as long as the model, or the results                                             */
    int64_t dims[BP_MAX_RANK];  /* -1: open                                                                               */
    const char* symbols[BP_MAX_RANK]; /* what an open extent is called; "" where it has no name                           */
} backplane_model_value;
/* Each fills at most `capacity` records, each with its struct_size set by the caller; *count is how many there are. */
BACKPLANE_API bp_code backplane_model_inputs(const backplane_model* model, backplane_model_value* values, uint32_t capacity,
                                             uint32_t* count, bp_error* error);
BACKPLANE_API bp_code backplane_model_outputs(const backplane_model* model, backplane_model_value* values, uint32_t capacity,
                                              uint32_t* count, bp_error* error);

typedef struct backplane_model_input { /* host memory, or where tensor is not null a tensor on a device                  */
    const char* name;
    const void* data;   /* dense and row-major; only read. Null: a shape alone, where nothing runs                        */
    uint64_t bytes;     /* exactly what dtype and shape ask for                                                           */
    const int64_t* dims; /* null: the model's own, which must then leave nothing open                                     */
    uint32_t rank;
    uint32_t dtype;     /* 0: the model's own                                                                             */
    backplane_tensor* tensor;
} backplane_model_input;

/* Where each node of the file would run on these devices, best first, and why not, as JSON: {"runs": true, "nodes": [{"name", "op", "device", "folded",
 * "why": [..]}]}. Nothing is compiled. As backplane_context_report gives its text. */
BACKPLANE_API bp_code backplane_model_check(const backplane_model* model, backplane_device* const* devices, uint32_t device_count,
                                            const backplane_model_input* inputs, uint32_t input_count, char* json,
                                            size_t capacity, size_t* size, bp_error* error);

/* ---- on devices ------------------------------------------------------------------------------------------------------- */

typedef struct backplane_model_options { /* a null pointer to this, or zeros in it: the defaults */
    uint32_t struct_size;
    uint32_t math;       /* BP_MATH_*                                                            */
    uint32_t plans_kept; /* so many sizes, those run last, stay compiled; 0: 8                   */
    uint32_t reserved;
} backplane_model_options;

/* On the device that the library chooses (filter as backplane_device_open takes it), and behind it the CPU for what that cannot do. Compiles nothing yet. */
BACKPLANE_API bp_code backplane_model_session_create(const backplane_model* model, backplane_context* context, const char* filter,
                                                     const backplane_model_options* options, backplane_model_session** out,
                                                     bp_error* error);
/* On these devices, best first. */
BACKPLANE_API bp_code backplane_model_session_create_on(const backplane_model* model, backplane_device* const* devices,
                                                        uint32_t device_count, const backplane_model_options* options,
                                                        backplane_model_session** out, bp_error* error);
BACKPLANE_API void backplane_model_session_destroy(backplane_model_session* session);

/* Each input of the model once. Gives all outputs in *out. The first run of a size compiles its plan. *cancel becoming non-zero ends the call soon with
 * BP_CANCELLED; may be null. */
BACKPLANE_API bp_code backplane_model_session_run(backplane_model_session* session, const backplane_model_input* inputs,
                                                  uint32_t input_count, const volatile uint32_t* cancel,
                                                  backplane_model_results** out, bp_error* error);
/* The same into memory or tensors of the caller; outputs that are not named are not copied. */
BACKPLANE_API bp_code backplane_model_session_run_into(backplane_model_session* session, const backplane_model_input* inputs,
                                                       uint32_t input_count, const backplane_value* outputs, uint32_t output_count,
                                                       const volatile uint32_t* cancel, bp_error* error);
/* The outputs that such a run would have: nothing is open. Fills at most `capacity` records; names live as long as the session. */
BACKPLANE_API bp_code backplane_model_session_prepare(backplane_model_session* session, const backplane_model_input* inputs,
                                                      uint32_t input_count, backplane_model_value* outputs, uint32_t capacity,
                                                      uint32_t* count, bp_error* error);

BACKPLANE_API uint32_t backplane_model_results_count(const backplane_model_results* results); /* the model's outputs, in its order */
BACKPLANE_API bp_code backplane_model_results_value(const backplane_model_results* results, uint32_t i, backplane_model_value* value,
                                                    bp_error* error);
/* Dense and row-major, aligned for every type; lives as long as the results. Null: there is no such output. */
BACKPLANE_API const void* backplane_model_results_data(const backplane_model_results* results, uint32_t i);
BACKPLANE_API uint64_t backplane_model_results_bytes(const backplane_model_results* results, uint32_t i);
BACKPLANE_API void backplane_model_results_destroy(backplane_model_results* results);

#ifdef __cplusplus
}
#endif
#endif
