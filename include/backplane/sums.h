/* Module extension "bp.sums": what several devices of one module hold is added up by a library that is made for it (NCCL), where one is installed.
 * bp_module_api.extension(module, BP_SUMS) returns a `const bp_sums *`. Hosts that find none, or are refused, copy and add by themselves. */
#ifndef BACKPLANE_SUMS_H
#define BACKPLANE_SUMS_H

#include "backplane/module.h"

#define BP_SUMS "bp.sums"

typedef struct bp_sum_part { /* of one device */
    uint32_t struct_size;
    uint32_t queue; /* below bp_device_info.queues                                                             */
    bp_device *device;
    bp_buffer *from; /* of the device                                                                           */
    uint64_t from_offset;
    bp_buffer *to; /* of the device, other bytes                                                              */
    uint64_t to_offset;
    bp_span wait, peer_wait; /* of bp_point, as of a run                                                                */
    bp_point signal;         /* has a fence: the call returns when the work is submitted                                */
} bp_sum_part;

typedef struct bp_sums {
    uint32_t struct_size;
    uint32_t reserved;
    /* [any] Makes what these devices need to add up together, which takes up to some seconds the first time. `least_bytes`: of a tensor of one
     * device from which on that is known to be faster than copies. BP_NOT_FOUND: there is no such library, or it is turned off; other codes say
     * what is wrong with the one there is.                                                                              */
    bp_code (*prepare)(bp_device *const *devices, uint32_t count, uint64_t *least_bytes, bp_error *error);
    /* [queue] of each device. `to` of each of the parts (bp_sum_part, devices as they were prepared) becomes the sum of all `from`. A call that is
     * refused submits nothing and signals nothing. BP_UNSUPPORTED: not of this dtype. A library that fails later: fence_wait of the points that
     * were to be signalled, and of no others, answers BP_UNSUPPORTED with its words; whatever was made of the sum is to be made anew.    */
    bp_code (*sum)(const bp_span *parts, uint32_t dtype, uint64_t elements, bp_error *error);
} bp_sums;

#endif
