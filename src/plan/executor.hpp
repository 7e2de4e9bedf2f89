// Executes plans. One rule does everything: A VALUE HAS PLACES (host, port 0, port 1, ...); a stage needs its values on its port; what is
// not there is brought from a place that has it, and what is nowhere any more is made again by its stage. Plain runs, runs over several
// devices and the hand-over after a lost device are this rule; order on a device is the Port's business.
//
// Threads: submit() and run() of one Executor from one thread at a time; Events [any]. A plan on one port is submitted whole by the caller. A
// plan over several ports needs the host between them: the executor's own thread, made when first needed, hands its submits over one after
// another; a run() does it on the caller's. Of a plan without state a submit is handed over while the one before is still at work; of one that streams
// through a device with queues it has the memory of the one before, which those keep in order, and is handed over without waiting for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/hands.hpp"
#include "plan/plan.hpp"
#include "plan/port.hpp"
#include "plan/program.hpp"
#include "plan/residency.hpp"
#include "plan/sums.hpp"

namespace backplane::plan {

struct Located {  // bytes on a device
    Bytes bytes;
    uint64_t offset = 0;
};

struct Given {
    uint32_t value = 0;
    std::span<const std::byte> host;  // stays the caller's until the Event is done
    Located device;                   // or: on a device
};

struct Wanted {
    uint32_t value = 0;
    std::span<std::byte> host;  // stays the caller's until the Event is done
    Located device;             // or: written there; neither: it stays where it is made, Event::result()
};

// Where a weight comes from.
struct Image {
    Residency::Interest interest;
    Residency::Make make;
    // Streamed: the image in memory of the host: in `into` where that is not empty, else where it stays while the executor lives. It may be made in
    // `room`, from `at` on: where it is to be copied to.
    std::function<std::span<const std::byte>(Storage& room, uint64_t at, std::span<std::byte> into)> host;
};

struct Flight;
struct Frame;
struct Bound;

// The end of one submit. Copies share it.
class Event {
public:
    Event() = default;
    [[nodiscard]] bool done() const;  // never blocks for the device, never throws
    // Throws Error: cancelled; device_lost when nobody can take over; what the plan threw. May be called again: the same answer. A device lost
    // meanwhile is handed over here, on the thread that waits.
    void wait() const;
    [[nodiscard]] bool wait_for(uint64_t nanoseconds) const;
    [[nodiscard]] Located result(
        uint32_t value) const;                   // an output left on the device; of a plan on one port usable before done()
    [[nodiscard]] uint64_t bytes_moved() const;  // over the edges of devices; exact once done

    [[nodiscard]] uint64_t bytes_peer() const;  // from device to device, without the host; exact once done

    explicit Event(std::shared_ptr<Flight> flight) : flight_(std::move(flight)) {}
    [[nodiscard]] const std::shared_ptr<Flight>& flight() const noexcept { return flight_; }

private:
    std::shared_ptr<Flight> flight_;
};

class Executor {
public:
    // The program of a stage on a port, compiled when first asked for; where a slot's weight comes from.
    using Build = std::function<std::shared_ptr<const Program>(uint32_t stage, uint32_t port)>;
    using ImageOf =
        std::function<Image(uint32_t value, uint32_t stage, const std::shared_ptr<const Program>& program, uint32_t slot)>;

    Executor(Plan plan, std::vector<std::shared_ptr<Port>> ports, Build build, ImageOf image, std::string holder);
    ~Executor();  // waits for what it submitted
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // False: memory that runs short is thrown, also where another device could go on. Before anything is submitted.
    void hand_over_memory(bool does) noexcept { memory_moves_ = does; }
    // Whether the submit that was started last has changed a state, as far as it came. Then it cannot be begun anew.
    [[nodiscard]] bool changed_state() const noexcept { return changed_state_; }

    // Builds all stages and brings their weights, now and not at the first run. `elsewhere`: a port without memory hands its stage over.
    void prepare(bool elsewhere = true);

    // Waits for what was submitted and gives back what it takes of devices and pinned memory, but for states and programs. The next submit brings it
    // again.
    void let_go();

    Event submit(std::span<const Given> given, std::span<const Wanted> wanted,
                 const std::atomic<uint32_t>* cancel = nullptr);
    void run(std::span<const Given> given, std::span<const Wanted> wanted, const std::atomic<uint32_t>* cancel = nullptr);

    // State as it stands after all that was submitted; shared, not copied. set: on another port it is copied when it is needed.
    [[nodiscard]] Located state(uint32_t value);
    [[nodiscard]] Located state_if_any(uint32_t value);  // no bytes: it is zero still
    void set_state(uint32_t value, Located bytes);
    void reset_state();  // zero

    [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
    [[nodiscard]] const Program* program(uint32_t stage);   // built by now, where it runs; null: not yet
    [[nodiscard]] uint32_t port_now(uint32_t stage) const;  // where the stage would run next
    [[nodiscard]] std::vector<std::string> notes() const;   // hand-overs, a sentence each
    [[nodiscard]] uint64_t runs(uint32_t stage,
                                uint32_t port) const;  // of the stage that the port has taken so far; any thread

private:
    friend struct Flight;
    friend class Event;
    class Working;
    struct Where {
        uint32_t stage = 0, port = 0;
    };
    struct StateHold {
        Located at;
        std::vector<std::byte> kept;  // as of the last run that went well; of small states of plans over several ports
        bool has_kept = false, written = false;
    };

    // executor.cpp: frames and flights
    Frame& free_frame(std::shared_ptr<Flight>& flight);
    [[nodiscard]] Frame* handed_on();
    Frame& any_frame();
    Frame& new_frame();  // with mutex_ held
    void start(Flight& flight);
    void complete(Flight& flight);
    [[nodiscard]] bool done(Flight& flight);
    void release(Flight& flight);
    void serve();
    void settle();  // waits until all that was submitted is done

    // stages.cpp: one submit
    void execute(Flight& flight);
    void place_given(Flight& flight);
    void to_run(Flight& flight) const;  // says it in flight.runs
    [[nodiscard]] bool run_stage(Flight& flight,
                                 uint32_t stage);  // false: another device took over, find out anew what is to be done
    [[nodiscard]] bool has_lost_a_tensor(const Flight& flight) const;
    struct Ready;  // a stage with all that it needs
    [[nodiscard]] uint32_t end_of_those_beside(const std::vector<char>& runs, uint32_t first) const;
    [[nodiscard]] bool run_stages(Flight& flight, uint32_t first, uint32_t end);    // likewise, at a time
    [[nodiscard]] bool sum_together(Flight& flight, uint32_t first, uint32_t end);  // false: they are to be run
    void sum_apart(const Error& error);                                             // from now on
    [[nodiscard]] bool ready_to_sum(Flight& flight, uint32_t stage, Ready& one, Summing::Part& part);
    [[nodiscard]] Ready ready_on(Flight& flight, uint32_t stage, uint32_t port);
    void hand_to_device(const Flight& flight, Ready& one);
    void ran_on(Flight& flight, const Ready& one);
    void finish(Flight& flight);
    void hand_out(Flight& flight, const Wanted& wanted);
    void carry(Flight& flight);
    // places.cpp
    Bound& bound(uint32_t stage, uint32_t port);
    [[nodiscard]] std::unique_ptr<Bound> bind(uint32_t stage, uint32_t port);
    Ring& ring_on(uint32_t port);
    [[nodiscard]] Bytes fetch(Bound& bound, uint32_t stage, uint32_t port);
    void copy_streamed(Bound& bound, uint32_t port, Storage& place);
    void gather(Bound& bound, uint32_t port, Storage& room);
    void fetch_ahead();
    void forget_fetched();
    void bring(Flight& flight, const Bound& bound, uint32_t slot, Where where, Use& use);
    void room(Flight& flight, const Bound& bound, uint32_t slot, Where where, Use& use);
    Storage& own(Flight& flight, uint32_t value, Where where);
    [[nodiscard]] Storage* in_place(Flight& flight, uint32_t value, uint32_t port, std::span<const std::byte> memory);
    [[nodiscard]] Bytes allocate(uint32_t value, uint32_t port, uint64_t bytes);
    [[nodiscard]] Storage* block_for(Flight& flight, uint32_t value, Where where);
    void to_host(Flight& flight, uint32_t value);
    [[nodiscard]] bool pull(Flight& flight, uint32_t value, Where where);
    // states.cpp
    void state_on(const Bound& bound, uint32_t slot, uint32_t port, Use& use);
    void keep_states();
    void restore_states(Flight& flight, const Error& error);
    // hand_over.cpp
    void hand_over(Flight& flight, uint32_t stage, uint32_t port, const Error& error);
    void forget_made(Flight& flight);
    void drop(uint32_t port);
    [[nodiscard]] bool give(uint32_t port);  // under pressure: what is spare
    bool empty_port(uint32_t port);          // with work_ held; says whether it gave anything
    bool empty_frames(uint32_t port);        // likewise
    [[nodiscard]] bool moves(Code code) const noexcept {
        return code == Code::device_lost || (code == Code::no_device_memory && memory_moves_);
    }
    void note(const std::string& text);

    Plan plan_;
    std::vector<std::shared_ptr<Port>> ports_;
    Build build_;
    ImageOf image_;
    std::string holder_;
    bool several_;                              // ports
    uint32_t tail_ = 0;                         // from this stage on all are on one port: nothing else waits for the caller
    bool overlaps_;                             // a submit needs nothing of the one before
    uint32_t home_ = 0;                         // the port of all stages, where they have the same
    bool hands_on_ = false;                     // a submit's frame is the next one's once all is handed over
    std::vector<uint32_t> group_;               // by stage: the first of those beside each other that it is one of
    std::vector<Plan::Blocks> blocks_;          // by port
    std::vector<uint32_t> last_reads_;          // by value
    std::vector<std::vector<SlotUse>> writes_;  // by stage: what it writes
    std::vector<std::atomic<uint64_t>> runs_;   // by stage and port

    std::mutex work_;  // held while work is handed to ports: of all that follows
    std::atomic<std::thread::id> worker_{};
    std::vector<std::vector<std::unique_ptr<Bound>>> bound_;  // by stage and port
    std::vector<std::set<uint32_t>> excluded_;                // by stage: ports without memory for it
    std::map<uint32_t, StateHold> states_;
    std::map<uint32_t, std::unique_ptr<Ring>> rings_;   // by port
    std::vector<std::shared_ptr<Port::Pool>> pools_;    // by port
    std::vector<std::shared_ptr<Port::Giver>> givers_;  // by port
    std::unique_ptr<base::Hands> hands_;                // once stages were handed over at a time
    bool keeps_state_ = false, memory_moves_ = true;
    bool sums_together_ = true;  // until that failed
    std::atomic<bool> changed_state_{false};
    std::atomic<uint64_t> came_again_{0};  // bytes of weights that had gone for others' work

    mutable std::mutex mutex_;  // of frames, flights and notes
    std::condition_variable changed_;
    std::vector<std::unique_ptr<Frame>> frames_;
    std::deque<std::shared_ptr<Flight>> flying_;  // oldest first
    std::deque<std::shared_ptr<Flight>> queue_;   // for the thread
    std::shared_ptr<Flight> last_run_;            // run() uses it again, and it is nobody else's
    Frame* last_frame_ = nullptr;                 // of the last run(): where nobody has it, the next has
    std::vector<std::string> notes_;
    bool closing_ = false;
    std::thread thread_;
};

}  // namespace backplane::plan
