#include "runtime/kept_programs.hpp"

#include <algorithm>
#include <utility>

namespace backplane::runtime {

template <typename Goes>
std::vector<KeptPrograms::Kept> KeptPrograms::Shelf::take(Goes goes) {
    std::vector<Kept> gone;
    const std::lock_guard lock(mutex);
    for (Size& size : sizes)
        std::erase_if(size.programs, [&](Kept& kept) {
            if (!goes(kept)) return false;
            gone.push_back(std::move(kept));
            return true;
        });
    std::erase_if(sizes, [](const Size& size) { return size.programs.empty(); });
    return gone;
}

std::shared_ptr<const plan::Program> KeptPrograms::get(const std::shared_ptr<plan::Port>& port, const Graph& whole,
                                                       const Graph& part, const plan::CompileHow& how, uint32_t most) {
    if (most == 0 || port->lost()) {
        static_cast<void>(shelf_->take([](const Kept& kept) { return kept.program->port().lost(); }));
        std::shared_ptr<const plan::Program> made = plan::Program::compile(port, part, how);
        const std::lock_guard lock(shelf_->mutex);
        ++shelf_->compiled;
        return made;
    }
    const std::array<uint64_t, 2> name = whole.hash();
    const Key key{port.get(), part.hash(), how.workspace_limit, how.math, port->state().options_set.load(), how.plan_only};
    const auto size_of = [&] {
        return std::find_if(shelf_->sizes.begin(), shelf_->sizes.end(), [&](const Size& s) { return s.whole == name; });
    };
    {
        const std::lock_guard lock(shelf_->mutex);
        if (const auto size = size_of(); size != shelf_->sizes.end()) {
            std::rotate(size, size + 1, shelf_->sizes.end());
            for (const Kept& kept : shelf_->sizes.back().programs)
                if (kept.key == key) {
                    ++shelf_->reused;
                    return kept.program;
                }
        }
    }
    std::shared_ptr<const plan::Program> made = plan::Program::compile(port, part, how);
    watch(port);
    std::vector<Size> gone;  // closed without the lock
    const std::lock_guard lock(shelf_->mutex);
    ++shelf_->compiled;
    if (size_of() == shelf_->sizes.end()) shelf_->sizes.push_back({name, {}});
    size_of()->programs.push_back({key, made});
    while (shelf_->sizes.size() > most) {
        gone.push_back(std::move(shelf_->sizes.front()));
        shelf_->sizes.erase(shelf_->sizes.begin());
    }
    return made;
}

// A device that is short of memory takes what no session runs.
void KeptPrograms::watch(const std::shared_ptr<plan::Port>& port) {
    const std::lock_guard lock(watch_mutex_);
    std::erase_if(watched_, [](const auto& one) { return one.first.expired(); });
    for (const auto& [there, giver] : watched_)
        if (there.lock() == port) return;
    watched_.emplace_back(port, port->on_pressure([shelf = std::weak_ptr(shelf_), at = port.get()](uint64_t) {
        const auto there = shelf.lock();
        if (!there) return false;
        return !there->take([at](const Kept& kept) { return &kept.program->port() == at && kept.program.use_count() == 1; })
                    .empty();
    }));
}

PlanCounts KeptPrograms::counts() const {
    const std::lock_guard lock(shelf_->mutex);
    return {shelf_->compiled, shelf_->reused, shelf_->sizes.size()};
}

}  // namespace backplane::runtime
