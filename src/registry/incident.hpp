// Processes that ended inside a module, as the next one finds out from their marks, and what follows from that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/keyed_store.hpp"
#include "registry/mark.hpp"

namespace backplane::registry {

struct Incident {
    std::string file;        // the module
    std::string key;         // which build of it; once it was tried again also with which driver: another one begins anew
    MarkRead mark;           // the last process that ended so
    bool to_try = true;      // in a child process, before it is loaded again
    int64_t kept_until = 0;  // seconds since 1970; 0: it is not kept out
    int times_kept = 0;
    int in_a_row = 0;  // killed in their first long call, without a clean end between

    [[nodiscard]] bool kept_out(int64_t now) const noexcept { return !to_try && kept_until > now; }
    // "the process 1234 ended inside 'device open' of it on 2026-11-22 05:10 UTC: segmentation fault (signal 11)"
    [[nodiscard]] std::string text() const;
};

// The incidents of one state folder. Any thread, any process; nothing is written before something happened.
class Incidents {
public:
    explicit Incidents(const std::filesystem::path& state_folder);

    void read_marks() const;  // of processes that are no more: what they say becomes incidents
    [[nodiscard]] std::optional<Incident> find(const std::filesystem::path& file) const;
    [[nodiscard]] std::vector<Incident> all() const;
    bool forget(const std::filesystem::path& file) const;  // false: there was none
    size_t forget_all() const;

    // It was tried again in a child process and that went well, so the trial does not show it: used again, or kept out for a while, which
    // `kept_until` then says. `key`: of the module with its driver.
    void settle(Incident& incident, const std::string& key, int64_t now) const;
    // That went badly: the trial's verdict says the rest.
    void tried(Incident& incident, const std::string& key) const;
    void clean_end(const std::filesystem::path& file) const;

private:
    void remember(const Incident& incident) const;

    std::filesystem::path marks_;
    base::KeyedStore store_;
};

}  // namespace backplane::registry
