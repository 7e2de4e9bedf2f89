// Programs that are moved beside a module and find it: by the loader or without one, with /proc and without.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "files.hpp"

namespace backplane::discovery::testing {
namespace {

constexpr int kNotPermitted = 77;

// What the program prints, run by `name` in its folder; /proc is an empty folder for it. No value: that is not permitted here.
std::optional<std::string> run_without_proc(const fs::path& program, const std::string& name) {
    const fs::path out = program.parent_path() / "out.txt";
    const pid_t child = ::fork();
    if (child == 0) {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("none", "/proc", "tmpfs", 0, nullptr) != 0 || ::chdir(program.parent_path().c_str()) != 0)
            ::_exit(kNotPermitted);
        const int file = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ::dup2(file, 1);
        ::execl(name.c_str(), "somebody-else", nullptr);  // what a parent calls it plays no part
        ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotPermitted) return std::nullopt;
    EXPECT_EQ(status, 0);
    std::ifstream file(out);
    return std::string{std::istreambuf_iterator<char>(file), {}};
}

void finds_its_module(const fs::path& built, bool by_relative_name) {
    const Folder folder;
    const fs::path program = folder.path() / "app";
    fs::copy_file(built, program);
    fs::create_directory(folder.path() / "backplane");
    write(folder.path() / "backplane" / "backplane-minimal.so", module_bytes());
    const std::optional<std::string> text = run_without_proc(program, by_relative_name ? "./app" : program.string());
    if (!text) GTEST_SKIP() << "not permitted here: unshare(CLONE_NEWNS) and mount";
    EXPECT_NE(text->find("own " + fs::canonical(program).string()), std::string::npos) << *text;
    EXPECT_NE(text->find("program " + fs::canonical(program).string()), std::string::npos) << *text;
    EXPECT_NE(text->find("machine " + name_of_machine(host_binary())), std::string::npos) << *text;
    EXPECT_NE(text->find("backplane-minimal.so none"), std::string::npos) << *text;
    EXPECT_EQ(text->find("note"), std::string::npos) << *text;
}

TEST(Place, WithoutProcAProgramKnowsItsMachineAndFindsTheModulesBesideIt) {
    finds_its_module(BP_TEST_PLACE_PROGRAM, false);
    finds_its_module(BP_TEST_PLACE_PROGRAM, true);
}

TEST(Place, WithoutALoaderAProgramKnowsItsMachineAndFindsTheModulesBesideIt) {
    const fs::path built = BP_TEST_PLACE_STATIC;
    if (!fs::exists(built)) GTEST_SKIP() << "not built: the C library or the build has no static form here";
    finds_its_module(built, false);
}

}  // namespace
}  // namespace backplane::discovery::testing
