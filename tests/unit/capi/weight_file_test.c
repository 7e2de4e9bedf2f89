/* The C API of weights from files (weight_file.h) and of fewer bits for them (quantize.h), the wrong uses first. weight_file_test.cpp gives it files.
 * Prints what failed. */
#include "weight_file_test.h"

#include <stdio.h>
#include <string.h>

#include "checks.h"

static void wrong_uses(const char* path) {
    bp_error e = fresh();
    backplane_weight_file* f = NULL;
    check(backplane_weight_file_open(NULL, &f, &e) == BP_INVALID && strstr(text, "path") != NULL, "a null path is named");
    check(backplane_weight_file_open(path, NULL, &e) == BP_INVALID, "a null out");
    check(backplane_weight_file_open("no-such.gguf", &f, &e) == BP_NOT_FOUND && f == NULL &&
              strstr(text, "no-such.gguf") != NULL,
          "a file that is not there is named");
    backplane_weight_file_destroy(NULL);
    check(backplane_weight_file_open(path, &f, &e) == BP_OK, "opens");
    backplane_weight_file_info info;
    memset(&info, 0, sizeof info);
    check(backplane_weight_file_get_info(f, &info, &e) == BP_INVALID && strstr(text, "struct_size") != NULL,
          "info without its size");
    backplane_weight_tensor tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.struct_size = sizeof tensor;
    check(backplane_weight_file_find(f, "W", &tensor, &e) == BP_NOT_FOUND && strstr(text, "named 'W'") != NULL,
          "near names");
    uint64_t bytes = 7;
    check(backplane_weight_file_data(f, "W", &bytes) == NULL && bytes == 0, "no data of what is not there");
    check(backplane_weight_file_data(NULL, "w", &bytes) == NULL, "no file");
    check(backplane_weight_file_data(f, "w", NULL) == NULL, "nowhere to put the size");
    uint32_t w = 0, count = 0;
    check(backplane_weight_file_add(f, NULL, "w", &w, &e) == BP_INVALID && strstr(text, "graph") != NULL, "no graph");
    check(backplane_weight_file_tensors(f, NULL, 1, &count, &e) == BP_INVALID, "no room");
    backplane_weights* weights = NULL;
    check(backplane_weight_file_weights(NULL, &weights, &e) == BP_INVALID && weights == NULL, "weights of nothing");
    backplane_weight_file_destroy(f);
}

static void look(const backplane_weight_file* f, const char* format) {
    bp_error e = fresh();
    backplane_weight_file_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    check(backplane_weight_file_get_info(f, &info, &e) == BP_OK && info.tensor_count == 1 && info.bytes == 24 &&
              strcmp(info.format, format) == 0,
          "info");
    uint32_t count = 0;
    backplane_weight_tensor t;
    memset(&t, 0, sizeof t);
    t.struct_size = sizeof t;
    check(backplane_weight_file_tensors(f, &t, 1, &count, &e) == BP_OK && count == 1 && strcmp(t.name, "w") == 0 &&
              t.dtype == BP_F32 && t.rank == 2 && t.dims[0] == 2 && t.dims[1] == 3 && t.bytes == 24 && t.type[0] != '\0',
          "the tensor");
    char json[256];
    size_t size = 0;
    check(backplane_weight_file_metadata(f, json, sizeof json, &size, &e) == BP_OK && size == strlen(json) + 1 &&
              json[0] == '{',
          "metadata");
}

/* x of [1, 3] times w, transposed. `own`: the caller's own weights with the file as their source. */
static void run(backplane_device* device, backplane_weight_file** f, int own) {
    bp_error e = fresh();
    backplane_graph* graph = NULL;
    backplane_weights* weights = NULL;
    backplane_session* session = NULL;
    const int64_t dims[2] = {1, 3};
    uint32_t operands[2], y = 0;
    bp_attribute transposed;
    memset(&transposed, 0, sizeof transposed);
    transposed.struct_size = sizeof transposed;
    transposed.id = backplane_attribute("transpose_b");
    transposed.type = BP_ATTRIBUTE_INT;
    transposed.integer = 1;
    check(backplane_graph_create(&graph, &e) == BP_OK, "a graph");
    check(backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F32, dims, 2, &operands[0], &e) == BP_OK, "an input");
    check(backplane_weight_file_add(*f, graph, "w", &operands[1], &e) == BP_OK, "a weight");
    check(backplane_graph_add(graph, backplane_op("MatMul"), operands, 2, &transposed, 1, &y, &e) == BP_OK, "a product");
    check(backplane_graph_output(graph, y, "y", &e) == BP_OK, "an output");
    if (own) {
        check(backplane_weights_create(backplane_weight_file_data, *f, &weights, &e) == BP_OK, "weights by a source");
    } else {
        check(backplane_weight_file_weights(*f, &weights, &e) == BP_OK, "weights of the file");
        backplane_weight_file_destroy(*f); /* the weights stay */
        *f = NULL;
    }
    check(backplane_session_create_shared(&device, 1, graph, weights, BP_MATH_DEFAULT, &session, &e) == BP_OK, "a session");
    float in[3] = {1, 10, 100}, out[2] = {0, 0};
    const backplane_bytes input = {"x", in, sizeof in}, output = {"y", out, sizeof out};
    check(backplane_session_run(session, &input, 1, &output, 1, NULL, &e) == BP_OK && out[0] == 321 && out[1] == 654,
          "the product");
    backplane_session_destroy(session);
    backplane_weights_destroy(weights);
    backplane_graph_destroy(graph);
}

static void note(void* last, double done) {
    check(done >= *(double*)last && done <= 1, "progress goes on");
    *(double*)last = done;
}

static void quantize_wrongly(const backplane_weight_file* f, const char* out) {
    bp_error e = fresh();
    const uint32_t cancel = 1;
    const char* const nothing = NULL;
    backplane_quantized* q = (backplane_quantized*)&e;
    backplane_quantize_options o;
    memset(&o, 0, sizeof o);
    o.struct_size = sizeof o;
    check(backplane_quantize(NULL, out, NULL, &q, &e) == BP_INVALID && q == NULL && strstr(text, "from") != NULL, "no file");
    check(backplane_quantize(f, NULL, NULL, &q, &e) == BP_INVALID && strstr(text, "gguf") != NULL, "no path");
    o.dtype = BP_I32;
    check(backplane_quantize(f, out, &o, &q, &e) == BP_INVALID && strstr(text, "i32") != NULL, "a type that is not made");
    o.dtype = 0;
    o.keep_count = 1;
    check(backplane_quantize(f, out, &o, &q, &e) == BP_INVALID && strstr(text, "keep") != NULL, "no patterns");
    o.keep = &nothing;
    check(backplane_quantize(f, out, &o, &q, &e) == BP_INVALID && strstr(text, "keep") != NULL, "a null pattern");
    o.keep_count = 0;
    o.cancel = &cancel;
    check(backplane_quantize(f, out, &o, &q, &e) == BP_CANCELLED, "cancelled");
    o.cancel = NULL;
    check(backplane_quantize(f, "no-such-folder/out.gguf", &o, &q, &e) != BP_OK && q == NULL && text[0] != '\0',
          "no folder");
    backplane_weight_file* none = NULL;
    check(backplane_weight_file_open(out, &none, &e) == BP_NOT_FOUND, "what failed leaves no file");
    uint32_t count = 0;
    check(backplane_quantized_tensors(NULL, NULL, 0, &count, &e) == BP_INVALID, "no list");
    backplane_quantized_destroy(NULL);
}

/* One tensor, w of [2, 3]: in f16 half as large, and kept where it is named or has no whole blocks. */
static void quantize(const char* path, const char* out) {
    bp_error e = fresh();
    backplane_weight_file *f = NULL, *made = NULL;
    backplane_quantized* q = NULL;
    backplane_quantize_options o;
    backplane_quantized_tensor t;
    uint32_t count = 0;
    double last = 0;
    memset(&o, 0, sizeof o);
    memset(&t, 0, sizeof t);
    o.struct_size = sizeof o;
    t.struct_size = sizeof t;
    check(backplane_weight_file_open(path, &f, &e) == BP_OK, path);
    if (f == NULL) return;
    quantize_wrongly(f, out);
    o.dtype = BP_F16;
    o.progress = note;
    o.progress_arg = &last;
    check(backplane_quantize(f, out, &o, &q, &e) == BP_OK && last == 1, "in f16");
    check(backplane_quantized_tensors(q, NULL, 1, &count, &e) == BP_INVALID, "no room");
    check(backplane_quantized_tensors(q, &t, 1, &count, &e) == BP_OK && count == 1 && strcmp(t.name, "w") == 0 &&
              t.dtype == BP_F16 && strcmp(t.from, "F32") == 0 && t.why[0] == '\0' && t.rank == 2 && t.dims[0] == 2 &&
              t.dims[1] == 3 && t.bytes_before == 24 && t.bytes_after == 12 && t.error == 0,
          "what became of it");
    t.struct_size = 8;
    check(backplane_quantized_tensors(q, &t, 1, &count, &e) == BP_INVALID, "a record that is too small");
    t.struct_size = sizeof t;
    backplane_quantized_destroy(q);
    backplane_weight_tensor w;
    memset(&w, 0, sizeof w);
    w.struct_size = sizeof w;
    check(backplane_weight_file_open(out, &made, &e) == BP_OK && backplane_weight_file_find(made, "w", &w, &e) == BP_OK &&
              w.dtype == BP_F16 && w.bytes == 12,
          "what was written");
    backplane_weight_file_destroy(made);
    const char* const keep = "w*";
    o.keep = &keep;
    o.keep_count = 1;
    check(backplane_quantize(f, out, &o, &q, &e) == BP_OK && backplane_quantized_tensors(q, &t, 1, &count, &e) == BP_OK &&
              t.dtype == BP_F32 && strstr(t.why, "w*") != NULL,
          "kept by name");
    backplane_quantized_destroy(q);
    check(backplane_quantize(f, out, NULL, &q, &e) == BP_OK && backplane_quantized_tensors(q, &t, 1, &count, &e) == BP_OK &&
              t.dtype == BP_F32 && strstr(t.why, "blocks") != NULL,
          "q8_0, which rows of three have no whole blocks for");
    backplane_quantized_destroy(q);
    check(backplane_quantize(f, out, NULL, NULL, &e) == BP_OK, "without a list");
    check(remove(out) == 0, "the file is gone");
    backplane_weight_file_destroy(f);
}

int check_weight_files(const char* modules, const char* const* paths, const char* const* formats, int count,
                       const char* out) {
    bp_error e = fresh();
    backplane_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.skip_defaults = options.skip_environment = 1;
    options.module_paths = &modules;
    options.module_path_count = 1;
    backplane_context* context = NULL;
    backplane_device* device = NULL;
    check(backplane_context_create(&options, &context, &e) == BP_OK, "a context");
    check(backplane_device_open(context, "cpu", &device, &e) == BP_OK, "a device");
    for (int i = 0; i < count; ++i) {
        wrong_uses(paths[i]);
        quantize(paths[i], out);
        for (int own = 0; own < 2; ++own) {
            backplane_weight_file* f = NULL;
            check(backplane_weight_file_open(paths[i], &f, &e) == BP_OK, paths[i]);
            if (f == NULL) continue;
            look(f, formats[i]);
            run(device, &f, own);
            backplane_weight_file_destroy(f);
        }
    }
    backplane_device_close(device);
    backplane_context_destroy(context);
    printf("%s, %d failed\n", backplane_version(), failures);
    return failures;
}
