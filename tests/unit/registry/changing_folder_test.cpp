// Installers, updaters and virus scanners at work while an application starts.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <thread>

#include "backplane/context.hpp"
#include "support/system.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

class ChangingFolder : public testing::Test {
protected:
    ChangingFolder() : folder_(test::make_temporary_folder()) { fs::create_directory(modules()); }
    ~ChangingFolder() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    [[nodiscard]] fs::path modules() const { return folder_ / "modules"; }
    [[nodiscard]] ContextOptions options() const {
        ContextOptions options;
        options.module_paths = {modules()};
        options.search_defaults = options.use_linked_in = options.use_environment = false;
        options.probe = ProbePolicy::never;
        return options;
    }
    // Files of three modules come, go, are exchanged and cut to any length; at times the whole folder is away.
    void change(unsigned round) const {
        const std::string minimal = test::library("backplane-minimal"), scripted = test::library("backplane-scripted");
        const std::array<fs::path, 3> files{fs::path(BP_TEST_MINIMAL) / minimal, fs::path(BP_TEST_SCRIPTED) / "1" / scripted,
                                            fs::path(BP_TEST_SCRIPTED) / "2" / scripted};
        std::error_code ignored;
        const fs::path& file = files[round % files.size()];
        const fs::path place = modules() / file.filename();
        if (round % 4 == 0) fs::remove(place, ignored);
        fs::copy_file(file, modules() / "part", fs::copy_options::overwrite_existing, ignored);
        if (round % 4 == 1) fs::resize_file(modules() / "part", 512 * (round % 97), ignored);
        fs::rename(modules() / "part", place, ignored);
        if (round % 5 == 0) {
            fs::rename(modules(), folder_ / "away", ignored);
            fs::rename(folder_ / "away", modules(), ignored);
        }
    }

private:
    fs::path folder_;
};

TEST_F(ChangingFolder, IsReadWhileItChangesAndEveryVerdictHasItsReason) {
    std::atomic<bool> done{false};
    std::thread changes([&] {
        for (unsigned round = 0; !done; ++round) change(round);
    });
    ContextOptions judged = options();
    judged.device_filter = "!minimal,!scripted";  // not loaded: that is for files that stay as they were judged
    for (int round = 0; round < 200; ++round) {
        const Report report = Context(judged).report();
        EXPECT_EQ(report.sources.size(), 1U);
        EXPECT_FALSE(report.sources.empty() || report.sources[0].note.empty());
        for (const Candidate& c : report.candidates) EXPECT_FALSE(c.reason.empty()) << c.path;
    }
    done = true;
    changes.join();
    for (unsigned round = 2; round < 5; ++round) change(6 * round);  // none of these is cut, and all three are put
    const Context context(options());
    EXPECT_EQ(context.choose("minimal").info().id, "minimal:0") << context.report().summary();
}

}  // namespace
}  // namespace backplane
