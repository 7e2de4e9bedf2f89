// Gives placing_test.c a state folder in which nothing is remembered yet, and costs to remember: to measure them takes seconds.
#include "placing_test.h"

#include <filesystem>
#include <string>

#include "capi/handles.hpp"
#include "runtime/costs/store.hpp"
#include "support.hpp"

namespace {

std::filesystem::path state;

void know(backplane_device* device) {
    const backplane::DeviceInfo& info = device->device.info();
    const auto curve = [](double rate) {
        return backplane::CostCurve{{{1e3, 1e3 / rate + 1e-6}, {1e9, 1e9 / rate + 1e-6}}};
    };
    backplane::DeviceCosts costs;
    costs.run = 1e-5;
    costs.ops["product f32"] = curve(info.backend == "cpu" ? 1e9 : 4e8);
    costs.ops["element-wise f32"] = curve(1e12);
    costs.up = costs.down = costs.streamed = curve(1e12);
    backplane::runtime::CostStore(state).remember(info, costs);
}

}  // namespace

int main() {
    const std::string modules = std::string(BP_TEST_BINARY_DIR) + "/lib/backplane";
    const backplane::TemporaryFolder folder;
    state = folder / "state";
    return check_placing(modules.c_str(), state.string().c_str(), know);
}
