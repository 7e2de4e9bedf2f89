// A device in memory that keeps the ABI 1.3 through its bare table: one worker a queue, timelines, a budget, loss on demand, paced copies and
// kernels, counted bytes. Its programs are closures. What breaks a rule of module.h is counted in `violations`, and refused.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/module.h"

namespace backplane::mock {

struct Buffer;

struct Job {
    std::vector<bp_point> wait, peers;
    bp_point signal{};
    const volatile uint32_t* cancel = nullptr;
    std::function<void()> work;
    std::vector<Buffer*> uses;
    std::atomic<bool>* done = nullptr;  // of a call that returns when the work is done
    bp_code* code = nullptr;
};

struct Options {
    std::string name = "mock";
    uint32_t queues = 1, copy_queues = 0;
    uint64_t budget = uint64_t{64} << 20;  // bytes
    double bytes_per_us = 1e6;             // of a copy over its edge
    bool async = true;                     // false: without BP_CAN_ASYNC
    bool unified = false;                  // it computes in host memory, and takes the caller's
    bool peers = false;                    // BP_CAN_PEER
};

class Device {
public:
    explicit Device(Options options);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    void lose();
    // As the host holds it, with its timelines and two heaps: its own, and pinned memory.
    [[nodiscard]] backplane::Device handle();

    const Options options;
    std::atomic<int> lose_after_runs{-1};
    std::atomic<int> allocations{0};     // of heap 0 that were asked for
    std::atomic<int> fail_from{-1};      // the number of the first that fails, from 0; -1: none does
    std::atomic<int> failures{1};        // how many then fail
    std::atomic<bool> no_pinned{false};  // there is no pinned memory to be had
    std::atomic<uint64_t> up{0}, down{0}, inside{0}, peer{0}, runs{0}, violations{0}, overlaps{0};
    std::atomic<uint64_t> copies_up{0};  // how many
    uint64_t used = 0, peak = 0;         // bytes of heap 0

    // For the table.
    bp_code submit(uint32_t queue, Job job);
    std::mutex mutex;
    std::condition_variable changed;
    bool lost = false;

private:
    void work(uint32_t queue);
    [[nodiscard]] bp_code outcome_of(Job& job, std::unique_lock<std::mutex>& lock);
    bool closing_ = false;
    std::atomic<int> busy_{0};
    std::vector<std::deque<Job>> jobs_;
    std::vector<std::thread> workers_;
};

// Where each bound tensor of a program lies.
using Arguments = std::map<uint32_t, std::byte*>;
using Body = std::function<void(const Arguments&)>;

struct ProgramOptions {
    std::vector<uint32_t> tensors;            // to bind
    std::map<uint32_t, uint64_t> bytes = {};  // of a slot, where it is asked for
    uint64_t microseconds = 0;
    uint64_t moved = 0;      // bytes that a run says it moves inside
    uint64_t workspace = 0;  // bytes
};
bp_program* program(Device& device, ProgramOptions options, Body body);

template <typename T>
T* at(const Arguments& arguments, uint32_t tensor) {
    return reinterpret_cast<T*>(arguments.at(tensor));
}

}  // namespace backplane::mock
