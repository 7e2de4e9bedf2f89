/* The layers of a graph over several devices, at work on different batches at a time, for C: pipeline.hpp behind the line of backplane.h, whose rules for
 * errors, handles and structs are those here.
 *
 *     backplane_pipeline* pipeline = NULL;
 *     backplane_pass *one = NULL, *two = NULL;
 *     if (backplane_pipeline_create(devices, 2, 2, graph, weights, NULL, &pipeline, &error) == BP_OK &&
 *         backplane_pipeline_start(pipeline, &x, 1, NULL, &one, &error) == BP_OK &&
 *         backplane_pipeline_start(pipeline, &more, 1, NULL, &two, &error) == BP_OK &&
 *         backplane_pass_finish(one, &y, 1, &error) == BP_OK)
 *         backplane_pass_finish(two, &y, 1, &error);
 *     backplane_pass_destroy(one);
 *     backplane_pass_destroy(two);
 *     backplane_pipeline_destroy(pipeline);
 *
 * One call at a time on a pipeline and its passes. */
#ifndef BACKPLANE_PIPELINE_H
#define BACKPLANE_PIPELINE_H

#include "backplane/backplane.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct backplane_pipeline backplane_pipeline; /* a graph cut into parts, on devices */
typedef struct backplane_pass backplane_pass;         /* a batch under way                  */

/* The first `parts` devices take a part each, in this order, or several in turns (options->rounds: part k is that of device k % parts): of equal work,
 * or as options->shares says; each of them stands in for the others, and those behind them for all. One part is a session. weights may be null for a
 * graph without any. BP_INVALID: fewer devices than parts, or fewer nodes; BP_UNSUPPORTED: a graph with state; what backplane_session_create_with
 * answers. */
BACKPLANE_API bp_code backplane_pipeline_create(backplane_device* const* devices, uint32_t device_count, uint32_t parts,
                                                backplane_graph* graph, backplane_weights* weights,
                                                const backplane_session_options* options, backplane_pipeline** out,
                                                bp_error* error);
BACKPLANE_API void backplane_pipeline_destroy(backplane_pipeline* pipeline); /* its passes may go later */

/* Each input of the graph once, in host memory or as a tensor. Returns at once; host memory and `cancel`, which may be null, stay the caller's until the
 * pass is finished or gone. To keep n devices busy, n + 1 passes are started before the first is finished. BP_INVALID: an input is left out; what else
 * there is to say backplane_pass_finish says. */
BACKPLANE_API bp_code backplane_pipeline_start(backplane_pipeline* pipeline, const backplane_value* inputs, uint32_t input_count,
                                               const volatile uint32_t* cancel, backplane_pass** out, bp_error* error);
/* Returns when all parts are done and the outputs are written. When a device was lost, the pass is done again by those that are left. BP_INVALID also: a pass
 * that is finished. */
BACKPLANE_API bp_code backplane_pass_finish(backplane_pass* pass, const backplane_value* outputs, uint32_t output_count,
                                            bp_error* error);
BACKPLANE_API void backplane_pass_destroy(backplane_pass* pass); /* waits for what it has started */

typedef struct backplane_part { /* what a part takes of a batch */
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t passes; /* finished, whose beginning and end here were seen: on a busy machine not all, and seconds 0 of none  */
    double seconds;  /* the shortest of these, from when it had what it waits for: what crosses is in it                    */
    char device[64]; /* "cuda:0"                                                                                            */
} backplane_part;
/* None of a pipeline of one part. Fills at most `capacity` records, each with its struct_size set by the caller; *count is how many there are. */
BACKPLANE_API bp_code backplane_pipeline_parts(backplane_pipeline* pipeline, backplane_part* parts, uint32_t capacity,
                                               uint32_t* count, bp_error* error);
/* The part that reads an input first, from 0: a tensor is best on its device. BP_NOT_FOUND. */
BACKPLANE_API bp_code backplane_pipeline_part_of(backplane_pipeline* pipeline, const char* input, uint32_t* part,
                                                 bp_error* error);
/* From device to device without the host, of all passes that are finished. */
BACKPLANE_API bp_code backplane_pipeline_bytes_peer(backplane_pipeline* pipeline, uint64_t* bytes, bp_error* error);
/* As of sessions: backplane_session_runs, _notes and _plan (in lines). */
BACKPLANE_API bp_code backplane_pipeline_runs(backplane_pipeline* pipeline, backplane_stage_runs* stages, uint32_t capacity,
                                              uint32_t* count, bp_error* error);
BACKPLANE_API bp_code backplane_pipeline_notes(backplane_pipeline* pipeline, char* text, size_t capacity, size_t* size,
                                               bp_error* error);
BACKPLANE_API bp_code backplane_pipeline_plan(backplane_pipeline* pipeline, char* text, size_t capacity, size_t* size,
                                              bp_error* error);

#ifdef __cplusplus
}
#endif
#endif
