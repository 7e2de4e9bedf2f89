// A libcuda.so.1 that does what a test writes into it: its cards, which call fails and how. Memory is the host's, of which a card has no more than it says,
// copies happen at once, or on a thread for each stream, kernels are noted and compute what the test says. The test is linked to it, so that the backend, which
// opens the library by its name, gets this one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace backplane::cuda::scripted {

struct Card {
    std::string name = "NVIDIA Test Card";
    int major = 9, minor = 0;
    int shared_bytes = 232448;  // at most, of a workgroup
    int compute_mode = 0, integrated = 0;
    int pci_bus = 7;
    unsigned char uuid = 1;  // its first byte
    uint64_t memory = uint64_t{8} << 30;
    uint64_t others = 0;  // bytes of it that other processes have
    uint64_t used = 0;    // bytes of it that are allocated
    int lost = 0;         // what all calls with its context answer, but those that give back
    bool stuck = false;   // its events are not reached
};

struct Failure {
    int result = 0;
    int after = 0;       // calls that do well first
    bool lasts = false;  // so do the calls of this function that follow
    bool loses = false;  // and those of every function but what gives back: the context is lost
};

// A kernel as it was started.
struct Launch {
    std::string name;
    std::array<unsigned, 3> groups{};
    bool early = false;                               // before the one in front of it has ended
    unsigned local = 0, shared = 0, most_shared = 0;  // the bytes asked for, and those that the function may have
};
// A copy from card to card.
struct Crossing {
    std::string from, to;
    uint64_t bytes = 0;
};
// A tensor map that was asked for.
struct Map {
    uint64_t at = 0;
    std::vector<uint64_t> extents, strides;
    std::vector<uint32_t> box;
};

using Constants = std::array<uint32_t, 12>;

struct World {
    int init = 0;
    int version = 13000;
    std::vector<Card> cards{Card{}};
    std::map<std::string, Failure> failures;                  // by function
    bool paused = false;                                      // events are not reached
    bool concurrent = false;                                  // streams that are made are at work on threads of their own
    std::string compiler_log;                                 // of links
    std::vector<std::string> compiled;                        // texts that links were given
    std::function<void(const std::string& function)> before;  // each call
    // What a kernel does when its turn comes, of what it was started with: the constants that its instance leaves open; its words, then the address of each
    // operand.
    std::function<std::function<void()>(const std::string& kernel, const Constants& constants, void** arguments)> computes;

    // What was seen.
    std::mutex mutex;
    std::map<std::string, int> calls;
    std::vector<std::string> launched;           // kernels, in order; those of graphs each time they are launched
    std::map<std::string, Constants> constants;  // of the launch before
    std::vector<Launch> launches;                // as they were asked for, those of graphs once
    std::vector<Map> maps;
    std::vector<Crossing> crossings;
    std::set<void*> peers;                       // contexts that were opened to others
    std::vector<std::pair<void*, void*>> waits;  // of streams, for events
    std::set<void*> alive;                       // objects that were made and not given back
    int lost = 0;
    std::atomic<int> hung = 0;  // times that somebody waited for a card that is stuck
    int contexts = 0;           // that this thread has pushed and not popped, retained ones
    int retained = 0;
};

// Of the test that runs.
World& world();
void start_anew();

}  // namespace backplane::cuda::scripted
