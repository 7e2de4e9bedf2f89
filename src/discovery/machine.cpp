#include "discovery/machine.hpp"

#include <algorithm>
#include <array>

#include "backplane/error.hpp"
#include "base/dynamic_library.hpp"

namespace backplane::discovery {

namespace {

using base::Json;

struct SystemRow {
    const char* system;
    const char* architecture;
    Binary binary;
};

Binary binary_like(Format format, uint32_t machine) {
    Binary binary;
    binary.format = format;
    binary.machine = machine;
    binary.bits = 64;
    return binary;
}

const std::array<SystemRow, 6>& system_rows() {
    static const std::array<SystemRow, 6> kRows{{{"linux", "x86-64", binary_like(Format::elf, 62)},
                                                 {"linux", "arm64", binary_like(Format::elf, 183)},
                                                 {"windows", "x86-64", binary_like(Format::pe, 0x8664)},
                                                 {"windows", "arm64", binary_like(Format::pe, 0xaa64)},
                                                 {"macos", "x86-64", binary_like(Format::macho, 0x01000007)},
                                                 {"macos", "arm64", binary_like(Format::macho, 0x0100000c)}}};
    return kRows;
}

const SystemRow* row_of(const Binary& binary) {
    const auto found = std::find_if(system_rows().begin(), system_rows().end(), [&](const SystemRow& kind) {
        return kind.binary.format == binary.format && kind.binary.machine == binary.machine;
    });
    return found == system_rows().end() ? nullptr : &*found;
}

Machine read_machine(const Json& json) {
    static constexpr std::array<std::string_view, 7> kMembers{"backplane_machine", "name",         "about",    "system",
                                                              "architecture",      "cpu_features", "libraries"};
    for (const std::string& name : json.names())
        if (std::find(kMembers.begin(), kMembers.end(), name) == kMembers.end())
            throw base::JsonError("'" + name + "' is no member of a machine");
    if (json.at("backplane_machine").get<int>() != 1) throw base::JsonError("its version is not 1");
    Machine machine;
    machine.name = json.at("name").text();
    machine.about = json.value("about", "").text();
    const std::string system = json.at("system").text();
    const std::string architecture = json.at("architecture").text();
    const auto kind = std::find_if(system_rows().begin(), system_rows().end(),
                                   [&](const SystemRow& k) { return system == k.system && architecture == k.architecture; });
    if (kind == system_rows().end())
        throw base::JsonError("there is no system '" + system + "' on '" + architecture +
                              "'; systems are linux, windows, macos, architectures x86-64, arm64");
    machine.binary = kind->binary;
    const std::vector<std::string> known = base::known_cpu_features();
    for (const Json& feature : json.at("cpu_features")) {
        if (std::find(known.begin(), known.end(), feature.text()) == known.end())
            throw base::JsonError("there is no CPU feature '" + feature.text() + "'");
        machine.cpu_features.insert(feature.text());
    }
    const Json& libraries = json.at("libraries");
    machine.libraries.all = !libraries.is_null();
    if (machine.libraries.all && !libraries.is_object()) throw base::JsonError("'libraries' is no object");
    for (size_t i = 0; i < libraries.size(); ++i)
        machine.libraries.versions[libraries.names()[i]] = (libraries.begin() + i)->text();
    return machine;
}

}  // namespace

Machine machine_from_json(std::string_view text, const std::string& from) {
    try {
        const Json json = Json::parse(text);
        if (!json.is_object() || !json.contains("backplane_machine"))
            throw base::JsonError("it has no member 'backplane_machine'");
        return read_machine(json);
    } catch (const base::JsonError& error) {
        throw Error(Code::invalid, "'" + from + "' is no machine that was written down: " + error.what() +
                                       "; `backplane machine record` writes such a file");
    }
}

Json to_json(const Machine& machine) {
    const SystemRow* kind = row_of(machine.binary);
    Json features = Json::array();
    for (const std::string& feature : machine.cpu_features) features.push_back(feature);
    Json libraries;
    if (machine.libraries.all) {
        libraries = Json::object();
        for (const auto& [name, version] : machine.libraries.versions) libraries[name] = version;
    }
    return {{"backplane_machine", 1},
            {"name", machine.name},
            {"about", machine.about},
            {"system", kind != nullptr ? kind->system : "unknown"},
            {"architecture", kind != nullptr ? kind->architecture : name_of_machine(machine.binary).c_str()},
            {"cpu_features", features},
            {"libraries", libraries}};
}

Machine this_machine(const std::string& name) {
    Machine machine;
    machine.name = name;
    machine.binary = host_binary();
    if (row_of(machine.binary) == nullptr)
        throw Error(Code::unsupported, "machines like this one (" + name_of_machine(machine.binary) +
                                           ") cannot be written down yet: x86-64 and arm64 can");
    machine.cpu_features = base::detect_cpu_features();
    Libraries here;
    for (const std::string& library : base::names_of_libraries())
        machine.libraries.versions[library] = here.newest_version(library, {});
    machine.libraries.all = !machine.libraries.versions.empty();
    return machine;
}

Host host_of(const Machine& machine, const std::filesystem::path& brought) {
    RecordedLibraries libraries = machine.libraries;
    libraries.brought = brought.lexically_normal();
    return {.cpu = UsableFeatures(machine.cpu_features),
            .binary = machine.binary,
            .sanitizer = false,
            .is_another = true,
            .libraries = std::make_shared<Libraries>(std::move(libraries))};
}

}  // namespace backplane::discovery
