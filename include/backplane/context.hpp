// Context: finds modules, judges them without running them, loads the best of each backend, lists and chooses devices.
//
//   backplane::Context context;                       // searches, loads
//   backplane::Device device = context.choose();      // throws Error(not_found) whose text carries the whole reason
//
// Destroy it before main() returns: docs/discovery.md, "The end of the process", says what a static one means.
// Contexts are independent of each other; every member may be called from many threads. The environment is read once, when a
// Context is made: BACKPLANE_MODULE_PATH, BACKPLANE_DEVICE, BACKPLANE_CPU_MASK, BACKPLANE_LOG, BACKPLANE_PROBE,
// BACKPLANE_PROBE_LIMIT, BACKPLANE_PROBE_BUDGET, BACKPLANE_STATE_DIR, BACKPLANE_CACHE_DIR, BACKPLANE_CACHE_LIMIT
// (docs/discovery.md); all of it is ignored in set-uid and similar processes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backplane/error.hpp"
#include "backplane/flags.hpp"
#include "backplane/module.h"

namespace backplane {

enum class LogLevel : uint32_t { debug = BP_LOG_DEBUG, info = BP_LOG_INFO, warning = BP_LOG_WARNING, error = BP_LOG_ERROR };
using LogSink = std::function<void(LogLevel, std::string_view)>;  // called from any thread; must not throw

// Calls body(i) once for each i in [0, n), on threads of the application, and returns when all are done. From any thread, several at a time; what
// it leaves undone or throws is made up for by the calling thread. `body` does not throw and calls none of this.
using ParallelFor = std::function<void(uint32_t n, const std::function<void(uint32_t i)>& body)>;

// When a module is first tried in a child process, where it can crash, hang or exit without harm (docs/discovery.md). Modules whose
// descriptor says that it is not needed never are, nor are linked-in ones.
enum class ProbePolicy {
    first,   // when nothing is remembered of this file with this driver
    always,  // at every start
    never,   // for hosts that must not start processes
};

struct ContextOptions {
    std::vector<std::filesystem::path> module_paths;  // folders or files, searched first, in order
    // File names, "libacme-backplane-cpu.so", of modules that no folder shows: where applications are packed so that their libraries
    // cannot be listed (Android). One that no folder has is found by the system's loader, which runs its constructors.
    std::vector<std::string> module_names;
    // Modules in `module_paths` are the application's own: one whose descriptor says that it needs no trial gets none. False: somebody else
    // named these paths, and all of them are tried, like those that the environment names.
    bool trust_module_paths = true;
    bool search_defaults = true;  // environment, library's folder, executable's folder, installed folder
    bool use_linked_in = true;    // modules linked into this build
    bool use_environment = true;
    std::string device_filter;                                    // see Context::choose; stronger than BACKPLANE_DEVICE
    std::string device_filter_name = "the application's filter";  // what sentences call it: "--device"
    std::map<std::string, std::string> options;                   // for modules: "cpu.threads" -> "4"
    // An option that no module knows, one that a module refuses and a CPU feature in `cpu_mask` that there is not are an OptionError from
    // Context(), rescan() or choose(). Without it they are Context::option_problems() and notes of the report.
    bool strict_options = false;
    std::string cpu_mask;  // CPU features to hide, "avx512f,avx2"; stronger than BACKPLANE_CPU_MASK
    LogSink log;           // null: the library says nothing
    // Lends the application's threads to modules that compute on the host (the cpu's kernels): they start none of their own for it. How many
    // pieces their work is cut into is the option "cpu.threads" still. Null: modules use threads of their own.
    ParallelFor parallel;
    ProbePolicy probe = ProbePolicy::first;  // BACKPLANE_PROBE is stronger
    // How long one step of a trial may take, and all trials between two scans together: BACKPLANE_PROBE_LIMIT and BACKPLANE_PROBE_BUDGET, in
    // seconds, are stronger. The second is never less than the first. What it does not reach is not loaded for now.
    std::chrono::milliseconds probe_limit{10000};
    std::chrono::milliseconds probe_budget{20000};
    std::filesystem::path probe_program;  // empty: backplane-probe beside the library's modules
    // While a module is in use that wants a trial in a child process: hear of the signals that end the process, where their action is the
    // default one, to know the next time whether it was the module's doing. How the process ends stays as it is (docs/discovery.md).
    bool note_faults = true;
    // Set to anything but 0, from any thread or a signal handler, it ends trials at once: what waited for them throws Error(cancelled).
    // Lives as long as the Context.
    const std::atomic<uint32_t>* cancel = nullptr;
    // The kernel cache (docs/kernel-cache.md) is off unless a folder is named, here or by BACKPLANE_CACHE_DIR. Its limit: the option
    // "host.cache-limit" ("64M"), else BACKPLANE_CACHE_LIMIT, else 256M.
    std::filesystem::path cache_folder;
    bool use_cache = true;               // false: none, whatever the environment says
    std::filesystem::path state_folder;  // of remembered trials; empty: BACKPLANE_STATE_DIR, else the user's cache folder
};

// ---- the report: every decision, for people and programs ------------------------------------------------------------------

// Why a folder or file was looked at.
enum class SourceKind { application, environment, library_folder, executable_folder, installed, linked_in };
const char* name_of(SourceKind kind) noexcept;  // "application"

struct Source {
    SourceKind kind{};
    std::filesystem::path path;
    bool searched = false;
    std::string note;  // "does not exist", "refused: others may write to it", "12 files"
};

// What the file says of itself (docs/abi.md).
struct Need {
    std::string soname;
    std::string priority;  // "required", "recommended", "suggested"
    std::string least;     // the oldest version of a required one that will do, "580.65"; empty: any
};
struct StatedOption {
    std::string name;                 // "threads", given as "cpu.threads"
    int64_t least = 0, most = 0;      // of a whole number; both 0: any text
    std::vector<std::string> values;  // those it can have; empty: any
};
struct Descriptor {
    uint32_t abi = 0;    // major << 16 | minor
    uint32_t flags = 0;  // BP_NOTE_*
    std::string backend, version, build, licence;
    std::string interface_name = "backplane";  // whose modules it is one of; this library loads no others
    std::vector<std::string> cpu;              // required CPU features, names as in /proc/cpuinfo or HWCAP
    std::vector<Need> needs;
    int64_t priority = 0;
    bool probe_in_child = true;  // "probe": "none" or "child"
    std::vector<std::string> watch_files, watch_env;
    std::optional<std::vector<StatedOption>> options;  // not there: it does not say which it has
    uint64_t file_bytes = 0;                           // of a sidecar: the file that it was written for; 0: not said
    std::string file_build_id;                         // hexadecimal; empty: not said
    std::string json;                                  // as found
};

enum class Verdict { loaded, outranked, rejected, failed };  // failed: it was judged good, and loading it went wrong
const char* name_of(Verdict verdict) noexcept;

// Stable codes for programs, docs/discovery.md explains each; the sentence is in `reason`.
enum class ReasonCode {
    none = 0,
    not_a_module = 1,
    truncated = 2,
    wrong_architecture = 3,
    abi_mismatch = 4,
    cpu_feature_missing = 5,
    library_missing = 6,
    writable_by_others = 7,
    wrong_owner = 8,
    duplicate = 9,
    outranked = 10,
    bad_descriptor = 11,
    unreadable = 12,
    load_failed = 13,
    entry_missing = 14,
    bad_table = 15,
    open_failed = 16,
    no_devices = 17,
    excluded_by_filter = 18,
    sanitizer_mismatch = 19,
    quarantined = 20,
    timed_out = 21,
    unloaded = 22,
    executable_stack = 23,
    too_large = 24,
    not_tried = 25,
    library_too_old = 26,
};
const char* name_of(ReasonCode code) noexcept;  // "cpu-feature-missing"

struct Candidate {
    std::filesystem::path path;  // empty: linked in
    SourceKind source{};
    std::optional<Descriptor> descriptor;
    Verdict verdict{};
    ReasonCode code{};
    std::string reason;  // one sentence: what was found
    std::string remedy;  // what to do; may be empty
};

enum class DeviceKind : uint32_t {
    unknown = BP_KIND_UNKNOWN,
    cpu = BP_KIND_CPU,
    integrated = BP_KIND_INTEGRATED,
    discrete = BP_KIND_DISCRETE,
    virtual_gpu = BP_KIND_VIRTUAL,
    accelerator = BP_KIND_ACCELERATOR,
    software = BP_KIND_SOFTWARE,
};
const char* name_of(DeviceKind kind) noexcept;  // "discrete"

// What a device can do beside computing graphs.
enum class Capability : uint64_t {
    import_host = BP_CAN_IMPORT_HOST,  // it uses memory of the host where it lies
    map = BP_CAN_MAP,                  // the host sees memory of the device
    async = BP_CAN_ASYNC,              // work overlaps, and points order it
    peer = BP_CAN_PEER,                // devices of its module that have it, too, copy from one another without the host
    symbols = BP_CAN_SYMBOLS,          // graphs with symbolic dimensions
};

struct DeviceInfo {
    std::string id;  // "cpu:0", "vulkan:1": backend and number, stable across runs
    std::string name, backend, driver;
    DeviceKind kind{};
    std::string identity;                 // "pci:0000:01:00.0", "uuid:...", "cpu": which physical chip it is; may be empty
    std::vector<std::string> identities;  // all that is known of it, `identity` first
    std::string same_chip_as;             // id of the preferred device of another backend on this very chip; empty: none
    uint64_t memory_total = 0, memory_free = 0;  // bytes, 0: not known
    std::string memory_source;                   // who says the two: "/proc/meminfo", "VK_EXT_memory_budget"; may be empty
    Flags<Capability> capabilities;
    uint64_t max_buffer = 0;
    uint64_t dtypes = 0;  // bits 1 << BP_F32 and so on: types that it computes with
    uint32_t units = 0;
    uint32_t queues = 1, copy_queues = 0;  // orders of work that overlap; the latter take copies only
    std::array<uint64_t, 2> fingerprint{};
    std::string features, warning;
    std::string
        fault;  // what its trial in a child process found wrong with it: it is chosen only when it is named; empty: nothing
    std::string module_version;
    int64_t module_priority = 0;   // of its descriptor: between devices that are alike
    std::filesystem::path module;  // empty: linked in
};

// An option that was given to a Context, and that nobody takes.
struct OptionProblem {
    std::string name, value;
    std::string text;  // a sentence: "option cpu.threds: cpu has no such option; did you mean 'cpu.threads'?"
};

// With ContextOptions::strict_options.
class OptionError : public Error {
public:
    explicit OptionError(const std::string& text) : Error(Code::invalid, text) {}
};

struct Report {
    std::vector<Source> sources;
    std::vector<Candidate> candidates;
    std::vector<DeviceInfo> devices;            // in order of preference
    std::string chosen;                         // id of the device choose() gives; empty: none
    std::string why;                            // a sentence: why this one, or why none
    std::vector<std::string> notes;             // "filter 'vulkan' matches nothing; there are: cpu:0"
    [[nodiscard]] std::string summary() const;  // the lines that belong in an error when nothing is usable
    [[nodiscard]] std::string json() const;     // all of it, for programs: docs/discovery.md
};

// ---- devices ---------------------------------------------------------------------------------------------------------------

struct Option {
    std::string name, help;
    std::variant<bool, int64_t, double, std::string> value;
    int64_t least = 0, most = 0;  // of integers; both 0: not stated
};

enum class HeapFlag : uint32_t {
    exact = BP_MEM_EXACT,                // reserved: no module states it
    budget = BP_MEM_BUDGET,              // they are what this process may take
    unified = BP_MEM_UNIFIED,            // it is the host's memory
    host_visible = BP_MEM_HOST_VISIBLE,  // the host can map it
    pinned = BP_MEM_PINNED,              // memory of the host that copies read and write at full speed
};

struct Heap {
    Flags<HeapFlag> flags;  // neither exact nor budget: the driver did not say, do not plan with it
    uint64_t total = 0, available = 0, used_by_us = 0, largest_block = 0, alignment = 0;
};

// A shared handle of one open device; copies are cheap, and equal. The module stays loaded while a handle lives.
class Device {
public:
    Device() = default;  // no device
    [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
    [[nodiscard]] const DeviceInfo& info() const;
    [[nodiscard]] std::vector<Heap> heaps() const;  // empty: the module does not say
    [[nodiscard]] std::vector<Option> options() const;
    // Throws Error(not_found) naming the options there are, or Error(invalid) for a value out of range.
    void set_option(std::string_view name, const std::variant<bool, int64_t, double, std::string>& value);

    // An optional table of the module by name (bench.h has one); null when it has none.
    [[nodiscard]] const void* extension(const char* id) const;

    bool operator==(const Device&) const = default;  // the same open device

    struct State;  // the library's own

private:
    friend struct DeviceAccess;
    explicit Device(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

class Context {
public:
    explicit Context(ContextOptions options = {});
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    [[nodiscard]] std::vector<DeviceInfo> devices() const;  // in order of preference; memory figures are fresh
    // Opens a device. Filter grammar, comma-separated, `!` excludes: an id "vulkan:0", a backend "cpu", a kind "discrete",
    // "name=*RTX*" (glob), an identity "pci:0000:01:00.0" or "uuid:..."; empty or "auto": the best there is. Throws
    // Error(not_found) that says what exists. The same device opened twice gives handles of one open device.
    [[nodiscard]] Device choose(std::string_view filter = {}) const;
    // Why choose() takes what it takes, by what is loaded so far: a sentence for people. Loads nothing; report() loads all there is.
    [[nodiscard]] std::string why() const;
    // That device, and behind it the best CPU that no filter excludes, for what the first cannot do (spread.hpp). Throws as choose().
    [[nodiscard]] std::vector<Device> choose_with_fallback(std::string_view filter = {}) const;
    [[nodiscard]] Report report() const;
    // Where this context remembers what it learnt of the machine; empty: nowhere.
    [[nodiscard]] std::filesystem::path state_folder() const;
    // What was given in ContextOptions and nobody takes, as far as it is known by now; empty with `strict_options`.
    [[nodiscard]] std::vector<OptionProblem> option_problems() const;
    // Looks again: modules and devices that came or recovered are there, those that went are not. Open devices stay; the handles of
    // one that its module no longer lists answer Error(device_lost) from now on. What was unloaded is loaded again.
    void rescan();
    // Closes the module of a backend ("vulkan") and takes it out of memory, so that its file can be replaced; rescan() loads it again.
    // Throws Error(busy) naming the open devices, buffers and programs that keep it, and Error(not_found) naming what is loaded.
    // A module that cannot be taken out of memory (its descriptor says so) stays mapped, closed.
    void unload(std::string_view backend);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace backplane
