/* The C API of ONNX models (model.h), the wrong uses first. model_test.cpp gives it a network. Prints what failed. */
#include "model_test.h"

#include <stdio.h>
#include <string.h>

#include "backplane/model.h"
#include "checks.h"

static backplane_model_value empty_value(void) {
    backplane_model_value value;
    memset(&value, 0, sizeof value);
    value.struct_size = sizeof value;
    return value;
}

static const float kRows[8] = {1, 2, 3, 4, -1, 0, 0, 0};

static backplane_model_input rows(const int64_t* dims) {
    const backplane_model_input x = {"x", kRows, (uint64_t)(dims[0] * 16), dims, 2, 0, NULL};
    return x;
}

static void wrong_uses(backplane_context* context, const void* network, size_t bytes, backplane_model* model) {
    bp_error e = fresh();
    backplane_model* none = NULL;
    backplane_model_session* session = NULL;
    uint32_t count = 0;
    check(backplane_model_from_onnx(NULL, &none, &e) == BP_INVALID && strstr(text, "path") != NULL, "a null path is named");
    check(backplane_model_from_onnx("no-such.onnx", &none, &e) == BP_NOT_FOUND && none == NULL, "a file that is not there");
    check(backplane_model_from_onnx_bytes(network, bytes, NULL, NULL, NULL) == BP_INVALID, "a null out is refused");
    check(
        backplane_model_from_onnx_bytes(network, bytes / 2, "half", &none, &e) == BP_CORRUPT && strstr(text, "half") != NULL,
        "half a file is named");
    check(backplane_model_inputs(model, NULL, 1, &count, &e) == BP_INVALID, "no room for values");
    backplane_model_value value = empty_value();
    value.struct_size = 8;
    check(backplane_model_inputs(model, &value, 1, &count, &e) == BP_INVALID && strstr(text, "BP_SIZE") != NULL,
          "a record too small");
    check(backplane_model_session_create(model, context, "no-such", NULL, &session, &e) == BP_NOT_FOUND && session == NULL,
          "an unknown device");
    check(backplane_model_session_create_on(model, NULL, 0, NULL, &session, &e) == BP_INVALID, "no device");
    backplane_model_options options = {sizeof options, 99, 0, 0};
    check(backplane_model_session_create(model, context, "cpu", &options, &session, &e) == BP_INVALID,
          "an unknown kind of arithmetic");
    check(backplane_model_results_count(NULL) == 0 && backplane_model_results_data(NULL, 0) == NULL, "no results");
    backplane_model_results_destroy(NULL);
    backplane_model_session_destroy(NULL);
    backplane_model_destroy(NULL);
}

static void what_it_wants(const backplane_model* model) {
    bp_error e = fresh();
    backplane_model_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    check(backplane_model_get_info(model, &info, &e) == BP_OK && info.input_count == 1 && info.opset == 17 &&
              info.nodes == 3 && strcmp(info.format, "ONNX") == 0 && strcmp(info.name, "a network") == 0,
          "what the file says of itself");
    backplane_model_value x = empty_value();
    uint32_t count = 0;
    check(backplane_model_inputs(model, &x, 1, &count, &e) == BP_OK && count == 1 && strcmp(x.name, "x") == 0 &&
              x.dtype == BP_F32 && x.rank == 2 && x.dims[0] == -1 && x.dims[1] == 4 && strcmp(x.symbols[0], "batch") == 0 &&
              x.symbols[1][0] == '\0',
          "its input");
    check(backplane_model_outputs(model, NULL, 0, &count, &e) == BP_OK && count == 1, "how many outputs");
}

static void runs(backplane_model_session* session) {
    bp_error e = fresh();
    const int64_t one[2] = {1, 4}, two[2] = {2, 4}, wrong[2] = {2, 3};
    backplane_model_results* results = NULL;
    backplane_model_input x = rows(two);
    check(backplane_model_session_run(session, &x, 1, NULL, &results, &e) == BP_OK &&
              backplane_model_results_count(results) == 1,
          "a run");
    const float* y = backplane_model_results_data(results, 0);
    check(
        backplane_model_results_bytes(results, 0) == 24 && y[0] == 11.5F && y[1] == 2 && y[2] == 5 && y[3] == 0 && y[5] == 1,
        "its results");
    backplane_model_value value = empty_value();
    check(backplane_model_results_value(results, 0, &value, &e) == BP_OK && value.rank == 2 && value.dims[0] == 2 &&
              value.dims[1] == 3 && strcmp(value.name, "y") == 0,
          "their shape");
    check(backplane_model_results_value(results, 1, &value, &e) == BP_NOT_FOUND, "there is no second output");
    backplane_model_results_destroy(results);

    float room[3] = {0, 0, 0};
    x = rows(one);
    backplane_value out = {"y", room, sizeof room, NULL};
    check(backplane_model_session_run_into(session, &x, 1, &out, 1, NULL, &e) == BP_OK && room[0] == 11.5F,
          "into memory of the caller");
    out.bytes = 8;
    check(backplane_model_session_run_into(session, &x, 1, &out, 1, NULL, &e) == BP_INVALID, "room of another size");
    out.data = NULL;
    out.bytes = sizeof room;
    check(backplane_model_session_run_into(session, &x, 1, &out, 1, NULL, &e) == BP_INVALID && strstr(text, "data") != NULL,
          "room that is not there");
    check(backplane_model_session_run_into(session, &x, 1, NULL, 1, NULL, &e) == BP_INVALID, "null outputs");
    uint32_t count = 0;
    value = empty_value();
    x.data = NULL;
    x.bytes = 0;
    check(
        backplane_model_session_prepare(session, &x, 1, &value, 1, &count, &e) == BP_OK && count == 1 && value.dims[0] == 1,
        "sizes beforehand");
    const char* name = value.name;
    x = rows(two);
    check(backplane_model_session_prepare(session, &x, 1, &value, 1, &count, &e) == BP_OK && value.dims[0] == 2 &&
              value.name == name && strcmp(name, "y") == 0,
          "names of outputs live on when other sizes are prepared");
    x.dims = wrong;
    check(backplane_model_session_run(session, &x, 1, NULL, &results, &e) == BP_INVALID && results == NULL &&
              strstr(text, "[batch, 4]") != NULL,
          "a shape that the model does not take");
    x.rank = 99;
    check(backplane_model_session_run(session, &x, 1, NULL, &results, &e) == BP_INVALID, "a rank beyond all");
    const uint32_t cancel = 1;
    x = rows(one);
    check(backplane_model_session_run(session, &x, 1, &cancel, &results, &e) == BP_CANCELLED && results == NULL,
          "cancelled");
}

static void where(backplane_context* context, const backplane_model* model) {
    bp_error e = fresh();
    backplane_device* device = NULL;
    check(backplane_device_open(context, "cpu", &device, &e) == BP_OK, "the CPU");
    const int64_t one[2] = {1, 4};
    const backplane_model_input x = rows(one);
    static char json[4096];
    size_t size = 0;
    check(backplane_model_check(model, &device, 1, &x, 1, json, sizeof json, &size, &e) == BP_OK && size <= sizeof json &&
              strstr(json, "\"runs\":true") != NULL && strstr(json, "cpu:0") != NULL,
          "where its nodes run");
    backplane_device_close(device);
}

int check_model(const char* modules, const void* network, size_t bytes) {
    bp_error e = fresh();
    const backplane_context_options options = {.struct_size = sizeof options,
                                               .skip_defaults = 1,
                                               .skip_environment = 1,
                                               .module_paths = &modules,
                                               .module_path_count = 1};
    backplane_context* context = NULL;
    backplane_model* model = NULL;
    backplane_model_session* session = NULL;
    check(backplane_context_create(&options, &context, &e) == BP_OK, "a context");
    check(backplane_model_from_onnx_bytes(network, bytes, "dense", &model, &e) == BP_OK, "a model");
    wrong_uses(context, network, bytes, model);
    what_it_wants(model);
    where(context, model);
    check(backplane_model_session_create(model, context, "cpu", NULL, &session, &e) == BP_OK, "a session");
    backplane_model_destroy(model); /* the session has what it needs */
    backplane_context_destroy(context);
    if (session != NULL) runs(session);
    backplane_model_session_destroy(session);
    printf("%d failed\n", failures);
    return failures;
}
