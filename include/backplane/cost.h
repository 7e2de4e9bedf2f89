/* What work costs on the devices of a machine, and what a run would take by that, for C: cost.hpp behind the line of backplane.h, whose rules for errors,
 * handles and structs are those here. Seconds, and work: floating-point operations of products, convolutions and attention, bytes of all else.
 *
 *     backplane_costs* costs = NULL;
 *     backplane_fits* ways = NULL;
 *     backplane_prediction time = {.struct_size = BP_SIZE(backplane_prediction, networks)};
 *     backplane_device_costs known = {.struct_size = BP_SIZE(backplane_device_costs, run)};
 *     uint32_t curves = 0;
 *     if (backplane_costs_create(context, &costs, &error) == BP_OK) {
 *         if (backplane_costs_of(costs, device, &known, NULL, 0, &curves, &error) == BP_NOT_FOUND)
 *             backplane_costs_measure(costs, device, NULL, &error);
 *         if (backplane_fits_create(&device, 1, graph, NULL, &ways, &error) == BP_OK &&
 *             backplane_costs_predict(costs, graph, ways, 0, &time, &error) == BP_OK)
 *             printf("about %.1f ms\n", 1e3 * time.seconds);
 *     }
 *     backplane_fits_destroy(ways);
 *     backplane_costs_destroy(costs);
 *
 * One call at a time on a backplane_costs; several of one context share what they know. */
#ifndef BACKPLANE_COST_H
#define BACKPLANE_COST_H

#include "backplane/backplane.h"
#include "backplane/fit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct backplane_costs backplane_costs; /* what is remembered in the state folder of a context */

BACKPLANE_API bp_code backplane_costs_create(backplane_context* context, backplane_costs** out, bp_error* error);
BACKPLANE_API void backplane_costs_destroy(backplane_costs* costs);

typedef struct backplane_measure_options { /* a null pointer to this, or zeros in it: the defaults */
    uint32_t struct_size;
    uint32_t other_count;
    backplane_device* const* others; /* whose tensors the device will be given, one by one                                  */
    /* Before each kind of op, `done` from 0 to 1, on the calling thread; null: nobody is told. */
    void (*progress)(void* progress_arg, const char* what, double done);
    void* progress_arg;
    const volatile uint32_t* cancel; /* becoming non-zero it ends the call; may be null                                     */
    double seconds; /* about so many may be spent: what there is no time for is taken to cost what it is like. 0: 20        */
} backplane_measure_options;
/* Runs small graphs of its own on the device, beside nothing else if it is to be true, and remembers what they took. BP_CANCELLED, BP_DEVICE_LOST. */
BACKPLANE_API bp_code backplane_costs_measure(backplane_costs* costs, backplane_device* device,
                                              const backplane_measure_options* options, bp_error* error);

typedef struct backplane_device_costs {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t measured; /* seconds since 1970                                                                                 */
    double run;       /* seconds of a run beside its ops                                                                    */
} backplane_device_costs;

typedef struct backplane_cost_curve { /* seconds over work: fixed, and from the last point that was measured on work / rate */
    uint32_t struct_size;
    uint32_t by_operations; /* 1: work is counted in operations; 0: in bytes                                                */
    double fixed;           /* seconds at no work                                                                           */
    double rate;            /* work a second, sustained                                                                     */
    char name[96]; /* "product f16", "element-wise f32", ...; "up", "down": inputs and outputs; "streamed": weights; "from cuda:1" */
} backplane_cost_curve;
/* Fills `known`, at most `capacity` records, each with its struct_size set by the caller, and *count with how many there are. BP_NOT_FOUND: the device was
 * not measured, or with another driver. */
BACKPLANE_API bp_code backplane_costs_of(backplane_costs* costs, backplane_device* device, backplane_device_costs* known,
                                         backplane_cost_curve* curves, uint32_t capacity, uint32_t* count, bp_error* error);
/* Seconds of so much work by the curve of that name. BP_NOT_FOUND: the device was not measured, or has no such curve. */
BACKPLANE_API bp_code backplane_costs_seconds(backplane_costs* costs, backplane_device* device, const char* name, double work,
                                              double* seconds, bp_error* error);

typedef struct backplane_prediction { /* of one run, one submit at a time, from host memory to host memory                  */
    uint32_t struct_size;
    uint32_t known;     /* 0: the device was not measured, and all else is 0                                                */
    double seconds;
    double ops, copies; /* of these: work of the device; what crosses its edge. Streamed weights cross while it is at work  */
    double learnt;      /* measured over predicted of runs of this network, in both of them; 1: nothing was learnt          */
    uint64_t runs;      /* of this network by which it is corrected                                                         */
    uint64_t networks;  /* others by which it is; 0 where runs of its own are known                                         */
} backplane_prediction;
/* Of the graph that `fits` was made of, as its way `i` says. BP_NOT_FOUND: there are fewer. */
BACKPLANE_API bp_code backplane_costs_predict(backplane_costs* costs, backplane_graph* graph, const backplane_fits* fits,
                                              uint32_t i, backplane_prediction* prediction, bp_error* error);
/* What such a run took from call to return, in seconds above 0: the next prediction for this network is nearer. */
BACKPLANE_API bp_code backplane_costs_learn(backplane_costs* costs, backplane_graph* graph, const backplane_fits* fits, uint32_t i,
                                            double seconds, bp_error* error);

#define BACKPLANE_MOST_PARTS 8u

typedef struct backplane_placement {
    uint32_t struct_size;
    uint32_t parts;   /* 1: all of it is on one device; else a backplane_pipeline's                                         */
    double seconds;   /* of all batches                                                                                     */
    uint32_t devices[BACKPLANE_MOST_PARTS]; /* of each part the place of its device among those that `fits` was made of, in the order of running */
    double shares[BACKPLANE_MOST_PARTS];    /* of the work; sum to 1: what backplane_session_options takes                  */
    double by_part[BACKPLANE_MOST_PARTS];   /* seconds of a batch, with what crosses to each part                           */
    char text[512];   /* a line: what, and how long a batch is there                                                        */
} backplane_placement;
/* Which of the devices of `fits`, that were measured, would be done with so many batches of its graph first: one alone, or up to `most_parts` (1 to
 * BACKPLANE_MOST_PARTS; 0: 3) with a part of the layers each. Never what is slower by prediction than the best single device. BP_NOT_FOUND: nothing fits, or
 * nothing is known. */
BACKPLANE_API bp_code backplane_costs_place(backplane_costs* costs, backplane_graph* graph, const backplane_fits* fits,
                                            int64_t batches, uint32_t most_parts, backplane_placement* placement,
                                            bp_error* error);

#ifdef __cplusplus
}
#endif
#endif
