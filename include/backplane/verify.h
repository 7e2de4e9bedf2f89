/* Does a device of this machine compute what the ops mean, for C: verify.hpp behind the line of backplane.h, whose rules for errors, handles and structs are
 * those here. The cases and bounds are the project's own (docs/conformance.md).
 *
 *     backplane_verification* seen = NULL;
 *     backplane_verification_info all = {.struct_size = BP_SIZE(backplane_verification_info, worst)};
 *     backplane_verify_options only = {.struct_size = BP_SIZE(backplane_verify_options, cancel)};
 *     only.op = BP_OP_softmax;
 *     if (backplane_verify(device, &only, &seen, &error) == BP_OK &&
 *         backplane_verification_get_info(seen, &all, &error) == BP_OK)
 *         printf("%u of %u cases failed\n", all.failed, all.cases);
 *     backplane_verification_destroy(seen);
 *
 * Any thread, any number of calls on one device. What came of it does not change. */
#ifndef BACKPLANE_VERIFY_H
#define BACKPLANE_VERIFY_H

#include "backplane/backplane.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct backplane_verification backplane_verification; /* what came of the cases */

#define BACKPLANE_CASE_PASSED 0u
#define BACKPLANE_CASE_FAILED 1u
#define BACKPLANE_CASE_UNSUPPORTED 2u /* the device does not do the op so */

typedef struct backplane_case_result { /* pointers live as long as the verification, in a call of `progress` as long as that */
    uint32_t struct_size;
    uint32_t status; /* BACKPLANE_CASE_*                                                                                    */
    uint32_t op;     /* BP_OP_*                                                                                             */
    uint32_t ran;    /* 0: it failed before anything came out, for instance because it would not compile                    */
    double worst;    /* largest error as a part of what is allowed: 1 just passes; infinity: no error was allowed           */
    const char* name; /* "Conv/3x3-16-to-16", unique                                                                        */
    const char* text; /* of what did not pass: what is wrong, or which node is not supported, and why; else ""              */
} backplane_case_result;

typedef struct backplane_verify_options { /* a null pointer to this, or zeros in it: the defaults */
    uint32_t struct_size;
    uint32_t op;             /* cases of this op only; 0: of all                                                            */
    const char* name_filter; /* cases whose name contains this; null: all                                                   */
    void (*progress)(void* progress_arg, const backplane_case_result* result); /* after each case, on the calling thread; may be null */
    void* progress_arg;
    const volatile uint32_t* cancel; /* becoming non-zero it ends the call before the next case; may be null                */
} backplane_verify_options;

typedef struct backplane_verification_info {
    uint32_t struct_size;
    uint32_t cases, passed, failed, unsupported;
    uint32_t reserved;
    double worst; /* of all that passed */
} backplane_verification_info;

/* Runs the cases, one result each and none left out; a case that fails is no error. Takes seconds to minutes, and a few MB. BP_CANCELLED; BP_INVALID: no
 * device, or no such op; BP_DEVICE_LOST, when further cases would tell nothing. */
BACKPLANE_API bp_code backplane_verify(backplane_device* device, const backplane_verify_options* options,
                                       backplane_verification** out, bp_error* error);
BACKPLANE_API void backplane_verification_destroy(backplane_verification* verification);
BACKPLANE_API bp_code backplane_verification_get_info(const backplane_verification* verification,
                                                      backplane_verification_info* info, bp_error* error);
/* Case `i`, from 0, in the order of running. BP_NOT_FOUND: there are fewer. */
BACKPLANE_API bp_code backplane_verification_get(const backplane_verification* verification, uint32_t i,
                                                 backplane_case_result* result, bp_error* error);
/* The names of the cases that such a call would run, in order, a line each. Cheap. As backplane_context_report gives its text. */
BACKPLANE_API bp_code backplane_verify_names(const backplane_verify_options* options, char* text, size_t capacity, size_t* size,
                                             bp_error* error);

#ifdef __cplusplus
}
#endif
#endif
