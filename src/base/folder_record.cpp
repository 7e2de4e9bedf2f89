#include "base/folder_record.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/user_folder.hpp"

namespace backplane::base {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMostBytes = 1 << 20;
constexpr std::string_view kFormat = "backplane-folder 5 ";

// Names and reasons end with the line.
std::string on_one_line(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    return text;
}

std::string_view text_until(std::string_view& text, char separator) {
    const size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

template <class Number>
bool take_number(std::string_view& line, Number& number) {
    const std::string_view word = text_until(line, ' ');
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
    return problem == std::errc() && end == word.data() + word.size() && !word.empty();
}
bool take_number(std::string_view& line, bool& flag) {
    int number = 0;
    if (!take_number<int>(line, number) || number < 0 || number > 1) return false;
    flag = number != 0;
    return true;
}

}  // namespace

// Lines: the header, the folder, then of each file the numbers in their order, "NAME<tab>REASON", and "<tab>PATH" of each library.
// Read at each start, so by from_chars.
std::optional<FolderRecord> FolderRecord::read(const fs::path& from) {
    const std::optional<std::string> text = read_own_file(from, kMostBytes);
    if (!text || !text->starts_with(kFormat)) return std::nullopt;
    FolderRecord record;
    std::string_view lines = std::string_view(*text).substr(kFormat.size());
    record.header = text_until(lines, '\n');
    record.folder = path_of(text_until(lines, '\n'));
    while (!lines.empty()) {
        std::string_view line = text_until(lines, '\n');
        FileRecord f;
        const bool numbers = take_number(line, f.size) && take_number(line, f.volume) && take_number(line, f.number) &&
                             take_number(line, f.modified_ns) && take_number(line, f.changed_ns) &&
                             take_number(line, f.score) && take_number(line, f.scored) && take_number(line, f.devices) &&
                             take_number(line, f.absent) && take_number(line, f.fits) && take_number(line, f.since) &&
                             take_number(line, f.until) && take_number(line, f.drives) && take_number(line, f.around);
        if (!numbers) continue;
        const std::string_view name = text_until(line, '\t');
        f.reason = text_until(line, '\t');
        f.uses = line;
        record.files.insert_or_assign(record.files.end(), std::string(name), std::move(f));
    }
    return record;
}

std::string FolderRecord::write(const fs::path& to) const {
    std::ostringstream text;
    const std::u8string name_of_folder = folder.u8string();
    text << kFormat << header << '\n' << on_one_line({name_of_folder.begin(), name_of_folder.end()}) << '\n';
    for (const auto& [name, f] : files)
        if (name == on_one_line(name)) {
            text << f.size << ' ' << f.volume << ' ' << f.number << ' ' << f.modified_ns << ' ' << f.changed_ns << ' '
                 << f.score << ' ' << f.scored << ' ' << f.devices << ' ' << f.absent << ' ' << f.fits << ' ' << f.since
                 << ' ' << f.until << ' ' << f.drives << ' ' << f.around << ' ' << name << '\t' << on_one_line(f.reason)
                 << '\t' << f.uses << '\n';
        }
    return write_whole_file(to, text.str());
}

fs::path place_of_folder_records() {
    if (const auto given = environment("BACKPLANE_STATE_DIR")) return fs::path(*given) / kFolderRecords;
    const fs::path cache = user_cache_folder();
    return cache.empty() ? fs::path() : cache / "backplane" / kFolderRecords;
}

}  // namespace backplane::base
