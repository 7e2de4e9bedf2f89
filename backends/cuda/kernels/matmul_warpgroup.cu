#include "matmul_warpgroup.h"
