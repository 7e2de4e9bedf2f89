#include "formats/json_file.hpp"

#include "backplane/error.hpp"
#include "base/file.hpp"
#include "gguf/printable.hpp"

namespace backplane::formats {

base::Json parse_json(std::string_view text, const std::string& file) {
    if (text.size() > kMostJsonBytes)
        throw Error(Code::unsupported, "cannot read '" + file + "': JSON of " + std::to_string(text.size()) +
                                           " bytes; at most " + std::to_string(kMostJsonBytes) + " are read");
    try {
        return base::Json::parse(text);
    } catch (const base::JsonError& e) {
        throw Error(Code::corrupt, "cannot read '" + file + "': " + printable(e.what()));
    }
}

base::Json read_json(const std::filesystem::path& path) {
    const MappedFile file(path);
    return parse_json(text_of(file), path.string());
}

std::filesystem::path beside(const std::filesystem::path& document, const std::string& name) {
    if (name.empty() || name == "." || name == ".." ||
        name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos || base::path_of(name).has_root_name())
        throw Error(Code::corrupt,
                    "cannot read '" + document.string() + "': " + printable(name) + " is not the name of a file beside it");
    return document.parent_path() / base::path_of(name);
}

}  // namespace backplane::formats
