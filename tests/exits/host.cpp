// host WAY DIARY FOLDER LIBRARY: an application that computes on the modules of FOLDER and then ends in one WAY, with exit code 17. Its diary
// gets a line when the end begins. LIBRARY: Backplane as a shared library, for the ways that unload it.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backplane/backplane.h"
#include "backplane/context.hpp"
#include "backplane/graph.hpp"
#include "backplane/runtime.hpp"

namespace {

using namespace backplane;

constexpr int kCode = 17;
constexpr unsigned kLimit = 60;  // seconds: a hang ends by SIGALRM
constexpr int64_t kSize = 1 << 20;

// Everything an application holds: a context, open devices, sessions. On the module with the diary, and on the cpu where there is one.
struct Work {
    explicit Work(const std::string& folder) : context(options_for(folder)) {
        add("diary");
        for (const DeviceInfo& d : context.devices())
            if (d.backend == "cpu") add("cpu");
        run();
    }

    void run() {
        const std::vector<float> in(kSize, -1);
        std::vector<float> out(kSize, 9);
        for (Session& session : sessions)
            session.run({{{"x", std::as_bytes(std::span(in))}}}, {{{"y", std::as_writable_bytes(std::span(out))}}});
    }

    Context context;
    std::vector<Device> devices;
    std::vector<Session> sessions;

private:
    static ContextOptions options_for(const std::string& folder) {
        ContextOptions options;
        options.module_paths = {folder};
        options.search_defaults = false;
        options.log = [](LogLevel, std::string_view text) { ticks += text.size() == 4 ? 1 : 0; };
        options.options["cpu.threads"] = "3";
        return options;
    }
    void add(const char* filter) {
        Graph graph;
        const TensorId x = graph.input("x", DType::f32, {kSize});
        graph.output(graph.add(Op::relu, {x}), "y");
        devices.push_back(context.choose(filter));
        sessions.emplace_back(devices.back(), graph, WeightSource{});
    }
    static inline std::atomic<int> ticks{0};
};

std::optional<Work> global;
std::string diary, folder, library;

// From here on, whoever calls a module on this thread does so from a destructor.
void the_end_begins() {
    const int file = ::open(diary.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const std::string line = "end " + std::to_string(::gettid()) + "\n";
    if (file < 0 || ::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(98);
    ::close(file);
}

int leaked(const std::function<int()>& end) {
    new Work(folder);
    the_end_begins();
    return end();
}

int everything_closed() {
    { Work work(folder); }
    the_end_begins();
    return kCode;
}

int context_first() {  // the devices and sessions keep their modules
    auto work = std::make_unique<Work>(folder);
    std::vector<Session> sessions = std::move(work->sessions);
    work.reset();
    sessions.clear();
    the_end_begins();
    return kCode;
}

int local_static() {
    static Work work(folder);
    the_end_begins();
    return kCode;
}

int global_object() {
    global.emplace(folder);
    the_end_begins();
    return kCode;
}

int exit_from_another_thread() {
    return leaked([]() -> int {
        std::thread([] {
            the_end_begins();
            std::exit(kCode);
        }).detach();
        for (;;) ::pause();
    });
}

int while_computing() {
    for (int i = 0; i < 3; ++i)
        std::thread([] {
            for (auto* work = new Work(folder);;) work->run();
        }).detach();
    return leaked([] { return kCode; });
}

int main_thread_ends_first() {
    new Work(folder);
    std::thread([] {
        ::usleep(20000);
        the_end_begins();
        std::exit(kCode);
    }).detach();
    ::pthread_exit(nullptr);
}

int in_a_forked_child() {
    auto work = std::make_unique<Work>(folder);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(kCode);
    int status = 0;
    ::waitpid(child, &status, 0);
    work->run();  // the parent's are as they were
    work.reset();
    the_end_begins();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// ---- Backplane as a library that goes before the process does --------------------------------------------------------------

template <typename T>
T function(void* handle, const char* name, T) {
    void* address = ::dlsym(handle, name);
    if (address == nullptr) throw std::runtime_error(::dlerror());
    return reinterpret_cast<T>(address);
}

int unload_the_library(bool close_first) {
    void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(::dlerror());
    const char* path = folder.c_str();
    backplane_context_options options{};
    options.struct_size = BP_SIZE(backplane_context_options, log_arg);
    options.skip_defaults = 1;
    options.module_paths = &path;
    options.module_path_count = 1;
    backplane_context* context = nullptr;
    backplane_device* device = nullptr;
    const auto create = function(handle, "backplane_context_create", &backplane_context_create);
    const auto open = function(handle, "backplane_device_open", &backplane_device_open);
    if (create(&options, &context, nullptr) != BP_OK || open(context, "diary:0", &device, nullptr) != BP_OK)
        throw std::runtime_error("no device");
    if (close_first) {
        function(handle, "backplane_device_close", &backplane_device_close)(device);
        function(handle, "backplane_context_destroy", &backplane_context_destroy)(context);
    }
    the_end_begins();
    ::dlclose(handle);
    ::usleep(20000);  // the module's thread goes on, where it was not closed
    return kCode;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    ::alarm(kLimit);
    diary = argv[2];
    folder = argv[3];
    library = argv[4];
    const std::map<std::string, std::function<int()>> ways{
        {"EverythingClosedBefore", everything_closed},
        {"TheContextGoesBeforeItsDevices", context_first},
        {"ReturnFromMain", [] { return leaked([] { return kCode; }); }},
        {"Exit", [] { return leaked([]() -> int { std::exit(kCode); }); }},
        {"UnderscoreExit", [] { return leaked([]() -> int { ::_exit(kCode); }); }},
        {"QuickExit", [] { return leaked([]() -> int { std::quick_exit(kCode); }); }},
        {"LocalStaticContext", local_static},
        {"GlobalContext", global_object},
        {"ExitFromAnotherThread", exit_from_another_thread},
        {"WhileThreadsCompute", while_computing},
        {"MainThreadEndsFirst", main_thread_ends_first},
        {"InAForkedChild", in_a_forked_child},
        {"LibraryUnloadedAfterItsContexts", [] { return unload_the_library(true); }},
        {"LibraryUnloadedWithAContextOpen", [] { return unload_the_library(false); }},
    };
    try {
        return ways.at(argv[1])();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "host: %s\n", error.what());
        return 3;
    }
}
