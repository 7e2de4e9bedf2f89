// backplane-probe FILE SECONDS [OPTION=VALUE...]: loads one module, opens it, lists its devices, and says on descriptor 3 how far it came.
//
// The library runs this before it loads a module that it does not know (src/registry/trial.hpp). Whatever the module does to this process,
// the record ends where it happened: "step NAME" before each step, then "good" or "failed CODE TEXT", "changed WHAT" of the process if it did, then "end".
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/process.hpp"
#include "base/process_state.hpp"
#include "base/terminal.hpp"
#include "registry/module.hpp"

namespace {

using namespace backplane;

void say(const std::string& line) { base::write_record(line + "\n"); }

std::string one_line(std::string text) {
    for (char& c : text)
        if (c == '\n' || c == '\r') c = ' ';
    return text;
}

void say_failed(ReasonCode code, const std::string& text) {
    say(std::string("failed ") + name_of(code) + " " + one_line(text));
}

void probe(const std::string& file, const std::shared_ptr<registry::HostServices>& services) {
    const base::ProcessState before = base::process_state();
    discovery::Rated rated;
    rated.inspection = discovery::inspect(base::path_of(file));
    {
        const registry::Module module(rated, services, [](const char* step) { say(std::string("step ") + step); });
        say("step list");
        std::string remark;
        const std::vector<registry::ListedDevice> devices = module.list(remark);
        if (devices.empty())
            say_failed(ReasonCode::no_devices, registry::without_devices(remark));
        else
            say("good");
        say("step close");
    }
    if (const std::string changed = base::changes(before, base::process_state()); !changed.empty())
        say("changed " + changed);
    say("end");
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words = base::program_arguments(argc, argv);
    if (words.size() < 3) return 2;
    base::limit_this_process(static_cast<unsigned>(std::strtoul(words[2].c_str(), nullptr, 10)) * 4 + 1);
    auto services = std::make_shared<registry::HostServices>();
    for (size_t i = 3; i < words.size(); ++i) {
        const std::string& pair = words[i];
        const size_t split = pair.find('=');
        if (split != std::string::npos) services->options[pair.substr(0, split)] = pair.substr(split + 1);
    }
    try {
        probe(words[1], services);
    } catch (const registry::LoadFailure& failure) {
        say_failed(failure.code, failure.text);
        say("end");
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
