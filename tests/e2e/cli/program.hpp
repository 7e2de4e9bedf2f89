// Runs the command line as a shell would, and makes small inputs for it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "backplane/gguf.hpp"
#include "backplane/image.hpp"

extern char** environ;

namespace backplane::e2e {

namespace fs = std::filesystem;

struct Outcome {
    int exit_code = -1;  // 128 + n: ended by signal n
    std::string out, err;
};

inline std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A folder that goes with the test, with a small network and a small picture in it.
class Place {
public:
    Place() {
        std::string name = (fs::temp_directory_path() / "backplane-cli-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~Place() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    [[nodiscard]] std::string at(const std::string& name) const { return (path_ / name).string(); }
    [[nodiscard]] size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(path_), {})); }

    // x2 by repeating pixels, then a convolution that passes its input on: the result can be told in advance.
    std::string model(const std::string& name = "tiny.gguf") const {
        std::vector<float> weight(3 * 3 * 3 * 3, 0.0F);
        for (size_t c = 0; c < 3; ++c) weight[(c * 3 + c) * 9 + 4] = 1.0F;
        const std::vector<float> bias(3, 0.0F);
        GgufWriter writer;
        writer.set("general.architecture", std::string("esrgan"));
        writer.set("general.name", std::string("tiny-x2"));
        writer.set("esrgan.scale", int64_t{2});
        writer.set("esrgan.layers", std::vector<std::string>{"input image", "conv first image", "upsample larger first by=2",
                                                             "output larger"});
        writer.add("first.weight", DType::f32, {3, 3, 3, 3}, std::as_bytes(std::span(weight)));
        writer.add("first.bias", DType::f32, {3}, std::as_bytes(std::span(bias)));
        writer.write(at(name));
        return at(name);
    }
    std::string picture(const std::string& name = "in.png", uint32_t width = 37, uint32_t height = 23,
                        uint32_t channels = 3) const {
        ImageInfo info;
        info.width = width;
        info.height = height;
        info.channels = channels;
        const auto writer = ImageWriter::create(at(name), info);
        writer->write(pixels(width, height, channels));
        writer->finish();
        return at(name);
    }
    static std::vector<uint8_t> pixels(uint32_t width, uint32_t height, uint32_t channels) {
        std::vector<uint8_t> bytes(size_t{width} * height * channels);
        for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 31 % 251);
        return bytes;
    }

private:
    fs::path path_;
};

inline std::vector<uint8_t> read_image(const std::string& path, ImageInfo& info) {
    const auto reader = ImageReader::open(path);
    info = reader->info();
    std::vector<uint8_t> bytes(size_t{info.width} * info.height * info.channels);
    reader->read(bytes);
    return bytes;
}

// Starts the program; its output goes to files in `place`, or the output stream to `out`. "" as `out`: the program starts without one.
class Started {
public:
    Started(const Place& place, std::vector<std::string> arguments, const std::vector<std::string>& environment = {},
            const std::string& out = "stdout.txt")
        : out_(out.empty() || out[0] == '/' ? out : place.at(out)), err_(place.at("stderr.txt")) {
        arguments.insert(arguments.begin(), BP_TEST_CLI);
        std::vector<char*> argv;
        for (std::string& a : arguments) argv.push_back(a.data());
        argv.push_back(nullptr);
        std::vector<std::string> variables = environment;
        for (char** e = environ; *e != nullptr; ++e)
            if (std::string(*e).compare(0, 10, "BACKPLANE_") != 0) variables.emplace_back(*e);
        // For drivers on a busy machine (support/patience.hpp). Of two lines with one name the first counts.
        for (const char* time : {"BACKPLANE_PROBE_LIMIT=300", "BACKPLANE_PROBE_BUDGET=300"}) variables.emplace_back(time);
        std::vector<char*> envp;
        for (std::string& v : variables) envp.push_back(v.data());
        envp.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        if (out_.empty())
            posix_spawn_file_actions_addclose(&actions, 1);
        else
            posix_spawn_file_actions_addopen(&actions, 1, out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        posix_spawn_file_actions_addopen(&actions, 2, err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        // What a script starts in the background, or under nohup, begins with some of these ignored.
        sigset_t signals;
        sigemptyset(&signals);
        for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setsigdefault(&attributes, &signals);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        if (posix_spawn(&pid_, BP_TEST_CLI, &actions, &attributes, argv.data(), envp.data()) != 0) pid_ = -1;
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
    }
    void signal(int number) const { ::kill(pid_, number); }
    // Until it has come that far, or has ended. Not for ever, but long enough for a busy machine and a sanitizer.
    void wait_until(const std::function<bool()>& far) const {
        for (int i = 0; i < 24000 && !far(); ++i) {
            siginfo_t ended{};
            if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0)
                return;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
    Outcome wait() const {
        Outcome outcome;
        int status = 0;
        if (pid_ < 0 || ::waitpid(pid_, &status, 0) != pid_) return outcome;
        outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (fs::is_regular_file(out_)) {
            outcome.out = content(out_);
            fs::remove(out_);
        }
        outcome.err = content(err_);
        fs::remove(err_);
        return outcome;
    }

private:
    std::string out_, err_;
    pid_t pid_ = -1;
};

inline Outcome run(const Place& place, std::vector<std::string> arguments,
                   const std::vector<std::string>& environment = {}) {
    return Started(place, std::move(arguments), environment).wait();
}

// A command of the shell, for what has to start elsewhere.
inline Outcome shell(const Place& place, const std::string& command) {
    Outcome outcome;
    const std::string err = place.at("shell.txt");
    const int status = std::system(("(" + command + ") > /dev/null 2> " + err).c_str());
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.err = content(err);
    fs::remove(err);
    return outcome;
}

// One line of error that starts with the program's name.
inline bool is_one_line(const std::string& err) {
    return err.compare(0, 11, "backplane: ") == 0 && std::count(err.begin(), err.end(), '\n') == 1 && err.back() == '\n';
}

}  // namespace backplane::e2e
