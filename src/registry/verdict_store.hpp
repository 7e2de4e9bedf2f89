// What is remembered of modules that were tried in a child process: one small file each, so that processes share it without locks.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/context.hpp"
#include "base/keyed_store.hpp"
#include "discovery/inspect.hpp"

namespace backplane::registry {

enum class Trial { good, failed, crashed, hung, exited, garbage, not_tried };
const char* name_of(Trial trial) noexcept;  // "crashed"

std::optional<ReasonCode> reason_code_of(std::string_view name);  // of "open-failed"

struct DevicePlace {
    std::string identity, name;  // as DeviceInfo has them; the first may be empty
    uint32_t place = 0;          // in the list of its module
    bool operator==(const DevicePlace&) const = default;
};

// A device that its module's trial found unfit, while the module and its other devices may be used.
struct DeviceFault : DevicePlace {
    std::string reason;         // "computes wrongly: ..."
    bool ends_process = false;  // or hangs: it is not opened at all
    bool operator==(const DeviceFault&) const = default;
};

struct RememberedTrial {
    Trial trial = Trial::not_tried;
    ReasonCode code = ReasonCode::open_failed;  // of a failed one
    std::string reason;                         // a sentence; for a good one what it changes of the process, mostly nothing
    std::string file;                           // the module's path
    int64_t when = 0;                           // seconds since 1970
    int64_t until = 0;                          // when it is forgotten; 0: never
    std::vector<DeviceFault> faults;            // of a good one
    std::vector<DevicePlace> left;              // likewise: devices that are tried when they are wanted
    bool put_back = false;                      // it changes what a host wants as it was
    bool left_processes = false;                // that ended with its trial
    bool keep_mapped = false;                   // a thread of it goes on after it was closed
    int attempts = 1;                           // how often a hanging one was tried, each time with more time
    bool by_hand = false;                       // `backplane modules trust`
    bool expired = false;                       // too old to count; tells how often it was tried
};

// The trials in a state folder: base::KeyedStore, which see. Any thread, any process.
class VerdictStore {
public:
    // An empty folder: remembers nothing.
    explicit VerdictStore(std::filesystem::path folder);
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return entries_.folder(); }
    [[nodiscard]] std::optional<RememberedTrial> find(const std::string& key) const;
    // Returns what went wrong, empty when nothing did.
    std::string remember(const std::string& key, const RememberedTrial& trial) const;
    bool forget(const std::string& key) const;  // false: there was none
    [[nodiscard]] std::vector<RememberedTrial> all() const;
    size_t forget_all() const;
    size_t forget_file(const std::filesystem::path& file) const;  // under whatever options it was tried

    // discovery/trial_key.hpp
    static std::string key_of(const discovery::Inspection& module, const std::string& options);

private:
    base::KeyedStore entries_;
};

}  // namespace backplane::registry
