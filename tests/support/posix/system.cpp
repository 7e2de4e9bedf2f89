#include "support/system.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace backplane::test {

namespace {

size_t entries_of(const char* folder) {
    std::error_code none;
    const std::filesystem::directory_iterator entries(folder, none);
    return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace

std::filesystem::path make_temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "backplane-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    return name;
}

void set_environment(const std::string& name, const std::string& value) { ::setenv(name.c_str(), value.c_str(), 1); }
void unset_environment(const std::string& name) { ::unsetenv(name.c_str()); }

int process_id() { return ::getpid(); }

void let_others_write(const std::filesystem::path& path) {
    if (::chmod(path.c_str(), std::filesystem::is_directory(path) ? 0777 : 0666) != 0)
        throw std::runtime_error("cannot change the rights of " + path.string());
}

void* symbol_of(const std::filesystem::path& library, const char* name) {
    void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    return loaded == nullptr ? nullptr : ::dlsym(loaded, name);
}

size_t open_files() { return entries_of("/proc/self/fd"); }
size_t threads() { return entries_of("/proc/self/task"); }

size_t bytes_allocated() { return ::mallinfo2().uordblks; }

bool is_loaded(const std::filesystem::path& library) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find(library.string()) != std::string::npos) return true;
    return false;
}

size_t times_loaded(const std::filesystem::path& library) {
    std::ifstream maps("/proc/self/maps");
    size_t count = 0;
    for (std::string line; std::getline(maps, line);)
        if (line.find(" 00000000 ") != std::string::npos && line.find(library.string()) != std::string::npos) ++count;
    return count;
}

void take_away(const std::filesystem::path& path) { std::filesystem::remove(path); }

void* allocate(size_t size, size_t alignment) {
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
void release(void* memory) { std::free(memory); }

bool starts_drivers_of(const std::string&) { return true; }

std::string system_library() { return "libc.so.6"; }
std::string library(const std::string& stem) { return stem + ".so"; }

}  // namespace backplane::test
