// What was learnt of the machine and can be learnt again: one small file an entry, shared by processes without locks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::base {

struct StoredEntry {
    std::string about;                          // what it is of, any bytes: a module's path
    std::map<std::string, std::string> fields;  // the owner's; values of any bytes
    int64_t when = 0;                           // seconds since 1970 at which it was written; remember() sets it
    int64_t until = 0;                          // when it ends; 0: never, at most 400 days after `when`
    bool expired = false;                       // it has ended: tells what was, and counts for nothing
};

struct StoreLimits {
    size_t entries = 1024;   // beyond them, those that were not used for the longest time go
    uint64_t bytes = 65536;  // of one entry's file
};

// Entries are files HASH-OF-KEY.entry in one folder, each written whole by a rename, for this user alone. What cannot be read, is damaged,
// belongs to somebody else, is of another kind or format, or comes from the future is as good as not there. Every member may be called from
// many threads and processes; none throws but for lack of memory. No folder is made before something is remembered.
class KeyedStore {
public:
    // `kind` and `format` tell entries of one owner from others'; a new meaning of fields or keys is a new format. An empty folder:
    // remembers nothing.
    KeyedStore(std::filesystem::path folder, std::string kind, int format, StoreLimits limits = {});

    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
    [[nodiscard]] std::optional<StoredEntry> find(std::string_view key) const;
    // The file of a key that is there and says nothing: damaged, of another version, somebody else's. Empty: there is none, or it is good.
    [[nodiscard]] std::filesystem::path unusable(std::string_view key) const;
    // Replaces what was there. Returns what went wrong, empty when nothing did. Also sweeps what has ended long ago.
    std::string remember(std::string_view key, StoredEntry entry) const;
    bool forget(std::string_view key) const;  // false: there was none
    [[nodiscard]] std::vector<StoredEntry> all() const;
    [[nodiscard]] bool empty() const;  // all() would be; the first that is good is the last that is read
    size_t forget_if(const std::function<bool(const StoredEntry&)>& which) const;  // how many went
    size_t forget_all() const;  // whatever kind, format and state they are in; how many went

private:
    [[nodiscard]] std::filesystem::path path_of(std::string_view key) const;
    [[nodiscard]] std::optional<StoredEntry> read(const std::filesystem::path& file) const;
    void sweep(const std::filesystem::path& keep) const;

    std::filesystem::path folder_;
    std::string kind_;
    int format_;
    StoreLimits limits_;
};

}  // namespace backplane::base
