// warpgroup_texts FILE.ptx OUTPUT.inc BASE COLUMNS,STAGES,SHARED...: the kernels BASE_0, BASE_1, ... of a text of PTX, of these cuts, as an OpenCL driver
// takes them (warpgroups.hpp): rows of WarpgroupText. A tool of the build.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "warpgroup_texts: %s\n", why.c_str());
    std::exit(1);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

// An entry begins with its name and ends with the brace that closes its first.
std::string entry_of(const std::string& text, const std::string& name) {
    const size_t first = text.find(".visible .entry " + name + "(");
    if (first == std::string::npos) fail("there is no kernel " + name);
    size_t at = text.find('{', first);
    for (int open = 0; at < text.size(); ++at) {
        open += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
        if (open == 0) return text.substr(first, at + 1 - first);
    }
    fail(name + " does not end");
}

// Without comments, and without what begins a line.
std::string shortened(const std::string& text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line(&text[at], end - at);
        line = line.substr(0, line.find("//"));
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        while (line.ends_with(' ') || line.ends_with('\t')) line.remove_suffix(1);
        if (!line.empty()) (out += line) += '\n';
        at = end + 1;
    }
    return out;
}

// As the backend calls it: a buffer for the words and which is the first, then of each operand a buffer and its first element. What is a buffer
// must say so.
std::string for_opencl(std::string entry, const std::string& name, const std::string& base, const std::string& shared) {
    for (int i = 0; i < 64; i += 2)
        for (const char* end : {",", "\n"}) {
            const std::string parameter = name + "_param_" + std::to_string(i) + end;
            replace_all(entry, ".param .u64 " + parameter, ".param .u64 .ptr .global .align 4 " + parameter);
        }
    replace_all(entry, name, base);
    // 8.0 of the language is the first that has what these kernels use: drivers refuse what is younger than they are.
    return shortened(".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 shared[" + shared + "];\n" +
                     entry);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) fail("usage: warpgroup_texts FILE.ptx OUTPUT.inc BASE COLUMNS,STAGES,SHARED...");
    std::ifstream in(argv[1], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) fail(std::string(argv[1]) + " cannot be read");
    std::ofstream out(argv[2], std::ios::binary);
    for (int i = 4; i < argc; ++i) {
        const std::string cut = argv[i], base = argv[3], name = base + "_" + std::to_string(i - 4);
        const size_t last = cut.rfind(',');
        const std::string whole = for_opencl(entry_of(text, name), name, base, cut.substr(last + 1));
        out << "{" << cut.substr(0, last) << ",\n";
        constexpr size_t kPart = 8000;  // no compiler finds a string too long
        for (size_t at = 0; at < whole.size(); at += kPart) out << "R\"ptx(" << whole.substr(at, kPart) << ")ptx\"\n";
        out << "},\n";
    }
    if (!out.flush()) fail(std::string(argv[2]) + " cannot be written");
}
