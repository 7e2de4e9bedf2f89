/* What the test in C is given: files of one tensor, w = [[1, 2, 3], [4, 5, 6]] in f32, and where it may write one. */
#ifndef BP_WEIGHT_FILE_TEST_H
#define BP_WEIGHT_FILE_TEST_H

#include "backplane/quantize.h"

#ifdef __cplusplus
extern "C" {
#endif

int check_weight_files(const char* modules, const char* const* paths, const char* const* formats, int count,
                       const char* out); /* how many checks failed */

#ifdef __cplusplus
}
#endif
#endif
