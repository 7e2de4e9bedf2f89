/* A complete Backplane module in one file of C11: Add, Mul and Relu on f32 tensors of one shape. Build it anywhere:
 *     cc -std=c11 -O2 -fPIC -shared -fvisibility=hidden -I PREFIX/include minimal.c -o backplane-minimal.so
 * docs/writing-a-backend.md walks through it. Structs from the host are read in place: each has all fields of ABI 1.0, the
 * oldest. What the host hands over to be filled may be shorter (R2), and so may its function table (BP_HAS). */
/* clang-format off */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "backplane/module.h"
#include "backplane/note.h"
#include "backplane/ops.h"

BP_NOTE(BP_ABI, BP_NOTE_UNLOADABLE,
        "{\"backend\":\"minimal\",\"version\":\"1.0.0\",\"cpu\":[],\"needs\":[],\"licence\":\"MIT\",\"probe\":\"none\"}");

enum { UNUSED, SLOT, WORKSPACE }; /* where the bytes of a tensor are during a run */
typedef struct { uint64_t kind, bytes, offset; } place;
typedef struct { uint32_t op, tensor[3]; uint64_t bytes; } step; /* two inputs (of Relu: twice the same), output; all of one size */
struct bp_device { const bp_host *host; };
struct bp_module { bp_device device; };
struct bp_buffer { uint64_t size; unsigned char data[]; };
struct bp_program { uint32_t steps, tensors, slots, plan_only; uint64_t workspace; step *step; place *place; bp_slot *slot; };

/* Says it in the caller's bp_error, whose layout is frozen; the pointer and the text may be null. */
static bp_code fail(bp_error *error, bp_code code, const char *what, uint64_t number) {
    if (error != NULL) error->code = code;
    if (error != NULL && error->text != NULL) snprintf(error->text, error->capacity, "minimal: %s (%ju)", what, (uintmax_t)number);
    return code;
}
/* R2: fills a struct of the host no further than the host knows it, and leaves its struct_size alone. */
static void give(void *theirs, const void *mine, size_t size) {
    const size_t head = sizeof(uint32_t), known = *(const uint32_t *)theirs;
    memcpy((char *)theirs + head, (const char *)mine + head, (known < size ? known : size) - head);
}

static bp_code open_module(const bp_host *host, bp_module **out, bp_error *error) {
    if ((*out = calloc(1, sizeof **out)) == NULL) return fail(error, BP_NO_HOST_MEMORY, "out of memory: bytes", sizeof **out);
    (*out)->device.host = host;
    if (BP_HAS(host, log)) host->log(host->self, BP_LOG_DEBUG, "minimal: opened");
    return BP_OK;
}
static void close_module(bp_module *m) { free(m); }
static bp_code list(bp_module *m, const bp_array *infos, uint32_t *count, bp_error *error) {
    const bp_device_info info = {.kind = BP_KIND_SOFTWARE, .id = 1, .name = "minimal example", .dtypes = 1u << BP_F32};
    (void)m, (void)error, *count = 1;
    if (infos != NULL && infos->count > 0) give(BP_AT_OUT(bp_device_info, infos, 0), &info, sizeof info);
    return BP_OK;
}
static bp_code device_open(bp_module *m, uint64_t id, bp_device **out, bp_error *error) {
    *out = id == 1 ? &m->device : NULL;
    return id == 1 ? BP_OK : fail(error, BP_NOT_FOUND, "only device 1 is there, not", id);
}
static void device_close(bp_device *d) { (void)d; }

/* What can be said of node `i` alone; fills in its step. Trusts nothing in a graph but the lengths of its arrays. */
static bp_code check_node(const bp_graph *g, uint32_t i, step *s, uint32_t *why, bp_error *error) {
    const bp_node *n = BP_AT(bp_node, &g->nodes, i);
    const uint32_t arity = n->op == BP_OP_add || n->op == BP_OP_mul ? 2 : n->op == BP_OP_relu ? 1 : 0;
    *why = arity == 0 ? BP_WHY_OP : n->attributes != 0 ? BP_WHY_ATTRIBUTE : BP_WHY_NONE;
    if (*why != BP_WHY_NONE) return fail(error, BP_UNSUPPORTED, "not a plain Add, Mul or Relu: node", i);
    if (n->inputs != arity || n->outputs != 1 || (uint64_t)n->input + arity > g->edges.count || n->output >= g->edges.count)
        return fail(error, BP_INVALID, "wrong number of inputs or outputs: node", i);
    *s = (step){.op = n->op, .bytes = sizeof(float)};
    const bp_tensor *t[3];
    for (uint32_t k = 0; k < 3; k++) {
        s->tensor[k] = *BP_AT(uint32_t, &g->edges, k == 2 ? n->output : n->input + k % arity);
        if (s->tensor[k] >= g->tensors.count) return fail(error, BP_INVALID, "an edge names no tensor: node", i);
        t[k] = BP_AT(bp_tensor, &g->tensors, s->tensor[k]);
        if (t[k]->rank > BP_MAX_RANK) return fail(error, BP_INVALID, "a rank is over 8: node", i);
        if (t[k]->dtype != BP_F32) *why = BP_WHY_DTYPE;
        if (t[k]->role == BP_ROLE_CONSTANT) *why = BP_WHY_LIMIT;
    }
    for (uint32_t d = 0; d < t[2]->rank; d++) {
        if (t[0]->dim[d] != t[2]->dim[d] || t[1]->dim[d] != t[2]->dim[d]) *why = BP_WHY_SHAPE;
        if (t[2]->dim[d] < 0) *why = BP_WHY_SYMBOLIC;
        if (__builtin_mul_overflow(s->bytes, (uint64_t)t[2]->dim[d], &s->bytes)) *why = BP_WHY_LIMIT;
    }
    if (t[0]->rank != t[2]->rank || t[1]->rank != t[2]->rank) *why = BP_WHY_SHAPE;
    if (t[2]->role != BP_ROLE_TEMPORARY && t[2]->role != BP_ROLE_OUTPUT) *why = BP_WHY_LIMIT; /* it updates state */
    return *why == BP_WHY_NONE ? BP_OK
                               : fail(error, BP_UNSUPPORTED, "only f32 of one fixed shape, no constant or state: node", i);
}

static bp_code query(bp_device *d, const bp_graph *g, const bp_array *answers, bp_error *error) {
    (void)d;
    for (uint32_t i = 0; i < g->nodes.count && i < answers->count; i++) {
        step unused;
        bp_answer *answer = BP_AT_OUT(bp_answer, answers, i);
        answer->code = check_node(g, i, &unused, &answer->reason, error);
        if (answer->code == BP_INVALID) return BP_INVALID;
    }
    return BP_OK;
}

/* Gives a tensor its place at its first use; `written`: by the node at hand. Single assignment is checked here. */
static bp_code place_tensor(bp_program *p, const bp_graph *g, uint32_t index, uint64_t bytes, int written, bp_error *error) {
    const uint32_t role = BP_AT(bp_tensor, &g->tensors, index)->role;
    place *at = &p->place[index];
    if (at->kind != UNUSED ? written : !written && (role == BP_ROLE_TEMPORARY || role == BP_ROLE_OUTPUT))
        return fail(error, BP_INVALID, "written twice, or read before it is written: tensor", index);
    if (at->kind != UNUSED) return BP_OK;
    *at = (place){role == BP_ROLE_TEMPORARY ? WORKSPACE : SLOT, bytes, p->workspace};
    if (at->kind == SLOT) p->slot[p->slots++] = (bp_slot){BP_SIZE(bp_slot, last_use), index, bytes, sizeof(float), 0, 0, 0};
    if (at->kind == WORKSPACE && __builtin_add_overflow(p->workspace, bytes, &p->workspace))
        return fail(error, BP_NO_DEVICE_MEMORY, "more than 2^64 bytes of workspace at tensor", index);
    return BP_OK;
}
static void program_close(bp_program *p) { free(p->step), free(p->place), free(p->slot), free(p); }

static bp_code compile(bp_device *d, const bp_graph *g, const bp_compile *how, bp_program **out, bp_error *error) {
    (void)d, *out = NULL;
    bp_program *p = calloc(1, sizeof *p);
    if (p == NULL) return fail(error, BP_NO_HOST_MEMORY, "out of memory: bytes wanted", sizeof *p);
    p->steps = g->nodes.count, p->tensors = g->tensors.count, p->plan_only = how->flags & BP_COMPILE_PLAN_ONLY;
    p->step = calloc((size_t)p->steps + 1, sizeof *p->step);
    p->place = calloc((size_t)p->tensors + 1, sizeof *p->place), p->slot = calloc((size_t)p->tensors + 1, sizeof *p->slot);
    const int enough = p->step != NULL && p->place != NULL && p->slot != NULL;
    bp_code code = enough ? BP_OK : fail(error, BP_NO_HOST_MEMORY, "out of memory: steps", p->steps);
    for (uint32_t i = 0, why; i < p->steps && code == BP_OK; i++) {
        code = check_node(g, i, &p->step[i], &why, error);
        for (int k = 0; k < 3 && code == BP_OK; k++)
            code = place_tensor(p, g, p->step[i].tensor[k], p->step[i].bytes, k == 2, error);
    }
    if (code == BP_OK && how->workspace_limit != 0 && p->workspace > how->workspace_limit)
        code = fail(error, BP_NO_DEVICE_MEMORY, "over the limit: bytes of workspace", p->workspace);
    *out = code == BP_OK ? p : (program_close(p), NULL);
    return code;
}

static bp_code program_info(bp_program *p, bp_program_info *info, bp_error *error) {
    const bp_program_info mine = {.workspace_bytes = p->workspace,
                                  .workspace_alignment = sizeof(float),
                                  .slots = {p->slot, p->slots, sizeof *p->slot}};
    return (void)error, give(info, &mine, sizeof mine), BP_OK;
}
static int inside(const bp_buffer *b, uint64_t at, uint64_t n) { return b != NULL && at <= b->size && n <= b->size - at; }

/* Where each tensor is in this run, or which binding is wrong; nothing has been written by then. */
static bp_code bind(const bp_program *p, const bp_run *run, void **at, bp_error *error) {
    bp_buffer *w = run->workspace;
    const uint64_t base = run->workspace_offset;
    if (p->workspace != 0 && (!inside(w, base, p->workspace) || base % sizeof(float) != 0))
        return fail(error, BP_INVALID, "the workspace is missing, too small or not aligned: bytes needed", p->workspace);
    for (uint32_t i = 0; i < run->bindings.count; i++) {
        const bp_binding *b = BP_AT(bp_binding, &run->bindings, i);
        const place *slot = b->tensor < p->tensors ? &p->place[b->tensor] : NULL;
        if (slot == NULL || slot->kind != SLOT || at[b->tensor] != NULL || b->bytes < slot->bytes ||
            b->offset % sizeof(float) != 0 || !inside(b->buffer, b->offset, b->bytes))
            return fail(error, BP_INVALID, "not to be bound, bound twice, or does not fit: tensor", b->tensor);
        at[b->tensor] = b->buffer->data + b->offset;
    }
    for (uint32_t i = 0; i < p->tensors; i++) {
        if (p->place[i].kind == SLOT && at[i] == NULL) return fail(error, BP_INVALID, "not bound: tensor", i);
        if (p->place[i].kind == WORKSPACE && p->workspace != 0) at[i] = w->data + base + p->place[i].offset;
    }
    return BP_OK;
}

static bp_code run_program(bp_program *p, const bp_run *run, bp_error *error) {
    if (p->plan_only != 0) return fail(error, BP_INVALID, "compiled with PLAN_ONLY, does not run: steps", p->steps);
    void **at = calloc((size_t)p->tensors + 1, sizeof *at);
    bp_code code =
        at == NULL ? fail(error, BP_NO_HOST_MEMORY, "out of memory: tensors", p->tensors) : bind(p, run, at, error);
    for (const step *s = p->step; s < p->step + p->steps && code == BP_OK; s++) {
        float *a = at[s->tensor[0]], *b = at[s->tensor[1]], *out = at[s->tensor[2]];
        if (run->cancel != NULL && *run->cancel != 0)
            code = fail(error, BP_CANCELLED, "cancelled before step", (uint64_t)(s - p->step));
        for (uint64_t k = 0; k < s->bytes / sizeof(float) && code == BP_OK; k++)
            out[k] = s->op == BP_OP_add ? a[k] + b[k] : s->op == BP_OP_mul ? a[k] * b[k] : a[k] < 0 ? 0 : a[k];
    }
    return free(at), code;
}

static bp_code buffer_create(bp_device *d, uint32_t heap, uint64_t size, bp_buffer **out, bp_error *error) {
    (void)d, *out = NULL;
    if (heap != 0) return fail(error, BP_INVALID, "there is no such heap", heap);
    if (size < SIZE_MAX - sizeof **out) *out = malloc(sizeof **out + (size_t)size);
    if (*out != NULL) (*out)->size = size;
    return *out != NULL ? BP_OK : fail(error, BP_NO_DEVICE_MEMORY, "no memory for a buffer of so many bytes", size);
}
static void buffer_close(bp_buffer *b) { free(b); }
static bp_code copy(bp_device *d, const bp_copy *c, bp_error *error) {
    (void)d;
    if ((c->from_buffer == NULL) == (c->from_host == NULL) || (c->to_buffer == NULL) == (c->to_host == NULL) ||
        (c->from_buffer != NULL && !inside(c->from_buffer, c->from_offset, c->bytes)) ||
        (c->to_buffer != NULL && !inside(c->to_buffer, c->to_offset, c->bytes)))
        return fail(error, BP_INVALID, "leaves its buffer, or has not one source and one destination: bytes", c->bytes);
    const unsigned char *from = c->from_buffer != NULL ? c->from_buffer->data : c->from_host;
    unsigned char *to = c->to_buffer != NULL ? c->to_buffer->data : c->to_host;
    return memmove(to + c->to_offset, from + c->from_offset, (size_t)c->bytes), BP_OK;
}

/* What is not named is absent and has a defined answer: no fences (calls return when done), no import (the host copies). */
static const bp_module_api table = {
    .struct_size = BP_SIZE(bp_module_api, fence_close), .abi = BP_ABI, .open = open_module, .close = close_module, .list = list,
    .device_open = device_open, .device_close = device_close, .query = query, .compile = compile, .program_info = program_info,
    .run = run_program, .program_close = program_close, .buffer_create = buffer_create, .buffer_close = buffer_close, .copy = copy};
BP_EXPORT const bp_module_api *backplane_module(uint32_t host_abi);
const bp_module_api *backplane_module(uint32_t host_abi) { return host_abi >> 16 == BP_ABI_MAJOR ? &table : NULL; }
