#include "nccl.hpp"

#include <algorithm>

#include "common/platform/system.hpp"

namespace backplane::cuda {

namespace {

constexpr const char* kName = "libnccl.so.2";

}  // namespace

// Of one file. It stays open: threads of its own may be left.
struct Nccl::Library {
    explicit Library(const std::string& name);
    [[nodiscard]] std::string words(NcclResult result) const;

    std::map<std::vector<DeviceNumber>, std::vector<Communicator>> among;
#define BP_NCCL_MEMBER(member, name, arguments) NcclResult(*member) arguments = nullptr;
    BP_NCCL_FUNCTIONS(BP_NCCL_MEMBER)
#undef BP_NCCL_MEMBER
    const char* (*error_string)(NcclResult) = nullptr;
    const char* (*last_error)(Communicator) = nullptr;  // since 2.13
};

Nccl::Library::Library(const std::string& name) {
    std::string reason;
    void* library = backend::open_library(name, reason);
    if (library == nullptr) throw sdk::Failure(BP_INVALID, "NCCL's " + name + " does not open (" + reason + ")");
#define BP_NCCL_FIND(member, name_of_it, arguments)                                           \
    member = reinterpret_cast<decltype(member)>(backend::find_function(library, name_of_it)); \
    if (member == nullptr) throw sdk::Failure(BP_UNSUPPORTED, name + " has no " name_of_it "; install NCCL 2.10 or later");
    BP_NCCL_FUNCTIONS(BP_NCCL_FIND)
#undef BP_NCCL_FIND
    error_string = reinterpret_cast<decltype(error_string)>(backend::find_function(library, "ncclGetErrorString"));
    if (error_string == nullptr) throw sdk::Failure(BP_UNSUPPORTED, name + " has no ncclGetErrorString");
    last_error = reinterpret_cast<decltype(last_error)>(backend::find_function(library, "ncclGetLastError"));
    int version = 0;
    if (get_version(&version) != kNcclSuccess || version < kOldestNccl) {
        const int major = version / (version < 10000 ? 1000 : 10000);  // before 2.9 they were numbered otherwise
        throw sdk::Failure(BP_UNSUPPORTED, name + " is NCCL " + std::to_string(major) + "." +
                                               std::to_string(version / 100 % (version < 10000 ? 10 : 100)) +
                                               "; install 2.10 or later");
    }
}

// "ncclSystemError, unhandled system error (run with NCCL_DEBUG=INFO for details)", in the library's own words.
std::string Nccl::Library::words(NcclResult result) const {
    std::string text = error_string(result);
    const char* last = last_error != nullptr ? last_error(nullptr) : nullptr;
    if (last != nullptr && *last != 0) text += std::string(" (") + last + ")";
    return text;
}

Nccl::Nccl(const Driver& driver) : cu_(driver) {}
Nccl::~Nccl() = default;

uint64_t Nccl::prepare(std::span<const DeviceNumber> devices, Context context, const std::string& how) {
    if (how == "off") throw sdk::Failure(BP_NOT_FOUND, "NCCL is turned off by the option cuda.nccl");
    // It was as fast as copies and took 0.9 GB of each card (docs/several-devices.md).
    if (how.empty() || how == "auto")
        throw sdk::Failure(BP_NOT_FOUND, "NCCL is not known to be faster here; the option cuda.nccl turns it on");
    const std::lock_guard lock(mutex_);
    const std::string name = how == "on" ? kName : how;
    auto found = libraries_.find(name);
    if (found == libraries_.end()) found = libraries_.emplace(name, std::make_unique<Library>(name)).first;
    Library& nccl = *found->second;
    const std::vector<DeviceNumber> key(devices.begin(), devices.end());
    std::vector<DeviceNumber> each = key;
    std::sort(each.begin(), each.end());
    if (std::unique(each.begin(), each.end()) != each.end())
        throw sdk::Failure(BP_UNSUPPORTED, "NCCL adds up over different cards");
    if (!nccl.among.contains(key)) {
        std::vector<Communicator> made(key.size());
        const Current current(cu_, context);  // it makes others the thread's
        if (const NcclResult result = nccl.init_all(made.data(), static_cast<int>(key.size()), key.data());
            result != kNcclSuccess)
            throw sdk::Failure(BP_UNSUPPORTED, "NCCL does not start: ncclCommInitAll: " + nccl.words(result), result);
        nccl.among.emplace(key, std::move(made));
    }
    used_[key] = &nccl;
    return 0;
}

void Nccl::sum(std::span<const SumOperand> parts, int type, uint64_t elements) {
    const std::lock_guard lock(mutex_);
    std::vector<DeviceNumber> key;
    for (const SumOperand& part : parts) key.push_back(part.device);
    const auto used = used_.find(key);
    if (used == used_.end())
        throw sdk::Failure(BP_UNSUPPORTED, "NCCL has not been prepared for these cards, or failed there");
    for (const SumOperand& part : parts) cards_[part.device] = {part.context, part.sums};
    Library& nccl = *used->second;
    const auto among = nccl.among.find(key);
    const Current current(cu_, parts.front().context);
    NcclResult result = nccl.group_start();
    for (size_t i = 0; i < parts.size() && result == kNcclSuccess; ++i) {
        // NOLINTBEGIN(performance-no-int-to-ptr): the device's
        result = nccl.all_reduce(reinterpret_cast<const void*>(parts[i].from), reinterpret_cast<void*>(parts[i].to),
                                 elements, type, kNcclSum, among->second[i], parts[i].stream);
        // NOLINTEND(performance-no-int-to-ptr)
    }
    const NcclResult end = nccl.group_end();
    if (result == kNcclSuccess) result = end;
    if (result == kNcclSuccess) {
        for (const SumOperand& part : parts) {
            const std::lock_guard of_card(part.sums->mutex);
            part.sums->open.insert(part.point);
        }
        return;
    }
    const std::string said = nccl.words(result);
    breaks(key, said);
    for (Communicator one : among->second) nccl.abort(one);  // what it began ends
    nccl.among.erase(among);
    used_.erase(used);
    throw sdk::Failure(BP_UNSUPPORTED, "NCCL did not add up: ncclAllReduce: " + said, result);
}

void Nccl::drop(DeviceNumber device, bool abort) {
    const auto has_it = [&](const auto& one) {
        return std::find(one.first.begin(), one.first.end(), device) != one.first.end();
    };
    std::erase_if(used_, has_it);
    for (const auto& [name, nccl] : libraries_)
        std::erase_if(nccl->among, [&, &library = *nccl](const auto& among) {
            if (!has_it(among)) return false;
            for (Communicator one : among.second) abort ? library.abort(one) : library.destroy(one);
            return true;
        });
}

bool Nccl::has_lost_one(const std::vector<DeviceNumber>& cards) const {
    return std::any_of(cards.begin(), cards.end(), [&](DeviceNumber card) {
        const auto found = cards_.find(card);
        if (found == cards_.end()) return false;
        try {
            const Current current(cu_, found->second.context);
            size_t free = 0, total = 0;
            cu_.check(cu_.memory_info(&free, &total), "ask a card that adds up");
        } catch (const sdk::Failure& failure) {
            return failure.code() == BP_DEVICE_LOST;
        }
        return false;
    });
}

void Nccl::breaks(const std::vector<DeviceNumber>& cards, const std::string& words) {
    for (const DeviceNumber card : cards) {
        const auto found = cards_.find(card);
        if (found == cards_.end()) continue;
        SumsOfCard& sums = *found->second.sums;
        const std::lock_guard lock(sums.mutex);
        sums.broken.merge(sums.open);
        sums.words = words;
    }
}

bool Nccl::end_in_vain(DeviceNumber device) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, library] : libraries_)
        for (const auto& [cards, communicators] : library->among) {
            if (std::find(cards.begin(), cards.end(), device) == cards.end()) continue;
            const bool lost = has_lost_one(cards);
            NcclResult now = kNcclSuccess;
            for (Communicator one : communicators) {
                if (now != kNcclSuccess && now != kNcclInProgress) break;
                if (const NcclResult asked = library->async_error(one, &now); asked != kNcclSuccess) now = asked;
            }
            if (!lost && (now == kNcclSuccess || now == kNcclInProgress)) continue;
            // Before what waits for them ends. What a lost card was to add to, the host makes anew when it asks that card.
            if (!lost) breaks(cards, library->words(now));
            drop(device, true);
            return true;
        }
    return false;
}

void Nccl::give_up(DeviceNumber device) {
    const std::lock_guard lock(mutex_);
    drop(device, true);
}

void Nccl::forget(DeviceNumber device, Context context) {
    const std::lock_guard lock(mutex_);
    const Current current(cu_, context);
    drop(device, false);
    cards_.erase(device);
}

}  // namespace backplane::cuda
