// Which of several devices, and which of several processes, does which file. Arithmetic alone: no clock, no thread, no file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace backplane::batch {

// Of each task the rank that does it: the longest first, each to the rank that has least so far. The same wherever it is computed from the
// same tasks, in whatever order. `work`: in any unit, the same for all; `names` differ.
std::vector<size_t> shared_out(std::span<const double> work, std::span<const std::string> names, size_t ranks);

// The files of one process on its devices, of which the first is thought to be the best. A device may have several at a time. Longest first; a
// device takes no file that the others would be done with all sooner than it with that one and what it has. How fast each is shows when it has
// done something, and by how far it is with what it has; until then the first takes the longest and the others the shortest. What is with a
// device that turns out too slow for it goes to one that has nothing left to do. Times are seconds by any clock that goes forward.
class Schedule {
public:
    enum class Order {
        longest_first,
        as_given  // none goes from one device to another
    };
    Schedule(std::vector<double> work, size_t devices, Order order);

    struct Choice {
        enum class Kind { take, take_over, nothing };
        Kind kind = Kind::nothing;
        size_t task = 0;
        size_t from = 0;  // take_over: the device that is to give back all that it has
    };
    // What a device does now that could do more. `nothing`: ask again when something changed, or in a while. A device whose speed is not known has
    // one task at a time where there are others; only one that has none takes over.
    Choice next(size_t device, double now);
    void progressed(size_t device, double fraction,
                    double now);  // of the one task that it has, 0 to 1; of several it says nothing
    void finished(size_t device, size_t task, double now);  // well or not
    void drop(size_t device, size_t task);  // somebody else does it: done, and nothing is learnt of the device
    void add(double work);                  // one more task, the last in any order; its number is the next
    // The task waits again. `not_here`: for another device than this one.
    void give_back(size_t device, size_t task, double now, bool not_here);
    [[nodiscard]] std::vector<size_t> tasks_of(size_t device) const { return devices_[device].tasks; }
    [[nodiscard]] bool is_retired(size_t device) const noexcept { return devices_[device].retired; }
    void retire(size_t device);  // it takes nothing more; what it has is given back before

    [[nodiscard]] bool all_done() const noexcept { return done_ == work_.size(); }
    [[nodiscard]] bool none_waits() const noexcept { return waiting_.empty(); }
    // Tasks that wait and that no device is left for; they count as done from then on.
    std::vector<size_t> stranded();
    [[nodiscard]] double fraction() const noexcept;            // of all work, what is done
    [[nodiscard]] double speed(size_t device) const noexcept;  // work a second; 0: not known
    void set_speed(size_t device, double speed) noexcept;      // what it was the last time

private:
    struct Device {
        bool retired = false;
        std::vector<size_t> tasks;             // that it has
        double since = 0;                      // it has had something, or finished something, since then
        double fraction = 0;                   // of the one task that it has
        double speed = 0;                      // 0: not known
        double work_done = 0, time_taken = 0;  // of late
        std::vector<bool> refused;             // tasks that it could not do
    };
    [[nodiscard]] double work_of(const Device& device) const;              // all that it has
    [[nodiscard]] double left_of(const Device& device, double now) const;  // of that
    [[nodiscard]] double speed_now(const Device& device, double now) const;
    [[nodiscard]] std::optional<size_t> pick(size_t device, double now) const;  // a place in waiting_
    [[nodiscard]] Choice take_over(size_t device, double now);

    std::vector<double> work_;
    std::vector<Device> devices_;
    std::vector<size_t> waiting_;   // the next first
    std::vector<size_t> promised_;  // of each task the device that another is to give it up for; else devices_.size()
    Order order_;
    size_t done_ = 0;
    double done_work_ = 0;
};

}  // namespace backplane::batch
