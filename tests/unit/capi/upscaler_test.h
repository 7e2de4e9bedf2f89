/* What the test in C is given. */
#ifndef BP_UPSCALER_TEST_H
#define BP_UPSCALER_TEST_H

#include "backplane/upscaler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct upscaler_given {
    const char* modules; /* folder of module files                                      */
    const char* model;   /* a network of scale 2                                        */
    const char* picture; /* 60 x 50 pixels, RGB; null: this build reads no pictures     */
    const char* output;  /* a file to write                                             */
    const uint8_t* pixels;
    const uint8_t* want; /* of 120 x 100 pixels: what the C++ API makes of them         */
} upscaler_given;

int check_upscaler(const upscaler_given* given); /* how many checks failed */

#ifdef __cplusplus
}
#endif
#endif
