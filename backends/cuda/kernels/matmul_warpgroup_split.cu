// A product with few tiles: PARTS workgroups, a cluster, share the depth of each.
#define SPLIT_DEPTH
#include "matmul_warpgroup.h"
