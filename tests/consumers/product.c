/* A product's library with Backplane inside: what it exports for the test, and, as the worst case, the C API of Backplane under the names
 * that the other product's library exports too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backplane/backplane.h"

#define PRODUCT __attribute__((visibility("default")))

typedef struct {
    backplane_context* context;
    backplane_device* device;
    backplane_session* session;
} product;

PRODUCT uint32_t product_abi(void);
PRODUCT product* product_open(const char* device, char* text, size_t capacity);
PRODUCT int product_report(product* p, char* json, size_t capacity);
PRODUCT int product_run(product* p, float start);
PRODUCT void product_close(product* p);

uint32_t product_abi(void) { return BP_ABI; }

static int make_session(product* p, bp_error* error) {
    const int64_t dims[1] = {1024};
    uint32_t x = 0, y = 0;
    backplane_graph* graph = NULL;
    const int good = backplane_graph_create(&graph, error) == BP_OK &&
                     backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F32, dims, 1, &x, error) == BP_OK &&
                     backplane_graph_add(graph, BP_OP_relu, &x, 1, NULL, 0, &y, error) == BP_OK &&
                     backplane_graph_output(graph, y, "y", error) == BP_OK &&
                     backplane_session_create(p->device, graph, NULL, NULL, BP_MATH_DEFAULT, &p->session, error) == BP_OK;
    backplane_graph_destroy(graph);
    return good;
}

/* Null: `text` says why. */
product* product_open(const char* device, char* text, size_t capacity) {
    bp_error error = {BP_SIZE(bp_error, capacity), 0, 0, text, (uint32_t)capacity};
    product* p = calloc(1, sizeof *p);
    text[0] = '\0';
    if (p != NULL && backplane_context_create(NULL, &p->context, &error) == BP_OK &&
        backplane_device_open(p->context, device, &p->device, &error) == BP_OK && make_session(p, &error))
        return p;
    if (p != NULL) product_close(p);
    return NULL;
}

int product_report(product* p, char* json, size_t capacity) {
    size_t size = 0;
    return backplane_context_report(p->context, json, capacity, &size, NULL) == BP_OK && size <= capacity;
}

/* Is relu right for start, start + 1, ...? */
int product_run(product* p, float start) {
    float in[1024], out[1024];
    for (int i = 0; i < 1024; ++i) in[i] = start + (float)i, out[i] = -1;
    const backplane_bytes input = {"x", in, sizeof in}, output = {"y", out, sizeof out};
    if (backplane_session_run(p->session, &input, 1, &output, 1, NULL, NULL) != BP_OK) return 0;
    for (int i = 0; i < 1024; ++i)
        if (out[i] != (in[i] > 0 ? in[i] : 0)) return 0;
    return 1;
}

void product_close(product* p) {
    backplane_session_destroy(p->session);
    backplane_device_close(p->device);
    backplane_context_destroy(p->context);
    free(p);
}
