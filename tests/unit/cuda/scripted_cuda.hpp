// A libcuda.so.1 that does what a test writes into it: its cards, which call fails and how. Memory is the host's, copies happen at once,
// kernels are noted and compute nothing. The test is linked to it, so that the backend, which opens the library by its name, gets this one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace backplane::cuda::scripted {

struct Card {
    std::string name = "NVIDIA Test Card";
    int major = 9, minor = 0;
    int compute_mode = 0, integrated = 0;
    int pci_bus = 7;
    unsigned char uuid = 1;  // its first byte
    uint64_t memory = uint64_t{8} << 30;
};

struct Failure {
    int result = 0;
    int after = 0;       // calls that do well first
    bool lasts = false;  // so do the calls of this function that follow
    bool loses = false;  // and those of every function but what gives back: the context is lost
};

struct World {
    int init = 0;
    int version = 13000;
    std::vector<Card> cards{Card{}};
    std::map<std::string, Failure> failures;  // by function
    bool paused = false;                      // events are not reached
    std::string compiler_log;                 // of links

    // What was seen.
    std::mutex mutex;
    std::map<std::string, int> calls;
    std::vector<std::string> launched;  // kernels, in order; those of graphs each time they are launched
    std::map<std::string, std::array<uint32_t, 16>> constants;  // as they were when the kernel was launched
    std::set<void*> alive;                                      // objects that were made and not given back
    int lost = 0;
    int contexts = 0;  // that this thread has pushed and not popped, retained ones
    int retained = 0;
};

// Of the test that runs.
World& world();
void start_anew();

}  // namespace backplane::cuda::scripted
