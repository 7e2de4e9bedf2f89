#include "cache/kernel_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/file.hpp"
#include "base/file_error.hpp"
#include "base/replacing_file.hpp"
#include "base/user_folder.hpp"
#include "cache/folder.hpp"

namespace backplane::cache {

namespace {

using Kind = base::FileStatus::Kind;
using Outcome = ReadEntry::Outcome;

constexpr int64_t kRefresh = int64_t{3600} * 1'000'000'000;  // how old a time of use may be before a use changes it
constexpr int kAttempts = 4;                                 // to replace an entry that somebody reads; then theirs stays
constexpr int kFailures = 4;                                 // in a row, and nothing more is written
constexpr uint64_t kCountings = 16;  // the folder is counted again when this part of the limit was written

bool contains(const std::vector<Hash>& hashes, const Hash& hash) {
    return std::find(hashes.begin(), hashes.end(), hash) != hashes.end();
}

bool same(Bytes a, Bytes b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void refresh(const std::filesystem::path& path, int64_t modified_ns) {
    if (std::abs(now_ns() - modified_ns) > kRefresh) base::set_modified_now(path);
}

}  // namespace

KernelCache::KernelCache(Settings settings, LogSink log) : settings_(std::move(settings)), log_(std::move(log)) {
    if (!settings_.problem.empty()) fail(settings_.problem, false);
}

std::unique_ptr<const Lease> KernelCache::get(std::string_view scope, Bytes key) noexcept {
    try {
        if (!may_use_folder()) return nullptr;
        const std::string name = file_name(scope, key);
        const std::filesystem::path path = settings_.folder / name;
        ReadEntry read = read_entry(path, settings_.limit);
        if (read.outcome == Outcome::good && (read.entry.scope != scope || !same(read.entry.key, key))) {
            read.outcome = Outcome::bad;
            read.why = "of another key";
        }
        if (read.outcome == Outcome::unreadable) fail("cannot use the kernel cache: " + read.why, false);
        if (read.outcome == Outcome::bad) drop(path, read.why);
        if (read.outcome != Outcome::good) return nullptr;
        if (is_rejected(name, read.entry.hash)) {
            base::remove_file(path);
            return nullptr;
        }
        refresh(path, read.modified_ns);
        auto lease = std::make_unique<const Lease>(std::move(read.file), read.entry.value);
        const std::lock_guard lock(mutex_);
        std::vector<Hash>& given = known_[name].given;
        if (!contains(given, read.entry.hash)) given.push_back(read.entry.hash);
        return lease;
    } catch (...) {
        return nullptr;  // no memory, most likely: whoever asks compiles
    }
}

void KernelCache::put(std::string_view scope, Bytes key, Bytes value) noexcept {
    try {
        if (full_ || !may_use_folder()) return;
        if (value.size() > settings_.limit || key.size() > settings_.limit - value.size()) return;
        const std::string name = file_name(scope, key);
        const std::filesystem::path path = settings_.folder / name;
        const std::vector<std::byte> file = frame(scope, key, value);
        if (file.size() > settings_.limit || is_rejected(name, stated_hash(file))) return;
        const ReadEntry old = read_entry(path, settings_.limit);
        if (old.outcome == Outcome::good && same(old.file, file)) return refresh(path, old.modified_ns);
        if (old.outcome == Outcome::bad) drop(path, old.why);
        keep(name, file);
    } catch (const Error& error) {
        // What lies under the name of one entry says nothing of the others.
        fail(std::string("the kernel cache keeps nothing: ") + error.what(),
             error.code() != Code::invalid && ++failures_ >= kFailures);
    } catch (...) {
        // No memory: the entry is not kept.
    }
}

// False: another process reads, replaces or removes the entry at this moment, which keeps it from being replaced on Windows.
bool KernelCache::write_entry(const std::filesystem::path& path, Bytes file) const {
    // Not durable: what a power cut leaves of a file, its hash finds out.
    base::ReplacingFile target(path, {.durable = false, .only_mine = true, .follow_links = false, .mark = kTemporaryMark});
    target.write(file);
    try {
        target.commit();
    } catch (const Error&) {
        // The folder let a file be made: what resists is the old entry.
        if (target.fault() != EACCES) throw;
        return false;
    }
    return true;
}

void KernelCache::keep(const std::string& name, Bytes file) {
    if (const std::string problem = base::make_own_folder(settings_.folder); !problem.empty())
        throw Error(Code::denied, "cannot make " + base::quoted(settings_.folder) + ": " + problem);
    if (!may_use_folder()) return;
    for (int attempt = 1; !write_entry(settings_.folder / name, file); ++attempt) {
        if (attempt == kAttempts) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(attempt * 2));
    }
    failures_ = 0;
    written(file.size());
}

void KernelCache::reject(std::string_view scope, Bytes key) noexcept {
    try {
        if (!may_use_folder()) return;
        const std::string name = file_name(scope, key);
        const std::filesystem::path path = settings_.folder / name;
        const ReadEntry read = read_entry(path, settings_.limit);
        {
            const std::lock_guard lock(mutex_);
            Known& known = known_[name];
            if (known.given.empty() && read.outcome == Outcome::good) known.given.push_back(read.entry.hash);
            for (const Hash& hash : known.given)
                if (!contains(known.rejected, hash)) known.rejected.push_back(hash);
        }
        if (read.outcome == Outcome::good && is_rejected(name, read.entry.hash)) drop(path, "rejected by its module");
        if (read.outcome == Outcome::bad) drop(path, read.why);
    } catch (...) {
        // No memory: the module will see it again, and reject it again.
    }
}

// Asked again until the folder is there: somebody else may make it.
bool KernelCache::may_use_folder() {
    if (off_) return false;
    if (trusted_) return true;
    const base::FileStatus status = base::status_of(settings_.folder);
    if (status.kind == Kind::missing) return true;  // nothing to read, and to be made
    const std::filesystem::path real = base::real_path(settings_.folder);
    const std::string why =
        status.kind == Kind::folder ? base::why_not_trusted(real.empty() ? settings_.folder : real) : "it is no folder";
    if (why.empty()) {
        trusted_ = true;
        return true;
    }
    off_ = true;
    fail("no kernel cache in " + base::quoted(settings_.folder) + ": " + why, true);
    return false;
}

bool KernelCache::is_rejected(const std::string& name, const Hash& hash) {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(name);
    return known != known_.end() && contains(known->second.rejected, hash);
}

// Between the reading and the removing another process may have put a good one there: a miss more, and nothing worse.
void KernelCache::drop(const std::filesystem::path& path, const std::string& why) {
    base::remove_file(path);
    say(LogLevel::debug, "kernel cache: dropped " + base::quoted(path) + ": " + why);
}

void KernelCache::written(uint64_t bytes) {
    {
        const std::lock_guard lock(mutex_);
        written_ += bytes;
        const bool again = !counted_ || written_ > settings_.limit / kCountings || total_ + written_ > settings_.limit;
        if (!again || trimming_) return;
        trimming_ = true;
    }
    const Trimmed trimmed = trim(settings_.folder, settings_.limit);
    const std::lock_guard lock(mutex_);
    trimming_ = false;
    counted_ = true;
    total_ = trimmed.bytes;
    written_ = 0;
}

void KernelCache::fail(const std::string& why, bool for_good) {
    if (for_good) full_ = true;
    {
        const std::lock_guard lock(mutex_);
        if (!problem_.empty()) return;
        problem_ = why;
    }
    say(LogLevel::warning, why);
}

std::string KernelCache::problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
}

void KernelCache::say(LogLevel level, const std::string& text) const noexcept {
    try {
        if (log_) log_(level, text);
    } catch (...) {
        // The sink's promise is not to throw.
    }
}

}  // namespace backplane::cache
