// An application of ggml's registry with the replacement under it, in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <thread>

namespace dropin {

namespace fs = std::filesystem;

inline const fs::path kStock = BP_GGML_STOCK;
inline const fs::path kOld = BP_GGML_STOCK_OLD;

struct Outcome {
    int status = -1;
    std::string text;
};

class Dropin : public ::testing::Test {
protected:
    void SetUp() override {
        if (!fs::exists(kStock / "libggml-base.so"))
            GTEST_SKIP() << "no ggml at " << kStock << ": scripts/fetch-ggml.sh could not, or did not, fetch it from npm";
        make_root();
    }
    void make_root() {
        std::string pattern = (fs::temp_directory_path() / "backplane-ggml-XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        root_ = pattern;
        fs::create_directory(root_ / "modules");
    }
    void TearDown() override {
        if (!root_.empty()) fs::remove_all(root_);
    }
    [[nodiscard]] fs::path modules() const { return root_ / "modules"; }
    void add_stock(const std::string& name, const fs::path& from = kStock) const {
        fs::copy_file(from / name, modules() / name);
    }
    void add_faulty(const std::string& fault, const std::string& name = "libggml-cpu-faulty.so") const {
        fs::copy_file(fs::path(BP_GGML_FAULTY) / ("libfaulty-" + fault + ".so"), modules() / name);
    }
    // Our library under this name in a folder of its own, as somebody lays it there; with the probe.
    [[nodiscard]] fs::path own_library(const std::string& folder, const std::string& name = "libggml.so.0",
                                       const fs::path& library = BP_GGML_LIBRARY) const {
        fs::create_directories(root_ / folder);
        fs::copy_file(library, root_ / folder / name, fs::copy_options::overwrite_existing);
        fs::copy_file(BP_GGML_PROBE, root_ / folder / "backplane-probe-ggml", fs::copy_options::overwrite_existing);
        return root_ / folder / name;
    }
    Outcome run(const std::string& commands, const std::string& environment = "", const fs::path& library = BP_GGML_LIBRARY,
                const fs::path& base = kStock / "libggml-base.so") const {
        return shell("cd " + root_.string() + " && BACKPLANE_STATE_DIR=" + (root_ / "state").string() + " " + environment +
                     " timeout 120 " BP_GGML_DRIVER " " + base.string() + " " + library.string() + " " + commands);
    }
    static Outcome shell(const std::string& command) {
        Outcome outcome;
        const std::string line = "{ " + command + "; } 2>&1";
        FILE* pipe = popen(line.c_str(), "r");
        if (pipe == nullptr) return outcome;
        std::array<char, 4096> block{};
        for (size_t n = 0; (n = fread(block.data(), 1, block.size(), pipe)) > 0;) outcome.text.append(block.data(), n);
        const int status = pclose(pipe);
        outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return outcome;
    }
    static void expect(const Outcome& o, const std::string& part) {
        EXPECT_EQ(o.status, 0) << o.text;
        EXPECT_NE(o.text.find(part), std::string::npos) << "wanted: " << part << "\ngot: " << o.text;
    }
    // The process whose number this file holds.
    static void expect_gone(const fs::path& file) {
        int left = 0;
        std::ifstream(file) >> left;
        ASSERT_GT(left, 1) << "it left nothing";
        std::string state;
        for (int i = 0; i < 1000; ++i) {  // what was killed takes its time to go; one that nobody waits for stays as a name
            std::string word;
            state.clear();
            std::ifstream("/proc/" + std::to_string(left) + "/stat") >> word >> word >> state;
            if (state.empty() || state == "Z") break;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        EXPECT_TRUE(state.empty() || state == "Z") << left << " lives on: " << state;
    }
    fs::path root_;
};

}  // namespace dropin
