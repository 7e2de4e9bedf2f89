// Compiled programs of a model's sizes, kept for its next sessions: a size that was met before costs a lookup.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backplane/runtime.hpp"
#include "plan/program.hpp"

namespace backplane::runtime {

// A program is found again by its graph (names aside), its device and how it was compiled; options of the device that were set meanwhile make
// another of it. What nobody runs goes when the device is short of memory, and with the device when it is lost. Any thread.
class KeptPrograms {
public:
    // The program of `part`, which is all or a part of `whole`, compiled unless it is kept. Programs of the `most` graphs asked for last are
    // kept; 0: none. Throws what Program::compile throws.
    std::shared_ptr<const plan::Program> get(const std::shared_ptr<plan::Port>& port, const Graph& whole, const Graph& part,
                                             const plan::CompileHow& how, uint32_t most);
    [[nodiscard]] PlanCounts counts() const;

private:
    struct Key {
        const plan::Port* port = nullptr;
        std::array<uint64_t, 2> graph{};
        uint64_t workspace_limit = 0;
        uint32_t math = 0, options = 0;
        bool plan_only = false;
        auto operator<=>(const Key&) const = default;
    };
    struct Kept {
        Key key;
        std::shared_ptr<const plan::Program> program;
    };
    struct Size {
        std::array<uint64_t, 2> whole{};
        std::vector<Kept> programs;
    };
    struct Shelf {
        std::mutex mutex;
        std::vector<Size> sizes;  // the one asked for last stands last
        uint64_t compiled = 0, reused = 0;
        // Takes out what `goes` says; programs are closed by the caller, without the lock.
        template <typename Goes>
        std::vector<Kept> take(Goes goes);
    };
    void watch(const std::shared_ptr<plan::Port>& port);

    std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
    std::mutex watch_mutex_;
    std::vector<std::pair<std::weak_ptr<plan::Port>, std::shared_ptr<void>>> watched_;
};

}  // namespace backplane::runtime
