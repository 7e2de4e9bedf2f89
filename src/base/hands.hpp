// Threads that call functions at a time, for calls that may take as long as the work they start.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace backplane::base {

class Hands {
public:
    Hands() = default;
    ~Hands() {
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
        }
        begun_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }
    Hands(const Hands&) = delete;
    Hands& operator=(const Hands&) = delete;

    // Each on a thread of its own, the last on the caller's; returns when all have returned. None may throw. One caller at a time.
    void call(std::span<const std::function<void()>> all) {
        const size_t others = all.size() - 1;
        {
            const std::lock_guard lock(mutex_);
            waiting_ = all.first(others);
            left_ = others;
            while (threads_.size() < others) threads_.emplace_back([this] { serve(); });
        }
        begun_.notify_all();
        all.back()();
        std::unique_lock lock(mutex_);
        done_.wait(lock, [&] { return left_ == 0; });
    }

private:
    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            begun_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            const std::function<void()>& mine = waiting_.front();
            waiting_ = waiting_.subspan(1);
            lock.unlock();
            mine();
            lock.lock();
            if (--left_ == 0) done_.notify_one();
        }
    }

    std::mutex mutex_;  // of what follows
    std::condition_variable begun_, done_;
    std::span<const std::function<void()>> waiting_;
    size_t left_ = 0;
    bool closing_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace backplane::base
