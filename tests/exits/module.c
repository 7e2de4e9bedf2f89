/* The minimal example with a thread of its own, a destructor, and a diary: each call that could reach a driver is a line in the file that
 * BACKPLANE_EXITS_DIARY names, with the thread it came from. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define backplane_module minimal_entry
#include "backplane/note.h"
#undef BP_NOTE
#define BP_NOTE(abi, flags, json) extern int exits_no_note
#include "../../examples/minimal-backend/minimal.c"
#undef backplane_module

static atomic_int diary = -1;
static atomic_int ended; /* its static objects are destroyed */
static atomic_int stop;
static _Atomic pthread_t thread; /* of the last that opened it */

static void write_line(const char* what) {
    char line[128];
    const int n = snprintf(line, sizeof line, "%s%s %d\n", what, ended ? "-after-its-end" : "", (int)gettid());
    if (diary >= 0 && write(diary, line, (size_t)n) != n) _exit(99);
}

/* As a static object of C++ in a module is destroyed: registered at load, with the module's handle (ThreadSanitizer's atexit forgets it). */
extern int __cxa_atexit(void (*function)(void*), void* arg, void* library);
extern void* __dso_handle;
static void end(void* unused) {
    (void)unused;
    write_line("destructor");
    ended = 1;
}
__attribute__((constructor)) static void begin(void) {
    const char* path = getenv("BACKPLANE_EXITS_DIARY");
    if (path != NULL) diary = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    __cxa_atexit(end, NULL, &__dso_handle);
}

/* Speaks to its host all the while. */
static void* work(void* arg) {
    const bp_host* host = arg;
    const struct timespec moment = {0, 200000};
    while (!stop) {
        host->log(host->self, BP_LOG_INFO, "tick");
        nanosleep(&moment, NULL);
    }
    return NULL;
}

static bp_code exits_open(const bp_host* host, bp_module** out, bp_error* error) {
    write_line("open");
    stop = 0;
    pthread_t made;
    if (pthread_create(&made, NULL, work, (void*)(uintptr_t)host) != 0) return BP_INTERNAL;
    thread = made;
    return open_module(host, out, error);
}
static void exits_close(bp_module* m) {
    write_line("close");
    stop = 1;
    pthread_join(thread, NULL);
    close_module(m);
}
static void exits_device_close(bp_device* d) { write_line("device_close"), device_close(d); }
static void exits_program_close(bp_program* p) { write_line("program_close"), program_close(p); }
static void exits_buffer_close(bp_buffer* b) { write_line("buffer_close"), buffer_close(b); }

static bp_module_api mine;
static void fill_the_table(void) {
    mine = table;
    mine.open = exits_open;
    mine.close = exits_close;
    mine.device_close = exits_device_close;
    mine.program_close = exits_program_close;
    mine.buffer_close = exits_buffer_close;
}
BP_EXPORT const bp_module_api* backplane_module(uint32_t host_abi);
const bp_module_api* backplane_module(uint32_t host_abi) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)host_abi;
    pthread_once(&once, fill_the_table);
    return &mine;
}
