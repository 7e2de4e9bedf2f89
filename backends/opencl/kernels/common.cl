// What the kernels of this Api alone start with.
#include "common.h"
#define WORDS_HERE constant uint *words = all_parameters + first_parameter
#define AT(name) name += name##_first
// The record of the kernel: P.field where P is PARAMETERS_OF(its name).
#define PARAMETERS_OF(name) (*(constant struct name##Parameters *)words)
