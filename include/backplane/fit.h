/* Whether a graph fits into the memory of devices, and what would, for C: fit.hpp behind the line of backplane.h, whose rules for errors, handles and structs
 * are those here. Known to the byte before any weight is read.
 *
 *     backplane_fits* ways = NULL;
 *     backplane_fit best = {.struct_size = BP_SIZE(backplane_fit, plan_json)};
 *     backplane_session_options how = {.struct_size = BP_SIZE(backplane_session_options, share_count)};
 *     if (backplane_fits_create(&device, 1, graph, NULL, &ways, &error) == BP_OK &&
 *         backplane_fits_best(ways, 0, &best, &error) == BP_OK) {
 *         if (best.streamed) how.budget = best.budget;
 *         backplane_session_create_with(&device, 1, graph, weights, &how, &session, &error);
 *     }
 *     backplane_fits_destroy(ways);
 *
 * What backplane_fits_create gave does not change: any number of threads. */
#ifndef BACKPLANE_FIT_H
#define BACKPLANE_FIT_H

#include "backplane/backplane.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct backplane_fits backplane_fits; /* the ways to run one graph on each of some devices */

typedef struct backplane_fit_options { /* a null pointer to this, or zeros in it: the defaults */
    uint32_t struct_size;
    uint32_t math;      /* BP_MATH_*                                                                                        */
    uint32_t streaming; /* as of backplane_session_options. 1, never: no way streams weights                                */
    uint32_t reserved;
    uint64_t workspace_limit;        /* bytes; 0: none                                                                      */
    const uint64_t* memory;          /* for each device, in their order, bytes that may be used there, in place of what it says; null: what it says */
    const volatile uint32_t* cancel; /* becoming non-zero it ends the call; may be null                                     */
} backplane_fit_options;

typedef struct backplane_fit { /* one way to run the whole graph on one device, one submit at a time. Bytes; pointers live as long as the handle */
    uint32_t struct_size;
    uint32_t device;   /* its place among those that were given                                                             */
    uint32_t streamed; /* 1: weights are copied for each run                                                                */
    uint32_t fits;     /* 1                                                                                                 */
    uint32_t possible; /* 0: the device does not run the graph, or no memory would do; `problem` says why                   */
    uint32_t reserved;
    uint64_t available;     /* of the device; 0: it does not say                                                            */
    uint64_t budget;        /* streamed: what backplane_session_options takes for this plan; where it does not fit, the least that would */
    uint64_t weight_budget; /* streamed and fits: the same for other sizes of the network                                   */
    uint64_t needs;         /* of the device, all in all; of these:                                                         */
    uint64_t weights, ring, state, values, workspace;
    uint64_t moved;         /* over the device's edge for each run, streamed weights included                               */
    const char* id;         /* of the device, "cpu:0"                                                                       */
    const char* problem;
    const char* plan_text;  /* as backplane_session_plan                                                                    */
    const char* plan_json;
} backplane_fit;

/* Each device with all weights there and, unless never, with weights streamed, in the order of the devices. Compiles for each way, reads no weight and takes
 * no memory of a device. A graph that a device does not run is no error but a way that is not possible. BP_INVALID without a device, BP_CANCELLED,
 * BP_DEVICE_LOST. */
BACKPLANE_API bp_code backplane_fits_create(backplane_device* const* devices, uint32_t device_count, backplane_graph* graph,
                                            const backplane_fit_options* options, backplane_fits** out, bp_error* error);
BACKPLANE_API void backplane_fits_destroy(backplane_fits* fits);
BACKPLANE_API uint32_t backplane_fits_count(const backplane_fits* fits); /* of ways */
/* Way `i`, from 0. BP_NOT_FOUND: there are fewer. */
BACKPLANE_API bp_code backplane_fits_get(const backplane_fits* fits, uint32_t i, backplane_fit* fit, bp_error* error);
/* The first device that has all weights in it, else the first way that fits; streaming 2 (always): the first streamed one. Where none fits,
 * BP_NO_DEVICE_MEMORY says what would. */
BACKPLANE_API bp_code backplane_fits_best(const backplane_fits* fits, uint32_t streaming, backplane_fit* fit, bp_error* error);
/* What each device would need, in one sentence. As backplane_context_report gives its text. */
BACKPLANE_API bp_code backplane_fits_text(const backplane_fits* fits, char* text, size_t capacity, size_t* size,
                                          bp_error* error);

#ifdef __cplusplus
}
#endif
#endif
