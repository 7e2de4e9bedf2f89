// What a driver made of the kernels of a device, each made once, several at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/cancel.hpp"
#include "common/gpu/parallel.hpp"
#include "common/gpu/plan.hpp"
#include "kernels_generated.h"

namespace backplane::gpu {

// Kernels that use instructions which a driver may not take after all: abilities() goes on without them then.
constexpr bool on_warpgroups(uint32_t kernel) {
    return kernel == kKernel_conv_warpgroup_f16 || kernel == kKernel_conv_warpgroup_bundles_f16 ||
           kernel == kKernel_conv_warpgroup_filters || kernel == kKernel_matmul_warpgroup_f16 ||
           kernel == kKernel_matmul_warpgroup_split_f16 || kernel == kKernel_attention_warpgroup_f16 ||
           kernel == kKernel_attention_warpgroup_f16_bool;
}
constexpr bool in_parts(uint32_t kernel) {
    return kernel == kKernel_attention_parts_f32 || kernel == kKernel_attention_parts_relative_f32 ||
           kernel == kKernel_attention_parts_few_f32 || kernel == kKernel_matmul_parts_f32;
}
constexpr bool on_matrix_units(uint32_t kernel) {
    return on_warpgroups(kernel) || kernel == kKernel_conv_matrix_f16 || kernel == kKernel_conv_matrix_filters ||
           kernel == kKernel_conv_coop_f16 || kernel == kKernel_conv_transpose_coop_f16 ||
           kernel == kKernel_matmul_matrix_f16 || kernel == kKernel_matmul_workgroup_f16 ||
           kernel == kKernel_attention_workgroup_f16 || kernel == kKernel_attention_matrix_f16 || in_parts(kernel);
}

// By kernel and constants. Who asks for one that is being made waits for it; others are made beside it. [any]
template <typename Made>
class KernelTable {
public:
    // make() returns it the first time; when it throws, nothing is kept. Stays where it is.
    template <typename Make>
    Made& get(uint32_t kernel, const std::vector<uint32_t>& constants, Make&& make) {
        std::unique_lock all(mutex_);
        Entry& entry = entries_[{kernel, constants}];
        all.unlock();
        const std::lock_guard lock(entry.making);
        if (!entry.made) entry.made.emplace(make());
        return *entry.made;
    }

private:
    struct Entry {
        std::mutex making;
        std::optional<Made> made;
    };
    std::mutex mutex_;
    std::map<std::pair<uint32_t, std::vector<uint32_t>>, Entry> entries_;  // never shrinks: entries stay in place
};

// build() of every kernel of these dispatches, several at a time: drivers take up to a second for one, on one core. What fails is left to
// whoever asks for it next; nothing new is begun once `cancel` is raised.
inline void build_ahead(const std::vector<const Dispatch*>& dispatches, const backend::Host& host,
                        const volatile uint32_t* cancel, const std::function<void(const Dispatch&)>& build) {
    constexpr size_t kMostBuilders = 8;  // more at once gain nothing: the longest kernel is what is waited for
    std::vector<const Dispatch*> jobs;
    std::set<std::pair<uint32_t, std::vector<uint32_t>>> seen;
    for (const Dispatch* d : dispatches)
        if (d->kernel != kNoKernel && seen.emplace(d->kernel, d->constants).second) jobs.push_back(d);
    const size_t builders = std::min({jobs.size(), kMostBuilders, size_t{std::thread::hardware_concurrency()}});
    if (builders < 2) return;
    std::atomic<size_t> next{0};
    in_parallel(host, static_cast<uint32_t>(builders), [&](uint32_t) {
        for (size_t i = next++; i < jobs.size() && !backend::raised(cancel); i = next++) {
            try {
                build(*jobs[i]);
            } catch (...) {  // NOLINT(bugprone-empty-catch): it fails again for whoever needs it, in order
            }
        }
    });
}

}  // namespace backplane::gpu
