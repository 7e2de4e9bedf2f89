// The ggml backend over stock modules. Each test opens its ggml in a process of its own (gtest_discover_tests): the first libggml-base that
// a process loads serves it to its end.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>

#include "backplane/context.hpp"
#include "backplane/runtime.hpp"
#include "backplane/verify.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

const fs::path kStock = BP_GGML_STOCK;
const fs::path kOld = BP_GGML_STOCK_OLD;

class GgmlBackend : public ::testing::Test {
protected:
    void SetUp() override {
        if (!fs::exists(kStock / "libggml-base.so"))
            GTEST_SKIP() << "no ggml at " << kStock << ": unpack the npm package @node-llama-cpp/linux-x64 3.22.1 there";
        std::string pattern = (fs::temp_directory_path() / "backplane-ggml-XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override {
        if (!folder_.empty()) fs::remove_all(folder_);
    }
    static ContextOptions options(const fs::path& ggml) {
        ContextOptions o;
        o.module_paths = {BP_GGML_MODULE};
        o.search_defaults = false;
        o.use_linked_in = false;
        o.use_environment = false;
        o.options["ggml.path"] = ggml.string();
        return o;
    }
    // What became of the module, in words.
    static std::string reason(const Context& context) {
        for (const Candidate& c : context.report().candidates)
            if (c.path.filename() == fs::path(BP_GGML_MODULE).filename()) return c.reason;
        return "not found";
    }
    fs::path folder_;
};

TEST_F(GgmlBackend, ListsTheDeviceOfTheBestModuleByItsName) {
    const Context context(options(kStock));
    const Device device = context.choose("ggml:CPU");
    EXPECT_EQ(device.info().name, "CPU");
    EXPECT_EQ(device.info().kind, DeviceKind::cpu);
    EXPECT_GT(device.info().memory_total, 0U);
    EXPECT_NE(device.info().driver.find("ggml 0."), std::string::npos) << device.info().driver;
}

TEST_F(GgmlBackend, EveryOpItTakesIsWithinTheBounds) {
    const Context context(options(kStock));
    size_t passed = 0;
    for (const VerifyResult& r : verify(context.choose("ggml:CPU"))) {
        EXPECT_NE(r.status, VerifyResult::failed) << r.name << ": " << r.text;
        passed += r.status == VerifyResult::passed ? 1 : 0;
    }
    EXPECT_GT(passed, 2000U);
}

TEST_F(GgmlBackend, ThreadsAreAnOptionAndDoNotChangeTheResult) {
    const Context context(options(kStock));
    Device device = context.choose("ggml:CPU");
    for (const int64_t threads : {1, 3, 1, 2}) {
        device.set_option("threads", threads);
        VerifyOptions only;
        only.op = Op::matmul;
        only.name_filter = "64x32x48";
        for (const VerifyResult& r : verify(device, only))
            EXPECT_NE(r.status, VerifyResult::failed) << r.name << ": " << r.text;
    }
}

TEST_F(GgmlBackend, ModulesOfAnotherReleaseAreAVerdictNotACrash) {
    if (!fs::exists(kOld / "libggml-cpu-x64.so"))
        GTEST_SKIP() << "no older ggml at " << kOld << ": unpack @node-llama-cpp/linux-x64 3.15.1 there";
    fs::copy_file(kStock / "libggml-base.so", folder_ / "libggml-base.so");
    fs::copy_file(kOld / "libggml-cpu-x64.so", folder_ / "libggml-cpu-x64.so");
    const Context context(options(folder_));
    EXPECT_TRUE(context.devices().empty());
    EXPECT_NE(reason(context).find("not built for the libggml-base"), std::string::npos) << reason(context);
}

TEST_F(GgmlBackend, AWholeOlderReleaseRuns) {
    if (!fs::exists(kOld / "libggml-base.so"))
        GTEST_SKIP() << "no older ggml at " << kOld << ": unpack @node-llama-cpp/linux-x64 3.15.1 there";
    const Context context(options(kOld));
    VerifyOptions only;
    only.op = Op::clip;
    for (const VerifyResult& r : verify(context.choose("ggml:CPU"), only))
        EXPECT_NE(r.status, VerifyResult::failed) << r.name << ": " << r.text;
}

TEST_F(GgmlBackend, ASecondBaseInOneProcessIsRefused) {
    fs::copy_file(kStock / "libggml-base.so", folder_ / "libggml-base.so");
    ASSERT_NE(dlopen((folder_ / "libggml-base.so").c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
    const Context context(options(kStock));
    EXPECT_TRUE(context.devices().empty());
    EXPECT_NE(reason(context).find("loaded already"), std::string::npos) << reason(context);
}

TEST_F(GgmlBackend, AFolderWithoutGgmlSaysWhatToDo) {
    const Context context(options(folder_));
    EXPECT_TRUE(context.devices().empty());
    EXPECT_NE(reason(context).find("ggml.path"), std::string::npos) << reason(context);
}

TEST_F(GgmlBackend, ABaseThatIsCutOffIsRefused) {
    fs::copy_file(kStock / "libggml-base.so", folder_ / "libggml-base.so");
    fs::resize_file(folder_ / "libggml-base.so", 300000);
    const Context context(options(folder_));
    EXPECT_TRUE(context.devices().empty());
    EXPECT_NE(reason(context).find("cut off"), std::string::npos) << reason(context);
}

}  // namespace
}  // namespace backplane
