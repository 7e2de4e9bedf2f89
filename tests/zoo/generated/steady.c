/* A healthy module of a backend of its own, a CPU: what an application is left with when the generated one is not used. */
#define backplane_module minimal_entry
#include "backplane/note.h"
#undef BP_NOTE
#define BP_NOTE(abi, flags, json) extern int zoo_no_note
#include "../../../examples/minimal-backend/minimal.c"
#undef backplane_module

static bp_code list_a_cpu(bp_module* m, const bp_array* infos, uint32_t* count, bp_error* error) {
    const bp_code code = list(m, infos, count, error);
    if (infos != NULL && infos->count > 0) BP_AT_OUT(bp_device_info, infos, 0)->kind = BP_KIND_CPU;
    return code;
}

BP_EXPORT const bp_module_api* backplane_module(uint32_t host_abi);
const bp_module_api* backplane_module(uint32_t host_abi) {
    static bp_module_api mine;
    (void)host_abi;
    mine = table;
    mine.list = list_a_cpu;
    return &mine;
}
