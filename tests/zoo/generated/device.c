/* The healthy half of the generated module: the minimal example as a discrete GPU, with heaps and with weights that want packing. */
#include "minimal.h"

static bp_code list_a_gpu(bp_module* m, const bp_array* infos, uint32_t* count, bp_error* error) {
    return list_as(BP_KIND_DISCRETE, m, infos, count, error);
}

static bp_code one_heap(bp_device* d, const bp_array* heaps, uint32_t* count, bp_error* error) {
    const bp_heap heap = {.total = 1u << 30, .available = 1u << 30, .alignment = sizeof(float)};
    (void)d, (void)error, *count = 1;
    if (heaps != NULL && heaps->count > 0) give(BP_AT_OUT(bp_heap, heaps, 0), &heap, sizeof heap);
    return BP_OK;
}

/* Its layout of weights, number 1, is the plain one: what is tested is that pack() is called, and what it does to its host. */
static bp_code compile_with_layouts(bp_device* d, const bp_graph* g, const bp_compile* how, bp_program** out,
                                    bp_error* error) {
    const bp_code code = compile(d, g, how, out, error);
    for (uint32_t i = 0; code == BP_OK && i < (*out)->slots; ++i)
        if (BP_AT(bp_tensor, &g->tensors, (*out)->slot[i].tensor)->role == BP_ROLE_WEIGHT) (*out)->slot[i].layout = 1;
    return code;
}

static bp_code pack(bp_program* p, uint32_t slot, const bp_copy* c, bp_error* error) {
    (void)p, (void)slot;
    return copy(NULL, c, error);
}

bp_module_api zoo_healthy_table(void) {
    bp_module_api healthy = table;
    healthy.list = list_a_gpu;
    healthy.heaps = one_heap;
    healthy.compile = compile_with_layouts;
    healthy.pack = pack;
    return healthy;
}
