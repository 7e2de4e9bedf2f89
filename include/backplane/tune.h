/* Choosing a device by measurement, for C: tune.hpp behind the line of backplane.h, whose rules for errors, handles and structs are those here.
 *
 *     char fastest[64] = "";
 *     uint32_t count = 0;
 *     if (backplane_tuned_device(context, graph, fastest, sizeof fastest, NULL, &error) == BP_OK && fastest[0] == '\0' &&
 *         backplane_tune(context, graph, source, arg, NULL, NULL, 0, &count, &error) == BP_OK)
 *         backplane_tuned_device(context, graph, fastest, sizeof fastest, NULL, &error);
 *     backplane_device_open(context, fastest, &device, &error);
 *
 * Any thread. */
#ifndef BACKPLANE_TUNE_H
#define BACKPLANE_TUNE_H

#include "backplane/backplane.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct backplane_tune_options { /* a null pointer to this, or zeros in it: the defaults */
    uint32_t struct_size;
    uint32_t runs;     /* timed, after one that is not; 0: 5                                                                */
    double seconds;    /* at most on one device, beyond its first run; 0: 20                                                */
    uint32_t software; /* 1: software rasterisers, too                                                                      */
    uint32_t reserved;
    void (*progress)(void* progress_arg, const char* device); /* before each, on the calling thread; null: nobody is told   */
    void* progress_arg;
    const volatile uint32_t* cancel; /* becoming non-zero it ends the call; may be null                                     */
} backplane_tune_options;

typedef struct backplane_tune_result {
    uint32_t struct_size;
    uint32_t reserved;
    double milliseconds; /* median of a run: inputs copied, computed, outputs copied                                        */
    double first_ms;     /* compiling, packing weights, first run                                                           */
    char device[64];     /* "vulkan:0"                                                                                      */
    char failure[512];   /* why it was not timed; "": it was                                                                */
} backplane_tune_result;

/* Times the graph with inputs of zero on every device of the machine: fastest first, then those that failed. The winner is remembered in the context's state
 * folder for this graph, these devices and their drivers; where that cannot be written, it is not. source: may be null for a graph without weights. Fills at
 * most `capacity` records, each with its struct_size set by the caller; *count is how many there are. BP_CANCELLED; BP_NOT_FOUND: no device runs the graph. */
BACKPLANE_API bp_code backplane_tune(backplane_context* context, backplane_graph* graph, backplane_weight_source source,
                                     void* arg, const backplane_tune_options* options, backplane_tune_result* results,
                                     uint32_t capacity, uint32_t* count, bp_error* error);
/* The device that was the fastest, as backplane_device_open takes it; "": nothing is remembered for this graph and the devices that are here now. Cheap. As
 * backplane_context_report gives its text. */
BACKPLANE_API bp_code backplane_tuned_device(backplane_context* context, backplane_graph* graph, char* device, size_t capacity,
                                             size_t* size, bp_error* error);

#ifdef __cplusplus
}
#endif
#endif
