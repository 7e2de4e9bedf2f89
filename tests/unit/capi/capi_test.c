/* capi_test FOLDER: the whole of the C API, the wrong uses first. Prints what failed; exit code: how many checks did. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backplane/backplane.h"

static int failures = 0;
static char text[1024];

static void check(int good, const char* what) {
    if (good) return;
    ++failures;
    printf("FAILED: %s (last error: %s)\n", what, text);
}

static bp_error fresh(void) {
    bp_error error = {BP_SIZE(bp_error, capacity), 0, 0, text, sizeof text};
    text[0] = '\0';
    return error;
}

static const float weight[4] = {2, 2, 2, 2};

static const void* source(void* arg, const char* name, uint64_t* bytes) {
    (void)arg;
    if (strcmp(name, "w") != 0) return NULL;
    *bytes = sizeof weight;
    return weight;
}

static void wrong_uses(const char* folder) {
    bp_error e = fresh();
    check(backplane_context_create(NULL, NULL, &e) == BP_INVALID && strstr(text, "out") != NULL, "a null out is named");
    check(backplane_context_devices(NULL, NULL, 0, NULL, &e) == BP_INVALID, "a null context is refused");
    check(backplane_device_open(NULL, "cpu", NULL, NULL) == BP_INVALID, "a null error is allowed");
    backplane_context_destroy(NULL);
    backplane_device_close(NULL);
    backplane_graph_destroy(NULL);
    backplane_session_destroy(NULL);

    const char* paths[1] = {folder};
    backplane_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = BP_SIZE(backplane_context_options, log_arg);
    options.skip_defaults = options.skip_linked_in = options.skip_environment = 1;
    options.module_paths = paths;
    options.module_path_count = 1;
    backplane_context* context = NULL;
    check(backplane_context_create(&options, &context, &e) == BP_OK, "a context is made");
    options.struct_size = BP_SIZE(backplane_context_options, state_folder);
    options.probe = 3;
    backplane_context* none_made = NULL;
    check(backplane_context_create(&options, &none_made, &e) == BP_INVALID && none_made == NULL &&
              strstr(text, "never") != NULL,
          "an unknown probe policy says which there are");
    backplane_device* device = NULL;
    check(backplane_device_open(context, "no-such", &device, &e) == BP_NOT_FOUND && device == NULL &&
              strstr(text, "minimal:0") != NULL,
          "an unknown device says which there are");
    backplane_graph* graph = NULL;
    check(backplane_graph_create(&graph, &e) == BP_OK, "a graph is made");
    uint32_t t = 0;
    const int64_t dims[9] = {4, 1, 1, 1, 1, 1, 1, 1, 1};
    check(backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F32, dims, 9, &t, &e) == BP_INVALID, "rank 9 is refused");
    check(backplane_graph_tensor(graph, 77, "x", BP_F32, dims, 1, &t, &e) == BP_INVALID, "an unknown role is refused");
    check(backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", 99, dims, 1, &t, &e) == BP_INVALID,
          "an unknown type is refused");
    const uint32_t none[1] = {123};
    check(backplane_graph_add(graph, BP_OP_relu, none, 1, NULL, 0, &t, &e) == BP_INVALID, "an unknown tensor is refused");
    check(backplane_graph_add(graph, 9999, none, 0, NULL, 0, &t, &e) == BP_INVALID, "an unknown op is refused");
    backplane_graph_destroy(graph);
    backplane_context_destroy(context);
}

static void right_use(const char* folder) {
    bp_error e = fresh();
    const char* paths[1] = {folder};
    backplane_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = BP_SIZE(backplane_context_options, log_arg);
    options.skip_defaults = options.skip_linked_in = options.skip_environment = 1;
    options.module_paths = paths;
    options.module_path_count = 1;
    backplane_context* context = NULL;
    check(backplane_context_create(&options, &context, &e) == BP_OK, "context");
    backplane_device_info info[2];
    memset(info, 0, sizeof info);
    info[0].struct_size = info[1].struct_size = BP_SIZE(backplane_device_info, warning);
    uint32_t count = 0;
    check(backplane_context_devices(context, info, 2, &count, &e) == BP_OK && count == 1 &&
              strcmp(info[0].id, "minimal:0") == 0,
          "devices");
    size_t size = 0;
    check(backplane_context_report(context, NULL, 0, &size, &e) == BP_OK && size > 100, "size of the report");
    char* json = malloc(size);
    check(backplane_context_report(context, json, size, NULL, &e) == BP_OK && strlen(json) + 1 == size, "report");
    free(json);

    backplane_device* device = NULL;
    check(backplane_device_open(context, "minimal", &device, &e) == BP_OK, "device");
    check(backplane_context_unload(context, "minimal", &e) == BP_BUSY && strstr(text, "minimal:0 is open") != NULL,
          "what is in use stays, and is named");
    backplane_device_close(device);
    check(backplane_context_unload(context, "minimal", &e) == BP_OK, "unload");
    check(backplane_context_unload(context, "minimal", &e) == BP_NOT_FOUND, "only once");
    check(backplane_context_rescan(context, &e) == BP_OK, "rescan");
    check(backplane_device_open(context, "minimal", &device, &e) == BP_OK, "device, loaded again");
    backplane_context_destroy(context); /* the device stays */
    backplane_graph* graph = NULL;
    const int64_t dims[1] = {4};
    uint32_t x = 0, w = 0, product = 0, y = 0;
    check(backplane_graph_create(&graph, &e) == BP_OK, "graph");
    check(backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F32, dims, 1, &x, &e) == BP_OK, "input");
    check(backplane_graph_tensor(graph, BP_ROLE_WEIGHT, "w", BP_F32, dims, 1, &w, &e) == BP_OK, "weight");
    const uint32_t pair[2] = {x, w};
    check(backplane_graph_add(graph, BP_OP_mul, pair, 2, NULL, 0, &product, &e) == BP_OK, "mul");
    check(backplane_graph_add(graph, BP_OP_relu, &product, 1, NULL, 0, &y, &e) == BP_OK, "relu");
    check(backplane_graph_output(graph, y, "y", &e) == BP_OK, "output");
    int64_t shape[BP_MAX_RANK];
    uint32_t rank = 0;
    check(backplane_graph_shape(graph, y, shape, &rank, &e) == BP_OK && rank == 1 && shape[0] == 4, "shape");

    backplane_session* session = NULL;
    check(backplane_session_create(device, graph, NULL, NULL, BP_MATH_DEFAULT, &session, &e) == BP_NOT_FOUND &&
              session == NULL,
          "a session without its weights is refused");
    check(backplane_session_create(device, graph, source, NULL, BP_MATH_DEFAULT, &session, &e) == BP_OK, "session");
    backplane_graph_destroy(graph);
    backplane_device_close(device);
    float in[4] = {1, -2, 3, -4};
    float out[4] = {9, 9, 9, 9};
    backplane_bytes input = {"x", in, sizeof in};
    backplane_bytes output = {"y", out, sizeof out};
    check(backplane_session_run(session, &input, 1, &output, 1, NULL, &e) == BP_OK, "run");
    check(out[0] == 2 && out[1] == 0 && out[2] == 6 && out[3] == 0, "results");
    input.bytes = 3;
    check(backplane_session_run(session, &input, 1, &output, 1, NULL, &e) == BP_INVALID && strstr(text, "16") != NULL,
          "a wrong size is refused with the right one");
    backplane_session_destroy(session);
}

int main(int argc, char** argv) {
    if (argc != 2) return 99;
    wrong_uses(argv[1]);
    right_use(argv[1]);
    printf("%s, %d failed\n", backplane_version(), failures);
    return failures;
}
