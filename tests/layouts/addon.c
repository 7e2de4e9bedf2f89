/* An extension with Backplane in it, or linked with it: what a Python package's _native.so and a Node addon are. The one function is for
 * Node, which gives require() what it returns: here the report, as a text. The rest is the C API of Backplane. */
#include <stdlib.h>
#include <string.h>

#include "backplane/backplane.h"

typedef void* napi_env;
typedef void* napi_value;
/* In the program that loads this, if it is Node. */
__attribute__((weak)) int napi_create_string_utf8(napi_env env, const char* text, size_t length, napi_value* result);

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports);
napi_value napi_register_module_v1(napi_env env, napi_value exports) {
    backplane_context_options options;
    backplane_context* context = NULL;
    size_t size = 0;
    napi_value result = exports;
    memset(&options, 0, sizeof options);
    options.struct_size = BP_SIZE(backplane_context_options, module_name_count);
    options.skip_linked_in = 1;
    if (backplane_context_create(&options, &context, NULL) != BP_OK) return exports;
    if (backplane_context_report(context, NULL, 0, &size, NULL) == BP_OK) {
        char* json = malloc(size);
        if (json != NULL && backplane_context_report(context, json, size, NULL, NULL) == BP_OK)
            napi_create_string_utf8(env, json, strlen(json), &result);
        free(json);
    }
    backplane_context_destroy(context);
    return result;
}
