// What streams of the scripted libcuda are at work with on threads of their own, and the moments in it that events record.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace backplane::cuda::scripted {

// Steps in the order of their coming, on a thread.
class Work {
public:
    Work();
    ~Work();  // when all is done
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    void push(std::function<void()> step);
    void drain();             // returns when all that was pushed before is done
    static void drain_all();  // of all that there are: what frees memory waits for the card

private:
    void serve();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> steps_;
    uint64_t pushed_ = 0, done_ = 0;
    bool closing_ = false;
    std::thread thread_;
};

// Of an event: recorded so often, and reached as far. Any thread.
class Moment {
public:
    uint64_t record();
    [[nodiscard]] uint64_t recorded() const;
    void reach(uint64_t value);
    [[nodiscard]] bool is_reached() const;  // the last one that was recorded
    void wait(uint64_t value) const;

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    uint64_t recorded_ = 0, reached_ = 0;
};

}  // namespace backplane::cuda::scripted
