/* Module extension "bp.loans": host memory that buffer_import takes at no cost to speak of, and for no longer than work uses it.
 * bp_module_api.extension(module, BP_LOANS) returns a `const bp_loans *`. Hosts that find none copy what is small, and let the memory outlive
 * the buffer, as module.h has it. */
#ifndef BACKPLANE_LOANS_H
#define BACKPLANE_LOANS_H

#include "backplane/module.h"

#define BP_LOANS "bp.loans"

/* Of all devices of the module that state BP_CAN_IMPORT_HOST: buffer_import of memory at a multiple of `alignment` asks nobody, and pays for more than
 * `copied_up_to` bytes, below which a copy takes no longer. The memory may go before the buffer does, once no work uses it; a buffer whose memory has
 * gone may be closed, and where there is memory again at its place it names that.                                          */
typedef struct bp_loans {
    uint32_t struct_size;
    uint32_t alignment; /* bytes, a power of two                                                                          */
    uint64_t copied_up_to;
} bp_loans;

#endif
