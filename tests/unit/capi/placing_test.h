/* What the test in C is given: where modules are, a folder of its own to remember in, and what has it remembered there what work costs on a device. */
#ifndef BP_PLACING_TEST_H
#define BP_PLACING_TEST_H

#include "backplane/backplane.h"

#ifdef __cplusplus
extern "C" {
#endif

int check_placing(const char* modules, const char* state,
                  void (*know)(backplane_device* device)); /* how many checks failed */

#ifdef __cplusplus
}
#endif
#endif
