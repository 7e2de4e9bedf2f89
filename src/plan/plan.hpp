// A plan: the parts of a graph in order, where each runs, where each value lives. Plain data; what describe() prints is what is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace backplane::plan {

enum class Kind : uint8_t {
    input,     // given for each submit
    output,    // wanted for each submit
    boundary,  // made by one stage, read by later ones
    state,     // kept between submits, written in place
    weight     // by its image
};
const char* name_of(Kind kind) noexcept;

struct Value {
    std::string name;
    Kind kind = Kind::boundary;
    uint64_t bytes = 0;  // dense and row-major; of weights: as the slot wants them
};

struct SlotUse {
    uint32_t tensor = 0;  // in the stage's own graph
    uint32_t value = 0;   // index in Plan::values
    bool written = false;
    bool streamed =
        false;  // a weight that is copied into a place of the ring for each run; others are on the device while memory allows it
};

struct Stage {
    std::string name;
    std::vector<uint32_t> ports;  // that can run it, best first; indices of Plan::ports
    std::vector<SlotUse> uses;
    uint64_t workspace = 0;  // bytes
    uint64_t nodes = 0;
    std::string ops = {};                // "Conv x 12, Relu x 12"
    std::optional<uint32_t> sum = {};    // a BP_* dtype: it adds up what it reads, as those beside it do, and nothing else
    [[nodiscard]] bool streams() const;  // any of its weights
};

struct Plan {
    std::vector<std::string> ports;  // device ids, "cpu:0"
    std::vector<uint32_t>
        fabric;  // by port: those with the same number copy from one another without the host; empty: none do
    std::vector<Value> values;
    std::vector<Stage> stages;  // in an order that can be executed
    uint32_t ring = 2;          // places, where a stage is streamed
    uint32_t frames = 1;        // submits under way that have memory of their own
    struct Carried {            // after a run the state is what this value was
        uint32_t state = 0, value = 0;
    };
    std::vector<Carried> carried;  // of states that no single stage reads and writes alone

    // Memory of a port that values between stages take turns with: a value has it from the first stage that touches it there until the last
    // that reads it anywhere.
    struct Blocks {
        std::vector<uint32_t> of;     // by value; kNoBlock: it has memory of its own
        std::vector<uint64_t> bytes;  // by block
    };
    static constexpr uint32_t kNoBlock = UINT32_MAX;
    [[nodiscard]] Blocks blocks(uint32_t port) const;
    [[nodiscard]] std::vector<uint32_t> last_reads() const;  // by value: the stage; 0 where none reads it

    // Each value that a stage runs with is on the port that is its first choice, so these are exact while no device is lost.
    [[nodiscard]] uint64_t weight_bytes(uint32_t port) const;  // that stay there
    [[nodiscard]] uint64_t ring_bytes(uint32_t port) const;    // all places
    [[nodiscard]] uint64_t place_bytes(uint32_t port) const;   // the largest place that any stage wants which can run there
    [[nodiscard]] uint64_t state_bytes(uint32_t port) const;
    [[nodiscard]] uint64_t frame_bytes(uint32_t port) const;  // inputs, outputs, blocks for values between: of one submit
    [[nodiscard]] uint64_t workspace_bytes(uint32_t port) const;  // the largest of any stage
    [[nodiscard]] uint64_t bytes_on(uint32_t port) const;         // all of these, `frames` times what a submit has
    // Of one submit, over the edges of devices: host inputs and outputs, values that cross, streamed weights.
    [[nodiscard]] uint64_t bytes_moved() const { return crossing().host; }
    struct Crossing {
        uint64_t host = 0;  // as bytes_moved()
        uint64_t peer = 0;  // from device to device, without the host
    };
    [[nodiscard]] Crossing crossing() const;
    [[nodiscard]] bool has_state() const;
    // Whether what one port has made goes to the other without the host. A plan with state goes by the host, which knows by then that all is well.
    [[nodiscard]] bool pulls(uint32_t from, uint32_t to) const {
        return from != to && !fabric.empty() && fabric[from] == fabric[to] && !has_state();
    }
    // Whether what the host gives comes to a second device from the first, where it pulls: the host's memory is the slower one, and one copy of it
    // after the other.
    [[nodiscard]] bool comes_from_peers(uint32_t value) const;
    // Of each stage the first of those beside it: stages behind each other, on a port each, none of which needs what another one makes.
    [[nodiscard]] std::vector<uint32_t> groups() const;

    [[nodiscard]] std::string describe() const;  // for people, lines
    [[nodiscard]] std::string json() const;      // for programs
};

}  // namespace backplane::plan
