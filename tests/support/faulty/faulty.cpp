// The minimal example with one fault, which the variable BACKPLANE_TEST_FAULT chooses at run time: "WHO CALL NTH WHAT", for example
// "host list 2 throw". WHO is host, child (backplane-probe) or both; CALL a function of the table, or constructor or table; WHAT is below, several
// with + between, or "nothing": the call says that all went well and does nothing.
// Without the variable it does what the example does.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

#include "backplane/module.h"
#include "backplane/note.h"
#include "fault.hpp"

extern "C" const bp_module_api* minimal_entry(uint32_t host_abi);

namespace {

struct Unheard {};  // an exception of a class of its own

void do_it(const std::string& what) {
    if (what == "throw") throw std::runtime_error("driver says boo");
    if (what == "throw-memory") throw std::bad_alloc();
    if (what == "throw-number") throw 7;
    if (what == "throw-text") throw "driver says boo";
    if (what == "throw-own") throw Unheard();
    if (what == "exit") std::exit(0);
    if (what == "abort") std::abort();
    do_what_this_system_can(what);
}

// True: the call is over.
bool at(const char* call) {
    const std::string plan = environment_now("BACKPLANE_TEST_FAULT");
    if (plan.empty()) return false;
    std::istringstream words(plan);
    std::string who, where, what;
    int nth = 0;
    words >> who >> where >> nth >> what;
    if (where != call || who == (in_the_child() ? "host" : "child")) return false;
    static int count = 0;  // of the one call that is meant
    if (++count != nth && nth != 0) return false;
    std::istringstream each(what);
    for (std::string one; std::getline(each, one, '+');) do_it(one);
    return what == "nothing";
}

bp_module_api good;  // the example's

template <auto Function>
struct Named;
#define FAULTY(function)                               \
    template <>                                        \
    struct Named<&bp_module_api::function> {           \
        static constexpr const char* name = #function; \
    };
FAULTY(open)
FAULTY(close)
FAULTY(list)
FAULTY(device_open)
FAULTY(device_close)
FAULTY(query)
FAULTY(compile)
FAULTY(program_info)
FAULTY(run)
FAULTY(program_close)
FAULTY(buffer_create)
FAULTY(buffer_close)
FAULTY(copy)

template <auto Function, class Result, class... Arguments>
void wrap(bp_module_api& table, Result (*bp_module_api::*)(Arguments...)) {
    table.*Function = [](Arguments... arguments) -> Result {
        if constexpr (std::is_void_v<Result>) {
            (good.*Function)(arguments...);  // what is closed is gone whatever happens then: nothing leaks
            at(Named<Function>::name);
        } else {
            if (at(Named<Function>::name)) return Result();
            return (good.*Function)(arguments...);
        }
    };
}

bp_code heaps(bp_device*, const bp_array*, uint32_t* count, bp_error*) {
    at("heaps");
    *count = 0;
    return BP_OK;
}

const void* extension(bp_module*, const char*) {
    at("extension");
    return nullptr;
}

struct AtLoad {
    AtLoad() { at("constructor"); }
} at_load;

}  // namespace

extern "C" BP_EXPORT const bp_module_api* backplane_module(uint32_t host_abi);
extern "C" const bp_module_api* backplane_module(uint32_t host_abi) {
    static bp_module_api table;
    at("table");
    good = *minimal_entry(host_abi);
    table = good;
    table.struct_size = sizeof table;
#define WRAP(function) wrap<&bp_module_api::function>(table, &bp_module_api::function)
    WRAP(open);
    WRAP(close);
    WRAP(list);
    WRAP(device_open);
    WRAP(device_close);
    WRAP(query);
    WRAP(compile);
    WRAP(program_info);
    WRAP(run);
    WRAP(program_close);
    WRAP(buffer_create);
    WRAP(buffer_close);
    WRAP(copy);
    table.heaps = heaps;
    table.extension = extension;
    return &table;
}
