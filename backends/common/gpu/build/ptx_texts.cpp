// ptx_texts FILE.ptx OUTPUT.inc NAME INSTANCE...: the kernels bp_NAME_0, bp_NAME_1, ... of a text of PTX, of these instances
// (backends/cuda/instances.cmake), each as a whole text that drivers take (ptx_texts.hpp): rows of PtxText. A tool of the build.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "ptx_texts: %s\n", why.c_str());
    std::exit(1);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

// From `first` on, to the brace that closes the next one.
std::string block_at(const std::string& text, size_t first) {
    size_t at = text.find('{', first);
    for (int open = 0; at < text.size(); ++at) {
        open += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
        if (open == 0) return text.substr(first, at + 1 - first);
    }
    fail("a block does not end: " + text.substr(first, 100));
}

std::string entry_of(const std::string& text, const std::string& name) {
    const size_t first = text.find(".visible .entry " + name + "(");
    if (first == std::string::npos) fail("there is no kernel " + name);
    return block_at(text, first);
}

struct Function {
    std::string name, text;
};

// Functions that kernels call. What is only declared, ahead, has no block.
std::vector<Function> functions_of(const std::string& text) {
    std::vector<Function> all;
    constexpr std::string_view kBegin = "\n.func ";
    for (size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
        const size_t name = text.find("_Z", at), end = text.find('(', name);
        if (text.find(';', end) < text.find('{', end)) continue;
        std::string own = text.substr(name, end - name);
        own.erase(own.find_last_not_of(" \n\t") + 1);
        all.push_back({own, block_at(text, at + 1)});
    }
    return all;
}

// Those that `caller` calls, each behind those that it calls itself.
void append_called(const std::vector<Function>& all, const std::string& caller, std::string& out) {
    for (const Function& f : all) {
        if (&f.text == &caller || caller.find(f.name) == std::string::npos || out.find(f.text) != std::string::npos)
            continue;
        append_called(all, f.text, out);
        out += f.text + "\n";
    }
}

// Without comments, without what begins a line, and without the hint of which bytes of a load are used, which is of 8.3 of the language.
std::string shortened(const std::string& text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line(&text[at], end - at);
        line = line.substr(0, line.find("//"));
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        while (line.ends_with(' ') || line.ends_with('\t')) line.remove_suffix(1);
        if (!line.empty() && !line.starts_with(".pragma \"used_bytes_mask")) (out += line) += '\n';
        at = end + 1;
    }
    return out;
}

// What an OpenCL driver hands over for a buffer must say that it is one: a kernel is called with its words, then a buffer for each operand.
void name_buffers(std::string& entry, const std::string& name) {
    for (int i = 1; i < 64; ++i)
        for (const char* end : {",", "\n"}) {
            const std::string parameter = name + "_param_" + std::to_string(i) + end;
            replace_all(entry, ".param .u64 " + parameter, ".param .u64 .ptr .global .align 4 " + parameter);
        }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) fail("usage: ptx_texts FILE.ptx OUTPUT.inc NAME INSTANCE...");
    std::ifstream in(argv[1], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) fail(std::string(argv[1]) + " cannot be read");
    const std::vector<Function> functions = functions_of(text);
    std::ofstream out(argv[2], std::ios::binary);
    for (int i = 4; i < argc; ++i) {
        std::string instance = argv[i];
        const std::string base = std::string("bp_") + argv[3], name = base + "_" + std::to_string(i - 4);
        std::string entry = entry_of(text, name);
        // 8.0 of the language is the first that has what these kernels use: drivers refuse what is younger than they are.
        std::string whole = ".version 8.0\n.target sm_90a\n.address_size 64\n";
        if (const size_t shared = instance.find(",shared="); shared != std::string::npos) {
            whole += ".shared .align 1024 .b8 shared[" + instance.substr(shared + 8) + "];\n";
            instance.erase(shared);
            name_buffers(entry, name);
        }
        append_called(functions, entry, whole);
        replace_all(entry, name, base);
        whole = shortened(whole + entry);
        out << "{gpu::kKernel_" << argv[3] << ", \"" << instance << "\",\n";
        constexpr size_t kPart = 8000;  // no compiler finds a string too long
        for (size_t at = 0; at < whole.size(); at += kPart) out << "R\"ptx(" << whole.substr(at, kPart) << ")ptx\"\n";
        out << "},\n";
    }
    if (!out.flush()) fail(std::string(argv[2]) + " cannot be written");
}
