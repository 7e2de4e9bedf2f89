/* Preloaded: what the machine under the test lacks. BP_PRETEND_ABSENT: a library that the system's loader does not find.
 * BP_PRETEND_DEV: the folder that is shown as /dev; a file in it with mode 0 may not be opened, not even by root. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static const char* shown(const char* path, char* room, size_t size) {
    const char* dev = getenv("BP_PRETEND_DEV");
    if (dev == NULL || path == NULL || strncmp(path, "/dev", 4) != 0 || (path[4] != '\0' && path[4] != '/')) return path;
    snprintf(room, size, "%s%s", dev, path + 4);
    return room;
}

EXPORT void* dlopen(const char* name, int flags) {
    void* (*real)(const char*, int) = __extension__(void* (*)(const char*, int)) dlsym(RTLD_NEXT, "dlopen");
    const char* absent = getenv("BP_PRETEND_ABSENT");
    char room[256];
    if (absent != NULL && name != NULL && strcmp(name, absent) == 0) {
        snprintf(room, sizeof room, "%s.of-this-machine", name);
        name = room;
    }
    return real(name, flags);
}

EXPORT int access(const char* path, int mode) {
    int (*real)(const char*, int) = __extension__(int (*)(const char*, int)) dlsym(RTLD_NEXT, "access");
    char room[4096];
    struct stat status;
    const char* there = shown(path, room, sizeof room);
    if (there != path && stat(there, &status) == 0 && (status.st_mode & 0777) == 0) {
        errno = EACCES;
        return -1;
    }
    return real(there, mode);
}

EXPORT DIR* opendir(const char* path) {
    DIR* (*real)(const char*) = __extension__(DIR * (*)(const char*)) dlsym(RTLD_NEXT, "opendir");
    char room[4096];
    return real(shown(path, room, sizeof room));
}

EXPORT int openat(int folder, const char* path, int flags, ...) {
    int (*real)(int, const char*, int, ...) = __extension__(int (*)(int, const char*, int, ...)) dlsym(RTLD_NEXT, "openat");
    char room[4096];
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    const char* there = shown(path, room, sizeof room);
    if (there != path && strcmp(path, "/dev/null") == 0) there = path;
    return real(folder, there, flags, mode);
}
