// Convolution, channels last, of one pixel by one pixel: a product of pixels by filters, whose kernels keep a part of many channels in the nearest
// cache while pixels pass.
#pragma once

#include "lowering.hpp"

namespace backplane::cpu::ops::conv {

// Of one group of filters, over maps of two spatial axes.
bool is_product(const ConvTask& task);
// Bytes for each thread.
uint64_t product_scratch(const ConvKernels& kernels);
// `pixels` of maps that lie one after another.
void compute_product(const Run& run, const Kernels& kernels, const ConvTask& task, int64_t pixels);

}  // namespace backplane::cpu::ops::conv
