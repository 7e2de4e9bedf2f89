// NCCL, which adds up over cards: looked up at run time, where it is installed, and what it needs to know of cards that add up together.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver.hpp"

namespace backplane::cuda {

using NcclResult = int;
using Communicator = struct ncclComm*;  // of one card among others

enum : int { kNcclSuccess = 0, kNcclInProgress = 7, kNcclHalf = 6, kNcclFloat = 7, kNcclSum = 0 };
constexpr int kOldestNccl = 21000;  // 2.10, which numbers types as these are

// X(member, name in the library, arguments)
#define BP_NCCL_FUNCTIONS(X)                                                       \
    X(get_version, "ncclGetVersion", (int* version))                               \
    X(init_all, "ncclCommInitAll", (Communicator*, int count, const int* devices)) \
    X(destroy, "ncclCommDestroy", (Communicator))                                  \
    X(abort, "ncclCommAbort", (Communicator))                                      \
    X(async_error, "ncclCommGetAsyncError", (Communicator, NcclResult*))           \
    X(group_start, "ncclGroupStart", ())                                           \
    X(group_end, "ncclGroupEnd", ())                                               \
    X(all_reduce, "ncclAllReduce", (const void* from, void* to, size_t count, int type, int op, Communicator, Stream))

// Sums of a card that NCCL was handed, by timeline and value.
struct SumsOfCard {
    using Point = std::pair<const void*, uint64_t>;
    std::mutex mutex;
    std::set<Point> open;    // that nobody has found to be reached
    std::set<Point> broken;  // of these, that were ended before they were made
    std::string words;       // why the last ones were
};

// A card's part of a sum.
struct SumOperand {
    DeviceNumber device = 0;
    Context context = nullptr;
    Address from = 0, to = 0;
    Stream stream = nullptr;
    SumsOfCard* sums = nullptr;  // of the card, as long as it is open
    SumsOfCard::Point point;     // that is reached when it is made
};

class Nccl {
public:
    explicit Nccl(const Driver& driver);
    ~Nccl();
    Nccl(const Nccl&) = delete;
    Nccl& operator=(const Nccl&) = delete;

    // Bytes from which on these cards shall add up so. `how`: the option cuda.nccl, by the library that it names now. Throws Failure: BP_NOT_FOUND where it is
    // not turned on, else with what is wrong, in the library's words where they are its. [any]
    uint64_t prepare(std::span<const DeviceNumber> devices, Context context, const std::string& how);
    // On the stream of each, in the order of its work, by the library that they were prepared for last. Throws Failure(BP_UNSUPPORTED) with the library's
    // words. [any]
    void sum(std::span<const SumOperand> parts, int type, uint64_t elements);
    // A card is lost: others that add up with it go on without. [any]
    void give_up(DeviceNumber device);
    // Of a card whose work takes long: what it adds up in vain, since the library failed or another card is lost, is ended. False: nothing is wrong. Where no
    // card is lost, sums that were not made are broken from then on. [any]
    bool end_in_vain(DeviceNumber device);
    // A card is closed. Its context is there still.
    void forget(DeviceNumber device, Context context);

private:
    struct Library;
    struct Card {
        Context context = nullptr;
        SumsOfCard* sums = nullptr;
    };
    void drop(DeviceNumber device, bool abort);  // all that it adds up with
    [[nodiscard]] bool has_lost_one(const std::vector<DeviceNumber>& cards) const;
    void breaks(const std::vector<DeviceNumber>& cards, const std::string& words);

    const Driver& cu_;
    std::mutex mutex_;
    std::map<std::string, std::unique_ptr<Library>> libraries_;  // that are open, by the name that was given
    std::map<std::vector<DeviceNumber>, Library*> used_;         // by cards that add up together
    std::map<DeviceNumber, Card> cards_;                         // that have added up
};

}  // namespace backplane::cuda
