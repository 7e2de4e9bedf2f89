#include "nccl.hpp"

#include <algorithm>

#include "common/platform/system.hpp"

namespace backplane::cuda {

namespace {

constexpr const char* kName = "libnccl.so.2";

}  // namespace

// "ncclSystemError, unhandled system error (run with NCCL_DEBUG=INFO for details)", in the library's own words.
std::string Nccl::words(NcclResult result) const {
    std::string text = error_string_(result);
    const char* last = last_error_ != nullptr ? last_error_(nullptr) : nullptr;
    if (last != nullptr && *last != 0) text += std::string(" (") + last + ")";
    return text;
}

void Nccl::open(const std::string& name) {
    if (opened_) return;
    std::string reason;
    void* library = backend::open_library(name, reason);
    if (library == nullptr) throw sdk::Failure(BP_INVALID, "NCCL's " + name + " does not open (" + reason + ")");
#define BP_NCCL_FIND(member, name_of_it, arguments)                                                 \
    member##_ = reinterpret_cast<decltype(member##_)>(backend::find_function(library, name_of_it)); \
    if (member##_ == nullptr)                                                                       \
        throw sdk::Failure(BP_UNSUPPORTED, name + " has no " name_of_it "; install NCCL 2.10 or later");
    BP_NCCL_FUNCTIONS(BP_NCCL_FIND)
#undef BP_NCCL_FIND
    error_string_ = reinterpret_cast<decltype(error_string_)>(backend::find_function(library, "ncclGetErrorString"));
    if (error_string_ == nullptr) throw sdk::Failure(BP_UNSUPPORTED, name + " has no ncclGetErrorString");
    last_error_ = reinterpret_cast<decltype(last_error_)>(backend::find_function(library, "ncclGetLastError"));
    int version = 0;
    if (get_version_(&version) != kNcclSuccess || version < kOldestNccl) {
        const int major = version / (version < 10000 ? 1000 : 10000);  // before 2.9 they were numbered otherwise
        throw sdk::Failure(BP_UNSUPPORTED, name + " is NCCL " + std::to_string(major) + "." +
                                               std::to_string(version / 100 % (version < 10000 ? 10 : 100)) +
                                               "; install 2.10 or later");
    }
    opened_ = true;
}

uint64_t Nccl::prepare(std::span<const DeviceNumber> devices, Context context, const std::string& how) {
    if (how == "off") throw sdk::Failure(BP_NOT_FOUND, "NCCL is turned off by the option cuda.nccl");
    // It was as fast as copies and took 0.9 GB of each card (docs/several-devices.md).
    if (how.empty() || how == "auto")
        throw sdk::Failure(BP_NOT_FOUND, "NCCL is not known to be faster here; the option cuda.nccl turns it on");
    const std::lock_guard lock(mutex_);
    open(how == "on" ? kName : how);
    const std::vector<DeviceNumber> key(devices.begin(), devices.end());
    std::vector<DeviceNumber> each = key;
    std::sort(each.begin(), each.end());
    if (std::unique(each.begin(), each.end()) != each.end())
        throw sdk::Failure(BP_UNSUPPORTED, "NCCL adds up over different cards");
    if (!among_.contains(key)) {
        std::vector<Communicator> made(key.size());
        const Current current(cu_, context);  // it makes others the thread's
        if (const NcclResult result = init_all_(made.data(), static_cast<int>(key.size()), key.data());
            result != kNcclSuccess)
            throw sdk::Failure(BP_UNSUPPORTED, "NCCL does not start: ncclCommInitAll: " + words(result), result);
        among_.emplace(key, std::move(made));
    }
    return 0;
}

void Nccl::sum(std::span<const SumOperand> parts, int type, uint64_t elements) {
    const std::lock_guard lock(mutex_);
    std::vector<DeviceNumber> key;
    for (const SumOperand& part : parts) key.push_back(part.device);
    const auto found = among_.find(key);
    if (found == among_.end())
        throw sdk::Failure(BP_UNSUPPORTED, "NCCL has not been prepared for these cards, or failed there");
    const Current current(cu_, parts.front().context);
    NcclResult result = group_start_();
    for (size_t i = 0; i < parts.size() && result == kNcclSuccess; ++i) {
        // NOLINTBEGIN(performance-no-int-to-ptr): the device's
        result = all_reduce_(reinterpret_cast<const void*>(parts[i].from), reinterpret_cast<void*>(parts[i].to), elements,
                             type, kNcclSum, found->second[i], parts[i].stream);
        // NOLINTEND(performance-no-int-to-ptr)
    }
    const NcclResult end = group_end_();
    if (result == kNcclSuccess) result = end;
    if (result == kNcclSuccess) return;
    const std::string said = words(result);
    for (Communicator one : found->second) abort_(one);  // what it began ends
    among_.erase(found);
    throw sdk::Failure(BP_UNSUPPORTED, "NCCL did not add up: ncclAllReduce: " + said, result);
}

void Nccl::forget(DeviceNumber device, Context context) {
    const std::lock_guard lock(mutex_);
    const Current current(cu_, context);
    for (auto at = among_.begin(); at != among_.end();) {
        if (std::find(at->first.begin(), at->first.end(), device) == at->first.end()) {
            ++at;
            continue;
        }
        for (Communicator one : at->second) destroy_(one);
        at = among_.erase(at);
    }
}

}  // namespace backplane::cuda
