/* machine_test WITH-MODULES WITH-NONE: what a program in C asks of a machine and of a session, the wrong uses first: why a module is absent, which
 * options nobody takes, options and memories of devices, what stands in, whether a device computes what ops mean, which values a session wants and what ran
 * where. Prints what failed; exit code: how
 * many checks did. */
#include <stdlib.h>
#include <string.h>

#include "backplane/verify.h"
#include "checks.h"

static const char* const kMisspelt[1] = {"cpu.threds=2"};

static backplane_context* context_of(const char* const* folders, uint64_t count, const char* filter) {
    bp_error e = fresh();
    backplane_context* context = NULL;
    backplane_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.skip_defaults = options.skip_environment = options.skip_fault_notes = 1;
    options.module_paths = folders;
    options.module_path_count = count;
    options.device_filter = filter;
    options.options = kMisspelt;
    options.option_count = 1;
    check(backplane_context_create(&options, &context, &e) == BP_OK, "a context");
    return context;
}

static const backplane_module_info* of_backend(const backplane_module_info* infos, uint32_t count, const char* backend) {
    for (uint32_t i = 0; i < count; ++i)
        if (strcmp(infos[i].backend, backend) == 0) return &infos[i];
    return NULL;
}

/* One folder has a file that is no module. */
static void modules(const char* const* folders, uint64_t count) {
    bp_error e = fresh();
    backplane_context* context = context_of(folders, count, "!reference");
    uint32_t found = 0;
    enum { ROOM = 64 };
    backplane_module_info* infos = calloc(ROOM, sizeof *infos);
    check(backplane_context_modules(context, infos, ROOM, &found, &e) == BP_INVALID && strstr(text, "struct_size") != NULL,
          "records without their size");
    check(backplane_context_modules(NULL, infos, ROOM, &found, &e) == BP_INVALID, "modules of no context");
    check(backplane_context_modules(context, NULL, 1, &found, &e) == BP_INVALID, "no room for modules");
    check(backplane_context_modules(context, infos, 0, NULL, &e) == BP_INVALID, "no room for their number");
    for (int i = 0; i < ROOM; ++i) infos[i].struct_size = sizeof infos[i];
    check(backplane_context_modules(context, infos, ROOM, &found, &e) == BP_OK && found >= 3, "what was found");
    if (found > ROOM) found = ROOM;
    const backplane_module_info* cpu = of_backend(infos, found, "cpu");
    check(cpu != NULL && cpu->verdict == BACKPLANE_MODULE_LOADED && cpu->reason == 0 && cpu->code[0] == '\0' &&
              cpu->version[0] != '\0' && strstr(cpu->path, "cpu") != NULL,
          "a module that is loaded");
    const backplane_module_info* reference = of_backend(infos, found, "reference");
    check(reference != NULL && reference->verdict != BACKPLANE_MODULE_LOADED && reference->reason != 0 &&
              strcmp(reference->code, "excluded-by-filter") == 0 && reference->text[0] != '\0',
          "one that the filter excludes says so");
    const backplane_module_info* none = NULL;
    for (uint32_t i = 0; i < found; ++i)
        if (strstr(infos[i].path, "backplane-nothing") != NULL) none = &infos[i];
    check(none != NULL && none->verdict == BACKPLANE_MODULE_REJECTED && strcmp(none->code, "not-a-module") == 0 &&
              none->reason == 1,
          "a file that is no module says so");
    free(infos);
    char why[512] = "", folder[1024] = "x";
    size_t size = 0;
    check(backplane_context_why(context, why, sizeof why, &size, &e) == BP_OK && strstr(why, "cpu:0") != NULL &&
              size == strlen(why) + 1,
          "why this device");
    check(backplane_context_why(NULL, why, sizeof why, &size, &e) == BP_INVALID, "why, of no context");
    check(backplane_context_state_folder(context, folder, sizeof folder, &size, &e) == BP_OK && size == strlen(folder) + 1,
          "where it remembers");
    backplane_context_destroy(context);
}

static void option_problems(const char* folder) {
    bp_error e = fresh();
    backplane_context* context = context_of(&folder, 1, NULL);
    backplane_device* device = NULL;
    backplane_option_problem problem;
    memset(&problem, 0, sizeof problem);
    problem.struct_size = sizeof problem;
    uint32_t count = 0;
    check(backplane_device_open(context, "cpu:0", &device, &e) == BP_OK, "the cpu");
    check(backplane_context_option_problems(context, &problem, 1, NULL, &e) == BP_INVALID, "no room for their number");
    check(backplane_context_option_problems(context, &problem, 1, &count, &e) == BP_OK && count == 1 &&
              strcmp(problem.name, "cpu.threds") == 0 && strcmp(problem.value, "2") == 0 &&
              strstr(problem.text, "cpu.threads") != NULL,
          "an option that nobody takes");
    backplane_device_close(device);
    backplane_context_destroy(context);
}

static void of_a_device(backplane_device* device, int is_cpu) {
    bp_error e = fresh();
    enum { ROOM = 16 };
    backplane_option options[ROOM];
    bp_heap heaps[4];
    uint32_t count = 0;
    memset(options, 0, sizeof options);
    memset(heaps, 0, sizeof heaps);
    for (int i = 0; i < ROOM; ++i) options[i].struct_size = sizeof options[i];
    for (int i = 0; i < 4; ++i) heaps[i].struct_size = sizeof heaps[i];
    check(backplane_device_options(NULL, options, ROOM, &count, &e) == BP_INVALID, "options of no device");
    check(backplane_device_options(device, options, ROOM, &count, &e) == BP_OK && count <= ROOM, "options of a device");
    for (uint32_t i = 0; i < count; ++i) {
        check(options[i].name[0] != '\0' && options[i].help[0] != '\0' && options[i].type >= BP_OPTION_BOOL &&
                  options[i].type <= BP_OPTION_TEXT,
              "an option says what it means");
        if (options[i].type == BP_OPTION_TEXT || options[i].value[0] == '\0') continue;
        check(backplane_device_set_option(device, options[i].name, options[i].value, &e) == BP_OK,
              "what an option has is what it takes");
    }
    if (is_cpu) {
        check(count > 0 && backplane_device_set_option(device, "threads", "1", &e) == BP_OK &&
                  backplane_device_options(device, options, ROOM, &count, &e) == BP_OK,
              "one thread");
        int seen = 0;
        for (uint32_t i = 0; i < count; ++i)
            if (strcmp(options[i].name, "threads") == 0)
                seen = options[i].type == BP_OPTION_INT && options[i].integer == 1 && strcmp(options[i].value, "1") == 0 &&
                       options[i].least == 1 && options[i].most > 1;
        check(seen, "is what it says then");
    }
    check(backplane_device_heaps(device, heaps, 4, NULL, &e) == BP_INVALID, "no room for the number of memories");
    check(backplane_device_heaps(device, heaps, 4, &count, &e) == BP_OK && count >= 1 &&
              heaps[0].available <= heaps[0].total && (heaps[0].flags & BP_MEM_UNIFIED) != 0,
          "the host's memory");
    check(!is_cpu || ((heaps[0].flags & BP_MEM_BUDGET) != 0 && heaps[0].total > 0), "how much of it there is");
    heaps[0].struct_size = 4;
    check(backplane_device_heaps(device, heaps, 4, &count, &e) == BP_INVALID && strstr(text, "bp_heap") != NULL,
          "a memory's record that is too small");
}

static void told_case(void* arg, const backplane_case_result* result) {
    if (result->name[0] != '\0' && result->op == BP_OP_softmax) ++*(uint32_t*)arg;
}

static void verified(backplane_device* device) {
    bp_error e = fresh();
    backplane_verification* seen = NULL;
    backplane_verification_info all;
    backplane_case_result one;
    memset(&all, 0, sizeof all);
    memset(&one, 0, sizeof one);
    uint32_t told = 0;
    const uint32_t raised = 1;
    backplane_verify_options how = {BP_SIZE(backplane_verify_options, cancel), 65000, NULL, told_case, &told, NULL};
    check(backplane_verify(NULL, NULL, &seen, &e) == BP_INVALID && seen == NULL, "no device");
    check(backplane_verify(device, &how, &seen, &e) == BP_INVALID && strstr(text, "65000") != NULL,
          "an op that there is not");
    how.op = BP_OP_softmax;
    how.cancel = &raised;
    check(backplane_verify(device, &how, &seen, &e) == BP_CANCELLED && seen == NULL, "the cases are ended");
    how.cancel = NULL;
    char names[65536] = "";
    size_t size = 0;
    uint32_t lines = 0;
    check(backplane_verify_names(&how, names, sizeof names, &size, &e) == BP_OK && size == strlen(names) + 1 &&
              strncmp(names, "Softmax/", 8) == 0,
          "the names of the cases");
    for (const char* at = names; *at != '\0'; ++at) lines += *at == '\n';
    check(backplane_verify(device, &how, &seen, &e) == BP_OK && told == lines, "each case is told of");
    check(backplane_verification_get_info(seen, &all, &e) == BP_INVALID, "a record without its size");
    all.struct_size = sizeof all;
    check(backplane_verification_get_info(seen, &all, &e) == BP_OK && all.cases == lines && all.failed == 0 &&
              all.passed > 0 && all.passed + all.unsupported == all.cases && all.worst <= 1,
          "all passed");
    one.struct_size = sizeof one;
    check(backplane_verification_get(seen, lines, &one, &e) == BP_NOT_FOUND, "one case too far");
    check(backplane_verification_get(seen, 0, &one, &e) == BP_OK && one.ran == 1 && one.op == BP_OP_softmax &&
              strncmp(one.name, names, strlen(one.name)) == 0 && names[strlen(one.name)] == '\n',
          "the first case");
    backplane_verification_destroy(seen);
    how.name_filter = "no case has this";
    check(backplane_verify(device, &how, &seen, &e) == BP_OK && backplane_verification_get_info(seen, &all, &e) == BP_OK &&
              all.cases == 0 && backplane_verification_get(seen, 0, &one, &e) == BP_NOT_FOUND,
          "no case at all");
    backplane_verification_destroy(seen);
}

static void stand_ins(backplane_context* context) {
    bp_error e = fresh();
    backplane_device* devices[2] = {NULL, NULL};
    backplane_device_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    uint32_t count = 7;
    check(backplane_device_open_with_fallback(context, "reference", devices, 1, &count, &e) == BP_INVALID && count == 0,
          "room for one");
    check(backplane_device_open_with_fallback(context, "nobody", devices, 2, &count, &e) == BP_NOT_FOUND && count == 0 &&
              devices[0] == NULL,
          "a device that is not there");
    check(backplane_device_open_with_fallback(context, "reference", devices, 2, &count, &e) == BP_OK && count >= 1 &&
              backplane_device_get_info(devices[0], &info, &e) == BP_OK && strcmp(info.backend, "reference") == 0,
          "the device that was wanted is the first");
    for (uint32_t i = 0; i < count; ++i) backplane_device_close(devices[i]);
}

/* y = x x + x x. */
static void of_a_session(backplane_device* const* devices, uint32_t device_count, const char* id) {
    bp_error e = fresh();
    backplane_graph* graph = NULL;
    backplane_session* session = NULL;
    const int64_t dims[2] = {2, 2};
    uint32_t x = 0, y = 0, sum = 0, count = 0;
    check(backplane_graph_create(&graph, &e) == BP_OK &&
              backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F32, dims, 2, &x, &e) == BP_OK,
          "a graph");
    const uint32_t twice[2] = {x, x}, wrong[2] = {x, 99};
    check(backplane_graph_einsum(graph, "ij,jk", twice, 1, &y, &e) == BP_INVALID && strstr(text, "ij,jk") != NULL,
          "an equation of two for one");
    check(backplane_graph_einsum(graph, "ij,jk->ik", wrong, 2, &y, &e) == BP_INVALID, "a sum of what is not there");
    check(backplane_graph_einsum(graph, NULL, twice, 2, &y, &e) == BP_INVALID, "no equation");
    check(backplane_graph_einsum(graph, "ij,jk->ik", twice, 2, &y, &e) == BP_OK, "a product");
    const uint32_t terms[2] = {y, y};
    check(backplane_graph_add(graph, BP_OP_add, terms, 2, NULL, 0, &sum, &e) == BP_OK &&
              backplane_graph_output(graph, sum, "y", &e) == BP_OK,
          "nodes");
    backplane_session_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    uint32_t places[2] = {0, 7};
    options.device_of_count = 2;
    check(backplane_session_create_with(devices, device_count, graph, NULL, &options, &session, &e) == BP_INVALID &&
              strstr(text, "device_of is null") != NULL,
          "places that are not there");
    options.device_of = places;
    check(backplane_session_create_with(devices, device_count, graph, NULL, &options, &session, &e) == BP_INVALID &&
              session == NULL,
          "a node on a device that was not given");
    places[1] = device_count - 1;
    options.device_of_count = 1;
    check(backplane_session_create_with(devices, device_count, graph, NULL, &options, &session, &e) == BP_INVALID,
          "one place for two nodes");
    options.device_of_count = 2;
    check(backplane_session_create_with(devices, device_count, graph, NULL, &options, &session, &e) == BP_OK, id);
    backplane_session_value values[3];
    memset(values, 0, sizeof values);
    check(backplane_session_values(session, values, 3, &count, &e) == BP_INVALID, "values without their size");
    for (int i = 0; i < 3; ++i) values[i].struct_size = sizeof values[i];
    check(backplane_session_values(session, values, 3, &count, &e) == BP_OK && count == 2 &&
              values[0].role == BP_ROLE_INPUT && strcmp(values[0].name, "x") == 0 && values[0].dtype == BP_F32 &&
              values[0].rank == 2 && values[0].dims[1] == 2 && values[0].bytes == 16 && values[1].role == BP_ROLE_OUTPUT &&
              strcmp(values[1].name, "y") == 0,
          "what a run wants and gives");
    const float in[4] = {1, 2, 3, 4};
    float out[4] = {0, 0, 0, 0};
    const backplane_bytes from = {"x", (void*)in, sizeof in}, into = {"y", out, sizeof out};
    for (int i = 0; i < 3; ++i)
        check(backplane_session_run(session, &from, 1, &into, 1, NULL, &e) == BP_OK && out[0] == 14 && out[3] == 44,
              "a run");
    backplane_stage_runs stages[4];
    memset(stages, 0, sizeof stages);
    for (int i = 0; i < 4; ++i) stages[i].struct_size = sizeof stages[i];
    check(backplane_session_runs(session, stages, 4, NULL, &e) == BP_INVALID, "no room for the number of stages");
    check(backplane_session_runs(session, stages, 4, &count, &e) == BP_OK && count == device_count && stages[0].runs == 3 &&
              strcmp(stages[0].device, id) == 0 && strstr(stages[0].ops, "MatMul") != NULL,
          "what ran where");
    if (device_count == 2) check(strstr(stages[1].ops, "Add") != NULL && stages[1].nodes == 1, "and the other node");
    backplane_session_destroy(session);
    backplane_graph_destroy(graph);
}

static void named_weights(void) {
    bp_error e = fresh();
    backplane_weights* weights = NULL;
    check(backplane_weights_create_named(NULL, NULL, NULL, &weights, &e) == BP_INVALID && weights == NULL, "no name");
    check(backplane_weights_create_named(NULL, NULL, "mine: weights", &weights, &e) == BP_OK, "weights with a name");
    backplane_weights_destroy(weights);
}

int main(int argc, char** argv) {
    if (argc != 3) return 99;
    const char* folders[2] = {argv[1], argv[2]};
    modules(folders, 2);
    option_problems(argv[1]);
    bp_error e = fresh();
    backplane_context* context = context_of(folders, 1, NULL);
    stand_ins(context);
    const char* ids[2] = {"reference:0", "cpu:0"};
    backplane_device* devices[2] = {NULL, NULL};
    for (int i = 0; i < 2; ++i) {
        check(backplane_device_open(context, ids[i], &devices[i], &e) == BP_OK, ids[i]);
        of_a_device(devices[i], i == 1);
        of_a_session(&devices[i], 1, ids[i]);
        named_weights();
        verified(devices[i]);
    }
    of_a_session(devices, 2, "reference:0");
    for (int i = 0; i < 2; ++i) backplane_device_close(devices[i]);
    backplane_context_destroy(context);
    printf("%d failed\n", failures);
    return failures;
}
