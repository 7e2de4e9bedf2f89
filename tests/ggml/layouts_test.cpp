// The replacement in the layouts that ggml's own build and its users make of it: where libggml-base and modules are, and under which names.
#include <unistd.h>

#include <fstream>

#include "dropin.hpp"

namespace {

using namespace dropin;

bool has(const Outcome& o, const std::string& part) { return o.text.find(part) != std::string::npos; }

// A libggml-base of the test's own, which needs no package: as `cmake --install` of ggml names it.
class Layout : public Dropin {
protected:
    void SetUp() override {
        make_root();
        for (const char* folder : {"bin", "lib", "beside"}) fs::create_directory(root_ / folder);
        fs::copy_file(BP_GGML_FAKE_BASE, root_ / "lib" / "libggml-base.so.0.25.1");
        fs::create_symlink("libggml-base.so.0.25.1", root_ / "lib" / "libggml-base.so.0");
        put("LOW_SCORE", "bin/libggml-cpu-x64.so");
    }
    void put(const std::string& fault, const std::string& file) const {
        fs::copy_file(fs::path(BP_GGML_FAULTY) / ("libfaulty-" + fault + ".so"), root_ / file);
    }
    [[nodiscard]] fs::path base() const { return root_ / "lib" / "libggml-base.so.0"; }
    [[nodiscard]] std::string all(const std::string& folder = "bin") const {
        return "all " + (root_ / folder).string() + " devices";
    }
};

TEST_F(Layout, TheBaseIsFoundUnderTheNameThatItsBuildGivesIt) {
    // Mapped under its numbered name, with no libggml-base.so anywhere: in place of the file, and by LD_LIBRARY_PATH.
    for (const char* folder : {"lib", "beside"})
        expect(run(all(), "", own_library(folder), base()), "devices 1, registrations 1: FakeGPU");
}

TEST_F(Layout, TheBaseIsFoundUnderAnotherNameByWhatItDefines) {
    fs::rename(root_ / "lib" / "libggml-base.so.0.25.1", root_ / "lib" / "libacme.so");
    fs::remove(base());
    expect(run(all(), "", own_library("beside"), root_ / "lib" / "libacme.so"), "devices 1, registrations 1: FakeGPU");
}

TEST_F(Layout, TheBaseIsLoadedWhereTheApplicationHasNotYet) {
    const Outcome beside = run(all(), "", own_library("lib"), "-");
    expect(beside, "devices 1");
    EXPECT_FALSE(has(beside, "no libggml-base")) << beside.text;
    const Outcome by_path = run(all(), "LD_LIBRARY_PATH=" + (root_ / "lib").string(), own_library("beside"), "-");
    expect(by_path, "devices 1");
    const Outcome in_bin = run(all(), "", own_library("bin"), "-");  // programs and modules in bin/, libraries in lib/
    expect(in_bin, "devices 1");
}

TEST_F(Layout, NoBaseIsSaidEvenWithoutItsLogFunction) {
    fs::remove_all(root_ / "lib");
    const Outcome o = run(all(), "", own_library("beside"), "-");
    expect(o, "devices 0");
    expect(o, "no libggml-base.so (nor one with a number behind it) is loaded");
}

TEST_F(Layout, WhoOpensTheLibraryAloneFindsTheBaseThroughIt) {
    const fs::path library = own_library("lib", "libggml.so.0", BP_GGML_NEEDS_BASE);
    expect(run(all(), "", library, "-"), "devices 1, registrations 1: FakeGPU");  // its name, by a function of the base
}

TEST_F(Layout, TheBestOfAllFoldersIsTaken) {
    put("LOW_SCORE", "lib/libggml-cpu-x64.so");
    put("ENDED_BY_ENVIRONMENT", "beside/libggml-cpu-zen4.so");
    const fs::path program = root_ / "beside" / "application";
    fs::copy_file(BP_GGML_DRIVER, program);
    const Outcome o = shell("BACKPLANE_STATE_DIR=" + (root_ / "state").string() + " " + program.string() + " " +
                            base().string() + " " + own_library("lib").string() + " all-default devices");
    expect(o, "devices 1, registrations 1: FakeGPU");
    expect(o, "load_backend: loaded CPU backend from " + (root_ / "beside" / "libggml-cpu-zen4.so").string());
}

TEST_F(Layout, AVariantGoesBeforeThePlainNameAndNeedsAScore) {
    put("ENDED_BY_ENVIRONMENT", "bin/libggml-cpu.so");
    const Outcome variant = run(all(), "", own_library("lib"), base());
    expect(variant, "loaded CPU backend from " + (root_ / "bin" / "libggml-cpu-x64.so").string());
    fs::remove(root_ / "bin" / "libggml-cpu-x64.so");
    put("NO_SCORE", "bin/libggml-cpu-aaa.so");
    expect(run(all(), "", own_library("lib"), base()),
           "loaded CPU backend from " + (root_ / "bin" / "libggml-cpu.so").string());
    fs::rename(root_ / "bin" / "libggml-cpu-aaa.so", root_ / "bin" / "libggml-vulkan.so");  // no variant: needs none
    expect(run(all(), "", own_library("lib"), base()), "libggml-vulkan.so");
}

TEST_F(Layout, ASecondFolderOfAKindWithAnotherNameIsNotOpened) {
    fs::create_directory(root_ / "again");
    for (const char* folder : {"bin", "again"}) put("ROCM", std::string(folder) + "/libggml-hip.so");
    const Outcome o = run(all() + " " + all("again"), "", own_library("lib"), base());
    expect(o, "registrations 2");
    const size_t first = o.text.find("constructor ran");
    ASSERT_NE(first, std::string::npos) << o.text;
    EXPECT_EQ(o.text.find("constructor ran", first + 1), std::string::npos) << o.text;
}

TEST_F(Layout, TheFolderOfTheBuildIsSearched) {
    fs::remove_all(BP_GGML_BACKEND_DIR);
    fs::create_directories(BP_GGML_BACKEND_DIR);
    fs::rename(root_ / "bin" / "libggml-cpu-x64.so", fs::path(BP_GGML_BACKEND_DIR) / "libggml-cpu-x64.so");
    const Outcome o = run("all-default devices", "", own_library("lib", "libggml.so.0", BP_GGML_WITH_BACKEND_DIR), base());
    expect(o, "devices 1, registrations 1: FakeGPU");
    fs::remove_all(BP_GGML_BACKEND_DIR);
}

TEST_F(Layout, ALibraryThatIsALinkLooksBesideTheLinkToo) {
    ASSERT_TRUE(fs::exists(own_library("store")));
    fs::create_symlink("../store/libggml.so.0", root_ / "bin" / "libggml.so.0");
    expect(run("all-default devices", "", root_ / "bin" / "libggml.so.0", base()), "devices 1, registrations 1: FakeGPU");
}

TEST_F(Layout, AModuleThatIsALinkFindsWhatLiesBesideTheLink) {
    put("LIBRARY_MISSING", "store-module.so");
    fs::create_symlink("../store-module.so", root_ / "bin" / "libggml-cpu-zen4.so");
    fs::copy_file(BP_GGML_ABSENT, root_ / "bin" / "libabsent.so");
    for (int i = 0; i < 2; ++i)  // tried, and remembered
        expect(run(all(), "", own_library("lib"), base()),
               "loaded CPU backend from " + (root_ / "bin" / "libggml-cpu-zen4.so").string());
}

TEST_F(Layout, ANameAloneIsLookedForAsTheLoaderDoes) {
    expect(run("load libggml-cpu-x64.so devices", "LD_LIBRARY_PATH=" + (root_ / "bin").string(), own_library("lib"), base()),
           "devices 1, registrations 1: FakeGPU");
    const Outcome beside = run("load libggml-cpu-x64.so devices", "", own_library("bin"), base());
    expect(beside, "devices 1, registrations 1: FakeGPU");
    put("LOW_SCORE", "planted.so");  // the current folder is no place of the loader
    expect(run("load planted.so devices", "", own_library("lib"), base()), "devices 0");
    expect(run("load ./planted.so devices", "", own_library("lib"), base()), "devices 1");
}

TEST_F(Dropin, AModuleWithoutDevicesIsRegistered) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("RPC", "libggml-rpc.so");
    for (int i = 0; i < 2; ++i) expect(run("all " + modules().string() + " devices"), "devices 1, registrations 2: CPU");
    expect(run("load " + (modules() / "libggml-rpc.so").string() + " devices"), "load done");
}

TEST_F(Dropin, TheModuleInUseIsNamed) {
    add_stock("libggml-cpu-x64.so");
    expect(run("all " + modules().string()),
           "load_backend: loaded CPU backend from " + (modules() / "libggml-cpu-x64.so").string());
}

// A module built with another length of names, which keeps weights as they are, notes null behind them: that shows, too.
TEST_F(Dropin, AModuleOfAnotherTensorIsRefusedByTheNullThatItWrites) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("LONG_NAMES_NULL");
    const Outcome o = run("all " + modules().string() + " devices");
    expect(o, "devices 1, registrations 1: CPU");
    expect(o, "it writes the last field of a tensor at byte 416");
}

TEST_F(Dropin, AModuleThatShowsNothingIsRefusedBesideOnesOfAnotherBuild) {
    add_faulty("LONG_NAMES");
    add_faulty("GPU_THAT_DOES_NOT_OPEN", "libggml-vulkan.so");
    const Outcome alone = run("all " + modules().string() + " devices");
    expect(alone, "devices 0");
    expect(alone, "libggml-vulkan.so: it stands beside libggml-cpu-faulty.so, which was not built for this libggml-base");
    add_stock("libggml-cpu-x64.so");  // one that fits, and shows it
    expect(run("all " + modules().string() + " devices"), "devices 2, registrations 2: FakeGPU CPU");
}

TEST_F(Dropin, AModuleOfAReleaseThatNumbersItsOpsOtherwiseIsRefused) {
    const fs::path middle = BP_GGML_STOCK_MIDDLE;
    if (!fs::exists(middle / "libggml-cpu-haswell.so"))
        GTEST_SKIP() << "no ggml 0.15.3 at " << middle << ": scripts/fetch-ggml.sh could not, or did not, fetch it from npm";
    add_stock("libggml-cpu-x64.so");
    add_stock("libggml-cpu-sse42.so", middle);
    const Outcome o = run("all " + modules().string() + " devices");
    expect(o, "devices 1, registrations 1: CPU");
    expect(o, "loaded CPU backend from " + (modules() / "libggml-cpu-x64.so").string());
    expect(o, "cannot use " + (modules() / "libggml-cpu-sse42.so").string());
    // With its own base it is as good as any.
    fs::copy_file(middle / "libggml-base.so", root_ / "libggml-base.so");
    fs::remove(modules() / "libggml-cpu-x64.so");
    expect(run("all " + modules().string() + " devices compute", "", BP_GGML_LIBRARY, root_ / "libggml-base.so"),
           "computed 65 65 status 0");
}

TEST_F(Dropin, SidecarsAreWrittenWhereTheBaseIsInLib) {
    if (std::string(BP_GGML_CLI).empty()) GTEST_SKIP() << "built without the command line (BACKPLANE_TOOLS=OFF)";
    add_stock("libggml-cpu-x64.so");
    fs::create_directory(root_ / "lib");
    fs::copy_file(kStock / "libggml-base.so", root_ / "lib" / "libggml-base.so");
    expect(shell(BP_GGML_CLI " modules index " + modules().string()), "libggml-cpu-x64.so: sidecar written");
    fs::remove(modules() / "libggml-cpu-x64.so.backplane.json");
    fs::create_directories(modules() / "ggml");  // as distributions place them, below the libraries
    fs::rename(modules() / "libggml-cpu-x64.so", modules() / "ggml" / "libggml-cpu-x64.so");
    fs::rename(root_ / "lib" / "libggml-base.so", modules() / "libggml-base.so");
    expect(shell(BP_GGML_CLI " modules index " + (modules() / "ggml").string()), "libggml-cpu-x64.so: sidecar written");
}

}  // namespace
