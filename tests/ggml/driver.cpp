// ggml-driver BASE LIBRARY COMMAND...: an application of ggml's registry, as far as a test needs one. Prints a line for each command.
//   all FOLDER | load FILE | unload NAME | devices | best | time FOLDER | time-load FILE | opened FOLDER | opened-load FILE | compute |
//   threads FOLDER | feed LIBRARY FOLDER | name-after-unload NAME | fork-while-loading FOLDER | count-children FOLDER | kill-children |
//   refuse-children | wrong-arguments
// BASE "-": none is loaded by the application, and its functions are looked up through LIBRARY.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
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
        : base(std::strcmp(base_file, "-") == 0 ? nullptr : dlopen(base_file, RTLD_NOW | RTLD_GLOBAL)),
          library(dlopen(file, RTLD_NOW | RTLD_GLOBAL)) {
        if ((base == nullptr && std::strcmp(base_file, "-") != 0) || library == nullptr)
            std::printf("%s\n", dlerror()), std::exit(3);
    }
    template <typename R, typename... A>
    R call(const char* name, A... arguments) const {
        return symbol<R (*)(A...)>(library, name)(arguments...);
    }
    template <typename R, typename... A>
    R base_call(const char* name, A... arguments) const {
        return symbol<R (*)(A...)>(base != nullptr ? base : library, name)(arguments...);
    }
    void devices() const {
        const auto count = call<size_t>("ggml_backend_dev_count");
        std::printf("devices %zu, registrations %zu:", count, call<size_t>("ggml_backend_reg_count"));
        for (size_t i = 0; i < count; ++i) {
            void* device = call<void*>("ggml_backend_dev_get", i);
            const bool named = base != nullptr || dlsym(library, "ggml_backend_dev_name") != nullptr;
            std::printf(" %s", device == nullptr ? "null"
                               : !named          ? "?"
                                                 : base_call<const char*>("ggml_backend_dev_name", device));
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
    // A child is made while another thread loads, and asks.
    void fork_while_loading(const char* folder) const {
        std::atomic<bool> loading = false, loaded = false;
        std::thread other([&] {
            loading = true;
            call<void>("ggml_backend_load_all_from_path", folder);
            loaded = true;
        });
        while (!loading) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(500));  // it is inside by now; if not, the test says less
        call<size_t>("ggml_backend_dev_count");
        std::printf("asked while it was loading: %s\n", loaded ? "no" : "yes");
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            call<size_t>("ggml_backend_dev_count");
            call<void>("ggml_backend_load_all_from_path", "/nowhere");
            std::_Exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        std::printf("child ended with %d\n", status);
        other.join();
    }
    static inline std::atomic<int> signals = 0;
    // What an application notices of the children that a load starts.
    void count_children(const char* folder) const {
        std::signal(SIGCHLD, [](int) { ++signals; });
        std::atomic<bool> stop = false;
        int caught = 0;
        std::thread reaper([&] {
            while (!stop) caught += waitpid(-1, nullptr, WNOHANG) > 0 ? 1 : 0;
        });
        call<void>("ggml_backend_load_all_from_path", folder);
        stop = true;
        reaper.join();
        std::printf("children signalled %d, caught %d\n", signals.load(), caught);
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
    // What ggml's own registry ends the process for, or reads where nothing is.
    void wrong_arguments() const {
        const auto say = [](const char* name, const void* answer) {
            std::printf("%s: %s\n", name, answer == nullptr ? "null" : "something");
        };
        for (const char* name : {"ggml_backend_dev_get", "ggml_backend_reg_get"}) {
            const auto count =
                call<size_t>(std::strstr(name, "dev") != nullptr ? "ggml_backend_dev_count" : "ggml_backend_reg_count");
            for (const size_t index : {count, size_t{1000}, static_cast<size_t>(-1)}) say(name, call<void*>(name, index));
        }
        const char* none = nullptr;
        for (const char* name : {"ggml_backend_dev_by_name", "ggml_backend_reg_by_name", "ggml_backend_load"})
            say(name, call<void*>(name, none));
        say("ggml_backend_init_by_name", call<void*>("ggml_backend_init_by_name", none, none));
        for (const int type : {-1, 1000}) {
            say("ggml_backend_dev_by_type", call<void*>("ggml_backend_dev_by_type", type));
            say("ggml_backend_init_by_type", call<void*>("ggml_backend_init_by_type", type, none));
        }
        void* nothing = nullptr;
        for (const char* name : {"ggml_backend_register", "ggml_backend_device_register", "ggml_backend_unload"})
            call<void>(name, nothing);
        std::printf("wrong arguments done\n");
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

// From now on this process is ended, or refused, when it starts another.
void filter_children(uint32_t action) {
    std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const uint32_t call : {
#ifdef __NR_fork
             uint32_t{__NR_fork}, uint32_t{__NR_vfork},
#endif
             uint32_t{__NR_clone3}, uint32_t{__NR_clone}, uint32_t{__NR_execve}}) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, action));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        std::printf("no filter here\n"), std::exit(4);
}

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
        } else if (command == "fork-while-loading") {
            app.fork_while_loading(argument), ++i;
        } else if (command == "count-children") {
            app.count_children(argument), ++i;
        } else if (command == "kill-children") {
            filter_children(SECCOMP_RET_KILL_PROCESS);
        } else if (command == "refuse-children") {
            filter_children(SECCOMP_RET_ERRNO | EPERM);
        } else if (command == "wrong-arguments") {
            app.wrong_arguments();
        } else if (command == "threads") {
            app.threads(argument), ++i;
        }
    }
    std::fflush(stdout);
    std::_Exit(0);  // what modules do at exit is not under test
}
