#include "sidecar.hpp"

#include <algorithm>

#include "backplane/sdk.hpp"
#include "base/json.hpp"

namespace backplane::ggml {

namespace {

using base::Json;

constexpr size_t kMostBytes = 4096;
constexpr size_t kMostBrackets = 256;
constexpr size_t kMostFeatures = 64;
constexpr int64_t kMostScore = 1 << 30;
constexpr std::string_view kEnding = ".backplane.json";

[[noreturn]] void bad(const std::string& what) { throw sdk::Failure(BP_INVALID, what); }

std::string text_in(const Json& object, const char* field, bool needed = true) {
    const Json* const found = object.find(field);
    if (found == nullptr && !needed) return {};
    if (found == nullptr || !found->is_string()) bad("it has no text '" + std::string(field) + "'");
    const std::string& text = found->text();
    const bool plain =
        std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
    if (text.size() > 256 || !plain) bad("its '" + std::string(field) + "' is too long or not printable");
    return text;
}

uint64_t file_in(const Json& object, const char* field, std::string& build_id) {
    const Json* const file = object.find(field);
    if (file == nullptr || !file->is_object()) bad("it does not say its '" + std::string(field) + "'");
    const Json* const size = file->find("size");
    if (size == nullptr || !size->is_natural()) bad("its '" + std::string(field) + "' has no size");
    build_id = text_in(*file, "build_id");
    if (build_id.empty()) bad("its '" + std::string(field) + "' has no build id: it could not be told from another file");
    return size->get<uint64_t>();
}

Json parsed(const std::string& text) try { return Json::parse(text); } catch (const base::JsonError& error) {
    bad(std::string("it is not JSON: ") + error.what());
}

std::string why_other(const char* what, uint64_t size, uint64_t is) {
    return "it was written for " + std::string(what) + " of " + std::to_string(size) + " bytes, this one has " +
           std::to_string(is);
}

}  // namespace

Sidecar parse_sidecar(const std::string& text) {
    if (text.size() > kMostBytes) bad("it has more than " + std::to_string(kMostBytes) + " bytes");
    const auto brackets = std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '{'; });
    if (static_cast<size_t>(brackets) > kMostBrackets) bad("it is nested too deeply");
    const Json json = parsed(text);
    if (!json.is_object()) bad("it is not a JSON object");
    if (text_in(json, "interface") != "ggml") bad("it is of another interface");
    Sidecar s;
    s.kind = text_in(json, "kind");
    s.version = text_in(json, "version", false);
    s.processor = text_in(json, "processor");
    s.probe_in_child = text_in(json, "probe", false) != "none";
    const Json* const score = json.find("score");
    if (score == nullptr || !score->is_whole() || *score < 0 || *score > kMostScore) bad("its 'score' is no score");
    s.score = score->get<int>();
    if (const Json* const cpu = json.find("cpu"); cpu != nullptr) {
        if (!cpu->is_array() || cpu->size() > kMostFeatures) bad("its 'cpu' is not a list of at most 64");
        for (const Json& feature : *cpu) {
            if (!feature.is_string() || feature.text().size() > 64) bad("its 'cpu' holds no feature");
            s.cpu.push_back(feature.text());
        }
    }
    s.file_size = file_in(json, "file", s.file_build_id);
    s.base_size = file_in(json, "base", s.base_build_id);
    return s;
}

std::string text_of(const Sidecar& s) {
    Json json{{"interface", "ggml"}, {"kind", s.kind}, {"version", s.version}};
    if (!s.cpu.empty()) json["cpu"] = s.cpu;
    json["score"] = s.score;
    json["processor"] = s.processor;
    json["probe"] = s.probe_in_child ? "child" : "none";
    json["base"] = {{"size", s.base_size}, {"build_id", s.base_build_id}};
    return json.dump();
}

std::optional<Sidecar> read_sidecar(const fs::path& module, std::string& problem) {
    fs::path file = module;
    file += kEnding;
    if (facts_of(file).size == 0) {
        std::error_code error;
        if (fs::exists(fs::symlink_status(file, error)))
            problem = file.filename().string() + " is no file with anything in it";
        return std::nullopt;
    }
    try {
        return parse_sidecar(read_small_file(file, kMostBytes));
    } catch (const std::exception& e) {
        problem = file.filename().string() + " is not believed: " + e.what();
        return std::nullopt;
    }
}

std::string why_stale_by_size(const Sidecar& s, const fs::path& module, const fs::path& base) {
    if (const uint64_t size = facts_of(module).size; size != s.file_size) return why_other("a file", s.file_size, size);
    if (const uint64_t size = facts_of(base).size; size != s.base_size)
        return why_other("a libggml-base", s.base_size, size);
    return {};
}

std::string why_stale(const Sidecar& s, const fs::path& module, const fs::path& base) {
    if (std::string why = why_stale_by_size(s, module, base); !why.empty()) return why;
    if (build_id_of(module) != s.file_build_id) return "it was written for another build of the file";
    if (build_id_of(base) != s.base_build_id) return "it was written for another build of libggml-base";
    return {};
}

}  // namespace backplane::ggml
