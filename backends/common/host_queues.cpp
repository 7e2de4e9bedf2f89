#include "common/host_queues.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <system_error>

namespace backplane::backend {

namespace {

// A host that submits and never waits is held up here, and not by the end of memory.
constexpr uint32_t kMostUnderWay = 1024;
// Longer than any process runs: no limit. Clocks overflow beyond.
constexpr uint64_t kForever = uint64_t{1} << 60;

}  // namespace

HostQueues::HostQueues(uint32_t queues, uint64_t lose_after) : lose_after_(lose_after) {
    for (uint32_t i = 0; i < queues; ++i) lines_.push_back(std::make_unique<Line>());
}

HostQueues::~HostQueues() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    for (const auto& line : lines_)
        if (line->worker.joinable()) line->worker.join();
}

void HostQueues::expect_there(const char* call) const {
    if (lost_.load(std::memory_order_relaxed))
        throw sdk::Failure(BP_DEVICE_LOST, std::string(call) + ": the device is lost; close it and open it again");
}

void HostQueues::begin_run() {
    if (lose_after_ == 0 || runs_.fetch_add(1, std::memory_order_relaxed) < lose_after_) return;
    {
        const std::lock_guard lock(mutex_);
        lost_ = true;
    }
    changed_.notify_all();
    expect_there("run");
}

std::shared_ptr<Timeline> HostQueues::timeline_of(const char* call, bp_fence* fence) const {
    if (fence == nullptr) throw sdk::Failure(BP_INVALID, std::string(call) + ": a point to wait for has no fence");
    if (of(fence)->owner != this) throw sdk::Failure(BP_INVALID, std::string(call) + ": the fence is of another device");
    return of(fence)->timeline;
}

std::vector<HostQueues::Awaited> HostQueues::awaited(const Order& order) const {
    std::vector<Awaited> points;
    for (uint32_t i = 0; i < order.wait.count; ++i) {
        bp_point point;
        std::memcpy(&point, BP_AT(char, &order.wait, i), sizeof point);
        points.push_back({timeline_of(order.call, point.fence), point.value});
        points.back().timeline->check_submitted(order.call, point.value);
    }
    return points;
}

// Those that are not reached yet. No lock of this object is held: two devices may wait for each other's points at a time.
std::vector<HostQueues::Awaited> HostQueues::awaited_of_peers(const Order& order) const {
    std::vector<Awaited> points;
    for (uint32_t i = 0; i < order.peer_wait.count; ++i) {
        bp_point point;
        std::memcpy(&point, BP_AT(char, &order.peer_wait, i), sizeof point);
        if (point.fence == nullptr)
            throw sdk::Failure(BP_INVALID, std::string(order.call) + ": a point to wait for has no fence");
        const Fence& fence = *of(point.fence);
        if (fence.owner == this)
            throw sdk::Failure(BP_INVALID, std::string(order.call) + ": a point of the device itself belongs into `wait`");
        const std::lock_guard lock(fence.lock->mutex);
        fence.timeline->check_submitted(order.call, point.value);
        if (!fence.timeline->reached(point.value)) points.push_back({fence.timeline, point.value, fence.lock});
    }
    return points;
}

bool HostQueues::all_reached(const std::vector<Awaited>& points) const {
    return std::all_of(points.begin(), points.end(), [](const Awaited& p) { return p.timeline->reached(p.value); });
}

void HostQueues::submit_later(const Order& order, std::function<void()> work) {
    if (order.queue >= lines_.size())
        throw sdk::Failure(BP_INVALID, std::string(order.call) + ": there is no queue " + std::to_string(order.queue) +
                                           ", the device has " + std::to_string(lines_.size()));
    Line& line = *lines_[order.queue];
    std::vector<Awaited> peers = awaited_of_peers(order);
    std::unique_lock lock(mutex_);
    expect_there(order.call);
    Job job{awaited(order), std::move(peers), nullptr, order.signal.value, order.cancel, std::move(work)};
    const auto done = [&] { return line.under_way.load(std::memory_order_relaxed) == 0; };
    if (order.signal.fence == nullptr) {
        changed_.wait(lock, [&] { return done() && (lost_ || all_reached(job.wait)); });
        lock.unlock();
        wait_for(job.peers);
        expect_there(order.call);
        job.work();
        return;
    }
    job.timeline = timeline_of(order.call, order.signal.fence);
    job.timeline->check_signal(order.call, order.queue, order.signal.value);
    // What is under way ends by itself or with the flag: it waits for nothing that is not submitted.
    changed_.wait(lock, [&] { return line.under_way.load(std::memory_order_relaxed) < kMostUnderWay; });
    const bool at_once = order.brief && done() && all_reached(job.wait) && job.peers.empty();
    job.timeline->submit(order.queue, order.signal.value);
    if (at_once || !start(line)) {  // no thread to be had: the call takes as long as the work
        changed_.wait(lock, [&] { return lost_ || all_reached(job.wait); });
        lock.unlock();
        Outcome outcome = perform(job);
        lock.lock();
        job.timeline->reach(job.value, std::move(outcome));
    } else {
        line.jobs.push_back(std::move(job));
        line.under_way.fetch_add(1, std::memory_order_relaxed);
    }
    lock.unlock();
    changed_.notify_all();
}

bool HostQueues::start(Line& line) {
    if (line.worker.joinable()) return true;
    try {
        line.worker = std::thread(&HostQueues::serve, this, std::ref(line));
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

void HostQueues::serve(Line& line) {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return closing_ || !line.jobs.empty(); });
        if (line.jobs.empty()) return;
        Job job = std::move(line.jobs.front());
        line.jobs.pop_front();
        changed_.wait(lock, [&] { return lost_ || all_reached(job.wait); });
        lock.unlock();
        Outcome outcome = perform(job);
        job.work = nullptr;  // the point says that nothing of the host's is touched any more
        lock.lock();
        job.timeline->reach(job.value, std::move(outcome));
        line.under_way.fetch_sub(1, std::memory_order_release);
        changed_.notify_all();
    }
}

// What was submitted to another device ends by itself, or when that device is lost.
void HostQueues::wait_for(const std::vector<Awaited>& peers) {
    for (const Awaited& point : peers) {
        std::unique_lock lock(point.lock->mutex);
        point.lock->changed.wait(lock, [&] { return point.timeline->reached(point.value); });
    }
}

Outcome HostQueues::perform(const Job& job) {
    wait_for(job.peers);
    Outcome outcome;
    char text[512] = "";
    bp_error error{BP_SIZE(bp_error, capacity), BP_OK, 0, text, sizeof text};
    outcome.code = sdk::guard(&error, [&] {
        expect_there("submitted work");
        if (raised(job.cancel)) throw sdk::Failure(BP_CANCELLED, "submitted work was cancelled before it began");
        job.work();
    });
    if (outcome.code != BP_OK) outcome.text = text;
    return outcome;
}

std::unique_ptr<HostQueues::Fence> HostQueues::make_fence() {
    expect_there("fence_create");
    return std::unique_ptr<Fence>(new Fence{this, shared_, std::make_shared<Timeline>()});
}

uint64_t HostQueues::Fence::read() const {
    const std::lock_guard locked(lock->mutex);
    return timeline->reached();
}

void HostQueues::Fence::wait(uint64_t value, uint64_t nanoseconds) const {
    std::unique_lock locked(lock->mutex);
    timeline->check_submitted("fence_wait", value);
    const auto reached = [&] { return timeline->reached(value); };
    if (nanoseconds >= kForever) {
        lock->changed.wait(locked, reached);
    } else if (!reached() &&
               (nanoseconds == 0 || !lock->changed.wait_for(locked, std::chrono::nanoseconds(nanoseconds), reached))) {
        throw sdk::Failure(BP_TIMEOUT, "fence_wait: the value " + std::to_string(value) + " is not reached yet");
    }
    timeline->answer(value);
}

}  // namespace backplane::backend
