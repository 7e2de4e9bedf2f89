/* capi_test FOLDER WITH-REFERENCE: the whole of the C API, on the minimal example and on the reference of a second folder, the wrong
 * uses first. Prints what failed; exit code: how many checks did. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backplane/backplane.h"
#include "checks.h"

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

static void several_outputs(void) {
    bp_error e = fresh();
    backplane_graph* graph = NULL;
    const int64_t dims[1] = {4}, sizes[2] = {1, 3};
    const bp_attribute parts = {.struct_size = sizeof parts,
                                .id = backplane_attribute("sizes"),
                                .type = BP_ATTRIBUTE_INTS,
                                .integers = {.data = sizes, .size = sizeof sizes}};
    uint32_t x = 0, part[2] = {7, 7}, made = 0;
    check(backplane_graph_create(&graph, &e) == BP_OK &&
              backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F32, dims, 1, &x, &e) == BP_OK,
          "a graph to split");
    check(backplane_graph_add(graph, backplane_op("Split"), &x, 1, &parts, 1, &part[0], &e) == BP_INVALID &&
              strstr(text, "several outputs") != NULL,
          "one output of several");
    check(backplane_graph_add_all(graph, backplane_op("Split"), &x, 1, &parts, 1, part, 1, &made, &e) == BP_OK &&
              made == 2 && part[0] == x + 1 && part[1] == 7,
          "no more outputs than there is room for");
    check(backplane_graph_add_all(graph, backplane_op("Split"), &x, 1, &parts, 1, part, 2, &made, &e) == BP_OK &&
              made == 2 && part[1] == part[0] + 1,
          "split");
    check(backplane_graph_add_all(graph, backplane_op("Split"), &x, 1, &parts, 1, NULL, 2, &made, &e) == BP_INVALID,
          "room that is null");
    backplane_graph_destroy(graph);
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
    uint32_t dtype = 0;
    check(backplane_graph_dtype(graph, y, &dtype, &e) == BP_OK && dtype == BP_F32, "element type");
    check(backplane_graph_dtype(graph, 99, &dtype, &e) == BP_INVALID && strstr(text, "no tensor 99") != NULL,
          "the type of a tensor that is not there");

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

/* y = w x + s, s becomes y. */
static backplane_graph* running_sum(void) {
    bp_error e = fresh();
    backplane_graph* graph = NULL;
    const int64_t dims[1] = {4};
    uint32_t x = 0, w = 0, s = 0, product = 0, y = 0, shown = 0;
    check(backplane_graph_create(&graph, &e) == BP_OK, "graph");
    check(backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F32, dims, 1, &x, &e) == BP_OK, "input");
    check(backplane_graph_tensor(graph, BP_ROLE_WEIGHT, "w", BP_F32, dims, 1, &w, &e) == BP_OK, "weight");
    check(backplane_graph_tensor(graph, BP_ROLE_STATE, "s", BP_F32, dims, 1, &s, &e) == BP_OK, "state");
    const uint32_t pair[2] = {x, w};
    check(backplane_graph_add(graph, backplane_op("Mul"), pair, 2, NULL, 0, &product, &e) == BP_OK, "mul by name");
    const uint32_t sum[2] = {product, s};
    check(backplane_graph_add(graph, BP_OP_add, sum, 2, NULL, 0, &y, &e) == BP_OK, "add");
    check(backplane_graph_update(graph, s, y, &e) == BP_OK, "update");
    check(backplane_graph_add(graph, BP_OP_relu, &y, 1, NULL, 0, &shown, &e) == BP_OK, "relu");
    check(backplane_graph_output(graph, shown, "y", &e) == BP_OK, "output");
    return graph;
}

static void tensors(const char* folder) {
    bp_error e = fresh();
    const char* paths[1] = {folder};
    backplane_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = BP_SIZE(backplane_context_options, log_arg);
    options.skip_defaults = options.skip_environment = 1;  // linked in, in some builds
    options.module_paths = paths;
    options.module_path_count = 1;
    backplane_context* context = NULL;
    backplane_device* device = NULL;
    check(backplane_context_create(&options, &context, &e) == BP_OK, "context");
    check(backplane_device_open(context, "reference", &device, &e) == BP_OK, "device");
    backplane_graph* graph = running_sum();
    backplane_weights* weights = NULL;
    check(backplane_weights_create(source, NULL, &weights, &e) == BP_OK, "weights");
    backplane_session *first = NULL, *second = NULL;
    check(backplane_session_create_shared(&device, 1, graph, weights, BP_MATH_DEFAULT, &first, &e) == BP_OK,
          "first session");
    check(backplane_session_create_shared(&device, 0, graph, weights, BP_MATH_DEFAULT, &second, &e) == BP_INVALID,
          "no device");
    check(backplane_session_create_shared(&device, 1, graph, weights, BP_MATH_DEFAULT, &second, &e) == BP_OK,
          "second session");

    const int64_t dims[1] = {4};
    const float in[4] = {1, 2, 3, 4};
    float out[4] = {0};
    backplane_tensor *x = NULL, *y = NULL, *part = NULL, *state = NULL;
    check(backplane_tensor_create(device, backplane_dtype("f32"), dims, 1, in, &x, &e) == BP_OK, "a tensor with content");
    check(backplane_tensor_create(device, BP_F32, dims, 1, NULL, &y, &e) == BP_OK, "a tensor without");
    check(backplane_tensor_rows(x, 1, 2, &part, &e) == BP_OK && backplane_tensor_read(part, out, 8, &e) == BP_OK &&
              out[1] == 3,
          "rows");
    backplane_tensor_destroy(part);
    check(backplane_tensor_rows(x, 3, 2, &part, &e) == BP_INVALID && part == NULL, "rows outside");
    check(backplane_tensor_read(x, out, 4, &e) == BP_INVALID && strstr(text, "16") != NULL, "too little room");
    const backplane_value given = {"x", NULL, 0, x}, into = {"y", NULL, 0, y}, host = {"y", out, sizeof out, NULL};
    backplane_event *one = NULL, *two = NULL;
    check(backplane_session_submit(first, &given, 1, &into, 1, NULL, &one, &e) == BP_OK, "submit");
    const backplane_value again = {"x", NULL, 0, y};
    check(backplane_session_submit(first, &again, 1, &host, 1, NULL, &two, &e) == BP_OK, "its result goes in again");
    check(backplane_event_wait(two, &e) == BP_OK && out[3] == 24, "2 (2 x) + 2 x");
    check(backplane_event_wait_for(one, 0, &e) == BP_OK, "the first is done, too");
    check(backplane_session_state(first, "s", &state, &e) == BP_OK &&
              backplane_session_set_state(second, "s", state, &e) == BP_OK,
          "state is handed on");
    check(backplane_session_submit(second, &given, 1, &host, 1, NULL, NULL, &e) == BP_OK && out[0] == 8,
          "and goes on there");
    check(backplane_session_reset_state(second, &e) == BP_OK &&
              backplane_session_submit(second, &given, 1, &host, 1, NULL, NULL, &e) == BP_OK && out[0] == 2,
          "reset");
    backplane_tensor_destroy(state);
    check(backplane_session_state(first, "t", &state, &e) == BP_NOT_FOUND && strstr(text, "'s'") != NULL,
          "an unknown state");
    char plan[4096];
    size_t size = 0;
    check(backplane_session_plan(first, 0, plan, sizeof plan, &size, &e) == BP_OK && strstr(plan, "Mul") != NULL &&
              size == strlen(plan) + 1,
          "plan");
    check(backplane_session_plan(first, 1, plan, sizeof plan, NULL, &e) == BP_OK && plan[0] == '{', "plan as JSON");
    backplane_holder holders[8];
    memset(holders, 0, sizeof holders);
    for (int i = 0; i < 8; ++i) holders[i].struct_size = sizeof holders[i];
    uint32_t count = 0;
    uint64_t held = 0, sum = 0;
    check(backplane_device_ledger(device, holders, 8, &count, &held, &e) == BP_OK && count > 0 && count <= 8, "ledger");
    for (uint32_t i = 0; i < count && i < 8; ++i) sum += holders[i].bytes;
    check(sum == held && held >= 32 && holders[0].name[0] != '\0', "the lines of the ledger are all that is held");
    holders[0].struct_size = BP_SIZE(backplane_holder, bytes); /* of a caller whose record has no name yet */
    memset(holders[0].name, 'x', sizeof holders[0].name);
    check(backplane_device_ledger(device, holders, 1, &count, &held, &e) == BP_OK && holders[0].bytes > 0 &&
              holders[0].name[0] == 'x' && holders[0].struct_size == BP_SIZE(backplane_holder, bytes),
          "a smaller record is written as far as it goes");
    holders[0].struct_size = 0;
    check(backplane_device_ledger(device, holders, 1, &count, &held, &e) == BP_INVALID &&
              strstr(text, "struct_size of a backplane_holder is 0") != NULL,
          "a record without its size");
    check(backplane_device_ledger(NULL, NULL, 0, &count, NULL, &e) == BP_INVALID, "the ledger of no device");
    check(backplane_attribute("strides") == BP_ATTR_strides && backplane_attribute("stridez") == 0 &&
              strcmp(backplane_attribute_name(BP_ATTR_axis), "axis") == 0,
          "attributes by name");
    check(backplane_op("conv") == BP_OP_conv && backplane_op("Frobnicate") == 0 &&
              strcmp(backplane_op_name(BP_OP_conv), "Conv") == 0 && backplane_dtype("q8_0") == BP_Q8_0 &&
              strcmp(backplane_dtype_name(BP_F16), "f16") == 0,
          "names");
    backplane_event_destroy(one);
    backplane_event_destroy(two);
    backplane_weights_destroy(weights);
    backplane_session_destroy(first);
    backplane_session_destroy(second);
    backplane_tensor_destroy(x);
    backplane_tensor_destroy(y);
    backplane_device_close(device);
    backplane_graph_destroy(graph);
    backplane_context_destroy(context);
}

static uint32_t lent = 0;
static void lend(void* arg, uint32_t n, void (*body)(void* of, uint32_t i), void* of) {
    ++*(uint32_t*)arg;
    for (uint32_t i = n; i-- > 0;) body(of, i);
}

enum { ROWS = 96, DEPTH = 64, COLUMNS = 80 };
static float left[ROWS * DEPTH], right[DEPTH * COLUMNS], product[ROWS * COLUMNS];

/* The CPU computes on the threads of the application: here on the one that it has, from the last piece to the first. */
static void lent_threads(const char* folder) {
    bp_error e = fresh();
    backplane_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.skip_defaults = options.skip_environment = 1;
    options.module_paths = &folder;
    options.module_path_count = 1;
    options.parallel = lend;
    options.parallel_arg = &lent;
    backplane_context* context = NULL;
    backplane_device* device = NULL;
    check(backplane_context_create(&options, &context, &e) == BP_OK, "a context that lends threads");
    if (backplane_device_open(context, "cpu:0", &device, &e) != BP_OK) {
        printf("skipped: lent threads: %s\n", text);
        backplane_context_destroy(context);
        return;
    }
    check(backplane_device_set_option(device, "threads", "4", &e) == BP_OK, "four threads");
    for (int i = 0; i < ROWS * DEPTH; ++i) left[i] = (float)(i % 7 - 3);
    for (int i = 0; i < DEPTH * COLUMNS; ++i) right[i] = (float)(i % 13 - 6);
    const int64_t a[2] = {ROWS, DEPTH}, b[2] = {DEPTH, COLUMNS};
    backplane_graph* graph = NULL;
    uint32_t pair[2] = {0, 0}, y = 0;
    check(backplane_graph_create(&graph, &e) == BP_OK &&
              backplane_graph_tensor(graph, BP_ROLE_INPUT, "a", BP_F32, a, 2, &pair[0], &e) == BP_OK &&
              backplane_graph_tensor(graph, BP_ROLE_INPUT, "b", BP_F32, b, 2, &pair[1], &e) == BP_OK &&
              backplane_graph_add(graph, BP_OP_matmul, pair, 2, NULL, 0, &y, &e) == BP_OK &&
              backplane_graph_output(graph, y, "y", &e) == BP_OK,
          "a product");
    backplane_session* session = NULL;
    check(backplane_session_create_shared(&device, 1, graph, NULL, BP_MATH_DEFAULT, &session, &e) == BP_OK, "its session");
    const backplane_value in[2] = {{"a", left, sizeof left, NULL}, {"b", right, sizeof right, NULL}};
    const backplane_value out = {"y", product, sizeof product, NULL};
    check(backplane_session_submit(session, in, 2, &out, 1, NULL, NULL, &e) == BP_OK, "a run on lent threads");
    check(lent > 0, "the application's threads were asked");
    int wrong = 0; /* whole numbers: exact */
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLUMNS; ++c) {
            float sum = 0;
            for (int k = 0; k < DEPTH; ++k) sum += left[r * DEPTH + k] * right[k * COLUMNS + c];
            wrong += product[r * COLUMNS + c] != sum;
        }
    check(wrong == 0, "the product of lent threads");
    backplane_session_destroy(session);
    backplane_graph_destroy(graph);
    backplane_device_close(device);
    backplane_context_destroy(context);
}

int main(int argc, char** argv) {
    if (argc != 3) return 99;
    wrong_uses(argv[1]);
    several_outputs();
    right_use(argv[1]);
    tensors(argv[2]);
    lent_threads(argv[2]);
    printf("%s, %d failed\n", backplane_version(), failures);
    return failures;
}
