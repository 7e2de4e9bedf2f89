// ggml-driver BASE LIBRARY COMMAND...: an application of ggml's registry, as far as a test needs one. Prints a line for each command.
//   all FOLDER | load FILE | unload NAME | devices | best | time FOLDER | time-load FILE | opened FOLDER | opened-load FILE | compute |
//   threads FOLDER | feed LIBRARY FOLDER | name-after-unload NAME
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "opened.hpp"

namespace {

template <typename F>
F symbol(void* library, const char* name) {
    void* found = dlsym(library, name);
    if (found == nullptr) std::printf("no %s\n", name), std::exit(3);
    return reinterpret_cast<F>(found);
}

// Bytes of files in this process's memory map.
size_t mapped_bytes() {
    size_t total = 0;
    FILE* maps = std::fopen("/proc/self/maps", "r");
    if (maps == nullptr) return 0;
    char line[4096];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
        unsigned long from = 0, to = 0;
        if (std::strchr(line, '/') != nullptr && std::sscanf(line, "%lx-%lx", &from, &to) == 2) total += to - from;
    }
    std::fclose(maps);
    return total;
}

struct Application {
    void* base;
    void* library;

    Application(const char* base_file, const char* file)
        : base(dlopen(base_file, RTLD_NOW | RTLD_GLOBAL)), library(dlopen(file, RTLD_NOW | RTLD_GLOBAL)) {
        if (base == nullptr || library == nullptr) std::printf("%s\n", dlerror()), std::exit(3);
    }
    template <typename R, typename... A>
    R call(const char* name, A... arguments) const {
        return symbol<R (*)(A...)>(library, name)(arguments...);
    }
    template <typename R, typename... A>
    R base_call(const char* name, A... arguments) const {
        return symbol<R (*)(A...)>(base, name)(arguments...);
    }
    void devices() const {
        const auto count = call<size_t>("ggml_backend_dev_count");
        std::printf("devices %zu, registrations %zu:", count, call<size_t>("ggml_backend_reg_count"));
        for (size_t i = 0; i < count; ++i) {
            void* device = call<void*>("ggml_backend_dev_get", i);
            std::printf(" %s", device == nullptr ? "null" : base_call<const char*>("ggml_backend_dev_name", device));
        }
        std::printf("\n");
    }
    void threads(const char* folder) const {
        std::atomic<bool> stop = false;
        std::vector<std::thread> all;
        for (int t = 0; t < 4; ++t)
            all.emplace_back([&] {
                while (!stop) {
                    const auto count = call<size_t>("ggml_backend_dev_count");
                    for (size_t k = 0; k < count; ++k)
                        if (void* device = call<void*>("ggml_backend_dev_get", k))
                            base_call<const char*>("ggml_backend_dev_name", device);
                    call<void*>("ggml_backend_reg_by_name", "CPU");
                }
            });
        for (int i = 0; i < 200; ++i) {
            call<void>("ggml_backend_load_all_from_path", folder);
            if (void* cpu = call<void*>("ggml_backend_reg_by_name", "CPU")) call<void>("ggml_backend_unload", cpu);
        }
        stop = true;
        for (std::thread& t : all) t.join();
        std::printf("threads done\n");
    }
    // A small network on the best device: 64 x 64 matrix of ones times a column of ones, plus ones.
    void compute() const {
        struct Parameters {
            size_t size;
            void* memory;
            bool no_alloc;
        };
        constexpr int kF32 = 0;
        constexpr int64_t kSize = 64;
        void* backend = call<void*>("ggml_backend_init_best");
        if (backend == nullptr) return static_cast<void>(std::printf("computed nothing: no device\n"));
        void* context = base_call<void*>("ggml_init", Parameters{1 << 20, nullptr, true});
        const auto tensor = [&](int64_t columns) {
            return base_call<void*>("ggml_new_tensor_2d", context, kF32, kSize, columns);
        };
        void* weights = tensor(kSize);
        void* x = tensor(1);
        void* y = base_call<void*>("ggml_add", context, base_call<void*>("ggml_mul_mat", context, weights, x), x);
        void* graph = base_call<void*>("ggml_new_graph", context);
        base_call<void>("ggml_build_forward_expand", graph, y);
        base_call<void*>("ggml_backend_alloc_ctx_tensors", context, backend);
        const std::vector<float> ones(kSize * kSize, 1);
        base_call<void>("ggml_backend_tensor_set", weights, ones.data(), size_t{0}, ones.size() * sizeof(float));
        base_call<void>("ggml_backend_tensor_set", x, ones.data(), size_t{0}, size_t{kSize} * sizeof(float));
        const int status = base_call<int>("ggml_backend_graph_compute", backend, graph);
        std::vector<float> result(kSize);
        base_call<void>("ggml_backend_tensor_get", y, result.data(), size_t{0}, result.size() * sizeof(float));
        std::printf("computed %g %g status %d\n", result.front(), result.back(), status);
    }
    // The gentle way: another library chooses, this application's own registry loads.
    void feed(const char* feeder, const char* base_file, const char* folder) const {
        void* other = dlopen(feeder, RTLD_NOW);
        if (other == nullptr) std::printf("%s\n", dlerror()), std::exit(3);
        const auto give =
            symbol<int (*)(void* (*)(const char*), const char*, const char*, void (*)(void*, const char*), void*)>(
                other, "backplane_ggml_feed");
        const int loaded = give(
            symbol<void* (*)(const char*)>(library, "ggml_backend_load"), base_file, folder,
            [](void*, const char* text) { std::printf("refused: %s\n", text); }, nullptr);
        std::printf("fed %d\n", loaded);
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    const Application app(argv[1], argv[2]);
    for (int i = 3; i < argc; ++i) {
        const std::string command = argv[i];
        const char* argument = i + 1 < argc ? argv[i + 1] : "";
        if (command == "all") {
            app.call<void>("ggml_backend_load_all_from_path", argument), ++i;
        } else if (command == "all-default") {
            app.call<void>("ggml_backend_load_all");
        } else if (command == "load") {
            std::printf("load %s\n", app.call<void*>("ggml_backend_load", argument) != nullptr ? "done" : "null"), ++i;
        } else if (command == "unload") {
            app.call<void>("ggml_backend_unload", app.call<void*>("ggml_backend_reg_by_name", argument)), ++i;
        } else if (command == "name-after-unload") {
            void* device = app.call<void*>("ggml_backend_dev_by_name", argument);
            app.call<void>("ggml_backend_unload", app.base_call<void*>("ggml_backend_dev_backend_reg", device));
            std::printf("name %s\n", app.base_call<const char*>("ggml_backend_dev_name", device)), ++i;
        } else if (command == "devices") {
            app.devices();
        } else if (command == "best") {
            void* backend = app.call<void*>("ggml_backend_init_best");
            std::printf("best %s\n", backend == nullptr ? "null" : app.base_call<const char*>("ggml_backend_name", backend));
        } else if (command == "time" || command == "time-load") {
            const size_t before = mapped_bytes();
            const auto start = std::chrono::steady_clock::now();
            if (command == "time")
                app.call<void>("ggml_backend_load_all_from_path", argument);
            else
                app.call<void*>("ggml_backend_load", argument);
            const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
            std::printf("ms %.3f mapped %zu\n", ms, mapped_bytes() - before), ++i;
        } else if (command == "opened" || command == "opened-load") {
            const bool one = command == "opened-load";
            const ggml_test::Opened opened(one ? std::filesystem::path(argument).parent_path().string() : argument);
            if (one)
                app.call<void*>("ggml_backend_load", argument);
            else
                app.call<void>("ggml_backend_load_all_from_path", argument);
            std::printf("%s\n", opened.text().c_str()), ++i;
        } else if (command == "compute") {
            app.compute();
        } else if (command == "feed") {
            app.feed(argument, argv[1], i + 2 < argc ? argv[i + 2] : ""), i += 2;
        } else if (command == "threads") {
            app.threads(argument), ++i;
        }
    }
    std::fflush(stdout);
    std::_Exit(0);  // what modules do at exit is not under test
}
