#include "batch/inputs.hpp"

#include <algorithm>
#include <cstdio>

#include "backplane/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"

namespace backplane::batch {

namespace {

std::string ending_of(const std::filesystem::path& file) {
    std::string ending = file.extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return ending;
}

constexpr uint64_t kMost = uint64_t{1} << 30;

Error too_long(const std::string& list) {
    return {Code::invalid, "the list '" + list + "' is longer than 1 GiB: is it one?"};
}

std::string read_list(const std::string& list) {
    std::string text;
    if (list == "-") {
        char piece[65536];
        for (size_t got = 0; (got = std::fread(piece, 1, sizeof piece, stdin)) > 0;) {
            text.append(piece, got);
            if (text.size() > kMost) throw too_long(list);
        }
        return text;
    }
    const base::File file(base::path_of(list));
    if (file.status().size > kMost) throw too_long(list);
    text.resize(file.status().size);
    text.resize(file.read_at(0, std::as_writable_bytes(std::span(text))));
    return text;
}

Input listed(const std::string& line, const std::string& where) {
    if (line.front() != '{') return {line, 0};
    try {
        const base::Json json = base::Json::parse(line);
        const base::Json* file = json.find("audio_filepath");
        if (file == nullptr) file = json.find("file");
        if (file == nullptr) throw base::JsonError("there is neither \"audio_filepath\" nor \"file\" in it");
        const base::Json* duration = json.find("duration");
        return {file->get<std::string>(), duration == nullptr ? 0 : duration->get<double>()};
    } catch (const base::JsonError& error) {
        throw Error(Code::corrupt, where + ": " + error.what());
    }
}

}  // namespace

bool is_folder(const std::string& name) {
    return base::status_of(base::path_of(name)).kind == base::FileStatus::Kind::folder;
}

std::vector<Input> named_inputs(const std::vector<std::string>& names, const Kind& kind) {
    std::vector<Input> inputs;
    for (const std::string& name : names) {
        if (name == "-" || !is_folder(name)) {
            inputs.push_back({name, 0});
            continue;
        }
        std::string problem;
        const size_t before = inputs.size();
        for (const auto& file : base::names_in(base::path_of(name), problem, 10'000'000)) {
            // What begins with a point is somebody's own: also what a command is just writing.
            const auto path = base::path_of(name) / file.filename();
            if (file.filename().native().front() != '.' &&
                std::find(kind.endings.begin(), kind.endings.end(), ending_of(file)) != kind.endings.end() &&
                base::status_of(path).kind != base::FileStatus::Kind::folder)
                inputs.push_back({path.string(), 0});
        }
        if (!problem.empty()) throw Error(Code::denied, "cannot read the folder '" + name + "': " + problem);
        if (inputs.size() > before) continue;
        if (names.size() == 1)
            throw Error(Code::not_found,
                        "there is no " + kind.what + " in the folder '" + name + "': name a folder of " + kind.for_example);
        inputs.push_back({name, 0});  // nothing can be read of it, which is said as of any other file
    }
    return inputs;
}

std::vector<Input> listed_inputs(const std::string& list) {
    const std::string text = read_list(list);
    const std::filesystem::path folder = list == "-" ? std::filesystem::path() : base::path_of(list).parent_path();
    std::vector<Input> inputs;
    size_t number = 0;
    for (size_t start = 0; start < text.size();) {
        const size_t end = std::min(text.find('\n', start), text.size());
        std::string line = text.substr(start, end - start);
        start = end + 1;
        ++number;
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
        if (line.empty() || line.front() == '#') continue;
        if (line.find('\0') != std::string::npos)
            throw Error(Code::corrupt,
                        "line " + std::to_string(number) + " of '" + list + "' has a zero byte: it is no list of files");
        Input input = listed(line, "line " + std::to_string(number) + " of '" + list + "'");
        input.name = (folder / base::path_of(input.name)).string();
        inputs.push_back(std::move(input));
    }
    if (inputs.empty()) throw Error(Code::corrupt, "there is no file in the list '" + list + "'");
    return inputs;
}

}  // namespace backplane::batch
