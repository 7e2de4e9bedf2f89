// The persistent kernel cache: what modules compiled, kept for the next start. docs/kernel-cache.md states its promises, the format, and the
// test behind each.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/context.hpp"
#include "cache/entry.hpp"
#include "cache/settings.hpp"

namespace backplane::cache {

// Bytes that stay as they are whatever becomes of their file.
class Lease {
public:
    Lease(std::vector<std::byte> file, Bytes value) : file_(std::move(file)), value_(value) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    [[nodiscard]] Bytes value() const noexcept { return value_; }

private:
    std::vector<std::byte> file_;
    Bytes value_;  // within file_
};

// One folder, shared by any number of objects, threads and processes without locks. Nothing here throws or fails: what cannot be read is
// a miss, what cannot be written is not kept, and the log says so once. `scope` is whose an entry is: another scope never sees it.
class KernelCache {
public:
    // Touches no file. settings.folder is not empty.
    KernelCache(Settings settings, LogSink log);

    // Null: a miss.
    [[nodiscard]] std::unique_ptr<const Lease> get(std::string_view scope, Bytes key) noexcept;
    // Written when this returns; when it is there already, only its time of use may be refreshed.
    void put(std::string_view scope, Bytes key, Bytes value) noexcept;
    // The values that get() gave for this key (or, when it gave none, the one on disk) are never given again by this object, and go from the
    // disk unless another value has taken their place.
    void reject(std::string_view scope, Bytes key) noexcept;

    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return settings_.folder; }
    // Why nothing is kept (any more), a sentence for the report; empty: nothing is wrong.
    [[nodiscard]] std::string problem() const;

private:
    struct Known {  // of one key, by the name of its file
        std::vector<Hash> given, rejected;
    };

    [[nodiscard]] bool may_use_folder();
    [[nodiscard]] bool is_rejected(const std::string& name, const Hash& hash);
    void drop(const std::filesystem::path& path, const std::string& why);
    bool write_entry(const std::filesystem::path& path, Bytes file) const;
    void keep(const std::string& name, Bytes file);
    void written(uint64_t bytes);
    void fail(const std::string& why, bool for_good);
    void say(LogLevel level, const std::string& text) const noexcept;

    const Settings settings_;
    const LogSink log_;
    std::atomic<bool> trusted_{false};  // the folder was there and is ours
    std::atomic<bool> off_{false};      // it must not be used
    std::atomic<bool> full_{false};     // nothing can be written
    std::atomic<int> failures_{0};      // to write, in a row

    mutable std::mutex mutex_;  // of everything below; never held while a file is touched
    std::map<std::string, Known> known_;
    std::string problem_;
    bool trimming_ = false, counted_ = false;
    uint64_t total_ = 0;    // in the folder, when it was last counted
    uint64_t written_ = 0;  // by this object since
};

}  // namespace backplane::cache
