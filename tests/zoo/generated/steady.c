/* A healthy module of a backend of its own, a CPU: what an application is left with when the generated one is not used. */
#include "minimal.h"

static bp_code list_a_cpu(bp_module* m, const bp_array* infos, uint32_t* count, bp_error* error) {
    return list_as(BP_KIND_CPU, m, infos, count, error);
}

BP_EXPORT const bp_module_api* backplane_module(uint32_t host_abi);
const bp_module_api* backplane_module(uint32_t host_abi) {
    static bp_module_api mine;
    (void)host_abi;
    mine = table;
    mine.list = list_a_cpu;
    return &mine;
}
