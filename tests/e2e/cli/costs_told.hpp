// Costs that a test tells of the devices here, in place of measuring them, which takes seconds.
#pragma once

#include "backplane/context.hpp"
#include "backplane/cost.hpp"
#include "program.hpp"
#include "runtime/costs/store.hpp"
#include "support/patience.hpp"

namespace backplane::e2e {

// Every device that computes in hardware; the CPU does a thousand times as much in a second as the others. With `alike` all devices, each as much as any.
// The variable with which the program knows it.
inline std::vector<std::string> told_costs(const Place& p, bool alike = false) {
    ContextOptions options = test::patient();
    options.module_paths = {BP_TEST_MODULES};
    options.search_defaults = false;
    options.use_environment = false;
    options.state_folder = p.at("state");
    const Context context(options);
    const runtime::CostStore store(p.at("state"));
    for (const DeviceInfo& info : context.devices()) {
        if (info.kind == DeviceKind::software && !alike) continue;
        const double rate = info.id == "cpu:0" || alike ? 1e9 : 1e6;
        const CostCurve curve{{{1e3, 1e3 / rate + 1e-6}, {1e9, 1e9 / rate + 1e-6}}};
        DeviceCosts costs;
        costs.run = 1e-5;
        for (const char* kind : {"product f32", "convolution f32", "element-wise f32"}) costs.ops[kind] = curve;
        costs.up = costs.down = costs.streamed = curve;
        store.remember(info, costs);
    }
    return {"BACKPLANE_STATE_DIR=" + p.at("state")};
}

}  // namespace backplane::e2e
