// The smallest thing backplane_module() can build: a module that finds no device, and says so.
#include "backplane/module.h"
#include "backplane/sdk.hpp"

namespace {

namespace sdk = backplane::sdk;

// Without a device nobody can have a handle to call the rest with; all of it is there because the ABI requires it.
template <typename... Arguments>
bp_code no_device(Arguments...) {
    return BP_NOT_FOUND;
}
template <typename Handle>
void nothing_to_close(Handle*) {}

constexpr bp_module_api make_table() {
    bp_module_api t{};
    t.struct_size = BP_SIZE(bp_module_api, fence_close);
    t.abi = BP_ABI;
    t.open = [](const bp_host*, bp_module** out, bp_error*) -> bp_code {
        static int place;
        *out = reinterpret_cast<bp_module*>(&place);
        return BP_OK;
    };
    t.close = nothing_to_close;
    t.list = [](bp_module*, const bp_array*, uint32_t* count, bp_error* error) -> bp_code {
        *count = 0;
        sdk::fail(error, BP_OK, "this module has no device, on any machine: it is there to be built");
        return BP_OK;
    };
    t.device_open = no_device;
    t.device_close = nothing_to_close;
    t.query = no_device;
    t.compile = no_device;
    t.program_info = no_device;
    t.run = no_device;
    t.program_close = nothing_to_close;
    t.buffer_create = no_device;
    t.buffer_close = nothing_to_close;
    t.copy = no_device;
    return t;
}
constexpr bp_module_api kTable = make_table();

}  // namespace

extern "C" const bp_module_api* backplane_null(uint32_t host_abi);
const bp_module_api* backplane_null(uint32_t host_abi) { return host_abi >> 16 == BP_ABI_MAJOR ? &kTable : nullptr; }
