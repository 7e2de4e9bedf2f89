// Which device ends a whole command first, where nobody names one: the start and the end of its driver, the network's weights on their way and its work,
// measured once and kept in the state folder. It is looked up before any driver is started (docs/several-devices.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/runtime.hpp"
#include "cli/cli.hpp"
#include "cli/model_files.hpp"

namespace backplane::cli {

// Seconds, of so much work on a device.
struct WholeTime {
    std::string device;
    bool is_cpu = false;
    double process = 0;  // a process that opens the device and ends
    double begin = 0;    // the network is compiled, its weights are there
    double work = 0;
    [[nodiscard]] double seconds() const { return process + begin + work; }
};
std::string why_of(const std::vector<WholeTime>& times);  // a sentence; the first of them is taken
Json json_of(const std::vector<WholeTime>& times);

// Neither --device nor BACKPLANE_DEVICE says which.
bool names_no_device(const DeviceChoice& choice);

std::string work_of(const StoredModelChoice& choice);  // enlarging pictures with it

class Soonest {
public:
    // `options` are those of the choice (context_options()); `work`: the network and its types.
    Soonest(DeviceChoice choice, ContextOptions options, std::string work);

    // Of so many pixels, on the devices that were measured, the one that ends first at the front. Empty: none was, or a module, a driver, the number of
    // processors or an option is another since. What processes take is measured here, once, before this one starts a driver. Where anything is kept,
    // module files are looked at; nothing of them runs. Throws Error(cancelled).
    [[nodiscard]] std::vector<WholeTime> times(double pixels, const Run& run) const;

    struct Network {
        std::function<Graph(int64_t edge)> graph;  // of a square of so many pixels
        WeightSource weights;
    };
    // What the network takes on each device, those behind it standing in, with the kernels that are there by now. A tenth of a second or two. It is kept
    // for 30 days, unless something goes wrong or is cancelled: then it says what.
    [[nodiscard]] std::string measure(const std::vector<Device>& devices, const Network& network, const Run& run) const;

private:
    [[nodiscard]] std::string key() const;

    DeviceChoice choice_;
    ContextOptions options_;
    std::string work_;
};

// Of the first device's backend alone and with it open, where there are times; it may be gone, then there are none. Else of all, with nothing open.
struct OpenedSoonest {
    std::unique_ptr<const Context> context;
    std::vector<Device> devices;
};
OpenedSoonest open_soonest(const DeviceChoice& choice, const ContextOptions& options, std::vector<WholeTime>& times);

}  // namespace backplane::cli
