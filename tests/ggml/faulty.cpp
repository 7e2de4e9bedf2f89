// A ggml module with one fault, chosen by FAULT. It claims the best score, so that it is tried before the good one beside it.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#define CONSTRUCTOR_ABORTS 1
#define CONSTRUCTOR_CRASHES 2
#define CONSTRUCTOR_EXITS 3
#define CONSTRUCTOR_HANGS 4
#define SCORE_HANGS 5
#define SCORE_THROWS 6
#define INIT_THROWS 7
#define INIT_CRASHES 8
#define INIT_MISSING 9
#define INIT_NULL 10
#define WRONG_API 11
#define NO_DEVICES 12
#define NULL_DEVICE 13
#define GPU_THAT_DOES_NOT_OPEN 14
#define LIBRARY_MISSING 15
#define CONSTRUCTOR_RUNS 16
#define NOT_FOR_HERE \
    17  // as a module of instructions that this processor lacks: its score says so, and what else of it runs is illegal
#define LONG_NAMES 18            // built with a longer name in its tensor
#define LONG_NAMES_NULL 19       // the same, keeping weights as they are: what it notes of them is null
#define RPC 20                   // no devices until somebody names a server
#define ENDED_BY_ENVIRONMENT 21  // a good one, but for what FAULTY_SIGNAL sends to its process
#define NO_SCORE 22
#define ROCM 23               // its registration has another name than its kind
#define LOW_SCORE 24          // a good one, not the best
#define DRIVES 25             // uses the library that FAULTY_DRIVER names, as others do a driver
#define HOLDS_APPLICATION 26  // in its trial, as a debugger does; FAULTY_FILE says whether it could
#define LEAVES_DAEMON 27      // in its trial; FAULTY_FILE gets its number

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

[[noreturn]] void crash() {
    std::raise(SIGSEGV);
    std::abort();
}

#if FAULT <= CONSTRUCTOR_HANGS || FAULT == CONSTRUCTOR_RUNS || FAULT == ROCM
__attribute__((constructor)) void constructor() {
    if (FAULT == CONSTRUCTOR_ABORTS) std::abort();
    if (FAULT == CONSTRUCTOR_CRASHES) crash();
    if (FAULT == CONSTRUCTOR_EXITS) std::_Exit(42);
    if (FAULT == CONSTRUCTOR_HANGS) sleep(3600);
    if ((FAULT == CONSTRUCTOR_RUNS || FAULT == ROCM) && write(STDOUT_FILENO, "constructor ran\n", 16) < 0) std::abort();
}
#endif

using Any = void (*)();

struct DeviceProps {
    const char* name;
    const char* description;
    size_t memory_free, memory_total;
    int type;
    const char* id;
    bool caps[5];
};

// The shapes of the tables, as facts: functions, then an owner, then a context.
struct Type {
    Any functions[6];
    void* device;
    void* context;
};
struct Device {
    Any functions[15];
    void* registration;
    void* context;
};
struct Registration {
    int api;
    const char* (*name)(Registration*);
    size_t (*count)(Registration*);
    void* (*device)(Registration*, size_t);
    void* (*proc)(Registration*, const char*);
    void* context;
};

extern Device device;
extern Registration registration;

const char* device_name(void*) { return "FakeGPU"; }
void device_memory(void*, size_t* free, size_t* total) { *free = *total = 0; }
int device_type(void*) { return 1; }
constexpr bool kLong = FAULT == LONG_NAMES || FAULT == LONG_NAMES_NULL;
constexpr int kDeviceType = kLong ? 0 : 1;
void device_props(void*, DeviceProps* props) { *props = {"FakeGPU", "does not open", 0, 0, kDeviceType, nullptr, {}}; }
void* device_open(void*, const char*) { return nullptr; }
const char* type_name(void*) { return "Fake"; }
size_t type_alignment(void*) { return 32; }
Type type{{reinterpret_cast<Any>(type_name), nullptr, reinterpret_cast<Any>(type_alignment)}, &device, nullptr};
void* device_buffers(void*) { return &type; }
Device device{{reinterpret_cast<Any>(device_name), reinterpret_cast<Any>(device_name), reinterpret_cast<Any>(device_memory),
               reinterpret_cast<Any>(device_type), reinterpret_cast<Any>(device_props), reinterpret_cast<Any>(device_open),
               reinterpret_cast<Any>(device_buffers)},
              &registration,
              nullptr};

const char* registration_name(Registration*) {
    return FAULT == GPU_THAT_DOES_NOT_OPEN ? "Vulkan" : FAULT == RPC ? "RPC" : FAULT == ROCM ? "ROCm" : "CPU";
}
size_t device_count(Registration*) { return FAULT == NO_DEVICES || FAULT == RPC ? 0 : 1; }
void* device_at(Registration*, size_t) { return FAULT == NULL_DEVICE ? nullptr : &device; }
#if FAULT == LONG_NAMES || FAULT == LONG_NAMES_NULL
// A tensor with a name of 160 bytes: what a module notes of it stands at 416. Its buffers are the base's own, but for what they do with a
// tensor that comes in.
int note_tensor(void*, char* tensor) {
    void* note = FAULT == LONG_NAMES ? &registration : nullptr;
    std::memcpy(tensor + 416, &note, sizeof note);
    return 0;
}
void* alloc_buffer(Type*, size_t size) {
    void* base = dlopen("libggml-base.so", RTLD_NOW | RTLD_NOLOAD);
    const auto type = reinterpret_cast<void* (*)()>(dlsym(base, "ggml_backend_cpu_buffer_type"));
    const auto alloc = reinterpret_cast<void* (*)(void*, size_t)>(dlsym(base, "ggml_backend_buft_alloc_buffer"));
    void* buffer = alloc(type(), size);
    Any note = reinterpret_cast<Any>(note_tensor);
    std::memcpy(static_cast<char*>(buffer) + 2 * sizeof note, &note, sizeof note);  // the third function of its table
    return buffer;
}
Type noting{{reinterpret_cast<Any>(type_name), reinterpret_cast<Any>(alloc_buffer), reinterpret_cast<Any>(type_alignment)},
            &device,
            nullptr};
Type* noting_types[] = {&noting, nullptr};
Type** extra_types(void*) { return noting_types; }
void* proc(Registration*, const char* name) {
    return std::strcmp(name, "ggml_backend_dev_get_extra_bufts") == 0 ? reinterpret_cast<void*>(extra_types) : nullptr;
}
#else
constexpr void* (*proc)(Registration*, const char*) = nullptr;
#endif
Registration registration{FAULT == WRONG_API ? 1 : 2, registration_name, device_count, device_at, proc, nullptr};

}  // namespace

#if FAULT == HOLDS_APPLICATION || FAULT == LEAVES_DAEMON
namespace {

struct Process {
    pid_t parent = 0;
    char name[64] = "";
};
Process process(pid_t number) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(number));
    Process p;
    if (FILE* file = std::fopen(path, "r")) {
        if (std::fscanf(file, "%*d (%63[^)]) %*c %d", p.name, &p.parent) != 2) p = {};
        std::fclose(file);
    }
    return p;
}

void say(const char* text) {
    const char* file = std::getenv("FAULTY_FILE");
    const int to = file == nullptr ? -1 : open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (to < 0 || write(to, text, std::strlen(text)) < 0) std::abort();
    close(to);
}

// The application: the first of those that have its name, of which the last stands between it and the trial.
void hold_the_application() {
    pid_t application = 0;
    for (pid_t p = getppid(); p > 1; p = process(p).parent)
        if (std::strncmp(process(p).name, "ggml_driver", 11) == 0) application = p;
    const bool held = application != 0 && ptrace(PTRACE_ATTACH, application, nullptr, nullptr) == 0;
    say(held ? "yes" : application == 0 ? "no application" : std::strerror(errno));
    if (held) waitpid(application, nullptr, __WALL);
    sleep(3600);
}

void leave_daemon() {
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        sleep(3600);
        _exit(0);
    }
    say(std::to_string(child).c_str());
}

void act_in_the_trial() {
    if (std::strncmp(process(getpid()).name, "backplane-probe", 15) != 0) return;
    FAULT == HOLDS_APPLICATION ? hold_the_application() : leave_daemon();
}

}  // namespace
#endif

#if FAULT == LIBRARY_MISSING
extern "C" void from_the_library_that_is_not_there();
#endif

#if FAULT != NO_SCORE
EXPORT int ggml_backend_score() {
    if (FAULT == NOT_FOR_HERE) return 0;
    if (FAULT == SCORE_HANGS) sleep(3600);
    if (FAULT == SCORE_THROWS) throw std::runtime_error("score");
    return FAULT == LOW_SCORE ? 1 : 1000000;
}
#endif

#if FAULT != INIT_MISSING
EXPORT void* ggml_backend_init() {
    if (FAULT == INIT_THROWS) throw std::runtime_error("init");
    if (FAULT == INIT_CRASHES) crash();
    if (FAULT == NOT_FOR_HERE) std::raise(SIGILL);
    if (const char* signal = FAULT == ENDED_BY_ENVIRONMENT ? std::getenv("FAULTY_SIGNAL") : nullptr)
        std::raise(std::atoi(signal));
#if FAULT == LIBRARY_MISSING
    from_the_library_that_is_not_there();
#endif
#if FAULT == HOLDS_APPLICATION || FAULT == LEAVES_DAEMON
    act_in_the_trial();
#endif
    if (const char* driver = FAULT == DRIVES ? std::getenv("FAULTY_DRIVER") : nullptr)
        reinterpret_cast<void (*)()>(dlsym(dlopen(driver, RTLD_NOW), "from_the_library_that_is_not_there"))();
    return FAULT == INIT_NULL ? nullptr : &registration;
}
#endif
