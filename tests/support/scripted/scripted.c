/* The minimal example as a device with moods, for tests: what it lists and how it fails stands in a file, read anew at each call, whose
 * path is the module option `scripted.script`. Lines, all optional:
 *     device ID KIND NAME     listed, in this order; without any: device 1, discrete
 *     no-devices              none is listed
 *     remark WORD             said beside the devices
 *     run CODE [N]            run() answers CODE; with N, only after N runs of this process that went well
 *     copy CODE               likewise
 *     compile CODE
 *     create CODE             buffer_create()
 *     wrong OP                op number OP gives numbers that are 1 too large
 *     refuse ID               that device does not open
 *     abort ID                opening that device ends the process
 *     log FILE                each opening of a device is a line of that file, "PROCESS ID"
 * A device that answered BP_DEVICE_LOST answers it to everything until it is closed and opened again. */
#define backplane_module minimal_entry
#include "backplane/note.h"
#undef BP_NOTE
#define BP_NOTE(abi, flags, json) extern int scripted_no_note
#include "../../../examples/minimal-backend/minimal.c"
#undef backplane_module

#include <stdatomic.h>
#ifdef _WIN32
#include <process.h>
#define PROCESS _getpid
#else
#include <unistd.h>
#define PROCESS getpid
#endif

enum { MOST_DEVICES = 8 };
typedef struct {
    uint64_t id;
    uint32_t kind;
    char name[64];
} listed;
typedef struct {
    listed device[MOST_DEVICES];
    uint32_t devices;
    int run, run_after, copy, compile, create, wrong;
    char remark[64], log[4096];
    unsigned long refused, aborts;
} script;

static char script_path[4096]; /* one process, one script: tests have one context with this module at a time */
static atomic_int runs, lost;

static script read_script(void) {
    script s = {.devices = 0};
    char line[4200];
    int none = 0;
    FILE* file = script_path[0] != '\0' ? fopen(script_path, "r") : NULL;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        listed d = {.id = 0};
        unsigned long id;
        unsigned kind;
        if (s.devices < MOST_DEVICES && sscanf(line, "device %lu %u %63[^\n]", &id, &kind, d.name) == 3) {
            d.id = id, d.kind = kind;
            s.device[s.devices++] = d;
        }
        sscanf(line, "run %d %d", &s.run, &s.run_after);
        sscanf(line, "copy %d", &s.copy);
        sscanf(line, "compile %d", &s.compile);
        sscanf(line, "create %d", &s.create);
        sscanf(line, "wrong %d", &s.wrong);
        sscanf(line, "remark %63s", s.remark);
        sscanf(line, "refuse %lu", &s.refused);
        sscanf(line, "abort %lu", &s.aborts);
        sscanf(line, "log %4095[^\n]", s.log);
        none |= strncmp(line, "no-devices", 10) == 0;
    }
    if (file != NULL) fclose(file);
    if (s.devices == 0 && !none) s.devices = 1, s.device[0] = (listed){1, BP_KIND_DISCRETE, SCRIPTED_NAME};
    return s;
}

static bp_code answer(int code, const char* what, bp_error* error) {
    if (lost != 0) code = BP_DEVICE_LOST;
    if (code == BP_DEVICE_LOST) lost = 1;
    return code == BP_OK ? BP_OK : fail(error, code, what, (uint64_t)code);
}

static bp_code scripted_open(const bp_host* host, bp_module** out, bp_error* error) {
    const char* path = BP_HAS(host, option) ? host->option(host->self, "scripted.script") : NULL;
    if (path != NULL) snprintf(script_path, sizeof script_path, "%s", path);
    runs = 0;
    return open_module(host, out, error);
}
static bp_code scripted_list(bp_module* m, const bp_array* infos, uint32_t* count, bp_error* error) {
    const script s = read_script();
    static char names[MOST_DEVICES][64];
    (void)m;
    *count = s.devices;
    for (uint32_t i = 0; i < s.devices; i++) {
        memcpy(names[i], s.device[i].name, sizeof names[i]);
        const bp_device_info info = {
            .kind = s.device[i].kind, .id = s.device[i].id, .name = names[i], .dtypes = 1u << BP_F32};
        if (infos != NULL && i < infos->count) give(BP_AT_OUT(bp_device_info, infos, i), &info, sizeof info);
    }
    if (s.devices == 0) fail(error, BP_OK, "unplugged", 0);
    if (s.remark[0] != '\0') fail(error, BP_OK, s.remark, 0);
    return BP_OK;
}
static bp_code scripted_device_open(bp_module* m, uint64_t id, bp_device** out, bp_error* error) {
    const script s = read_script();
    FILE* const log = s.log[0] != '\0' ? fopen(s.log, "a") : NULL;
    if (log != NULL) fprintf(log, "%ld %lu\n", (long)PROCESS(), (unsigned long)id), fclose(log);
    *out = NULL;
    if (s.aborts != 0 && s.aborts == id) abort();
    if (s.refused != 0 && s.refused == id) return fail(error, BP_INTERNAL, "the driver refuses device", id);
    for (uint32_t i = 0; i < s.devices; i++)
        if (s.device[i].id == id) return lost = 0, device_open(m, 1, out, error);
    return fail(error, BP_NOT_FOUND, "no such device", id);
}
static bp_code scripted_compile(bp_device* d, const bp_graph* g, const bp_compile* how, bp_program** out, bp_error* error) {
    const bp_code code = answer(read_script().compile, "compile", error);
    return code == BP_OK ? compile(d, g, how, out, error) : (*out = NULL, code);
}
static bp_code scripted_buffer_create(bp_device* d, uint32_t heap, uint64_t size, bp_buffer** out, bp_error* error) {
    const bp_code code = answer(read_script().create, "buffer_create", error);
    return code == BP_OK ? buffer_create(d, heap, size, out, error) : (*out = NULL, code);
}
static bp_code scripted_copy(bp_device* d, const bp_copy* c, bp_error* error) {
    const bp_code code = answer(read_script().copy, "copy", error);
    return code == BP_OK ? copy(d, c, error) : code;
}
static bp_code scripted_run(bp_program* p, const bp_run* run, bp_error* error) {
    const script s = read_script();
    const bp_code code = answer(runs >= s.run_after ? s.run : BP_OK, "run", error);
    if (code != BP_OK) return code;
    const bp_code done = run_program(p, run, error);
    void** at = calloc((size_t)p->tensors + 1, sizeof *at);
    if (done == BP_OK && at != NULL && bind(p, run, at, error) == BP_OK)
        for (const step* st = p->step; st < p->step + p->steps; st++)
            for (uint64_t k = 0; (int)st->op == s.wrong && k < st->bytes / sizeof(float); k++)
                ((float*)at[st->tensor[2]])[k] += 1;
    free(at);
    runs++;
    return done;
}

BP_EXPORT const bp_module_api* backplane_module(uint32_t host_abi);
const bp_module_api* backplane_module(uint32_t host_abi) {
    static bp_module_api mine;
    if (host_abi >> 16 != BP_ABI_MAJOR) return NULL;
    mine = table;
    mine.open = scripted_open, mine.list = scripted_list, mine.device_open = scripted_device_open,
    mine.compile = scripted_compile;
    mine.buffer_create = scripted_buffer_create, mine.copy = scripted_copy, mine.run = scripted_run;
    return &mine;
}
