// CUDA's driver: its functions, its answers and what is asked of a device, and objects that are ours to give back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "backplane/sdk.hpp"
#include "common/cuda_functions.hpp"

namespace backplane::cuda {

// Answers that something is made of.
enum : Result {
    kSuccess = 0,
    kOutOfMemory = 2,
    kDeinitialized = 4,
    kStubLibrary = 34,
    kNoDevice = 100,
    kInvalidImage = 200,
    kNoBinaryForGpu = 209,
    kEccUncorrectable = 214,
    kInvalidPtx = 218,
    kNvlinkUncorrectable = 220,
    kJitCompilerNotFound = 221,
    kUnsupportedPtxVersion = 222,
    kContained = 226,
    kNotReady = 600,
    kIllegalAddress = 700,
    kLaunchOutOfResources = 701,
    kLaunchTimeout = 702,
    kContextIsDestroyed = 709,
    kAssert = 710,
    kHardwareStackError = 714,
    kLaunchFailed = 719,
    kTensorMemoryLeak = 721,
    kNotPermitted = 800,
    kSystemNotReady = 802,
    kSystemDriverMismatch = 803,
    kCompatNotSupported = 804,
    kMpsConnectionFailed = 805,
    kUnknown = 999
};

// Questions about a device.
enum : int {
    kMostThreads = 1,
    kSharedBytes = 8,
    kUnits = 16,
    kIntegrated = 18,
    kComputeMode = 20,
    kPciBus = 33,
    kPciDevice = 34,
    kPciDomain = 50,
    kMajor = 75,
    kMinor = 76,
    kSharedBytesAtMost = 97  // that a kernel can be given when it asks for them
};
constexpr int kComputeModeProhibited = 2;

constexpr unsigned kHostPortable = 1;       // pinned memory of all contexts
constexpr unsigned kStreamNonBlocking = 1;  // no order with the default stream
constexpr unsigned kEventBlocking = 1;      // who waits sleeps
constexpr unsigned kEventNoTiming = 2;
constexpr int kCaptureRelaxed = 2;      // other threads do as they like meanwhile
constexpr int kInputPtx = 1;            // of a link
constexpr int kStartsEarly = 6;         // an attribute of a launch: before the kernel in front of it has ended
constexpr int kDynamicSharedBytes = 8;  // of a function
constexpr int kMapOfHalves = 6, kMapSwizzle64 = 2, kMapSwizzle128 = 3, kMapPromote256 = 3;
constexpr int kErrorLog = 5, kErrorLogSize = 6;  // options of a link

struct Driver : Functions {
    // False: `why` says what is missing. The library is never closed.
    bool open(std::string& why);
    // "CUDA_ERROR_OUT_OF_MEMORY (out of memory)", in the driver's own words.
    [[nodiscard]] std::string words(Result result) const;
    // Throws Failure with the code that an answer stands for and what to do, unless it is kSuccess. `attempted`: "allocate 64 MiB on H200".
    void check(Result result, const std::string& attempted) const;
};

// An object of a context that is ours to give back.
template <typename T>
class Handle {
public:
    using Release = Result (*)(T);
    Handle() = default;
    Handle(T object, Release release, const Driver& driver, Context context)
        : object_(object), release_(release), driver_(&driver), context_(context) {}
    Handle(Handle&& other) noexcept
        : object_(std::exchange(other.object_, T{})),
          release_(other.release_),
          driver_(other.driver_),
          context_(other.context_) {}
    Handle& operator=(Handle other) noexcept {
        std::swap(object_, other.object_);
        std::swap(release_, other.release_);
        std::swap(driver_, other.driver_);
        std::swap(context_, other.context_);
        return *this;
    }
    ~Handle() {
        if (object_ == T{}) return;
        const Current current(*driver_, context_);
        release_(object_);
    }

    [[nodiscard]] T get() const { return object_; }
    explicit operator bool() const { return object_ != T{}; }

private:
    T object_{};
    Release release_{};
    const Driver* driver_ = nullptr;
    Context context_{};
};

}  // namespace backplane::cuda
