// The replacement of ggml's registry library under an application, with real modules and with bad ones beside them.
#include "dropin.hpp"
#include "support/driver_file.hpp"

namespace {

using namespace dropin;

TEST_F(Dropin, TheBestOfTheStockModulesIsChosen) {
    const Outcome stock = run("all " + kStock.string() + " devices best", "", kStock / BP_GGML_STOCK_REGISTRY);
    const Outcome ours = run("all " + kStock.string() + " devices best");
    expect(stock, "devices 1, registrations 1: CPU");
    expect(ours, "devices 1, registrations 1: CPU");
    expect(ours, "best CPU");
}

TEST_F(Dropin, ASecondCallAndASecondFolderRegisterNothingTwice) {
    add_stock("libggml-cpu-x64.so");
    expect(run("all " + modules().string() + " all " + modules().string() + " devices"), "devices 1, registrations 1: CPU");
    fs::create_directory(root_ / "again");
    fs::copy_file(kStock / "libggml-cpu-x64.so", root_ / "again" / "libggml-cpu-x64.so");
    expect(run("all " + modules().string() + " all " + (root_ / "again").string() + " devices"),
           "devices 1, registrations 1: CPU");
    expect(run("load " + (modules() / "libggml-cpu-x64.so").string() + " all " + modules().string() + " devices"),
           "devices 1, registrations 1: CPU");
}

TEST_F(Dropin, NothingIsLoadedFromTheCurrentFolder) {
    fs::copy_file(fs::path(BP_GGML_FAULTY) / "libfaulty-CONSTRUCTOR_RUNS.so", root_ / "libggml-cpu-zzz.so");
    const Outcome o = run("all-default devices");
    expect(o, "devices 0");
    EXPECT_EQ(o.text.find("constructor ran"), std::string::npos) << o.text;
}

TEST_F(Dropin, AModuleThatIsCutOffIsRefusedByItsBytes) {
    add_stock("libggml-cpu-x64.so");
    for (const double part : {0.1, 0.5, 0.99}) {
        const fs::path cut = modules() / "libggml-cpu-zen4.so";
        fs::copy_file(kStock / "libggml-cpu-haswell.so", cut, fs::copy_options::overwrite_existing);
        fs::resize_file(cut, static_cast<uintmax_t>(static_cast<double>(fs::file_size(cut)) * part));
        const Outcome o = run("all " + modules().string() + " devices best");
        expect(o, "devices 1, registrations 1: CPU");
        expect(o, "libggml-cpu-zen4.so");
    }
}

TEST_F(Dropin, AModuleOfAnotherReleaseIsRefusedByTheShapeOfItsTables) {
    if (!fs::exists(kOld / "libggml-cpu-x64.so"))
        GTEST_SKIP() << "no older ggml at " << kOld << ": scripts/fetch-ggml.sh could not, or did not, fetch it from npm";
    add_stock("libggml-cpu-x64.so");
    fs::copy_file(kOld / "libggml-cpu-haswell.so", modules() / "libggml-cpu-haswell.so");
    const Outcome o = run("all " + modules().string() + " devices compute");
    expect(o, "devices 1, registrations 1: CPU");
    expect(o, "not built for the libggml-base");
    expect(o, "computed 65 65 status 0");
    // What it is kept from: the older module alone, with ggml's own registry.
    fs::remove(modules() / "libggml-cpu-x64.so");
    const Outcome stock = run("all " + modules().string() + " devices compute", "", kStock / BP_GGML_STOCK_REGISTRY);
    EXPECT_EQ(stock.text.find("computed 65 65"), std::string::npos)
        << "it works: no mixture to tell any more? " << stock.text;
    const Outcome ours = run("all " + modules().string() + " devices compute");
    expect(ours, "computed nothing: no device");
}

TEST_F(Dropin, ADeviceOfAnUnloadedBackendStillAnswers) {
    add_stock("libggml-cpu-x64.so");
    expect(run("all " + modules().string() + " name-after-unload CPU devices"), "name CPU");
    expect(run("all " + modules().string() + " unload CPU devices all " + modules().string() + " devices"),
           "devices 0, registrations 0:\ndevices 1, registrations 1: CPU");
}

TEST_F(Dropin, ThreadsMayAskWhileOneLoadsAndUnloads) {
    add_stock("libggml-cpu-x64.so");
    for (int i = 0; i < 5; ++i) expect(run("threads " + modules().string()), "threads done");
}

TEST_F(Dropin, TheNextIsTriedWhenADiscreteDeviceDoesNotOpen) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("GPU_THAT_DOES_NOT_OPEN", "libggml-vulkan.so");
    expect(run("all " + modules().string() + " devices best"), "devices 2, registrations 2: FakeGPU CPU\nbest CPU");
    expect(run("all " + modules().string() + " devices", "GGML_DISABLE_VULKAN=1"), "devices 1, registrations 1: CPU");
}

TEST_F(Dropin, TheVariableNamesOneModuleMore) {
    add_stock("libggml-cpu-x64.so");
    fs::copy_file(fs::path(BP_GGML_FAULTY) / "libfaulty-GPU_THAT_DOES_NOT_OPEN.so", root_ / "mine.so");
    expect(run("all " + modules().string() + " devices", "GGML_BACKEND_PATH=" + (root_ / "mine.so").string()),
           "devices 2, registrations 2: CPU FakeGPU");
}

TEST_F(Dropin, AnUnmodifiedRegistryIsFedTheBestOfWhatIsGood) {
    add_stock("libggml-cpu-x64.so");
    add_stock("libggml-cpu-sse42.so");
    add_faulty("INIT_CRASHES");
    const Outcome o = run("feed " BP_GGML_FEED " " + modules().string() + " devices", "", kStock / BP_GGML_STOCK_REGISTRY);
    expect(o, "refused: cannot use " + (modules() / "libggml-cpu-faulty.so").string());
    expect(o, "fed 1\ndevices 1, registrations 1: CPU");
}

TEST_F(Dropin, AnIndexOutOfRangeAndANullNameAreAnsweredWithNull) {
    add_stock("libggml-cpu-x64.so");
    for (const std::string& before : {std::string(), "all " + modules().string() + " "}) {
        const Outcome o = run(before + "wrong-arguments devices");
        expect(o, "wrong arguments done");
        expect(o, before.empty() ? "devices 0, registrations 0" : "devices 1, registrations 1: CPU");
        EXPECT_EQ(o.text.find("something"), std::string::npos) << o.text;
    }
}

TEST_F(Dropin, NothingFoundIsSaid) { expect(run("all " + modules().string() + " devices"), "no device"); }

TEST_F(Dropin, WhatWasTriedIsRememberedAndTriedAgainWhenTheFileChanges) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("INIT_CRASHES");
    const Outcome first = run("all " + modules().string() + " devices");
    expect(first, "crashed with segmentation fault");
    size_t files = 0;
    for (const auto& entry : fs::directory_iterator(root_ / "state" / "folders")) files += entry.is_regular_file() ? 1 : 0;
    EXPECT_EQ(files, 1U);
    expect(run("all " + modules().string() + " devices"), "crashed with segmentation fault");
    fs::remove(modules() / "libggml-cpu-faulty.so");
    add_stock("libggml-cpu-sse42.so");
    fs::rename(modules() / "libggml-cpu-sse42.so", modules() / "libggml-cpu-faulty.so");
    const Outcome changed = run("all " + modules().string() + " devices");
    expect(changed, "devices 1");
    EXPECT_EQ(changed.text.find("crashed"), std::string::npos) << changed.text;
}

TEST_F(Dropin, AModuleThatFoundNoDeviceIsTriedAgainWhenDriversMayHaveCome) {
    const fs::path vulkan = BP_GGML_STOCK_VULKAN;
    const std::string lavapipe = backplane::test::driver_file("vulkan");
    if (!fs::exists(vulkan / "libggml-vulkan.so"))
        GTEST_SKIP() << "no ggml with Vulkan at " << vulkan
                     << ": scripts/fetch-ggml.sh could not, or did not, fetch it from npm";
    if (lavapipe.empty()) GTEST_SKIP() << "lavapipe (mesa-vulkan-drivers) is not installed";
    for (const char* name : {"libggml-base.so", "libggml-vulkan.so", "libggml-cpu-x64.so"}) add_stock(name, vulkan);
    const std::string all = "all " + modules().string() + " devices";
    const std::string only = "VK_DRIVER_FILES=" + lavapipe + " VK_ICD_FILENAMES=" + lavapipe;
    const Outcome none = run(all, only, BP_GGML_LIBRARY, modules() / "libggml-base.so");
    expect(none, "devices 1, registrations 2: CPU");  // lavapipe is no GPU, unless it is asked for
    expect(run(all, only + " GGML_VK_VISIBLE_DEVICES=0", BP_GGML_LIBRARY, modules() / "libggml-base.so"),
           "devices 2, registrations 2: Vulkan0 CPU");
}

struct Fault {
    const char* name;
    const char* reason;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class DropinFault : public Dropin, public ::testing::WithParamInterface<Fault> {};

TEST_P(DropinFault, TheHostLivesTheGoodModuleIsUsedAndTheReasonIsGiven) {
    if (IsSkipped()) return;
    add_stock("libggml-cpu-x64.so");
    add_faulty(GetParam().name);
    const bool hangs = std::string(GetParam().name).find("HANGS") != std::string::npos;
    const Outcome o = run("all " + modules().string() + " devices best", hangs ? "BACKPLANE_PROBE_LIMIT=3" : "");
    expect(o, "devices 1, registrations 1: CPU\nbest CPU");
    expect(o, "libggml-cpu-faulty.so");
    expect(o, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, DropinFault,
    ::testing::Values(Fault{"CONSTRUCTOR_ABORTS", "aborted"}, Fault{"CONSTRUCTOR_CRASHES", "segmentation fault"},
                      Fault{"CONSTRUCTOR_EXITS", "exit code 42"}, Fault{"CONSTRUCTOR_HANGS", "did not come back"},
                      Fault{"SCORE_HANGS", "during 'score'"}, Fault{"SCORE_THROWS", ": score"},
                      Fault{"INIT_THROWS", ": init"}, Fault{"INIT_CRASHES", "during 'init'"},
                      Fault{"INIT_MISSING", "no ggml_backend_init"}, Fault{"INIT_NULL", "nothing it can use"},
                      Fault{"WRONG_API", "API number is 1"}, Fault{"NO_DEVICES", "0 devices"},
                      Fault{"NULL_DEVICE", "device 0 is null"}, Fault{"LIBRARY_MISSING", "libabsent"},
                      Fault{"LONG_NAMES", "built with another GGML_MAX_NAME"}),
    [](const auto& fault) { return std::string(fault.param.name); });

}  // namespace
