// Says where it is, what machine it is for, and what it finds around itself. Run with and without /proc, with and without a loader.
#include <cstdio>

#include "base/dynamic_library.hpp"
#include "discovery/discover.hpp"

// A leak checker would read /proc, and there is none.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

int main() {
    using namespace backplane;
    std::printf("own %s\nprogram %s\nmachine %s\n", base::own_file().c_str(), base::executable_file().c_str(),
                discovery::name_of_machine(discovery::host_binary()).c_str());
    const discovery::Discovery found = discovery::discover(ContextOptions(), nullptr, "");
    for (const discovery::Rated& rated : found.rated)
        std::printf("%s %s\n", rated.candidate.path.filename().c_str(), name_of(rated.candidate.code));
    for (const std::string& note : found.notes) std::printf("note %s\n", note.c_str());
    return 0;
}
