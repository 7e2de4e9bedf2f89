// backplane-probe-ggml [--supervised] BASE FILE: loads a ggml module beside this libggml-base, asks its score, initialises it, compares its
// tables with what the base expects, has it compute a few ops, and says on descriptor 3 how far it came: "step NAME" before each step,
// "score N", "unscored" (it has none of its own), "drives" (something beside the processor), "uses PATH" of each library, "empty" (no
// devices), "proven" (it showed that it fits the base), then one of "good", "failed TEXT", "misfit TEXT" (it does not fit), "absent TEXT"
// (the machine lacks what it needs), "base TEXT" (the base is not known here), then "end".
// backplane-probe-ggml --describe FILE: the same beside the libggml-base of its folder, for `backplane modules index` (docs/discovery.md):
// "sidecar {JSON}" for good, "foreign" when the file is no module of ggml.
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "backplane/sdk.hpp"
#include "base/process.hpp"
#include "module_check.hpp"
#include "sidecar.hpp"

namespace {

using namespace backplane;
namespace fs = std::filesystem;

void say(const std::string& line) {
    std::string text = line;
    for (char& c : text)
        if (c == '\n' || c == '\r') c = ' ';
    base::write_record(text + "\n");
}

struct Probed {
    int score = 0;
    bool scored = false, empty = false, proven = false;
    bool touches_driver = false;
    std::vector<std::string> cpu;
    std::string version;
};

// Nothing is wrong with the module: the machine lacks what it drives.
class Absent : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
// Nothing can be said of any module.
class UnknownBase : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

ggml::BaseLibrary base_of(const fs::path& file) {
    try {
        return ggml::BaseLibrary(file);
    } catch (const std::exception& error) {
        throw UnknownBase(error.what());
    }
}

ggml::Library module_of(const fs::path& file) {
    try {
        return ggml::Library(file);
    } catch (const std::exception& error) {
        const std::string why = error.what();
        if (why.find("undefined symbol: ggml_") == std::string::npos) throw Absent(why);
        throw sdk::Failure(BP_VERSION, "it was not built for the libggml-base of its folder: " + why);
    }
}

Probed probe(const fs::path& base_file, const fs::path& file) {
    Probed found;
    say("step load libggml-base");
    const ggml::BaseLibrary base = base_of(base_file);
    base.log_set([](int32_t, const char*, void*) {}, nullptr);
    if (base.version != nullptr) found.version = base.version();
    say("step load");
    ggml::Library library = module_of(file);
    const auto init = reinterpret_cast<ggml::ModuleInit>(library.symbol("ggml_backend_init"));
    if (init == nullptr) throw sdk::Failure(BP_INVALID, "it is no backend module: it has no ggml_backend_init");
    const auto ask = reinterpret_cast<ggml::ModuleScore>(library.symbol("ggml_backend_score"));
    library.keep();
    found.score = 1;
    found.scored = ask != nullptr;
    if (ask != nullptr) {
        say("step score");
        found.score = ask();
    }
    say("score " + std::to_string(found.score));
    if (!found.scored) say("unscored");
    if (found.score <= 0) return found;
    say("step init");
    ggml::Registration* registration = init();
    if (registration == nullptr) throw Absent("it found nothing it can use");
    say("step devices");
    const ggml::CheckedModule checked =
        ggml::check_module(base, registration, fs::canonical(file), [](const std::string& step) { say("step " + step); });
    for (const ggml::FoundDevice& device : checked.devices)
        found.touches_driver = found.touches_driver || device.props.type != ggml::kTypeCpu;
    found.empty = checked.devices.empty();
    found.touches_driver = found.touches_driver || found.empty;  // nobody knows what it would touch if it found something
    found.proven = checked.proven;
    if (found.touches_driver) say("drives");
    for (const std::string& used : ggml::loaded_libraries()) say("uses " + used);
    if (found.empty) say("empty");
    if (found.proven) say("proven");
    found.cpu = ggml::cpu_features_of(base, registration);
    return found;
}

// "cpu" of "libggml-cpu-zen4.so" and of "libacme-ggml-cpu.so"; empty: not the name of a module.
std::string kind_of(const std::string& name) {
    constexpr std::string_view kWord = "ggml-";
    const size_t at = name.find(kWord);
    if (at == std::string::npos || ggml::is_base_library_name(name)) return {};
    const size_t start = at + kWord.size();
    return name.substr(start, name.find_first_of("-.", start) - start);
}

// Where an installation keeps it; else where the loader finds what the module itself needs.
fs::path base_for(const fs::path& file) {
    fs::path base = ggml::find_base_library(file.parent_path());
    if (base.empty()) {
        say("step load");
        const ggml::Library library(file);
        base = ggml::file_of(library.symbol("ggml_backend_reg_name"));
    }
    if (base.empty())
        throw sdk::Failure(BP_NOT_FOUND, "there is no libggml-base in its folder, in ../lib or where the loader looks");
    return fs::canonical(base);
}

void describe(const fs::path& file) {
    const std::string kind = kind_of(file.filename().string());
    if (kind.empty() || kind == "base") return say("foreign");
    const fs::path base = base_for(file);
    ggml::Sidecar s;
    s.kind = kind;
    s.processor = ggml::processor_text();
    s.base_size = ggml::facts_of(base).size;
    s.base_build_id = ggml::build_id_of(base);
    if (s.processor.empty()) throw sdk::Failure(BP_UNSUPPORTED, "this system does not tell its processor from others");
    const Probed found = probe(base, file);
    if (s.base_build_id.empty() || ggml::build_id_of(file).empty())
        throw sdk::Failure(BP_UNSUPPORTED,
                           "it, or its libggml-base, has no build id: a sidecar could not tell it from another file");
    s.version = found.version;
    s.cpu = found.cpu;
    s.score = std::max(found.score, 0);
    s.probe_in_child = found.touches_driver;
    say("sidecar " + ggml::text_of(s));
    if (s.score == 0) say("note not for this processor, which is all that can be learnt of it here");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], base::kSupervised) == 0) {
        if (!base::supervise()) return 2;
        --argc, ++argv;
    }
    if (argc < 3) return 2;
    base::limit_this_process(30);
    ::setenv("GGML_NO_BACKTRACE", "1", 1);  // an assertion that fails would start a debugger
    const bool describing = std::strcmp(argv[1], "--describe") == 0;
    try {
        if (describing)
            describe(argv[2]);
        else
            static_cast<void>(probe(argv[1], argv[2])), say("good");
    } catch (const Absent& error) {
        say(std::string(describing ? "failed " : "absent ") + error.what());
    } catch (const UnknownBase& error) {
        say(std::string(describing ? "failed " : "base ") + error.what());
    } catch (const sdk::Failure& failure) {
        say((failure.code() == BP_VERSION && !describing ? "misfit " : "failed ") + std::string(failure.what()));
    } catch (const std::exception& error) {
        say(std::string("failed ") + error.what());
    } catch (...) {
        say("failed something was thrown out of it");
    }
    say("end");
    base::leave_process(0);
}
