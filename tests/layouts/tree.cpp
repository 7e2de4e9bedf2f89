#include "tree.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

#include "support/system.hpp"

namespace backplane::layouts {

namespace {

constexpr unsigned kNobody = 65534;
constexpr int kNoMount = 77;  // of the child: the system does not let it mount

// What `cmake --install` makes of this build: once for all tests of this process.
const fs::path& install_tree() {
    struct Installed {
        fs::path path = test::make_temporary_folder();
        Installed() {
            for (const char* component : {"module_" BP_TEST_BACKEND, "runtime"}) {
                const std::string command = std::string(BP_TEST_CMAKE) + " --install " + BP_TEST_BINARY_DIR + " --prefix " +
                                            path.string() + " --component " + component + " >" + path.string() + "/log 2>&1";
                if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
            }
        }
        ~Installed() {
            std::error_code ignored;
            fs::remove_all(path, ignored);
        }
    };
    static const Installed installed;
    return installed.path;
}

void mount_read_only(const fs::path& root) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(root.c_str(), root.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        ::mount(nullptr, root.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0)
        ::_exit(kNoMount);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
}

std::string read_all(int from) {
    std::string text;
    std::array<char, 4096> block{};
    for (ssize_t n = 0; (n = ::read(from, block.data(), block.size())) > 0;)
        text.append(block.data(), static_cast<size_t>(n));
    return text;
}

}  // namespace

fs::path built(const char* name) { return fs::path(BP_TEST_PARTS) / name; }

Tree::Tree() : base_(test::make_temporary_folder()) {
    fs::permissions(base_, fs::perms(0755));
    root_ = base_ / "Läyout ünd 中文";
    planted_ = base_ / "downloads";
    elsewhere_ = base_ / "python" / "bin";
    for (const fs::path& folder : {root_, planted_ / "backplane", elsewhere_}) fs::create_directories(folder);
    for (const fs::path& folder : {planted_, planted_ / "backplane"})
        fs::copy_file(BP_TEST_MINIMAL, folder / BP_TEST_PREFIX "minimal.so");
    watch_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    for (const fs::path& folder : {planted_, planted_ / "backplane"})
        ::inotify_add_watch(watch_, folder.c_str(), IN_OPEN | IN_ACCESS);
    { const fs::directory_iterator looked(planted_); }
    if (!looked_at_planted()) throw std::runtime_error("this system does not tell who opens a folder (inotify)");
}

Tree::~Tree() {
    ::close(watch_);
    std::error_code ignored;
    fs::remove_all(base_, ignored);
}

fs::path Tree::put(const char* name, const fs::path& to) const {
    fs::create_directories((root_ / to).parent_path());
    fs::copy_file(built(name), root_ / to);
    return root_ / to;
}

void Tree::put_modules(const fs::path& to) const {
    fs::create_directories(root_ / to);
    fs::copy(install_tree() / BP_TEST_LIBDIR / "backplane", root_ / to, fs::copy_options::recursive);
    fs::copy_file(built(BP_TEST_PREFIX "probed.so"), root_ / to / BP_TEST_PREFIX "probed.so");
}

void Tree::move() {
    const fs::path to = base_ / "moved élsewhere";
    fs::rename(root_, to);
    root_ = to;
}

Outcome Tree::run(const Launch& what) const {
    std::vector<std::string> arguments = what.command;
    if (!what.called.empty()) arguments[0] = what.called;
    std::vector<std::string> variables = what.environment;
    for (const char* name : {"PATH", "CCACHE_DIR"})
        if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + "=" + value);
    variables.push_back("BACKPLANE_STATE_DIR=" + (root_ / "state").string());
    const std::vector<char*> argv = pointers(arguments);
    const std::vector<char*> envp = pointers(variables);
    std::array<int, 2> out{};
    if (::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(out[1], STDOUT_FILENO);
        if (what.read_only) mount_read_only(root_);
        if (::chdir(planted_.c_str()) != 0) ::_exit(126);
        if (what.as_nobody && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(126);
        ::execve(what.command[0].c_str(), argv.data(), envp.data());
        ::_exit(127);
    }
    ::close(out[1]);
    Outcome outcome;
    outcome.output = read_all(out[0]);
    ::close(out[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    try {
        outcome.report = base::Json::parse(outcome.output);
    } catch (const base::JsonError&) {  // null says so
    }
    return outcome;
}

bool Tree::looked_at_planted() {
    std::array<char, 4096> events{};
    bool any = false;
    while (::read(watch_, events.data(), events.size()) > 0) any = true;
    return any;
}

std::set<std::string> searched(const base::Json& report) {
    std::set<std::string> result;
    for (const auto& source : report["sources"])
        if (source["searched"] == true && source["kind"] != "linked in")
            result.insert(source["kind"].text() + ": " + source["path"].text());
    return result;
}

std::string source_of(const base::Json& report, const std::string& backend) {
    for (const auto& candidate : report["candidates"])
        if (candidate["backend"] == backend && candidate["verdict"] == "loaded") return candidate["source"].text();
    return {};
}

}  // namespace backplane::layouts
