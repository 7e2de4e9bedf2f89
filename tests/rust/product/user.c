/* user LIBRARY [DEVICE]: loads the product's library by its name, computes on a device and lets the library go. */
#include <stdio.h>
#ifdef _WIN32
#include <windows.h>
#define OPEN(path) ((void*)LoadLibraryA(path))
#define FIND(library, name) ((void*)GetProcAddress((HMODULE)(library), name))
#define CLOSE(library) FreeLibrary((HMODULE)(library))
#else
#include <dlfcn.h>
#define OPEN(path) dlopen(path, RTLD_NOW | RTLD_LOCAL)
#define FIND(library, name) dlsym(library, name)
#define CLOSE(library) dlclose(library)
#endif

typedef int (*relu_function)(const char*, const float*, float*, size_t);

int main(int argc, char** argv) {
    const float from[4] = {-1, 2, -3, 4};
    float to[4] = {9, 9, 9, 9};
    void* library = argc > 1 ? OPEN(argv[1]) : NULL;
    relu_function relu = NULL;
    if (library == NULL) return fputs("the library does not load\n", stderr), 2;
    *(void**)&relu = FIND(library, "product_relu");
    if (relu == NULL) return fputs("the library has no product_relu\n", stderr), 2;
    if (FIND(library, "backplane_version") != NULL) return fputs("what is inside is exported\n", stderr), 2;
    if (relu(argc > 2 ? argv[2] : "cpu", from, to, 4) != 0) return 1;
    printf("%g %g %g %g\n", to[0], to[1], to[2], to[3]);
    CLOSE(library);
    return 0;
}
