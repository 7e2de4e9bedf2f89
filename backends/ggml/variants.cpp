#include "variants.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "abi.hpp"
#include "backplane/sdk.hpp"
#include "sidecar.hpp"

namespace backplane::ggml {

namespace {

constexpr std::string_view kFirstLine = "ggml modules 1";
constexpr std::string_view kLastLine = "end";

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

std::string identity(const fs::path& file) {
    const FileFacts f = facts_of(file);
    return std::to_string(f.volume) + '/' + std::to_string(f.number) + '/' + std::to_string(f.size) + '/' +
           std::to_string(f.modified_ns);
}

void sort(std::vector<Variant>& variants) {
    std::stable_sort(variants.begin(), variants.end(), [](const Variant& a, const Variant& b) { return a.score > b.score; });
}

}  // namespace

std::string forbidden(const std::vector<std::string>& features, const std::string& mask) {
    const std::string list = ',' + lower(mask) + ',';
    for (const std::string& feature : features)
        if (list.find(',' + feature + ',') != std::string::npos) return feature;
    return {};
}

Variants::Variants(const fs::path& folder, const fs::path& base, const std::string& cpu_mask, const Notebook& notebook,
                   std::vector<std::string>& notes)
    : folder_(folder), base_(base), notes_(notes) {
    find_modules();
    const std::string page = key();
    if (recall(notebook.read(page))) return;
    bool opened = false;
    for (auto& [kind, variants] : kinds_) {
        for (Variant& v : variants) {
            if (by_sidecar(v, cpu_mask)) continue;
            opened = true;
            try {
                ask(v);
            } catch (const std::exception& e) {
                leave_out(v.file, e.what());
            }
        }
        std::erase_if(variants, [](const Variant& v) { return v.score <= 0; });
        sort(variants);
    }
    if (opened) notebook.write(page, memory());
}

void Variants::find_modules() {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
        const std::string name = entry.path().filename().string();
        if (!is_module_name(name)) continue;
        const fs::path file = fs::canonical(entry.path(), error);
        if (error)
            leave_out(entry.path(), error.message());
        else
            kinds_[kind_of_module(name)].push_back({file, {}, 0, false, false});
    }
    for (auto& [kind, variants] : kinds_)
        std::sort(variants.begin(), variants.end(), [](const Variant& a, const Variant& b) { return a.file < b.file; });
}

// Everything that scores depend on.
std::string Variants::key() const {
    std::string text(kFirstLine);
    text += '\n' + processor_text() + '\n' + base_.string() + ' ' + identity(base_) + '\n';
    for (const auto& [kind, variants] : kinds_)
        for (const Variant& v : variants) {
            fs::path sidecar = v.file;
            sidecar += ".backplane.json";
            text += v.file.string() + ' ' + identity(v.file) + ' ' + identity(sidecar) + '\n';
        }
    return text;
}

std::string Variants::memory() const {
    std::string text(kFirstLine);
    text += '\n';
    for (const auto& [kind, variants] : kinds_)
        for (const Variant& v : variants) text += std::to_string(v.score) + ' ' + v.file.filename().string() + '\n';
    return text + std::string(kLastLine) + '\n';
}

// A text that is not whole, or speaks of files that are not there, counts as none.
bool Variants::recall(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    std::map<std::string, int> scores;
    if (!std::getline(lines, line) || line != kFirstLine) return false;
    while (std::getline(lines, line) && line != kLastLine) {
        std::istringstream fields(line);
        int score = 0;
        std::string name;
        if (!(fields >> score) || fields.get() != ' ' || !std::getline(fields, name)) return false;
        scores[name] = score;
    }
    if (line != kLastLine) return false;
    for (auto& [kind, variants] : kinds_) {
        for (Variant& v : variants) {
            const auto found = scores.find(v.file.filename().string());
            v.score = found != scores.end() ? found->second : 0;
        }
        std::erase_if(variants, [](const Variant& v) { return v.score <= 0; });
        sort(variants);
    }
    return true;
}

bool Variants::by_sidecar(Variant& v, const std::string& cpu_mask) {
    std::string problem;
    const std::optional<Sidecar> sidecar = read_sidecar(v.file, problem);
    if (!problem.empty()) notes_.push_back(problem);
    if (!sidecar || sidecar->processor.empty() || sidecar->processor != processor_text()) return false;
    if (const std::string why = why_stale_by_size(*sidecar, v.file, base_); !why.empty()) {
        notes_.push_back("the sidecar of " + v.file.filename().string() + " is not believed: " + why);
        return false;
    }
    v.score = sidecar->score;
    v.sidecar = true;
    if (const std::string feature = forbidden(sidecar->cpu, cpu_mask); !feature.empty()) {
        leave_out(v.file, "it uses " + feature + ", which host.cpu-mask forbids");
        v.score = 0;
    }
    return true;
}

void Variants::ask(Variant& v) {
    if (const std::string why = why_unloadable(v.file); !why.empty()) throw sdk::Failure(BP_CORRUPT, why);
    v.score = 0;
    v.library = Library(v.file);
    if (v.library.symbol("ggml_backend_init") == nullptr)
        throw sdk::Failure(BP_INVALID, "it is no backend module: it has no ggml_backend_init");
    const auto score = reinterpret_cast<ModuleScore>(v.library.symbol("ggml_backend_score"));
    v.score = score != nullptr ? score() : 1;
    v.asked = true;
}

std::vector<std::string> Variants::kinds() const {
    std::vector<std::string> names;
    for (const auto& [kind, variants] : kinds_) names.push_back(kind);
    return names;
}

// What was remembered or written down may be wrong: the module is asked itself before anything else of it runs, and another one is the best
// when it answers otherwise.
Variant* Variants::best(const std::string& kind) {
    std::vector<Variant>& variants = kinds_[kind];
    while (!variants.empty()) {
        Variant& v = variants.front();
        if (v.asked) return &v;
        const int known = v.score;
        try {
            ask(v);
        } catch (const std::exception& e) {
            leave_out(v.file, e.what());
            variants.erase(variants.begin());
            continue;
        }
        if (v.score == known) return &v;
        notes_.push_back(v.file.filename().string() + ": its score is " + std::to_string(v.score) + ", not " +
                         std::to_string(known) + (v.sidecar ? " as its sidecar says" : " as remembered"));
        if (v.score <= 0)
            variants.erase(variants.begin());
        else
            sort(variants);
    }
    return nullptr;
}

void Variants::drop_best(const std::string& kind) {
    std::vector<Variant>& variants = kinds_[kind];
    if (!variants.empty()) variants.erase(variants.begin());
}

void Variants::leave_out(const fs::path& file, const std::string& why) {
    notes_.push_back(file.filename().string() + ": " + why);
}

}  // namespace backplane::ggml
