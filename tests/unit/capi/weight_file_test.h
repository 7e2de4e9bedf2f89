/* What the test in C is given: files of one tensor, w = [[1, 2, 3], [4, 5, 6]] in f32. */
#ifndef BP_WEIGHT_FILE_TEST_H
#define BP_WEIGHT_FILE_TEST_H

#include "backplane/weight_file.h"

#ifdef __cplusplus
extern "C" {
#endif

int check_weight_files(const char* modules, const char* const* paths, const char* const* formats,
                       int count); /* how many checks failed */

#ifdef __cplusplus
}
#endif
#endif
