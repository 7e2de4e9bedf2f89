// Networks that `bench stream --network` runs through budgets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backplane/fit.hpp"

namespace backplane::cli {

// A network on a device, and what its passes take. One thread.
class Budgeted {
public:
    Budgeted() = default;
    virtual ~Budgeted() = default;
    Budgeted(const Budgeted&) = delete;
    Budgeted& operator=(const Budgeted&) = delete;

    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual std::string input() const = 0;                           // of a pass: "1 x 30 s"
    [[nodiscard]] virtual std::vector<Fit> ways(const FitOptions& how) const = 0;  // on the device
    virtual void begin(const Fit& way) = 0;                                        // anew, what was there before is gone
    virtual std::vector<std::byte> pass() = 0;                                     // its outputs
    virtual std::vector<double> times(int passes) = 0;                             // ms of each, one after the other
    [[nodiscard]] virtual uint64_t in_place() const = 0;  // bytes of the file that the device uses where they lie
    virtual void end() = 0;                               // it holds nothing of the device
};

struct StreamedNetworkChoice;

// Of random weights in f16, a Parakeet's encoder; `cancel` as that of Session::run().
std::unique_ptr<Budgeted> budgeted_speech(const StreamedNetworkChoice& choice, const Device& device,
                                          const std::atomic<uint32_t>* cancel);
// An ESRGAN of a file in f32: "thick".
std::unique_ptr<Budgeted> budgeted_picture(const StreamedNetworkChoice& choice, const Device& device,
                                           const std::atomic<uint32_t>* cancel);

}  // namespace backplane::cli
