/* What places and measures, by a program in C, the wrong uses first: what fits into which memory, what work costs and a
 * run would take, which device is the fastest, batches over parts of a graph. On two backends. Prints what failed. */
#include "placing_test.h"

#include <math.h>
#include <string.h>

#include "backplane/cost.h"
#include "backplane/fit.h"
#include "backplane/pipeline.h"
#include "backplane/tune.h"
#include "checks.h"

enum { WIDTH = 64, LAYERS = 12 };
static float weight[WIDTH * WIDTH];

static const void* source(void* arg, const char* name, uint64_t* bytes) {
    (void)arg;
    if (name[0] != 'w') return NULL;
    *bytes = sizeof weight;
    return weight;
}

/* y = relu(.. relu(relu(x w0) w1) ..), of rows of WIDTH. */
static backplane_graph* network(void) {
    bp_error e = fresh();
    backplane_graph* graph = NULL;
    const int64_t row[2] = {1, WIDTH}, square[2] = {WIDTH, WIDTH};
    uint32_t operands[2] = {0, 0}, product = 0, at = 0;
    check(backplane_graph_create(&graph, &e) == BP_OK &&
              backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F32, row, 2, &at, &e) == BP_OK,
          "an input");
    for (int i = 0; i < LAYERS; ++i) {
        const char name[4] = {'w', (char)('0' + i / 10), (char)('0' + i % 10), '\0'};
        operands[0] = at;
        check(backplane_graph_tensor(graph, BP_ROLE_WEIGHT, name, BP_F32, square, 2, &operands[1], &e) == BP_OK &&
                  backplane_graph_add(graph, BP_OP_matmul, operands, 2, NULL, 0, &product, &e) == BP_OK &&
                  backplane_graph_add(graph, BP_OP_relu, &product, 1, NULL, 0, &at, &e) == BP_OK,
              "a layer");
    }
    check(backplane_graph_output(graph, at, "y", &e) == BP_OK, "an output");
    return graph;
}

static void fits_of(backplane_device* const* devices, uint32_t count, backplane_graph* graph) {
    bp_error e = fresh();
    backplane_fits* ways = NULL;
    backplane_fit fit;
    memset(&fit, 0, sizeof fit);
    backplane_fit_options options = {BP_SIZE(backplane_fit_options, cancel), 0, 3, 0, 0, NULL, NULL};
    check(backplane_fits_create(devices, 0, graph, NULL, &ways, &e) == BP_INVALID, "no device");
    check(backplane_fits_create(devices, count, NULL, NULL, &ways, &e) == BP_INVALID, "no graph");
    check(backplane_fits_create(devices, count, graph, &options, &ways, &e) == BP_INVALID &&
              strstr(text, "streaming is 3") != NULL && ways == NULL,
          "streaming as nobody does it");
    const uint32_t raised = 1;
    options.streaming = 0;
    options.cancel = &raised;
    check(backplane_fits_create(devices, count, graph, &options, &ways, &e) == BP_CANCELLED && ways == NULL, "ended");
    options.cancel = NULL;
    check(backplane_fits_count(NULL) == 0 && backplane_fits_get(NULL, 0, &fit, &e) == BP_INVALID, "no ways");

    check(backplane_fits_create(devices, count, graph, NULL, &ways, &e) == BP_OK && backplane_fits_count(ways) >= 2 * count,
          "two ways for each device");
    check(backplane_fits_get(ways, 0, &fit, &e) == BP_INVALID && strstr(text, "struct_size of a backplane_fit") != NULL,
          "a record without its size");
    fit.struct_size = sizeof fit;
    check(backplane_fits_get(ways, backplane_fits_count(ways), &fit, &e) == BP_NOT_FOUND, "one way too far");
    uint32_t last = 0;
    for (uint32_t i = 0; i < backplane_fits_count(ways); ++i) {
        check(backplane_fits_get(ways, i, &fit, &e) == BP_OK && fit.possible == 1 && fit.device >= last &&
                  fit.device < count && fit.needs >= fit.weights + fit.state + fit.workspace &&
                  strstr(fit.plan_json, "{") != NULL && fit.plan_text[0] != '\0' && fit.problem[0] == '\0' &&
                  fit.id[0] != '\0',
              "a way");
        last = fit.device;
    }
    check(last == count - 1, "of the last device");
    check(backplane_fits_best(ways, 0, &fit, &e) == BP_OK && fit.device == 0 && fit.fits == 1 && fit.streamed == 0 &&
              fit.weights >= LAYERS * sizeof weight,
          "the first device has room for all");
    const uint64_t needs = fit.needs;
    check(backplane_fits_best(ways, 2, &fit, &e) == BP_OK && fit.streamed == 1, "the first streamed way");
    backplane_fits_destroy(ways);

    uint64_t memory[2] = {needs - 1, 1};
    options.memory = memory;
    options.streaming = 1;
    check(backplane_fits_create(devices, count, graph, &options, &ways, &e) == BP_OK && backplane_fits_count(ways) == count,
          "without streaming one way for each");
    check(backplane_fits_best(ways, 0, &fit, &e) == BP_NO_DEVICE_MEMORY && strstr(text, "needs") != NULL,
          "a byte too little");
    char said[512] = "";
    size_t size = 0;
    check(backplane_fits_text(ways, said, sizeof said, &size, &e) == BP_OK && strcmp(said, text) == 0 &&
              size == strlen(said) + 1,
          "what would fit");
    backplane_fits_destroy(ways);
    memory[0] = needs;
    check(backplane_fits_create(devices, 1, graph, &options, &ways, &e) == BP_OK &&
              backplane_fits_best(ways, 0, &fit, &e) == BP_OK && fit.available == needs,
          "the last byte");
    backplane_fits_destroy(ways);
}

/* What fits by the figures of a way is what a session can be made with. */
static void a_plan_that_was_made(backplane_device* device, backplane_graph* graph) {
    bp_error e = fresh();
    backplane_fits* ways = NULL;
    backplane_session* session = NULL;
    backplane_weights* weights = NULL;
    backplane_fit fit = {.struct_size = BP_SIZE(backplane_fit, plan_json)};
    backplane_session_options how = {.struct_size = BP_SIZE(backplane_session_options, share_count)};
    check(backplane_fits_create(&device, 1, graph, NULL, &ways, &e) == BP_OK &&
              backplane_fits_best(ways, 2, &fit, &e) == BP_OK &&
              backplane_weights_create(source, NULL, &weights, &e) == BP_OK,
          "a streamed way");
    how.budget = fit.budget;
    how.streaming = 2;
    char plan[4096] = "";
    check(backplane_session_create_with(&device, 1, graph, weights, &how, &session, &e) == BP_OK &&
              backplane_session_plan(session, 0, plan, sizeof plan, NULL, &e) == BP_OK && strcmp(plan, fit.plan_text) == 0,
          "its plan is the session's");
    backplane_session_destroy(session);
    backplane_weights_destroy(weights);
    backplane_fits_destroy(ways);
}

static uint32_t raised_by_progress;
static void count_told(void* arg, const char* what, double done) {
    if (what[0] != '\0' && done >= 0 && done <= 1 && ++*(int*)arg == 3) raised_by_progress = 1;
}

static void costs_before(backplane_costs* costs, backplane_device* device, backplane_graph* graph, backplane_fits* ways) {
    bp_error e = fresh();
    backplane_device_costs known = {.struct_size = BP_SIZE(backplane_device_costs, run)};
    backplane_prediction time = {.struct_size = BP_SIZE(backplane_prediction, networks)};
    backplane_placement where = {.struct_size = BP_SIZE(backplane_placement, text)};
    uint32_t count = 0;
    double seconds = 0;
    check(backplane_costs_of(costs, device, &known, NULL, 0, &count, &e) == BP_NOT_FOUND &&
              strstr(text, "not measured") != NULL,
          "costs of what was not measured");
    check(backplane_costs_seconds(costs, device, "up", 1, &seconds, &e) == BP_NOT_FOUND, "seconds of it");
    time.seconds = 7;
    check(backplane_costs_predict(costs, graph, ways, 0, &time, &e) == BP_OK && time.known == 0 && time.seconds == 0,
          "a prediction of nothing");
    check(backplane_costs_predict(costs, graph, ways, 99, &time, &e) == BP_NOT_FOUND, "of no way");
    check(backplane_costs_place(costs, graph, ways, 1, 0, &where, &e) == BP_NOT_FOUND, "no place by what is not known");
    check(backplane_costs_place(costs, graph, ways, 0, 0, &where, &e) == BP_INVALID, "no batches");
    check(backplane_costs_place(costs, graph, ways, 1, 9, &where, &e) == BP_INVALID, "nine parts");
    const uint32_t raised = 1;
    backplane_measure_options ended = {BP_SIZE(backplane_measure_options, seconds), 0, NULL, NULL, NULL, &raised, 0};
    check(backplane_costs_measure(costs, device, &ended, &e) == BP_CANCELLED, "the measuring is ended");
    int told = 0;
    ended.cancel = &raised_by_progress;
    raised_by_progress = 0;
    ended.progress = count_told;
    ended.progress_arg = &told;
    check(backplane_costs_measure(costs, device, &ended, &e) == BP_CANCELLED && told == 3,
          "told of each step, and ended behind the third");
    ended.seconds = -1;
    check(backplane_costs_measure(costs, device, &ended, &e) == BP_INVALID && strstr(text, "seconds is -1") != NULL,
          "less than no time");
    ended.seconds = 0;
    ended.other_count = 1;
    check(backplane_costs_measure(costs, device, &ended, &e) == BP_INVALID, "others that are not there");
}

static void costs_of(backplane_context* context, backplane_device* device, backplane_graph* graph, const char* id,
                     void (*know)(backplane_device*)) {
    bp_error e = fresh();
    backplane_costs* costs = NULL;
    backplane_fits* ways = NULL;
    check(backplane_costs_create(NULL, &costs, &e) == BP_INVALID, "costs of no context");
    check(backplane_costs_create(context, &costs, &e) == BP_OK &&
              backplane_fits_create(&device, 1, graph, NULL, &ways, &e) == BP_OK,
          id);
    costs_before(costs, device, graph, ways);
    know(device);
    backplane_device_costs known = {.struct_size = BP_SIZE(backplane_device_costs, run)};
    enum { ROOM = 32 };
    backplane_cost_curve curves[ROOM];
    memset(curves, 0, sizeof curves);
    for (int i = 0; i < ROOM; ++i) curves[i].struct_size = sizeof curves[i];
    uint32_t count = 0;
    double seconds = 0, more = 0;
    check(backplane_costs_of(costs, device, &known, curves, ROOM, &count, &e) == BP_OK && count > 3 && count <= ROOM &&
              known.measured > 1700000000 && known.run == 1e-5,
          "what is known of it");
    int product = 0;
    for (uint32_t i = 0; i < count && i < ROOM; ++i)
        if (strcmp(curves[i].name, "product f32") == 0)
            product = curves[i].by_operations == 1 && curves[i].rate > 0 && curves[i].fixed >= 0;
    check(product, "how fast it multiplies");
    check(backplane_costs_seconds(costs, device, "product f32", 1e6, &seconds, &e) == BP_OK && seconds > 0 &&
              backplane_costs_seconds(costs, device, "product f32", 1e12, &more, &e) == BP_OK && more > seconds,
          "more work takes longer");
    check(backplane_costs_seconds(costs, device, "thought", 1, &seconds, &e) == BP_NOT_FOUND &&
              strstr(text, "product f32") != NULL,
          "a curve that there is not names those there are");
    backplane_prediction time = {.struct_size = BP_SIZE(backplane_prediction, networks)},
                         after = {.struct_size = BP_SIZE(backplane_prediction, networks)};
    check(backplane_costs_predict(costs, graph, ways, 0, &time, &e) == BP_OK && time.known == 1 && time.seconds > 0 &&
              time.runs == 0,
          "a prediction");
    check(backplane_costs_learn(costs, graph, ways, 0, 0, &e) == BP_INVALID &&
              backplane_costs_learn(costs, graph, ways, 0, NAN, &e) == BP_INVALID,
          "a run that took no time");
    check(backplane_costs_learn(costs, graph, ways, 0, 3 * time.seconds, &e) == BP_OK &&
              backplane_costs_predict(costs, graph, ways, 0, &after, &e) == BP_OK && after.runs == 1 &&
              after.seconds > 2 * time.seconds,
          "what was learnt is in the next one");
    backplane_placement where = {.struct_size = BP_SIZE(backplane_placement, text)};
    check(backplane_costs_place(costs, graph, ways, 4, 1, &where, &e) == BP_OK && where.parts == 1 &&
              where.devices[0] == 0 && where.seconds > 0 && strstr(where.text, id) != NULL,
          "the only device is the best");
    backplane_fits_destroy(ways);
    backplane_costs_destroy(costs);
}

static void told_device(void* arg, const char* device) {
    if (device[0] != '\0') ++*(int*)arg;
}

static void tuned(backplane_context* context, backplane_graph* graph) {
    bp_error e = fresh();
    int told = 0;
    uint32_t raised = 1, count = 0;
    char fastest[64] = "x";
    backplane_tune_result results[8];
    memset(results, 0, sizeof results);
    backplane_tune_options how = {BP_SIZE(backplane_tune_options, cancel), 1, 1, 0, 0, told_device, &told, &raised};
    check(backplane_tune(context, graph, source, NULL, &how, results, 8, &count, &e) == BP_CANCELLED, "the timing is ended");
    check(backplane_tune(context, graph, source, NULL, &how, NULL, 8, &count, &e) == BP_INVALID, "no room for results");
    how.cancel = NULL;
    told = 0;
    check(backplane_tuned_device(context, graph, fastest, sizeof fastest, NULL, &e) == BP_OK && fastest[0] == '\0',
          "nothing is remembered");
    for (int i = 0; i < 8; ++i) results[i].struct_size = sizeof results[i];
    check(backplane_tune(context, graph, source, NULL, &how, results, 8, &count, &e) == BP_OK && count >= 1 &&
              told == (int)count,
          "devices that are hardware are timed");
    const uint32_t hardware = count;
    told = 0;
    how.software = 1; /* the reference is that */
    check(backplane_tune(context, graph, source, NULL, &how, results, 8, &count, &e) == BP_OK && count > hardware &&
              told == (int)count,
          "each device is timed");
    check(results[0].failure[0] == '\0' && results[0].milliseconds > 0 && results[0].first_ms > 0 &&
              (results[1].failure[0] != '\0' || results[1].milliseconds >= results[0].milliseconds),
          "fastest first");
    check(backplane_tuned_device(context, graph, fastest, sizeof fastest, NULL, &e) == BP_OK &&
              strcmp(fastest, results[0].device) == 0,
          "the fastest is remembered");
}

static void run_alone(backplane_device* device, backplane_graph* graph, backplane_weights* weights, const float* x,
                      float* y) {
    bp_error e = fresh();
    backplane_session* session = NULL;
    const backplane_bytes in = {"x", (void*)x, WIDTH * sizeof *x}, out = {"y", y, WIDTH * sizeof *y};
    check(backplane_session_create_shared(&device, 1, graph, weights, BP_MATH_DEFAULT, &session, &e) == BP_OK &&
              backplane_session_run(session, &in, 1, &out, 1, NULL, &e) == BP_OK,
          "a plain run");
    backplane_session_destroy(session);
}

/* Batch i is of i + 1 everywhere. */
static void batches(backplane_device* const* devices, uint32_t parts, backplane_graph* graph, backplane_weights* weights,
                    const double* shares) {
    bp_error e = fresh();
    enum { BATCHES = 3 };
    backplane_pipeline* pipeline = NULL;
    backplane_pass* passes[BATCHES] = {NULL, NULL, NULL};
    float x[BATCHES][WIDTH], y[BATCHES][WIDTH], wanted[WIDTH];
    const double none[2] = {0, 1};
    backplane_session_options how = {.struct_size = BP_SIZE(backplane_session_options, share_count)};
    how.shares = none;
    how.share_count = parts;
    if (parts > 1)
        check(backplane_pipeline_create(devices, parts, parts, graph, weights, &how, &pipeline, &e) == BP_INVALID &&
                  pipeline == NULL && strstr(text, "share") != NULL,
              "a part with nothing");
    how.shares = shares;
    check(backplane_pipeline_create(devices, parts, parts, graph, weights, &how, &pipeline, &e) == BP_OK, "a pipeline");
    const backplane_value nothing = {"z", x[0], sizeof x[0], NULL};
    check(backplane_pipeline_start(pipeline, &nothing, 1, NULL, &passes[0], &e) == BP_INVALID && passes[0] == NULL,
          "an input that it does not have");
    for (int i = 0; i < BATCHES; ++i) {
        for (int k = 0; k < WIDTH; ++k) x[i][k] = (float)(i + 1);
        const backplane_value in = {"x", x[i], sizeof x[i], NULL};
        check(backplane_pipeline_start(pipeline, &in, 1, NULL, &passes[i], &e) == BP_OK, "a batch");
    }
    for (int i = 0; i < BATCHES; ++i) {
        const backplane_value out = {"y", y[i], sizeof y[i], NULL};
        check(backplane_pass_finish(passes[i], &out, 1, &e) == BP_OK, "its end");
        run_alone(devices[0], graph, weights, x[i], wanted);
        int same = 1;
        for (int k = 0; k < WIDTH; ++k) same = same && fabsf(y[i][k] - wanted[k]) <= 1e-4F * fabsf(wanted[k]);
        check(same, "what a plain run gives");
        if (i == 0) check(backplane_pass_finish(passes[i], &out, 1, &e) == BP_INVALID, "finished twice");
    }
    backplane_part seen[4];
    backplane_stage_runs stages[4];
    memset(seen, 0, sizeof seen);
    memset(stages, 0, sizeof stages);
    for (int i = 0; i < 4; ++i) seen[i].struct_size = sizeof seen[i], stages[i].struct_size = sizeof stages[i];
    uint32_t count = 0, part = 9;
    uint64_t peer = 7;
    check(backplane_pipeline_parts(pipeline, seen, 4, &count, &e) == BP_OK && count == (parts > 1 ? parts : 0), "the parts");
    for (uint32_t i = 0; i < count; ++i) check(seen[i].device[0] != '\0', "a part has a device");
    check(backplane_pipeline_runs(pipeline, stages, 4, &count, &e) == BP_OK && count == parts && stages[0].runs == BATCHES,
          "what ran where");
    check(backplane_pipeline_part_of(pipeline, "x", &part, &e) == BP_OK && part == 0 &&
              backplane_pipeline_part_of(pipeline, "z", &part, &e) == BP_NOT_FOUND,
          "the part that reads an input");
    check(backplane_pipeline_bytes_peer(pipeline, &peer, &e) == BP_OK && peer == 0, "nothing went by peers");
    char said[4096] = "";
    size_t size = 0;
    check(backplane_pipeline_plan(pipeline, said, sizeof said, &size, &e) == BP_OK && size > 1 &&
              backplane_pipeline_notes(pipeline, said, sizeof said, &size, &e) == BP_OK,
          "its plan and notes");
    const backplane_value in = {"x", x[0], sizeof x[0], NULL};
    backplane_pass* left = NULL;
    check(backplane_pipeline_start(pipeline, &in, 1, NULL, &left, &e) == BP_OK, "one more");
    backplane_pipeline_destroy(pipeline); /* before its passes */
    for (int i = 0; i < BATCHES; ++i) backplane_pass_destroy(passes[i]);
    backplane_pass_destroy(left);
}

/* Where many batches are done first, by costs that are known of both: on both, by their speed, in a pipeline of such shares. */
static void placed(backplane_context* context, backplane_device* const* devices, backplane_graph* graph,
                   backplane_weights* weights) {
    bp_error e = fresh();
    backplane_costs* costs = NULL;
    backplane_fits* ways = NULL;
    backplane_placement where = {.struct_size = BP_SIZE(backplane_placement, text)};
    const backplane_fit_options whole = {BP_SIZE(backplane_fit_options, cancel), 0, 1, 0, 0, NULL, NULL};
    check(backplane_costs_create(context, &costs, &e) == BP_OK &&
              backplane_fits_create(devices, 2, graph, &whole, &ways, &e) == BP_OK,
          "costs of both");
    check(backplane_costs_place(costs, graph, ways, 64, 1, &where, &e) == BP_OK && where.parts == 1 && where.devices[0] == 0,
          "one device: the faster one");
    const double alone = where.seconds;
    check(backplane_costs_place(costs, graph, ways, 64, 0, &where, &e) == BP_OK && where.parts == 2 &&
              where.seconds < alone && where.devices[0] + where.devices[1] == 1 && where.by_part[0] > 0 &&
              where.by_part[1] > 0,
          "several: both");
    const double fast = where.shares[where.devices[0] == 0 ? 0 : 1];
    check(fast > 0.5 && fast < 1 && fabs(where.shares[0] + where.shares[1] - 1) < 1e-9, "by their speed");
    backplane_device* const ordered[2] = {devices[where.devices[0]], devices[where.devices[1]]};
    batches(ordered, 2, graph, weights, where.shares);
    backplane_fits_destroy(ways);
    backplane_costs_destroy(costs);
}

int check_placing(const char* modules, const char* state, void (*know)(backplane_device* device)) {
    for (int i = 0; i < WIDTH * WIDTH; ++i) weight[i] = (float)(i % 7 - 2) / 64;
    const double whole = 1;
    bp_error e = fresh();
    backplane_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.skip_defaults = options.skip_environment = options.skip_fault_notes = 1;
    options.module_paths = &modules;
    options.module_path_count = 1;
    options.device_filter = "cpu,reference";
    options.state_folder = state;
    backplane_context* context = NULL;
    check(backplane_context_create(&options, &context, &e) == BP_OK, "a context");
    const char* ids[2] = {"cpu:0", "reference:0"};
    backplane_device* devices[2] = {NULL, NULL};
    backplane_graph* graph = network();
    backplane_weights* weights = NULL;
    check(backplane_weights_create(source, NULL, &weights, &e) == BP_OK, "weights");
    for (int i = 0; i < 2; ++i) check(backplane_device_open(context, ids[i], &devices[i], &e) == BP_OK, ids[i]);
    if (failures == 0) {
        fits_of(devices, 2, graph);
        tuned(context, graph);
        for (int i = 0; i < 2; ++i) {
            fits_of(&devices[i], 1, graph);
            a_plan_that_was_made(devices[i], graph);
            costs_of(context, devices[i], graph, ids[i], know);
            batches(&devices[i], 1, graph, weights, &whole);
        }
        placed(context, devices, graph, weights);
        backplane_pipeline* pipeline = NULL;
        check(backplane_pipeline_create(devices, 2, 3, graph, weights, NULL, &pipeline, &e) == BP_INVALID,
              "more parts than devices");
    }
    backplane_weights_destroy(weights);
    backplane_graph_destroy(graph);
    for (int i = 0; i < 2; ++i) backplane_device_close(devices[i]);
    backplane_context_destroy(context);
    printf("%d failed\n", failures);
    return failures;
}
