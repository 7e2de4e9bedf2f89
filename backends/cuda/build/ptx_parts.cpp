// ptx_parts FILE.ptx FOLDER: the kernels of a text of PTX, each with what all of them share, as FOLDER/ENTRY.ptx, so that a driver that has to
// compile one kernel compiles no other (kernels.cpp). PTX ISA: an entry begins with `.visible .entry NAME` at the start of a line and ends with the
// brace that closes its first; what lies outside of entries (version, constants, functions) is everybody's. A tool of the build.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view kEntry = ".visible .entry ";

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "ptx_parts: %s\n", why.c_str());
    std::exit(1);
}

struct Parts {
    std::string shared;
    std::map<std::string, std::string> entries;
};

Parts parts_of(std::string_view text) {
    Parts parts;
    std::string* to = &parts.shared;
    std::ptrdiff_t open = 0;  // braces, within an entry
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
        if (line.starts_with(kEntry)) {
            const std::string_view rest = line.substr(kEntry.size());
            to = &parts.entries[std::string(rest.substr(0, rest.find('(')))];
        }
        to->append(line) += '\n';
        open += std::count(line.begin(), line.end(), '{') - std::count(line.begin(), line.end(), '}');
        if (open == 0 && line.ends_with('}')) to = &parts.shared;
    }
    return parts;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) fail("usage: ptx_parts FILE.ptx FOLDER");
    std::ifstream in(argv[1], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) fail(std::string(argv[1]) + " cannot be read");
    const Parts parts = parts_of(text);
    if (parts.entries.empty()) fail(std::string(argv[1]) + " has no kernel");
    for (const auto& [name, body] : parts.entries) {
        const std::string path = std::string(argv[2]) + "/" + name + ".ptx";
        std::ofstream out(path, std::ios::binary);
        out << parts.shared << body;
        if (!out.flush()) fail(path + " cannot be written");
    }
}
