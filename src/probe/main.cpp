// backplane-probe [--supervised] FILE SECONDS [--devices=none] [--only=PLACE] [--skip=PLACE...] [OPTION=VALUE...]: does with one module what a host does,
// and says on descriptor 3 how far it came.
//
// The library runs this before it loads a module that it does not know (src/registry/trial.hpp). Whatever the module does to this process,
// the record ends where it happened; src/registry/trial_record.hpp has its lines. With --supervised (base/process.hpp) a second process
// that runs no code of the module passes the record on, so that only this program's own lines are in it.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "backplane/note.h"
#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/kept_open.hpp"
#include "base/process.hpp"
#include "base/process_state.hpp"
#include "base/terminal.hpp"
#include "probe/golden.hpp"
#include "registry/device_state.hpp"
#include "registry/module.hpp"
#include "registry/trial.hpp"

namespace {

using namespace backplane;
using base::Json;

struct Task {
    std::string file;
    unsigned seconds = 0;
    bool devices = true;
    std::set<uint32_t> skipped;    // places of devices that ended an earlier trial
    std::optional<uint32_t> only;  // the one device that is wanted now
    std::shared_ptr<registry::HostServices> services = std::make_shared<registry::HostServices>();
};

void say(const std::string& line) { base::write_record(line + "\n"); }
void say(const char* what, const Json& json) { say(what + json.dump(-1, base::BadText::replace)); }

std::string one_line(std::string text) {
    for (char& c : text)
        if (c == '\n' || c == '\r') c = ' ';
    return text;
}

void say_failed(ReasonCode code, const std::string& text) {
    say(std::string("failed ") + name_of(code) + " " + one_line(text));
}

bool is_of_the_moment(Code code) {
    return code == Code::no_device_memory || code == Code::no_host_memory || code == Code::busy;
}

Json device_at(const registry::ListedDevice& listed, uint32_t place) {
    return {{"place", place}, {"identity", listed.info.identity}, {"name", listed.info.name}};
}

// What is wrong with it goes into the record; the module and its other devices are none the worse. True: nothing is.
bool try_device(const std::shared_ptr<registry::Module>& module, const registry::ListedDevice& listed, uint32_t place) {
    Json device = device_at(listed, place);
    say("at ", device);
    auto step = [&](const char* name) { say("step " + std::string(name) + " of device " + std::to_string(place)); };
    auto fault = [&](const std::string& reason, bool lasting, bool momentary) {
        device["reason"] = one_line(reason).substr(0, 1000);
        device["lasting"] = lasting;
        device["momentary"] = momentary;
        say("fault ", device);
        return false;
    };
    try {
        step("open");
        auto state = std::make_shared<Device::State>();
        state->info = listed.info;
        state->info.id = "device " + std::to_string(place);
        state->id = listed.id;
        state->api = &module->api();
        state->module = module;
        state->drives_a_driver = true;
        state->handle = module->open_device(listed.id);
        std::string wrong;
        {
            const Device open = DeviceAccess::handle(state);
            step("heaps");
            static_cast<void>(open.heaps());
            wrong = probe::golden_case(open, step);
            step("close");
        }
        state.reset();
        if (!wrong.empty()) return fault(wrong, true, false);
        say("sound");
        return true;
    } catch (const Error& error) {
        return fault(std::string("failed its trial: ") + error.what(), false, is_of_the_moment(error.code()));
    } catch (const std::exception& error) {
        return fault(std::string("failed its trial: something was thrown out of its module: ") + error.what(), false, false);
    } catch (...) {
        return fault("failed its trial: something was thrown out of its module", false, false);
    }
}

// Judged when it was inspected.
std::vector<std::string> held_by(const std::optional<Descriptor>& descriptor) {
    std::vector<std::string> files;
    if (!descriptor) return files;
    for (const Json& file : Json::parse(descriptor->json).value("holds", Json::array())) files.push_back(file.text());
    return files;
}

// A driver's device that is the machine's processors: nobody takes it before a chip of its own, and its compiler takes a second.
bool comes_last(const registry::ListedDevice& device) {
    return device.info.kind == DeviceKind::cpu || device.info.kind == DeviceKind::software;
}

// True: all that were tried are sound. Those that come last are left for when they are wanted, where another one is sound.
bool try_devices(const Task& task, const std::shared_ptr<registry::Module>& module,
                 const std::vector<registry::ListedDevice>& devices) {
    const auto most = static_cast<uint32_t>(std::min<size_t>(devices.size(), registry::kMostDevicesTried));
    bool sound = true, one_is = false;
    for (const bool last : {false, true})
        for (uint32_t i = 0; i < most; ++i) {
            if (task.only.value_or(i) != i || comes_last(devices[i]) != last || task.skipped.contains(i)) continue;
            if (last && one_is) {
                say("left ", device_at(devices[i], i));
                continue;
            }
            const bool good = try_device(module, devices[i], i);
            sound = sound && good;
            one_is = one_is || (good && !last);
        }
    return sound;
}

// The device files to be kept open behind this process: none where a device was not sound, which the next to open it is to meet anew.
std::vector<std::string> try_module(const Task& task, base::DynamicLibrary& library, bool& unloadable) {
    discovery::Rated rated;
    rated.inspection = discovery::inspect(base::path_of(task.file));
    say("step load");
    try {
        library = base::DynamicLibrary(rated.inspection.path);
    } catch (const Error&) {  // the next to load it says why
    }
    const auto module =
        std::make_shared<registry::Module>(rated, task.services, [](const char* step) { say(std::string("step ") + step); });
    unloadable = rated.inspection.descriptor && (rated.inspection.descriptor->flags & BP_NOTE_UNLOADABLE) != 0;
    std::vector<registry::ListedDevice> devices;
    for (const char* step : {"step list", "step list again"}) {
        say(step);
        std::string remark;
        devices = module->list(remark);
        if (devices.empty())
            return say_failed(ReasonCode::no_devices, registry::without_devices(remark)), std::vector<std::string>();
    }
    say("devices " + std::to_string(devices.size()));
    const bool sound = task.devices && try_devices(task, module, devices) && task.skipped.empty();
    module->expect_host_unchanged();
    say("step close");
    say("good");
    return sound ? held_by(rated.inspection.descriptor) : std::vector<std::string>();
}

// Threads that it started and did not end run in its code.
bool more_threads_than(size_t before) {
    constexpr int kLooks = 40;
    for (int i = 0; i < kLooks && base::threads_of_this_process() > before; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return base::threads_of_this_process() > before;
}

void try_and_tell(const Task& task) {
    const base::ProcessState before = base::process_state();
    const size_t threads = base::threads_of_this_process();
    base::DynamicLibrary library;  // keeps it mapped beyond its end, for threads that it leaves
    bool unloadable = false;
    try {
        base::keep_open(try_module(task, library, unloadable));
    } catch (const registry::LoadFailure& failure) {
        say_failed(failure.code, failure.text);
    }
    const base::ProcessState after = base::process_state();
    if (const std::string changed = base::changes(before, after); !changed.empty()) say("changed " + changed);
    if (base::harms_host(before, after)) say("harmful");
    if (unloadable && !more_threads_than(threads)) {
        say("step unload");
        library = {};
    } else if (unloadable) {
        say("threads");
    }
    library.keep();
    say("end");
}

std::optional<Task> read_task(std::vector<std::string> words) {
    words.erase(words.begin());
    if (!words.empty() && words.front() == base::kSupervised) {
        if (!base::supervise()) return std::nullopt;
        words.erase(words.begin());
    }
    if (words.size() < 2) return std::nullopt;
    Task task;
    task.file = words[0];
    task.seconds = static_cast<unsigned>(std::strtoul(words[1].c_str(), nullptr, 10));
    for (size_t i = 2; i < words.size(); ++i) {
        const std::string& word = words[i];
        const size_t split = word.find('=');
        if (word == "--devices=none")
            task.devices = false;
        else if (word.starts_with("--only="))
            task.only = static_cast<uint32_t>(std::strtoul(word.c_str() + split + 1, nullptr, 10));
        else if (word.starts_with("--skip="))
            task.skipped.insert(static_cast<uint32_t>(std::strtoul(word.c_str() + split + 1, nullptr, 10)));
        else if (split != std::string::npos)
            task.services->options[word.substr(0, split)] = word.substr(split + 1);
    }
    task.services->least = LogLevel::error;
    task.services->log = [](LogLevel, std::string_view text) { say("said " + one_line(std::string(text.substr(0, 300)))); };
    return task;
}

}  // namespace

int main(int argc, char** argv) {
    const std::optional<Task> task = read_task(base::program_arguments(argc, argv));
    if (!task) return 2;
    base::limit_this_process(task->seconds * 4 + 1);
    try {
        try_and_tell(*task);
    } catch (const std::exception& error) {
        say_failed(ReasonCode::open_failed, std::string("something was thrown out of it: ") + error.what());
        say("end");
    } catch (...) {
        say_failed(ReasonCode::open_failed, "something was thrown out of it");
        say("end");
    }
    // Destructors of the module's libraries have had their chance in close(); a driver's at exit are not ours to wait for.
    base::leave_process(0);
}
