#include "registry/given_options.hpp"

#include <algorithm>
#include <charconv>

#include "base/cpu_features.hpp"
#include "base/nearest.hpp"

namespace backplane::registry {

namespace {

constexpr const char* kHost = "host";

// Of all modules of one backend: the options that each states. One that states none may know any.
struct Known {
    std::vector<const StatedOption*> options;
    bool any = false;
};

std::map<std::string, Known> known_of(const std::vector<const Descriptor*>& modules) {
    std::map<std::string, Known> known;
    for (const Descriptor* d : modules) {
        if (d->backend.empty()) continue;
        Known& of = known[d->backend];
        of.any |= !d->options;
        if (!d->options) continue;
        for (const StatedOption& option : *d->options) of.options.push_back(&option);
    }
    return known;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

// Why the option cannot have this value; empty: it can.
std::string why_not(const StatedOption& option, const std::string& value) {
    if (value.empty()) return {};  // as good as not given
    if (!option.values.empty())
        return std::find(option.values.begin(), option.values.end(), value) != option.values.end()
                   ? ""
                   : "give one of " + joined(option.values) + base::did_you_mean(value, option.values);
    if (option.least == 0 && option.most == 0) return {};
    int64_t number = 0;
    const char* end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end && number >= option.least && number <= option.most) return {};
    return "give a number from " + std::to_string(option.least) + " to " + std::to_string(option.most);
}

// Whether a text names an option and not one whose name only begins or ends like it.
bool speaks_of(const std::string& text, const std::string& option) {
    const auto inside = [](char c) {
        return c == '.' || c == '-' || c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    };
    for (size_t at = text.find(option); at != std::string::npos; at = text.find(option, at + 1)) {
        const size_t end = at + option.size();
        if ((at == 0 || !inside(text[at - 1])) && (end == text.size() || !inside(text[end]))) return true;
    }
    return false;
}

// What follows "option NAME" in the sentence about it; empty: somebody takes it.
std::string why_unknown(const std::string& name, const std::string& value, const std::map<std::string, Known>& known) {
    static const StatedOption kCacheLimit{"cache-limit"}, kCpuMask{"cpu-mask"}, kFreshMemory{"fresh-memory", 0, 0, {"nan"}};
    std::vector<std::string> all{"host.cache-limit", "host.cpu-mask", "host.fresh-memory"}, backends;
    for (const auto& [backend, of] : known) {
        backends.push_back(backend);
        for (const StatedOption* option : of.options) all.push_back(backend + "." + option->name);
    }
    const std::string meant = base::did_you_mean(name, all);
    const size_t dot = name.find('.');
    if (dot == std::string::npos) return ": options are named BACKEND.NAME" + meant;
    const std::string backend = name.substr(0, dot);
    const auto of = known.find(backend);
    if (of == known.end() && backend != kHost)
        return ": there is no backend '" + backend + "' here" + (meant.empty() ? "; there are: " + joined(backends) : meant);
    if (of != known.end() && of->second.any) return {};
    const std::vector<const StatedOption*> options =
        of != known.end() ? of->second.options : std::vector<const StatedOption*>{&kCacheLimit, &kCpuMask, &kFreshMemory};
    std::string why;
    for (const StatedOption* option : options) {
        if (name.substr(dot + 1) != option->name) continue;
        why = why_not(*option, value);
        if (why.empty()) return {};  // of several modules of the backend one takes it
    }
    return why.empty() ? ": " + backend + " has no such option" + meant : " is '" + value + "'; " + why;
}

}  // namespace

void GivenOptions::add(const std::string& name, std::string text, bool strict) {
    const auto same = [&](const OptionProblem& p) { return p.name == name; };
    if (std::any_of(problems_.begin(), problems_.end(), same)) return;
    if (strict) throw OptionError(text);
    const auto given = options_.find(name);
    problems_.push_back({name, given == options_.end() ? cpu_mask_ : given->second, std::move(text)});
}

void GivenOptions::judge_mask() {
    if (cpu_mask_.empty()) return;
    const std::vector<std::string> known = base::known_cpu_features();
    for (size_t at = 0; at < cpu_mask_.size();) {
        const size_t end = std::min(cpu_mask_.find_first_of(", ", at), cpu_mask_.size());
        const std::string word = cpu_mask_.substr(at, end - at);
        if (!word.empty() && std::find(known.begin(), known.end(), word) == known.end())
            add("host.cpu-mask",
                "the CPU mask '" + cpu_mask_ + "' names '" + word + "', which is no feature of any CPU known here" +
                    base::did_you_mean(word, known),
                mask_strict_);
        at = end + 1;
    }
}

void GivenOptions::judge(const std::vector<const Descriptor*>& modules, bool complete) {
    problems_.clear();
    judge_mask();
    const std::map<std::string, Known> known = known_of(modules);
    if (known.empty() || !complete) return;  // that there are no modules is what has to be said then
    for (const auto& [name, value] : options_) {
        const std::string why = why_unknown(name, value, known);
        if (!why.empty()) add(name, "option " + name + why, strict_);
    }
}

void GivenOptions::refused(const std::string& reason) {
    for (const auto& [name, value] : options_)
        if (speaks_of(reason, name)) add(name, reason, strict_);
}

}  // namespace backplane::registry
