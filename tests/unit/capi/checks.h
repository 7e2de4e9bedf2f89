/* What the tests in C count failures with. Each program has one file that includes this. */
#ifndef BACKPLANE_TEST_CAPI_CHECKS_H
#define BACKPLANE_TEST_CAPI_CHECKS_H

#include <stdio.h>

#include "backplane/backplane.h"

static int failures = 0;
static char text[1024]; /* of the last error */

static void check(int good, const char* what) {
    if (good) return;
    ++failures;
    printf("FAILED: %s (last error: %s)\n", what, text);
}

static bp_error fresh(void) {
    bp_error error = {BP_SIZE(bp_error, capacity), 0, 0, text, sizeof text};
    text[0] = '\0';
    return error;
}

#endif
