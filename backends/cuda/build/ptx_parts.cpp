// ptx_parts FILE.ptx TEXTS INDEX: the kernels of a text of PTX, each whole with what it uses of what lies outside of them, so that a driver that has to
// compile one kernel compiles no other (kernels.cpp): behind each other in TEXTS, where a line of INDEX says of each its name, where it begins and where it
// ends; with numbers by distance (numbers.hpp). PTX ISA: an entry begins with `.visible .entry NAME` at the start of a line, a
// function with `.func`; both end with the brace that closes their first, a declaration of a function with a semicolon. A tool of the build.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "numbers.hpp"

namespace {

constexpr std::string_view kEntry = ".visible .entry ";

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "ptx_parts: %s\n", why.c_str());
    std::exit(1);
}

struct Piece {
    std::string name;  // of a function; "": everybody's
    std::string text;
};
struct Parts {
    std::vector<Piece> shared;
    std::map<std::string, std::string> entries;
};

// ".func  (.param .b32 func_retval0) NAME(" or ".func NAME(", or the same with what follows on later lines.
std::string name_of_function(std::string_view line) {
    size_t at = line.find('_');
    if (const size_t result = line.find(')'); line.find('(') < at && result != std::string_view::npos) at = result + 1;
    line.remove_prefix(std::min(line.find_first_not_of(' ', at), line.size()));
    return std::string(line.substr(0, line.find_first_of(" (;")));
}

Parts parts_of(std::string_view text) {
    Parts parts;
    parts.shared.emplace_back();
    std::string* to = &parts.shared.back().text;
    bool function = false;
    std::ptrdiff_t open = 0;  // braces
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
        if (line.starts_with("\t// .globl") || line.starts_with("//")) continue;
        if (line.starts_with(kEntry)) {
            const std::string_view rest = line.substr(kEntry.size());
            to = &parts.entries[std::string(rest.substr(0, rest.find('(')))];
        } else if (line.starts_with(".func")) {
            parts.shared.push_back({name_of_function(line), {}});
            to = &parts.shared.back().text;
            function = true;
        }
        to->append(line) += '\n';
        open += std::count(line.begin(), line.end(), '{') - std::count(line.begin(), line.end(), '}');
        const bool declared = function && line.ends_with(';') && line.front() != '\t';
        if (open != 0 || !(line.ends_with('}') || declared)) continue;
        parts.shared.emplace_back();
        to = &parts.shared.back().text;
        function = false;
    }
    return parts;
}

// What a kernel names, and what that names.
std::string with_what_it_uses(const Parts& parts, const std::string& body) {
    std::vector<bool> used(parts.shared.size());
    std::vector<const std::string*> open = {&body};
    while (!open.empty()) {
        const std::string& text = *open.back();
        open.pop_back();
        for (size_t i = 0; i < parts.shared.size(); ++i)
            if (const Piece& piece = parts.shared[i];
                !used[i] && !piece.name.empty() && text.find(piece.name) != std::string::npos) {
                used[i] = true;
                open.push_back(&piece.text);
            }
    }
    std::string whole;
    for (size_t i = 0; i < parts.shared.size(); ++i)
        if (used[i] || parts.shared[i].name.empty()) whole += parts.shared[i].text;
    return whole + body;
}

void write(const std::string& path, const std::string& text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (!out.flush()) fail(path + " cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) fail("usage: ptx_parts FILE.ptx TEXTS INDEX");
    std::ifstream in(argv[1], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) fail(std::string(argv[1]) + " cannot be read");
    const Parts parts = parts_of(text);
    if (parts.entries.empty()) fail(std::string(argv[1]) + " has no kernel");
    std::string all, index;
    for (const auto& [name, body] : parts.entries) {
        const std::string kernel = with_what_it_uses(parts, body);
        const std::string whole = backplane::cuda::by_distance(kernel);
        if (backplane::cuda::by_number(whole) != kernel) fail("numbers of " + name + " do not come back (numbers.hpp)");
        index += name + ' ' + std::to_string(all.size()) + ' ' + std::to_string(all.size() + whole.size()) + '\n';
        all += whole;
    }
    write(argv[2], all);
    write(argv[3], index);
}
