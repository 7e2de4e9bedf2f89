// What is remembered of modules that were tried in a child process: one small file each, so that processes share it without locks.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/context.hpp"
#include "discovery/inspect.hpp"

namespace backplane::registry {

enum class Trial { good, failed, crashed, hung, exited, garbage, not_tried };
const char* name_of(Trial trial) noexcept;  // "crashed"

std::optional<ReasonCode> reason_code_of(std::string_view name);  // of "open-failed"

struct RememberedTrial {
    Trial trial = Trial::not_tried;
    ReasonCode code = ReasonCode::open_failed;  // of a failed one
    std::string reason;                         // a sentence; for a good one what it changes of the process, mostly nothing
    std::string file;                           // the module's path
    int64_t when = 0;                           // seconds since 1970
    int64_t until = 0;                          // when it is forgotten; 0: never
    int attempts = 1;                           // how often a hanging one was tried, each time with more time
    bool by_hand = false;                       // `backplane modules trust`
    bool expired = false;                       // too old to count; tells how often it was tried
};

// Entries are files NAME.json in one folder, made whole by a rename; one that cannot be read or does not fit is as good as none. All
// members may be called from many threads and processes. Nothing is created before something is remembered.
class VerdictStore {
public:
    // An empty folder: remembers nothing.
    explicit VerdictStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
    [[nodiscard]] std::optional<RememberedTrial> find(const std::string& key) const;
    void remember(const std::string& key, const RememberedTrial& trial) const;  // quietly nothing when it cannot be written
    bool forget(const std::string& key) const;                                  // false: there was none
    [[nodiscard]] std::vector<RememberedTrial> all() const;
    size_t forget_all() const;

    // Changes whenever the trial might end otherwise: the file (its place, identity, size, time, build id), this library's ABI and version,
    // the files and variables that the descriptor watches, the options given to the module.
    static std::string key_of(const discovery::Inspection& module, const std::string& options);

private:
    [[nodiscard]] std::filesystem::path path_of(const std::string& key) const;
    std::filesystem::path folder_;
};

}  // namespace backplane::registry
