/* onnx_c MODULE_FOLDER MODEL: a stranger's program in C, which runs a network of an ONNX file: x of [batch, 4], y of [batch, 3]. Where the
 * modules are says BACKPLANE_MODULE_PATH. */
#include <stdio.h>

#include "backplane/model.h"

int main(int argc, char** argv) {
    char text[1024] = "";
    bp_error error = {BP_SIZE(bp_error, capacity), 0, 0, text, sizeof text};
    backplane_context* context = NULL;
    backplane_model* model = NULL;
    backplane_model_session* session = NULL;
    backplane_model_results* results = NULL;
    const float values[4] = {1, 2, 3, 4};
    const int64_t dims[2] = {1, 4};
    const backplane_model_input x = {"x", values, sizeof values, dims, 2, 0, NULL};
    if (argc != 3) return 2;
    if (backplane_context_create(NULL, &context, &error) != BP_OK ||
        backplane_model_from_onnx(argv[2], &model, &error) != BP_OK ||
        backplane_model_session_create(model, context, NULL, NULL, &session, &error) != BP_OK ||
        backplane_model_session_run(session, &x, 1, NULL, &results, &error) != BP_OK)
        fprintf(stderr, "onnx: %s\n", text);
    const float* y = backplane_model_results_data(results, 0);
    if (y != NULL) printf("%g %g %g \n", y[0], y[1], y[2]);
    backplane_model_results_destroy(results);
    backplane_model_session_destroy(session);
    backplane_model_destroy(model);
    backplane_context_destroy(context);
    return y != NULL ? 0 : 1;
}
