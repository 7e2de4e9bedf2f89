// Verification: does a device of this machine compute what the ops mean? The same cases and bounds as the project's own tests
// (docs/conformance.md), for the drivers and chips that no test of ours has seen.
//
//   for (const VerifyResult& r : verify(device)) if (r.status == VerifyResult::failed) report(r.name, r.text);
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/graph.hpp"

namespace backplane {

struct VerifyResult {
    enum Status { passed, failed, unsupported };
    std::string name;  // "Conv/3x3-16-to-16", unique
    Op op = Op::unknown;
    Status status = passed;
    bool ran =
        true;  // false: it failed before anything came out, for instance because it would not compile; `text` has the words
    double worst = 0;  // largest error as a part of what is allowed: 1 just passes; infinity: no error was allowed
    std::string text;  // of what did not pass: what is wrong, or which node the device does not support, and why
};
const char* name_of(VerifyResult::Status status) noexcept;  // "passed"

struct VerifyOptions {
    std::optional<Op> op;                               // cases of this op only
    std::string name_filter;                            // cases whose name contains this; empty: all
    std::function<void(const VerifyResult&)> progress;  // after each case, from the calling thread; may be empty
    const std::atomic<uint32_t>* cancel = nullptr;      // non-zero: throws Error(cancelled) before the next case
};

// Runs the conformance table on a device, one result per case and none left out. What a case throws is a failure of that case.
// Takes seconds, and a few MB. Throws Error: cancelled, invalid (no device), and device_lost, when further cases would tell nothing.
std::vector<VerifyResult> verify(const Device& device, const VerifyOptions& options = {});

// One case by its name. Throws Error: not_found (no such case), device_lost.
VerifyResult verify_one(const Device& device, std::string_view name);

// The names of the cases that verify() would run, in order. Cheap.
std::vector<std::string> verify_names(const VerifyOptions& options = {});

}  // namespace backplane
