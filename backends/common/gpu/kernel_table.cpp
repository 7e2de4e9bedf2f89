#include "common/gpu/kernel_table.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include "common/gpu/api.hpp"
#include "common/gpu/compile.hpp"
#include "common/gpu/parallel.hpp"

namespace backplane::gpu {

namespace {

// More compilers at once than this gain nothing: the longest kernel is what is waited for.
constexpr size_t kMostBuilders = 8;

}  // namespace

// Megabytes, of which several kernels may have the same text, at each start of a process.
uint64_t hash_of(const KernelSource* kernels) {
    uint64_t hash = backend::hash_of("", 0);
    std::set<const void*> seen;
    for (const KernelSource& kernel : std::span(kernels, kKernelCount)) {
        if (kernel.entry == nullptr) continue;
        hash = backend::hash_of(kernel.definitions, std::strlen(kernel.definitions), hash);
        if (seen.insert(kernel.code).second) hash = backend::hash_of_words(kernel.code, kernel.bytes, hash);
    }
    return hash;
}

void build_ahead(const std::vector<const Dispatch*>& dispatches, const backend::Host& host, const volatile uint32_t* cancel,
                 const std::function<void(const Dispatch&)>& build) {
    std::vector<const Dispatch*> jobs;
    std::set<std::pair<uint32_t, std::vector<uint32_t>>> seen;
    for (const Dispatch* d : dispatches)
        if (d->kernel != kNoKernel && seen.emplace(d->kernel, d->constants).second) jobs.push_back(d);
    const size_t builders = std::min({jobs.size(), kMostBuilders, size_t{std::thread::hardware_concurrency()}});
    if (builders < 2) return;
    std::atomic<size_t> next{0};
    in_parallel(host, static_cast<uint32_t>(builders), [&](uint32_t) {
        for (size_t i = next++; i < jobs.size() && !raised(cancel); i = next++) {
            try {
                build(*jobs[i]);
            } catch (...) {  // NOLINT(bugprone-empty-catch): it fails again for whoever needs it, in order
            }
        }
    });
}

}  // namespace backplane::gpu
