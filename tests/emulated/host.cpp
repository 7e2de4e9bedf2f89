// An application of the library, run as another CPU: which module file was chosen, what the CPU is said to have, and whether it computes.
//   emulated_host MODULES BACKEND [OP]
// Prints a line "device ID, its module FILE, features FEATURES" for each device of that backend, and with OP verifies it. Exit status 0: it
// is there, and every case of OP that it does not refuse passes.
#include <cstdio>

#include "backplane/verify.hpp"

using namespace backplane;

namespace {

bool computes(const Device& device, const char* op) {
    VerifyOptions options;
    options.op = op_from_name(op);
    int passed = 0, failed = 0;
    for (const VerifyResult& result : verify(device, options)) {
        passed += result.status == VerifyResult::passed;
        failed += result.status == VerifyResult::failed;
        if (result.status == VerifyResult::failed) std::printf("%s: %s\n", result.name.c_str(), result.text.c_str());
    }
    std::printf("%s: %d passed, %d failed\n", op, passed, failed);
    return passed > 0 && failed == 0;
}

}  // namespace

int main(int count, char** words) try {
    if (count < 3) return 2;
    ContextOptions options;
    options.module_paths = {words[1]};
    options.search_defaults = options.use_environment = false;
    options.probe = ProbePolicy::never;  // what an emulated program starts is not emulated: no child can try them
    options.device_filter = words[2];
    const Context context(options);
    bool good = false;
    for (const DeviceInfo& info : context.devices()) {
        if (info.backend != words[2]) continue;
        std::printf("device %s, its module %s, features %s.\n", info.id.c_str(), info.module.filename().string().c_str(),
                    info.features.c_str());
        good = count < 4 || computes(context.choose(info.id), words[3]);
    }
    if (!good) std::printf("%s\n", context.report().summary().c_str());
    return good ? 0 : 1;
} catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
}
