/* What the test in C is given. */
#ifndef BP_TRANSCRIBER_TEST_H
#define BP_TRANSCRIBER_TEST_H

#include "backplane/transcriber.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct transcriber_given {
    const char* modules; /* folder of module files                      */
    const char* model;   /* of a TDT                                    */
    const char* clip;    /* null: this build reads no sound files       */
    const char* want;    /* what is said; null: not known               */
    const float* samples;
    uint64_t count;
} transcriber_given;

int check_transcriber(const transcriber_given* given); /* how many checks failed */

#ifdef __cplusplus
}
#endif
#endif
