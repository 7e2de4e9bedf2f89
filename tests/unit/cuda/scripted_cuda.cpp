#include "scripted_cuda.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "scripted_parts.hpp"

using backplane::cuda::scripted::answer;
using backplane::cuda::scripted::Card;
using backplane::cuda::scripted::gone;
using backplane::cuda::scripted::in_order;
using backplane::cuda::scripted::made;
using backplane::cuda::scripted::Object;
using backplane::cuda::scripted::Work;
using backplane::cuda::scripted::World;
namespace {
std::unique_ptr<World> the_world = std::make_unique<World>();

struct ScriptedModule : Object {
    std::vector<std::unique_ptr<std::string>> names;
};
struct ScriptedFunction : Object {
    std::string name;
    ScriptedModule* module = nullptr;
    unsigned most_shared = 49152;
};
struct ScriptedGraph : Object {
    std::vector<std::function<void()>> steps;
};
thread_local ScriptedGraph* capturing = nullptr;

// Of this thread: cards, by what the driver calls a context.
thread_local std::vector<Card*> current;
// The card and the size of what is allocated.
std::map<void*, std::pair<Card*, size_t>> allocated;

}  // namespace

namespace backplane::cuda::scripted {
World& world() { return *the_world; }
void start_anew() { the_world = std::make_unique<World>(); }

int answer(const char* function) {
    World& w = *the_world;
    if (w.before) w.before(function);
    const std::lock_guard lock(w.mutex);
    const int nth = w.calls[function]++;
    const auto found = w.failures.find(function);
    if (found != w.failures.end() && nth >= found->second.after) {
        const auto& failure = found->second;
        if (failure.loses) w.lost = failure.result;
        if (failure.loses || failure.lasts || nth == failure.after) return failure.result;
    }
    return w.lost == 0 && !current.empty() ? current.back()->lost : w.lost;
}

bool is_stuck() { return !current.empty() && current.back()->stuck; }

void in_order(void* stream, std::function<void()> step) {
    auto* on = static_cast<ScriptedStream*>(stream);
    if (capturing != nullptr) {
        capturing->steps.push_back(std::move(step));
    } else if (on != nullptr && on->work) {
        on->work->push(std::move(step));
    } else {
        step();
    }
}
}  // namespace backplane::cuda::scripted

extern "C" {
int cuInit(unsigned) {
    CALL("cuInit");
    return the_world->init;
}
int cuDriverGetVersion(int* version) {
    *version = the_world->version;
    return 0;
}
int cuGetErrorName(int result, const char** text) {
    static const std::map<int, const char*> kNames{{2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                   {34, "CUDA_ERROR_STUB_LIBRARY"},
                                                   {100, "CUDA_ERROR_NO_DEVICE"},
                                                   {200, "CUDA_ERROR_INVALID_IMAGE"},
                                                   {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                   {218, "CUDA_ERROR_INVALID_PTX"},
                                                   {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                                                   {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                   {719, "CUDA_ERROR_LAUNCH_FAILED"},
                                                   {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
                                                   {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"},
                                                   {999, "CUDA_ERROR_UNKNOWN"}};
    const auto found = kNames.find(result);
    *text = found != kNames.end() ? found->second : nullptr;
    return found != kNames.end() ? 0 : 1;
}
int cuGetErrorString(int result, const char** text) {
    *text = result == 222 ? "the provided PTX was compiled with an unsupported toolchain." : "the driver's words";
    return 0;
}
int cuDeviceGetCount(int* count) {
    CALL("cuDeviceGetCount");
    *count = static_cast<int>(the_world->cards.size());
    return 0;
}
int cuDeviceGet(int* device, int ordinal) {
    CALL("cuDeviceGet");
    *device = ordinal;
    return 0;
}
int cuDeviceGetName(char* text, int size, int device) {
    std::strncpy(text, the_world->cards[device].name.c_str(), static_cast<size_t>(size) - 1);
    return 0;
}
int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
    CALL("cuDeviceGetUuid_v2");
    std::memset(uuid, 0, 16);
    uuid[0] = the_world->cards[device].uuid;
    return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
    *bytes = the_world->cards[device].memory;
    return 0;
}
int cuDeviceGetAttribute(int* value, int what, int device) {
    CALL("cuDeviceGetAttribute");
    const auto& card = the_world->cards[device];
    const std::map<int, int> known{
        {1, 1024}, {8, 49152}, {16, 132},        {18, card.integrated}, {20, card.compute_mode}, {33, card.pci_bus},
        {34, 0},   {50, 0},    {75, card.major}, {76, card.minor},      {97, card.shared_bytes}};
    const auto found = known.find(what);
    if (found == known.end()) return 1;
    *value = found->second;
    return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    CALL("cuDevicePrimaryCtxRetain");
    ++the_world->retained;
    *context = &the_world->cards[device];
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
    --the_world->retained;
    return 0;
}
int cuCtxPushCurrent_v2(void* context) {
    const std::lock_guard lock(the_world->mutex);
    current.push_back(static_cast<Card*>(context));
    ++the_world->contexts;
    return 0;
}
int cuCtxPopCurrent_v2(void** context) {
    const std::lock_guard lock(the_world->mutex);
    --the_world->contexts;
    *context = current.back();
    current.pop_back();
    return 0;
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
    CALL("cuMemGetInfo_v2");
    const std::lock_guard lock(the_world->mutex);
    const Card& card = *current.back();
    *free = card.memory - std::min(card.memory, card.others + card.used);
    *total = card.memory;
    return 0;
}
int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
    CALL("cuMemAlloc_v2");
    const std::lock_guard lock(the_world->mutex);
    Card& card = *current.back();
    if (card.others + card.used + bytes > card.memory) return 2;
    auto* memory = static_cast<char*>(std::malloc(bytes));
    the_world->alive.insert(memory);
    allocated[memory] = {&card, bytes};
    card.used += bytes;
    *address = reinterpret_cast<unsigned long long>(memory);
    return 0;
}
int cuMemFree_v2(unsigned long long address) {
    Work::drain_all();
    const std::lock_guard lock(the_world->mutex);
    auto* memory = reinterpret_cast<void*>(address);
    if (const auto found = allocated.find(memory); found != allocated.end()) {
        found->second.first->used -= found->second.second;
        allocated.erase(found);
    }
    the_world->alive.erase(memory);
    std::free(memory);
    return 0;
}
int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
    CALL("cuMemHostAlloc");
    *memory = std::malloc(bytes);
    const std::lock_guard lock(the_world->mutex);
    the_world->alive.insert(*memory);
    return 0;
}
int cuMemFreeHost(void* memory) {
    const std::lock_guard lock(the_world->mutex);
    the_world->alive.erase(memory);
    std::free(memory);
    return 0;
}
int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t bytes, void* stream) {
    CALL("cuMemcpyAsync");
    in_order(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
    return 0;
}
int cuCtxEnablePeerAccess(void* of, unsigned) {
    CALL("cuCtxEnablePeerAccess");
    const std::lock_guard lock(the_world->mutex);
    the_world->peers.insert(of);
    return 0;
}
int cuMemcpyPeerAsync(unsigned long long to, void* of_to, unsigned long long from, void* of_from, size_t bytes,
                      void* stream) {
    CALL("cuMemcpyPeerAsync");
    if (the_world->contexts == 0) return 201;  // CUDA_ERROR_INVALID_CONTEXT
    if (const int lost = static_cast<const Card*>(of_from)->lost; lost != 0) return lost;
    const auto card_of = [](void* context) { return static_cast<const Card*>(context)->name; };
    {
        const std::lock_guard lock(the_world->mutex);
        the_world->crossings.push_back({card_of(of_from), card_of(of_to), bytes});
    }
    in_order(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
    return 0;
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void* stream) {
    CALL("cuMemsetD8Async");
    in_order(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
    return 0;
}
int cuModuleLoadData(void** module, const void*) {
    CALL("cuModuleLoadData");
    *module = made(new ScriptedModule);
    return 0;
}
int cuModuleUnload(void* module) { return gone(static_cast<ScriptedModule*>(module)); }
int cuModuleGetFunction(void** function, void* module, const char* name) {
    CALL("cuModuleGetFunction");
    static std::mutex mutex;
    static std::vector<std::unique_ptr<ScriptedFunction>> all;
    const std::lock_guard lock(mutex);
    all.push_back(std::make_unique<ScriptedFunction>());
    all.back()->name = name;
    all.back()->module = static_cast<ScriptedModule*>(module);
    *function = all.back().get();
    return 0;
}
int cuFuncSetAttribute(void* function, int what, int value) {
    CALL("cuFuncSetAttribute");
    if (what != 8) return 1;
    static_cast<ScriptedFunction*>(function)->most_shared = static_cast<unsigned>(value);
    return 0;
}
int cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* at, const uint64_t* extents, const uint64_t* strides,
                           const uint32_t* box, const uint32_t* steps, int interleave, int swizzle, int, int fill) {
    CALL("cuTensorMapEncodeTiled");
    if (the_world->contexts == 0) return 201;  // CUDA_ERROR_INVALID_CONTEXT
    const auto address = reinterpret_cast<uint64_t>(at);
    // What the driver asks for, of halves in lines of 128 bytes.
    bool right = type == 6 && (rank == 3 || rank == 4) && address % 16 == 0 && interleave == 0 && swizzle == 3 &&
                 fill == 0 && box[0] == 64;
    if (!right) return 1;
    for (uint32_t i = 0; i < rank; ++i) right = right && extents[i] != 0 && box[i] != 0 && box[i] <= 256 && steps[i] == 1;
    for (uint32_t i = 0; i + 1 < rank; ++i) right = right && strides[i] % 16 == 0 && strides[i] >= 2 * extents[0];
    if (!right) return 1;
    std::memset(map, 1, 128);
    const std::lock_guard lock(the_world->mutex);
    the_world->maps.push_back({address, {extents, extents + rank}, {strides, strides + rank - 1}, {box, box + rank}});
    return 0;
}
int cuLinkCreate_v2(unsigned count, int* options, void** values, void** link) {
    CALL("cuLinkCreate_v2");
    for (unsigned i = 0; i < count; ++i)
        if (options[i] == 5) std::strcpy(static_cast<char*>(values[i]), the_world->compiler_log.c_str());
    *link = made(new Object);
    return 0;
}
int cuLinkAddData_v2(void*, int, void* data, size_t bytes, const char*, unsigned, int*, void**) {
    CALL("cuLinkAddData_v2");
    the_world->compiled.emplace_back(static_cast<const char*>(data), bytes - 1);
    return 0;
}
int cuLinkComplete(void*, void** cubin, size_t* bytes) {
    CALL("cuLinkComplete");
    static char code[] = "cubin";
    *cubin = code;
    *bytes = sizeof code;
    return 0;
}
int cuLinkDestroy(void* link) { return gone(static_cast<Object*>(link)); }
struct ScriptedAttribute {
    int id;
    alignas(8) int value;
    char rest[60];
};
struct ScriptedLaunch {
    unsigned groups[3], local[3], shared;
    void* stream;
    const ScriptedAttribute* attributes;
    unsigned attribute_count;
};
int cuLaunchKernelEx(const ScriptedLaunch* how, void* function, void** arguments, void**) {
    CALL("cuLaunchKernelEx");
    const auto* known = static_cast<ScriptedFunction*>(function);
    bool early = false;
    for (unsigned i = 0; i < how->attribute_count; ++i)
        early = early || (how->attributes[i].id == 6 && how->attributes[i].value == 1);
    {
        const std::lock_guard lock(the_world->mutex);
        the_world->launches.push_back({known->name,
                                       {how->groups[0], how->groups[1], how->groups[2]},
                                       early,
                                       how->local[0],
                                       how->shared,
                                       known->most_shared});
    }
    backplane::cuda::scripted::Constants constants{};
    std::memcpy(constants.data(), arguments[0], sizeof constants);
    const std::function<void()> computes =
        the_world->computes ? the_world->computes(known->name, constants, arguments + 1) : std::function<void()>();
    in_order(how->stream, [known, computes, constants] {
        if (computes) computes();
        const std::lock_guard lock(the_world->mutex);
        the_world->launched.push_back(known->name);
        the_world->constants[known->name] = constants;
    });
    return 0;
}
int cuStreamBeginCapture_v2(void*, int) {
    CALL("cuStreamBeginCapture_v2");
    capturing = made(new ScriptedGraph);
    return 0;
}
int cuStreamEndCapture(void*, void** graph) {
    *graph = std::exchange(capturing, nullptr);
    CALL("cuStreamEndCapture");
    return 0;
}
int cuGraphInstantiateWithFlags(void** run, void* graph, unsigned long long) {
    CALL("cuGraphInstantiateWithFlags");
    *run = made(new ScriptedGraph(*static_cast<ScriptedGraph*>(graph)));
    return 0;
}
int cuGraphDestroy(void* graph) { return gone(static_cast<ScriptedGraph*>(graph)); }
int cuGraphLaunch(void* run, void* stream) {
    CALL("cuGraphLaunch");
    for (const auto& step : static_cast<ScriptedGraph*>(run)->steps) in_order(stream, step);
    return 0;
}
int cuGraphExecDestroy(void* run) { return gone(static_cast<ScriptedGraph*>(run)); }
}
