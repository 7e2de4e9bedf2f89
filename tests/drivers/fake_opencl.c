/* An OpenCL driver with one fault, which BP_FAKE_DRIVER names: crash, hang, exit (in its entry), unwilling (no platform), none (no device). */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int is(const char* fault) {
    const char* wanted = getenv("BP_FAKE_DRIVER");
    return wanted != NULL && strcmp(wanted, fault) == 0;
}

struct _cl_platform_id {
    cl_icd_dispatch* dispatch;
};
static cl_icd_dispatch dispatch;
static struct _cl_platform_id platform = {&dispatch};

EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id p, cl_platform_info what, size_t size, void* out,
                                            size_t* needed) {
    const char* text = what == CL_PLATFORM_PROFILE          ? "FULL_PROFILE"
                       : what == CL_PLATFORM_VERSION        ? "OpenCL 1.2 fake"
                       : what == CL_PLATFORM_NAME           ? "Fake"
                       : what == CL_PLATFORM_VENDOR         ? "Backplane's tests"
                       : what == CL_PLATFORM_EXTENSIONS     ? "cl_khr_icd"
                       : what == CL_PLATFORM_ICD_SUFFIX_KHR ? "FAKE"
                                                            : NULL;
    (void)p;
    if (text == NULL) return CL_INVALID_VALUE;
    if (needed != NULL) *needed = strlen(text) + 1;
    if (out != NULL && size < strlen(text) + 1) return CL_INVALID_VALUE;
    if (out != NULL) strcpy(out, text);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL no_devices(cl_platform_id p, cl_device_type type, cl_uint room, cl_device_id* out,
                                     cl_uint* count) {
    (void)p, (void)type, (void)room, (void)out;
    if (count != NULL) *count = 0;
    return CL_DEVICE_NOT_FOUND;
}

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id* out, cl_uint* count) {
    if (is("crash")) raise(SIGSEGV);
    if (is("exit")) exit(0);
    while (is("hang")) sleep(1);
    if (count != NULL) *count = is("unwilling") ? 0 : 1;
    if (is("unwilling")) return CL_PLATFORM_NOT_FOUND_KHR;
    dispatch.clGetPlatformInfo = clGetPlatformInfo;
    dispatch.clGetDeviceIDs = no_devices;
    if (out != NULL && room > 0) *out = &platform;
    return CL_SUCCESS;
}

EXPORT void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0) return __extension__(void*) clIcdGetPlatformIDsKHR;
    return NULL;
}
