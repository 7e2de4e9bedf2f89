/* The C API of enlarging pictures (upscaler.h), the wrong uses first. upscaler_test.cpp gives it a network and pixels. Prints what failed. */
#include "upscaler_test.h"

#include <stdio.h>
#include <string.h>

#include "checks.h"

enum { WIDTH = 60, HEIGHT = 50, IN = WIDTH * HEIGHT * 3, OUT = IN * 4 };

static void wrong_uses(backplane_context* context, const upscaler_given* given) {
    bp_error e = fresh();
    backplane_upscaler* u = NULL;
    check(backplane_upscaler_create(NULL, NULL, given->model, NULL, &u, &e) == BP_INVALID && strstr(text, "context") != NULL,
          "a null context is named");
    check(backplane_upscaler_create(context, NULL, NULL, NULL, &u, &e) == BP_INVALID && strstr(text, "model") != NULL,
          "a null model is named");
    check(backplane_upscaler_create(context, NULL, given->model, NULL, NULL, NULL) == BP_INVALID, "a null out is refused");
    check(backplane_upscaler_create(context, "no-such", given->model, NULL, &u, &e) == BP_NOT_FOUND && u == NULL,
          "an unknown device");
    check(backplane_upscaler_create(context, "cpu", "no-such.gguf", NULL, &u, &e) == BP_NOT_FOUND && u == NULL &&
              strstr(text, "no-such.gguf") != NULL,
          "a network that is not there is named");
    check(
        backplane_upscaler_create_on(NULL, 0, given->model, NULL, &u, &e) == BP_INVALID && strstr(text, "no device") != NULL,
        "no device");
    backplane_upscaler_options options = {sizeof options, BP_I8};
    check(backplane_upscaler_create(context, "cpu", given->model, &options, &u, &e) == BP_INVALID && u == NULL,
          "weights of i8");
    backplane_upscaler_destroy(NULL);
}

static void wrong_pictures(backplane_upscaler* u, const upscaler_given* given) {
    bp_error e = fresh();
    static uint8_t out[OUT];
    check(backplane_upscaler_run(NULL, given->pixels, IN, WIDTH, HEIGHT, 3, out, OUT, NULL, NULL, &e) == BP_INVALID,
          "no upscaler");
    check(backplane_upscaler_run(u, NULL, IN, WIDTH, HEIGHT, 3, out, OUT, NULL, NULL, &e) == BP_INVALID, "null pixels");
    check(backplane_upscaler_run(u, given->pixels, IN, WIDTH, HEIGHT, 3, NULL, OUT, NULL, NULL, &e) == BP_INVALID,
          "null room");
    check(backplane_upscaler_run(u, given->pixels, IN - 1, WIDTH, HEIGHT, 3, out, OUT, NULL, NULL, &e) == BP_INVALID &&
              strstr(text, "8999 bytes in") != NULL,
          "a pixel too few says how many");
    check(backplane_upscaler_run(u, given->pixels, IN, WIDTH, HEIGHT, 3, out, OUT - 1, NULL, NULL, &e) == BP_INVALID,
          "room for too few");
    check(backplane_upscaler_run(u, given->pixels, IN, WIDTH, HEIGHT, 1, out, OUT, NULL, NULL, &e) == BP_INVALID, "grey");
    check(backplane_upscaler_run(u, NULL, 0, 0, 0, 3, NULL, 0, NULL, NULL, &e) == BP_INVALID, "no pixels");
    check(backplane_upscaler_run(u, NULL, 0, 0x80000000u, 0x80000000u, 4, NULL, 0, NULL, NULL, &e) == BP_INVALID &&
              strstr(text, "no memory") != NULL,
          "a size whose bytes are more than a number holds");
    backplane_upscale_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.jpeg_quality = 101;
    check(backplane_upscaler_run(u, given->pixels, IN, WIDTH, HEIGHT, 3, out, OUT, &options, NULL, &e) == BP_INVALID &&
              strstr(text, "1 to 100") != NULL,
          "a quality over 100");
    options.jpeg_quality = 0;
    options.tile = -1;
    check(backplane_upscaler_run(u, given->pixels, IN, WIDTH, HEIGHT, 3, out, OUT, &options, NULL, &e) == BP_INVALID,
          "a tile of less than nothing");
    backplane_upscale_result result;
    memset(&result, 0, sizeof result);
    check(backplane_upscaler_run(u, given->pixels, IN, WIDTH, HEIGHT, 3, out, OUT, NULL, &result, &e) == BP_INVALID &&
              strstr(text, "struct_size") != NULL,
          "a result without its size");
    check(backplane_upscaler_run_file(u, "no-such.png", given->output, NULL, NULL, &e) ==
              (given->picture != NULL ? BP_NOT_FOUND : BP_UNSUPPORTED),
          "a picture that is not there");
    check(backplane_upscaler_run_file(u, NULL, given->output, NULL, NULL, &e) == BP_INVALID, "no name");
}

struct told {
    int calls;
    int64_t done, of;
    uint32_t* cancel_at_2;
};
static void tell(void* arg, int64_t done, int64_t of) {
    struct told* told = arg;
    ++told->calls;
    told->done = done;
    told->of = of;
    if (told->cancel_at_2 != NULL && done == 2) *told->cancel_at_2 = 1;
}

static void pictures(backplane_upscaler* u, const upscaler_given* given) {
    bp_error e = fresh();
    static uint8_t out[OUT];
    struct told told = {0, -1, -1, NULL};
    backplane_upscale_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.tile = 32;
    options.progress = tell;
    options.progress_arg = &told;
    backplane_upscale_result result;
    memset(&result, 0, sizeof result);
    result.struct_size = sizeof result;
    check(backplane_upscaler_run(u, given->pixels, IN, WIDTH, HEIGHT, 3, out, OUT, &options, &result, &e) == BP_OK, "runs");
    check(memcmp(out, given->want, OUT) == 0, "the bytes of the C++ API");
    check(result.width == 120 && result.height == 100 && result.channels == 3 && result.tiles > 1 && result.tile == 32 &&
              result.seconds > 0,
          "the result");
    check(told.calls == result.tiles + 1 && told.done == result.tiles && told.of == result.tiles, "each tile is told of");
    uint32_t cancel = 0;
    told.cancel_at_2 = &cancel;
    options.cancel = &cancel;
    check(backplane_upscaler_run(u, given->pixels, IN, WIDTH, HEIGHT, 3, out, OUT, &options, NULL, &e) == BP_CANCELLED &&
              told.done == 2,
          "cancelled after two tiles");
    if (given->picture == NULL) return;
    check(backplane_upscaler_run_file(u, given->picture, given->output, &options, NULL, &e) == BP_CANCELLED,
          "a file, cancelled");
    FILE* file = fopen(given->output, "rb");
    check(file == NULL, "a file that was cancelled is not there");
    if (file != NULL) fclose(file);
    check(backplane_upscaler_run_file(u, given->picture, given->output, NULL, &result, &e) == BP_OK && result.width == 120,
          "a file");
    file = fopen(given->output, "rb");
    check(file != NULL, "the file is there");
    if (file != NULL) fclose(file);
}

int check_upscaler(const upscaler_given* given) {
    bp_error e = fresh();
    backplane_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.skip_defaults = options.skip_environment = 1;
    options.module_paths = &given->modules;
    options.module_path_count = 1;
    backplane_context* context = NULL;
    check(backplane_context_create(&options, &context, &e) == BP_OK, "a context");
    wrong_uses(context, given);
    backplane_upscaler *u = NULL, *on = NULL;
    check(backplane_upscaler_create(context, "cpu", given->model, NULL, &u, &e) == BP_OK, "an upscaler");
    backplane_device* device = NULL;
    check(backplane_device_open(context, "cpu", &device, &e) == BP_OK, "a device");
    backplane_context_destroy(context); /* the upscaler stays */
    const backplane_upscaler_options half = {sizeof half, BP_F16};
    check(backplane_upscaler_create_on(&device, 1, given->model, &half, &on, &e) == BP_OK, "on a device, in f16");
    backplane_device_close(device);
    backplane_upscaler_info info;
    memset(&info, 0, sizeof info);
    check(backplane_upscaler_get_info(u, &info, &e) == BP_INVALID, "info without its size");
    info.struct_size = sizeof info;
    check(backplane_upscaler_get_info(u, &info, &e) == BP_OK && info.scale == 2 && info.parameters > 0 &&
              strcmp(info.device, "cpu:0") == 0 && info.name[0] != '\0' && info.why[0] != '\0',
          "of the network, and why that device");
    check(backplane_upscaler_get_info(on, &info, &e) == BP_OK && info.why[0] == '\0', "the caller chose");
    backplane_upscaler_destroy(on);
    wrong_pictures(u, given);
    pictures(u, given);
    backplane_upscaler_destroy(u);
    printf("%s, %d failed\n", backplane_version(), failures);
    return failures;
}
