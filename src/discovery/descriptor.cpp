// The descriptor: prefix and JSON of note.h. Everything in it is a claim of a stranger.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "backplane/note.h"
#include "discovery/descriptor_values.hpp"
#include "discovery/inspect.hpp"

namespace backplane::discovery {

namespace {

struct Prefix {
    std::array<char, 4> magic;
    uint32_t size, abi, flags, json_size, reserved;
};
static_assert(sizeof(Prefix) == BP_NOTE_PREFIX_SIZE);

constexpr size_t kMostText = 256;
constexpr size_t kMostItems = 64;

// A descriptor's mistake: the field and what it should have been.
struct Mistake {
    std::string text;
};

bool printable(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string as_text(Value value, std::string_view field) {
    if (value.kind() != ValueKind::text) throw Mistake{"'" + std::string(field) + "' is not a text"};
    const std::string& text = value.text();
    if (text.size() > kMostText || !printable(text))
        throw Mistake{"'" + std::string(field) + "' is too long or not printable"};
    return text;
}

std::string text_of(Value object, const char* field) {
    const auto found = object.find(field);
    return found ? as_text(*found, field) : std::string();
}

std::vector<Value> list_in(Value object, const char* field) {
    const auto found = object.find(field);
    if (!found) return {};
    std::vector<Value> items = found->items();
    if (found->kind() != ValueKind::list || items.size() > kMostItems)
        throw Mistake{"'" + std::string(field) + "' is not a list of at most 64"};
    return items;
}

std::vector<std::string> texts_in(Value object, const char* field) {
    const std::vector<Value> items = list_in(object, field);
    std::vector<std::string> texts;
    texts.reserve(items.size());
    for (const Value item : items) texts.push_back(as_text(item, field));
    return texts;
}

std::vector<Need> needs_in(Value object) {
    std::vector<Need> needs;
    for (const Value item : list_in(object, "needs")) {
        Need need{"", "required", ""};
        if (item.kind() == ValueKind::object) {
            need.soname = text_of(item, "soname");
            if (const std::string priority = text_of(item, "priority"); !priority.empty()) need.priority = priority;
            need.least = text_of(item, "least");
        } else {
            need.soname = as_text(item, "needs");
        }
        if (need.soname.empty()) throw Mistake{"an item of 'needs' names no library"};
        needs.push_back(std::move(need));
    }
    return needs;
}

bool is_backend_name(std::string_view name) {
    return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
}

// What a filter of devices, an option or a person means by another thing than a backend. "cpu" is a kind of device and a backend: which
// devices it may stand for is the filter's to see to.
constexpr std::array<std::string_view, 22> kReserved{
    "accelerator", "all",  "any",  "auto", "best", "default", "discrete", "first",   "gpu",  "host",   "identity",
    "integrated",  "kind", "name", "none", "pci",  "same",    "software", "unknown", "uuid", "vendor", "virtual"};

int64_t number_in(Value object, const char* field) {
    const auto found = object.find(field);
    if (!found) return 0;
    if (!found->is_whole_number()) throw Mistake{"'" + std::string(field) + "' of an option is not a whole number"};
    return found->number();
}

std::optional<std::vector<StatedOption>> options_in(Value object) {
    const auto found = object.find("options");
    if (!found) return std::nullopt;
    std::map<std::string_view, Value> by_name;  // of two of one name the last counts, as everywhere
    if (found->kind() == ValueKind::object)
        for (const Value item : found->items()) by_name.insert_or_assign(item.name(), item);
    if (found->kind() != ValueKind::object || by_name.size() > kMostItems)
        throw Mistake{"'options' is not an object of at most 64"};
    std::vector<StatedOption> options;
    for (const auto& [name, facts] : by_name) {
        if (facts.kind() != ValueKind::object) throw Mistake{"an item of 'options' is not an object"};
        if (name.size() > kMostText || !printable(name)) throw Mistake{"'options' is too long or not printable"};
        options.push_back(
            {std::string(name), number_in(facts, "least"), number_in(facts, "most"), texts_in(facts, "values")});
    }
    return options;
}

// Which file a sidecar speaks of, so that one left beside another file is told.
void read_file(Value object, Descriptor& d) {
    const auto file = object.find("file");
    if (!file) return;
    if (file->kind() != ValueKind::object) throw Mistake{"'file' is not an object"};
    if (const auto size = file->find("size")) {
        if (size->kind() != ValueKind::natural) throw Mistake{"'size' of 'file' is not a number of bytes"};
        d.file_bytes = static_cast<uint64_t>(size->number());
    }
    d.file_build_id = text_of(*file, "build_id");
}

void read_fields(Value json, Descriptor& d) {
    if (json.kind() != ValueKind::object) throw Mistake{"it is not a JSON object"};
    if (json.find("interface")) d.interface_name = text_of(json, "interface");
    if (!is_backend_name(d.interface_name)) throw Mistake{"'interface' must be 1 to 32 of a-z, 0-9, - and _"};
    read_file(json, d);
    if (d.interface_name != kOwnInterface) return;  // what else it says is for those who know that interface
    d.backend = text_of(json, "backend");
    if (!is_backend_name(d.backend)) throw Mistake{"'backend' must be 1 to 32 of a-z, 0-9, - and _"};
    if (is_reserved(d.backend))
        throw Mistake{"'backend' is \"" + d.backend +
                      "\", a word that filters of devices use: it must have a name of its own"};
    d.version = text_of(json, "version");
    d.build = text_of(json, "build");
    d.licence = text_of(json, "licence");
    d.cpu = texts_in(json, "cpu");
    d.needs = needs_in(json);
    if (const auto priority = json.find("priority")) {
        if (!priority->is_whole_number()) throw Mistake{"'priority' is not a whole number"};
        d.priority = std::clamp<int64_t>(priority->number(), -1000000, 1000000);
    }
    const std::string probe = text_of(json, "probe");
    if (!probe.empty() && probe != "none" && probe != "child") throw Mistake{"'probe' is neither \"none\" nor \"child\""};
    d.probe_in_child = probe != "none";
    d.options = options_in(json);
    static_cast<void>(texts_in(json, "holds"));  // for the program that tries it
    if (const auto watch = json.find("watch")) {
        if (watch->kind() != ValueKind::object) throw Mistake{"'watch' is not an object"};
        d.watch_files = texts_in(*watch, "files");
        d.watch_env = texts_in(*watch, "env");
    }
}

void bad(Inspection& into, const std::string& text) {
    into.problem = ReasonCode::bad_descriptor;
    into.text = "its descriptor is not valid: " + text;
}

std::string version_text(uint32_t abi) { return std::to_string(abi >> 16) + "." + std::to_string(abi & 0xffff); }

}  // namespace

bool is_reserved(std::string_view backend) {
    return std::find(kReserved.begin(), kReserved.end(), backend) != kReserved.end();
}

void read_descriptor_json(std::string_view json, uint32_t abi, uint32_t flags, Inspection& into) {
    Descriptor& d = into.descriptor.emplace();
    d.abi = abi;
    d.flags = flags;
    if (abi >> 16 != BP_ABI_MAJOR) {
        into.problem = ReasonCode::abi_mismatch;
        into.text = "speaks module ABI " + version_text(abi) + ", this host speaks " + version_text(BP_ABI);
        return;
    }
    if (json.size() > BP_NOTE_JSON_MOST) return bad(into, "its JSON is over 4096 bytes");
    // A parser that recurses could be driven out of its stack; 4 KiB of brackets would not do it, but say so here.
    if (std::count_if(json.begin(), json.end(), [](char c) { return c == '[' || c == '{'; }) > 256)
        return bad(into, "its JSON is nested too deeply");
    d.json = json;
    const std::optional<Values> values = Values::parse(json);
    if (!values) return bad(into, "it is not JSON");
    try {
        read_fields(values->whole(), d);
    } catch (const Mistake& mistake) {
        bad(into, mistake.text);
    }
}

void read_descriptor(std::span<const std::byte> bytes, Inspection& into) {
    Prefix prefix{};
    if (bytes.size() < sizeof prefix) return bad(into, "it is shorter than its own prefix");
    std::memcpy(&prefix, bytes.data(), sizeof prefix);
    if (std::string_view(prefix.magic.data(), 4) != "BPN1") return bad(into, "it does not start with BPN1");
    if (prefix.abi >> 16 != BP_ABI_MAJOR) return read_descriptor_json({}, prefix.abi, prefix.flags, into);
    if (prefix.size < sizeof prefix || prefix.size > bytes.size() || prefix.json_size > bytes.size() - prefix.size)
        return bad(into, "the sizes in its prefix do not fit");
    const auto* text = reinterpret_cast<const char*>(bytes.data()) + prefix.size;
    read_descriptor_json({text, prefix.json_size}, prefix.abi, prefix.flags, into);
}

}  // namespace backplane::discovery
