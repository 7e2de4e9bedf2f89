/* host LIBRARY DEVICE [name=FILE] [hold=FILE] ...
 * An application with Backplane inside it, beside it or in an addon: prints the report, opens DEVICE and computes y = relu(x) on it.
 * LIBRARY: what contains Backplane, loaded at run time; "-": this program itself, or what it is linked with. name: a module named to the
 * library alone. hold: loads that file, and takes it from its place, as if it had come out of an archive. Exit code 0: all went well. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backplane/backplane.h"

#define CONTEXTS(X) X(context_create) X(context_destroy) X(context_report) X(device_open) X(device_close)
#define GRAPHS(X) X(graph_create) X(graph_destroy) X(graph_tensor) X(graph_add) X(graph_output)
#define SESSIONS(X) X(session_create) X(session_destroy) X(session_run)
#define FUNCTIONS(X) CONTEXTS(X) GRAPHS(X) SESSIONS(X)

typedef struct {
#define X(name) __typeof__(&backplane_##name) name;
    FUNCTIONS(X)
#undef X
} api;

static char text[4096];
static bp_error error = {BP_SIZE(bp_error, capacity), 0, 0, text, sizeof text};

static void check(int good, const char* what) {
    if (good) return;
    const char* more = text[0] != '\0' ? text : dlerror();
    fprintf(stderr, "host: %s: %s\n", what, more != NULL ? more : "");
    exit(1);
}

static api load(const char* library) {
    void* handle = strcmp(library, "-") == 0 ? RTLD_DEFAULT : dlopen(library, RTLD_NOW | RTLD_LOCAL);
    check(handle != NULL || strcmp(library, "-") == 0, "cannot load the library");
    api a;
#define X(name) \
    check((*(void**)(void*)& a.name = dlsym(handle, "backplane_" #name)) != NULL, "no function backplane_" #name);
    FUNCTIONS(X)
#undef X
    return a;
}

static void run(const api* a, backplane_device* device) {
    backplane_graph* graph = NULL;
    backplane_session* session = NULL;
    const int64_t dims[1] = {4};
    uint32_t x = 0, y = 0;
    check(a->graph_create(&graph, &error) == BP_OK, "graph");
    check(a->graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F32, dims, 1, &x, &error) == BP_OK, "input");
    check(a->graph_add(graph, BP_OP_relu, &x, 1, NULL, 0, &y, &error) == BP_OK, "relu");
    check(a->graph_output(graph, y, "y", &error) == BP_OK, "output");
    check(a->session_create(device, graph, NULL, NULL, BP_MATH_DEFAULT, &session, &error) == BP_OK, "session");
    float in[4] = {1, -2, 3, -4}, out[4] = {9, 9, 9, 9};
    const backplane_bytes input = {"x", in, sizeof in}, output = {"y", out, sizeof out};
    check(a->session_run(session, &input, 1, &output, 1, NULL, &error) == BP_OK, "run");
    check(out[0] == 1 && out[1] == 0 && out[2] == 3 && out[3] == 0, "relu is wrong");
    a->session_destroy(session);
    a->graph_destroy(graph);
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const char* names[16];
    backplane_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = BP_SIZE(backplane_context_options, module_name_count);
    options.skip_linked_in = 1;
    options.module_names = names;
    for (int i = 3; i < argc; ++i) {
        if (strncmp(argv[i], "name=", 5) == 0 && options.module_name_count < 16)
            names[options.module_name_count++] = argv[i] + 5;
        if (strncmp(argv[i], "hold=", 5) == 0) {
            check(dlopen(argv[i] + 5, RTLD_NOW | RTLD_LOCAL) != NULL, "cannot load what is to be held");
            check(unlink(argv[i] + 5) == 0, "cannot take it from its place");
        }
    }
    const api a = load(argv[1]);
    backplane_context* context = NULL;
    backplane_device* device = NULL;
    check(a.context_create(&options, &context, &error) == BP_OK, "context");
    size_t size = 0;
    check(a.context_report(context, NULL, 0, &size, &error) == BP_OK, "report");
    char* json = malloc(size);
    check(json != NULL && a.context_report(context, json, size, NULL, &error) == BP_OK, "report");
    puts(json);
    fflush(stdout);
    free(json);
    check(a.device_open(context, argv[2], &device, &error) == BP_OK, "device");
    run(&a, device);
    a.device_close(device);
    a.context_destroy(context);
    return 0;
}
