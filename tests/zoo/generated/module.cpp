// The generated module: a healthy one (device.c) that does at one place what its plan says. Every function of the table asks there.
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <cstdlib>
#include <cstring>

#include "backplane/module.h"
#include "backplane/note.h"
#include "zoo/generated/acts.hpp"

extern "C" bp_module_api zoo_healthy_table(void);

namespace zoo {
namespace {

bp_module_api healthy;
const bp_host* host_table;  // as it was given to open()
pthread_t worker;

// What the caller of act_at() has left to do.
bool answers(Act act, bp_code& code, bp_error* error) {
    const char* text = "the driver says no";
    if (const char* number = std::getenv("ZOO_SIGNAL"); number != nullptr && act == Act::error) raise(std::atoi(number));
    switch (act) {
        case Act::error: code = BP_INTERNAL; break;
        case Act::error_with_escapes: code = BP_INTERNAL, text = "\x1b]0;owned\x07\x1b[2Jno \xc2\x9b\xe2\x80\xae\xff"; break;
        case Act::device_lost: code = BP_DEVICE_LOST, text = "the device is lost"; break;
        default: return false;
    }
    if (error != nullptr && error->text != nullptr && error->capacity > 0) {
        std::strncpy(error->text, text, error->capacity - 1);
        error->text[error->capacity - 1] = '\0';
    }
    if (error != nullptr) error->code = code;
    return true;
}

// f(arguments..., error) of the healthy table, unless the plan has an answer of its own.
template <auto Function, typename... Arguments>
bp_code healthy_or(Act act, bp_error* error, Arguments... arguments) {
    bp_code code = BP_OK;
    if (act == Act::log_and_abort) {
        host_table->log(host_table->self, BP_LOG_WARNING, "no error");
        host_table->log(host_table->self, BP_LOG_ERROR, "the provided PTX was compiled\nwith an unsupported toolchain");
        host_table->log(host_table->self, BP_LOG_ERROR, "it ends the process: CUDA error");
        std::abort();
    }
    if (act == Act::write_over_host) const_cast<bp_host*>(host_table)->log = nullptr;
    return answers(act, code, error) ? code : (healthy.*Function)(arguments..., error);
}

void* work(void*) {
    const timespec moment{0, 3000000};
    nanosleep(&moment, nullptr);
    act_at(Place::thread);
    return nullptr;
}

bp_code open(const bp_host* host, bp_module** out, bp_error* error) {
    const Act act = act_at(Place::open);
    host_table = host;
    if (act == Act::null_handle) return *out = nullptr, BP_OK;
    const bp_code code = healthy_or<&bp_module_api::open>(act, error, host, out);
    if (code == BP_OK && is_planned(Place::thread)) pthread_create(&worker, nullptr, work, nullptr);
    return code;
}

void close(bp_module* module) {
    act_at(Place::close);
    if (is_planned(Place::thread)) pthread_join(worker, nullptr);
    healthy.close(module);
}

bp_code list(bp_module* module, const bp_array* infos, uint32_t* count, bp_error* error) {
    Act act = act_at(Place::list);
    if (act == Act::count) act = act_at(Place::second_list);
    const bp_code code = healthy_or<&bp_module_api::list>(act, error, module, infos, count);
    if (act == Act::wrong_result) *count = UINT32_MAX;
    return code;
}

bp_code device_open(bp_module* module, uint64_t id, bp_device** out, bp_error* error) {
    const Act act = act_at(Place::device_open);
    if (act == Act::null_handle) return *out = nullptr, BP_OK;
    return healthy_or<&bp_module_api::device_open>(act, error, module, id, out);
}

void device_close(bp_device* device) {
    act_at(Place::device_close);
    healthy.device_close(device);
}

bp_code heaps(bp_device* device, const bp_array* room, uint32_t* count, bp_error* error) {
    return healthy_or<&bp_module_api::heaps>(act_at(Place::heaps), error, device, room, count);
}

bp_code query(bp_device* device, const bp_graph* graph, const bp_array* room, bp_error* error) {
    return healthy_or<&bp_module_api::query>(act_at(Place::query), error, device, graph, room);
}

bp_code compile(bp_device* device, const bp_graph* graph, const bp_compile* how, bp_program** out, bp_error* error) {
    const Act act = act_at(Place::compile);
    if (act == Act::null_handle) return *out = nullptr, BP_OK;
    return healthy_or<&bp_module_api::compile>(act, error, device, graph, how, out);
}

bp_code pack(bp_program* program, uint32_t slot, const bp_copy* copy, bp_error* error) {
    const Act act = act_at(Place::pack);
    if (act == Act::wrong_result) return BP_OK;
    return healthy_or<&bp_module_api::pack>(act, error, program, slot, copy);
}

bp_code run(bp_program* program, const bp_run* how, bp_error* error) {
    const Act act = act_at(Place::run);
    if (act == Act::wrong_result) return BP_OK;
    return healthy_or<&bp_module_api::run>(act, error, program, how);
}

bp_code copy(bp_device* device, const bp_copy* what, bp_error* error) {
    const Act act = act_at(Place::copy);
    if (act == Act::wrong_result && what->to_host != nullptr)
        return std::memset(static_cast<char*>(what->to_host) + what->to_offset, 1, what->bytes), BP_OK;
    return healthy_or<&bp_module_api::copy>(act, error, device, what);
}

bp_code buffer_create(bp_device* device, uint32_t heap, uint64_t size, bp_buffer** out, bp_error* error) {
    const Act act = act_at(Place::buffer_create);
    if (act == Act::null_handle) return *out = nullptr, BP_OK;
    return healthy_or<&bp_module_api::buffer_create>(act, error, device, heap, size, out);
}

void buffer_close(bp_buffer* buffer) {
    act_at(Place::buffer_close);
    healthy.buffer_close(buffer);
}

void program_close(bp_program* program) {
    act_at(Place::program_close);
    healthy.program_close(program);
}

const bp_module_api* table() {
    static bp_module_api mine;
    mine = healthy;
    mine.open = open;
    mine.close = close;
    mine.list = list;
    mine.device_open = device_open;
    mine.device_close = device_close;
    mine.heaps = heaps;
    mine.query = query;
    mine.compile = compile;
    mine.pack = pack;
    mine.run = run;
    mine.copy = copy;
    mine.buffer_create = buffer_create;
    mine.buffer_close = buffer_close;
    mine.program_close = program_close;
    return &mine;
}

__attribute__((constructor)) void at_load() {
    read_the_plan();
    healthy = zoo_healthy_table();
    if (is_planned(Place::exit_handler)) std::atexit([] { act_at(Place::exit_handler); });
    act_at(Place::constructor);
}

__attribute__((destructor)) void at_unload() { act_at(Place::unload); }

}  // namespace
}  // namespace zoo

extern "C" BP_EXPORT const bp_module_api* backplane_module(uint32_t host_abi) {
    const zoo::Act act = zoo::act_at(zoo::Place::table);
    return act == zoo::Act::null_handle || host_abi >> 16 != BP_ABI_MAJOR ? nullptr : zoo::table();
}
