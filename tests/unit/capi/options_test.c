/* options_test WITH-MINIMAL WITH-MODULES: what a program in C may say of a context and a session, and ask of weights, nodes, tensors and events, the wrong
 * uses first. Prints what failed; exit code: how many checks did. */
#include <stdio.h>
#include <string.h>

#include "backplane/backplane.h"
#include "checks.h"

enum { N = 4 };
static const float weight[N] = {2, 2, 2, 2};

static const void* source(void* arg, const char* name, uint64_t* bytes) {
    (void)arg;
    if (strcmp(name, "w") != 0) return NULL;
    *bytes = sizeof weight;
    return weight;
}

/* A context on one folder of modules, with these options for them. */
static bp_code made(const char* folder, const char* const* given, uint64_t count, uint32_t strict, backplane_context** out) {
    bp_error e = fresh();
    backplane_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.skip_defaults = options.skip_environment = 1;
    options.module_paths = &folder;
    options.module_path_count = 1;
    options.options = given;
    options.option_count = count;
    options.strict_options = strict;
    options.skip_fault_notes = 1;
    return backplane_context_create(&options, out, &e);
}

static void options_of_modules(const char* folder) {
    backplane_context* context = NULL;
    const char* missing[1] = {NULL};
    const char* bare[1] = {"cpu.threads"};
    const char* nameless[1] = {"=4"};
    const char* misspelt[1] = {"cpu.threds=2"};
    check(made(folder, NULL, 1, 0, &context) == BP_INVALID && strstr(text, "options is null") != NULL,
          "options that are not there");
    check(made(folder, missing, 1, 0, &context) == BP_INVALID && strstr(text, "an item of options is null") != NULL,
          "a null option");
    check(made(folder, bare, 1, 0, &context) == BP_INVALID && strstr(text, "'cpu.threads' has no value") != NULL,
          "an option without a value");
    check(made(folder, nameless, 1, 0, &context) == BP_INVALID && strstr(text, "'=4' has no value") != NULL,
          "an option without a name");
    bp_error e = fresh();
    backplane_device* device = NULL;
    bp_code code = made(folder, misspelt, 1, 1, &context);
    if (code == BP_OK) code = backplane_device_open(context, "cpu:0", &device, &e);
    check(code == BP_INVALID && strstr(text, "cpu.threads") != NULL, "a strict context refuses an option that nobody takes");
    backplane_device_close(device);
    backplane_context_destroy(context);
    context = NULL;
    device = NULL;
    check(made(folder, misspelt, 1, 0, &context) == BP_OK && backplane_device_open(context, "cpu:0", &device, &e) == BP_OK,
          "another one takes it for a note");
    backplane_device_close(device);
    backplane_context_destroy(context);
}

/* y = relu(w x + s), s becomes w x + s. */
static backplane_graph* running_sum(void) {
    bp_error e = fresh();
    backplane_graph* graph = NULL;
    const int64_t dims[1] = {N};
    uint32_t x = 0, w = 0, s = 0, product = 0, sum = 0, y = 0;
    check(backplane_graph_create(&graph, &e) == BP_OK &&
              backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F32, dims, 1, &x, &e) == BP_OK &&
              backplane_graph_tensor(graph, BP_ROLE_WEIGHT, "w", BP_F32, dims, 1, &w, &e) == BP_OK &&
              backplane_graph_tensor(graph, BP_ROLE_STATE, "s", BP_F32, dims, 1, &s, &e) == BP_OK,
          "tensors of a graph");
    const uint32_t factors[2] = {x, w};
    check(backplane_graph_add(graph, BP_OP_mul, factors, 2, NULL, 0, &product, &e) == BP_OK, "mul");
    const uint32_t terms[2] = {product, s};
    check(backplane_graph_add(graph, BP_OP_add, terms, 2, NULL, 0, &sum, &e) == BP_OK &&
              backplane_graph_update(graph, s, sum, &e) == BP_OK &&
              backplane_graph_add(graph, BP_OP_relu, &sum, 1, NULL, 0, &y, &e) == BP_OK &&
              backplane_graph_output(graph, y, "y", &e) == BP_OK,
          "nodes of a graph");
    return graph;
}

/* What is said of the nodes of a graph: of Mul, Add of a state and Relu the minimal example does the first and the last. */
static void support(const char* minimal) {
    bp_error e = fresh();
    backplane_context* context = NULL;
    backplane_device* device = NULL;
    backplane_graph* graph = running_sum();
    check(made(minimal, NULL, 0, 0, &context) == BP_OK && backplane_device_open(context, "minimal", &device, &e) == BP_OK,
          "the minimal example");
    bp_answer answers[3];
    memset(answers, 0, sizeof answers);
    for (int i = 0; i < 3; ++i) answers[i].struct_size = sizeof answers[i]; /* no room for a text: none is wanted */
    uint32_t count = 0;
    check(backplane_graph_query(graph, NULL, answers, 3, &count, &e) == BP_INVALID, "no device");
    check(backplane_graph_query(graph, device, NULL, 3, &count, &e) == BP_INVALID, "no room for answers");
    check(backplane_graph_query(graph, device, answers, 3, NULL, &e) == BP_INVALID, "no room for their number");
    check(backplane_graph_query(graph, device, NULL, 0, &count, &e) == BP_OK && count == 3, "how many answers there are");
    check(backplane_graph_query(graph, device, answers, 3, &count, &e) == BP_OK && answers[0].code == BP_OK &&
              answers[1].code == BP_UNSUPPORTED && answers[2].code == BP_OK,
          "which nodes the device does");
    backplane_graph_destroy(graph);
    backplane_device_close(device);
    backplane_context_destroy(context);
}

/* The CPU computes no LSTM in float64, and says so. */
static void reasons(backplane_context* context) {
    bp_error e = fresh();
    backplane_device* device = NULL;
    backplane_graph* graph = NULL;
    const int64_t x[3] = {2, 1, 3}, w[3] = {1, 8, 3}, r[3] = {1, 8, 2};
    uint32_t operands[3] = {0, 0, 0}, count = 0;
    uint32_t made_of[3] = {0, 0, 0};
    bp_attribute hidden;
    memset(&hidden, 0, sizeof hidden);
    hidden.struct_size = sizeof hidden;
    hidden.id = backplane_attribute("hidden_size");
    hidden.type = BP_ATTRIBUTE_INT;
    hidden.integer = 2;
    check(backplane_device_open(context, "cpu:0", &device, &e) == BP_OK && backplane_graph_create(&graph, &e) == BP_OK &&
              backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F64, x, 3, &operands[0], &e) == BP_OK &&
              backplane_graph_tensor(graph, BP_ROLE_INPUT, "w", BP_F64, w, 3, &operands[1], &e) == BP_OK &&
              backplane_graph_tensor(graph, BP_ROLE_INPUT, "r", BP_F64, r, 3, &operands[2], &e) == BP_OK &&
              backplane_graph_add_all(graph, backplane_op("LSTM"), operands, 3, &hidden, 1, made_of, 3, &count, &e) == BP_OK,
          "an LSTM in float64");
    char whole[128], cut[9] = "xxxxxxxx";
    bp_answer answer;
    memset(&answer, 0, sizeof answer);
    answer.struct_size = sizeof answer;
    answer.text = whole;
    answer.capacity = sizeof whole;
    check(backplane_graph_query(graph, device, &answer, 1, &count, &e) == BP_OK && count == 1 &&
              answer.code == BP_UNSUPPORTED && answer.reason == BP_WHY_DTYPE && strstr(whole, "LSTM") != NULL &&
              strstr(whole, "f64") != NULL,
          "why the device does not do a node");
    answer.text = cut;
    answer.capacity = 4;
    check(backplane_graph_query(graph, device, &answer, 1, &count, &e) == BP_OK && strncmp(cut, whole, 3) == 0 &&
              cut[3] == '\0' && cut[4] == 'x' && answer.text == cut && answer.capacity == 4,
          "a reason stays in the room that it is given");
    answer.struct_size = 0;
    check(backplane_graph_query(graph, device, &answer, 1, &count, &e) == BP_INVALID &&
              strstr(text, "struct_size of a bp_answer") != NULL,
          "an answer without its size");
    backplane_graph_destroy(graph);
    backplane_device_close(device);
}

static const float in[N] = {1, -2, 3, -4};

/* The wrong ones, and what each of the options does. */
static void options_of_sessions(backplane_device* device, backplane_weights* weights, backplane_graph* graph) {
    bp_error e = fresh();
    backplane_session* session = NULL;
    backplane_session_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.streaming = 3;
    check(backplane_session_create_with(&device, 1, graph, weights, &options, &session, &e) == BP_INVALID &&
              strstr(text, "streaming is 3") != NULL && session == NULL,
          "streaming as nobody does it");
    options.streaming = 0;
    check(backplane_session_create_with(NULL, 1, graph, weights, &options, &session, &e) == BP_INVALID, "no devices");
    options.rows = 2;
    check(backplane_session_create_with(&device, 1, graph, weights, &options, &session, &e) != BP_OK && session == NULL,
          "rows over two devices of which there is one");
    options.rows = 0;
    options.budget = 1;
    options.streaming = 2;
    check(backplane_session_create_with(&device, 1, graph, weights, &options, &session, &e) == BP_NO_DEVICE_MEMORY &&
              session == NULL,
          "a budget in which no plan fits");
    options.budget = 0;
    options.streaming = 1;
    uint32_t raised = 1;
    options.cancel = &raised;
    check(
        backplane_session_create_with(&device, 1, graph, weights, &options, &session, &e) == BP_CANCELLED && session == NULL,
        "the making of a session is ended");
    options.cancel = NULL;
    backplane_weights_info info;
    memset(&info, 0, sizeof info);
    check(backplane_weights_get_info(weights, device, &info, &e) == BP_INVALID && strstr(text, "struct_size") != NULL,
          "a record without its size");
    info.struct_size = sizeof info;
    options.plans_kept = UINT32_MAX;
    check(backplane_session_create_with(&device, 1, graph, weights, &options, &session, &e) == BP_OK &&
              backplane_weights_get_info(weights, device, &info, &e) == BP_OK && info.plans_kept == 0 &&
              info.plans_compiled == 1,
          "a session whose program is not kept");
    backplane_session_destroy(session);
    check(backplane_session_create_with(&device, 1, graph, weights, NULL, &session, &e) == BP_OK &&
              backplane_weights_get_info(weights, device, &info, &e) == BP_OK && info.plans_kept == 1 &&
              info.plans_compiled == 2,
          "the program of one without options is");
    check(info.bytes + info.bytes_in_place == sizeof weight, "where the weights are");
    backplane_session_destroy(session);
    info.struct_size = BP_SIZE(backplane_weights_info, bytes); /* of a caller that knows no more */
    info.plans_kept = 77;
    check(backplane_weights_get_info(weights, device, &info, &e) == BP_OK && info.plans_kept == 77, "a smaller record");
}

static void of_a_session(backplane_device* device, backplane_weights* weights, backplane_graph* graph) {
    bp_error e = fresh();
    backplane_session* session = NULL;
    backplane_event* event = NULL;
    float out[N] = {9, 9, 9, 9};
    const backplane_value x = {"x", (void*)in, sizeof in, NULL}, y = {"y", out, sizeof out, NULL};
    uint64_t moved = 0, peer = 7;
    check(backplane_session_create_with(&device, 1, graph, weights, NULL, &session, &e) == BP_OK, "a session");
    check(backplane_session_submit(session, &x, 1, &y, 1, NULL, &event, &e) == BP_OK &&
              backplane_event_wait(event, &e) == BP_OK && out[0] == 2 && out[1] == 0,
          "a run");
    check(backplane_event_bytes(event, &moved, &peer, &e) == BP_OK && peer == 0 &&
              backplane_event_bytes(event, NULL, NULL, &e) == BP_OK,
          "what crossed for it");
    check(backplane_event_bytes(NULL, &moved, &peer, &e) == BP_INVALID, "the bytes of no event");
    char notes[256] = "xx";
    size_t size = 0;
    check(backplane_session_notes(session, notes, sizeof notes, &size, &e) == BP_OK && size == 1 && notes[0] == '\0',
          "nothing to say of it");
    check(backplane_session_release(session, &e) == BP_OK &&
              backplane_session_submit(session, &x, 1, &y, 1, NULL, NULL, &e) == BP_OK && out[0] == 4 && out[2] == 12,
          "a session that was let go of runs on, from its state");
    check(
        backplane_session_release(NULL, &e) == BP_INVALID && backplane_session_notes(NULL, notes, 1, NULL, &e) == BP_INVALID,
        "no session");
    backplane_event_destroy(event);
    backplane_session_destroy(session);
}

static void tensors(backplane_device* device) {
    bp_error e = fresh();
    const int64_t row[1] = {N}, square[2] = {2, 2}, other[2] = {3, 2};
    backplane_tensor *x = NULL, *as_square = NULL, *there = NULL;
    float out[N] = {9, 9, 9, 9};
    check(backplane_tensor_create(device, BP_F32, row, 1, in, &x, &e) == BP_OK, "a tensor");
    check(backplane_tensor_reshaped(x, other, 2, &as_square, &e) == BP_INVALID && as_square == NULL, "six elements of four");
    check(backplane_tensor_reshaped(x, square, 9, &as_square, &e) == BP_INVALID, "a rank of nine");
    check(backplane_tensor_reshaped(x, square, 2, &as_square, &e) == BP_OK, "two by two");
    check(backplane_tensor_on(x, NULL, &there, &e) == BP_INVALID && there == NULL, "on no device");
    check(backplane_tensor_on(as_square, device, &there, &e) == BP_OK && backplane_tensor_zero(x, &e) == BP_OK &&
              backplane_tensor_read(there, out, sizeof out, &e) == BP_OK && out[0] == 0 && out[3] == 0,
          "zeros show under every name of the bytes");
    check(backplane_tensor_zero(NULL, &e) == BP_INVALID, "zeros in no tensor");
    backplane_tensor_destroy(x);
    backplane_tensor_destroy(as_square);
    backplane_tensor_destroy(there);
}

static void limits(backplane_device* device) {
    bp_error e = fresh();
    const int64_t large[1] = {1 << 20};
    backplane_tensor* x = NULL;
    check(backplane_device_limit_memory(NULL, 1, &e) == BP_INVALID, "a limit on no device");
    check(backplane_device_limit_memory(device, 1 << 16, &e) == BP_OK, "a limit");
    check(backplane_tensor_create(device, BP_F32, large, 1, NULL, &x, &e) == BP_NO_DEVICE_MEMORY && x == NULL,
          "more than it allows");
    check(backplane_device_limit_memory(device, 0, &e) == BP_OK &&
              backplane_tensor_create(device, BP_F32, large, 1, NULL, &x, &e) == BP_OK,
          "none any more");
    backplane_tensor_destroy(x);
}

int main(int argc, char** argv) {
    if (argc != 3) return 99;
    bp_error e = fresh();
    support(argv[1]);
    options_of_modules(argv[2]);
    backplane_context* context = NULL;
    check(made(argv[2], NULL, 0, 0, &context) == BP_OK, "a context");
    reasons(context);
    const char* filters[2] = {"reference", "cpu:0"};
    for (int i = 0; i < 2; ++i) {
        backplane_device* device = NULL;
        backplane_weights* weights = NULL;
        backplane_graph* graph = running_sum();
        check(backplane_device_open(context, filters[i], &device, &e) == BP_OK &&
                  backplane_weights_create(source, NULL, &weights, &e) == BP_OK,
              filters[i]);
        options_of_sessions(device, weights, graph);
        of_a_session(device, weights, graph);
        tensors(device);
        limits(device);
        backplane_graph_destroy(graph);
        backplane_weights_destroy(weights);
        backplane_device_close(device);
    }
    backplane_context_destroy(context);
    printf("%d failed\n", failures);
    return failures;
}
