// Streams and events of the scripted libcuda.
#include "scripted_streams.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "scripted_parts.hpp"

namespace backplane::cuda::scripted {

namespace {
std::mutex mutex_of_all;
std::set<Work*> all;
}  // namespace

Work::Work() : thread_([this] { serve(); }) {
    const std::lock_guard lock(mutex_of_all);
    all.insert(this);
}

Work::~Work() {
    {
        const std::lock_guard lock(mutex_of_all);
        all.erase(this);
    }
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void Work::push(std::function<void()> step) {
    const std::lock_guard lock(mutex_);
    steps_.push_back(std::move(step));
    ++pushed_;
    changed_.notify_all();
}

void Work::drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&, until = pushed_] { return done_ >= until; });
}

void Work::drain_all() {
    const std::lock_guard lock(mutex_of_all);
    for (Work* work : all) work->drain();
}

void Work::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return closing_ || !steps_.empty(); });
        if (steps_.empty()) return;
        const std::function<void()> step = std::move(steps_.front());
        steps_.pop_front();
        lock.unlock();
        step();
        lock.lock();
        ++done_;
        changed_.notify_all();
    }
}

uint64_t Moment::record() {
    const std::lock_guard lock(mutex_);
    return ++recorded_;
}

uint64_t Moment::recorded() const {
    const std::lock_guard lock(mutex_);
    return recorded_;
}

void Moment::reach(uint64_t value) {
    const std::lock_guard lock(mutex_);
    reached_ = std::max(reached_, value);
    changed_.notify_all();
}

bool Moment::is_reached() const {
    const std::lock_guard lock(mutex_);
    return reached_ >= recorded_;
}

void Moment::wait(uint64_t value) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= value; });
}

}  // namespace backplane::cuda::scripted

using backplane::cuda::scripted::gone;
using backplane::cuda::scripted::in_order;
using backplane::cuda::scripted::is_stuck;
using backplane::cuda::scripted::made;
using backplane::cuda::scripted::Moment;
using backplane::cuda::scripted::ScriptedStream;
using backplane::cuda::scripted::Work;
using backplane::cuda::scripted::world;

namespace {
struct ScriptedEvent : backplane::cuda::scripted::Object {
    std::shared_ptr<Moment> moment = std::make_shared<Moment>();
};
}  // namespace

extern "C" {
int cuStreamCreate(void** stream, unsigned) {
    CALL("cuStreamCreate");
    auto* opened = made(new ScriptedStream);
    if (world().concurrent) opened->work = std::make_unique<Work>();
    *stream = opened;
    return 0;
}
int cuStreamDestroy_v2(void* stream) { return gone(static_cast<ScriptedStream*>(stream)); }
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
    CALL("cuStreamWaitEvent");
    const std::shared_ptr<Moment> moment = static_cast<ScriptedEvent*>(event)->moment;
    in_order(stream, [moment, until = moment->recorded()] { moment->wait(until); });
    const std::lock_guard lock(world().mutex);
    world().waits.emplace_back(stream, event);
    return 0;
}
int cuStreamSynchronize(void* stream) {
    CALL("cuStreamSynchronize");
    if (const auto& work = static_cast<ScriptedStream*>(stream)->work; work) work->drain();
    return 0;
}
int cuEventCreate(void** event, unsigned) {
    CALL("cuEventCreate");
    *event = made(new ScriptedEvent);
    return 0;
}
int cuEventDestroy_v2(void* event) { return gone(static_cast<ScriptedEvent*>(event)); }
int cuEventRecord(void* event, void* stream) {
    CALL("cuEventRecord");
    const std::shared_ptr<Moment> moment = static_cast<ScriptedEvent*>(event)->moment;
    in_order(stream, [moment, value = moment->record()] { moment->reach(value); });
    return 0;
}
int cuEventQuery(void* event) {
    CALL("cuEventQuery");
    return world().paused || is_stuck() || !static_cast<ScriptedEvent*>(event)->moment->is_reached() ? 600 : 0;
}
int cuEventSynchronize(void* event) {
    CALL("cuEventSynchronize");
    if (is_stuck()) ++world().hung;
    const std::shared_ptr<Moment> moment = static_cast<ScriptedEvent*>(event)->moment;
    moment->wait(moment->recorded());
    return 0;
}
}
