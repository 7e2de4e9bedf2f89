// The ggml backend over stock modules. Each test opens its ggml in a process of its own (gtest_discover_tests): the first libggml-base that
// a process loads serves it to its end.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/runtime.hpp"
#include "backplane/tensor.hpp"
#include "backplane/verify.hpp"
#include "opened.hpp"
#include "support/driver_file.hpp"
#include "support/patience.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

const fs::path kStock = BP_GGML_STOCK;
const fs::path kOld = BP_GGML_STOCK_OLD;
const fs::path kVulkan = BP_GGML_STOCK_VULKAN;

class GgmlBackend : public ::testing::Test {
protected:
    void SetUp() override {
        if (!fs::exists(kStock / "libggml-base.so"))
            GTEST_SKIP() << "no ggml at " << kStock << ": scripts/fetch-ggml.sh could not, or did not, fetch it from npm";
        std::string pattern = (fs::temp_directory_path() / "backplane-ggml-XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override {
        if (!folder_.empty()) fs::remove_all(folder_);
    }
    static ContextOptions options(const fs::path& ggml) {
        ContextOptions o = test::patient();
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

TEST_F(GgmlBackend, WhatGgmlLogsAsAnErrorReachesTheHostsLog) {
    ContextOptions heard = options(kStock);
    std::vector<std::string> errors;  // of this thread, which asks for the memory
    heard.log = [&errors](LogLevel level, std::string_view text) {
        if (level == LogLevel::error) errors.emplace_back(text);
    };
    const Context context(heard);
    const Device device = context.choose("ggml:CPU");
    EXPECT_TRUE(errors.empty()) << errors.front();
    EXPECT_THROW(static_cast<void>(Tensor(device, DType::f32, {int64_t{1} << 60})), Error);
    ASSERT_FALSE(errors.empty());
    EXPECT_TRUE(errors.front().starts_with("ggml: ")) << errors.front();
    EXPECT_NE(errors.front().find("alloc"), std::string::npos) << errors.front();
    EXPECT_EQ(errors.front().find('\n'), std::string::npos) << errors.front();
}

TEST_F(GgmlBackend, AMaskKeepsVariantsThatUseTheFeatureFromRunning) {
    ContextOptions masked = options(kStock);
    masked.cpu_mask = "avx512f,avx2";
    const Context context(masked);
    ASSERT_EQ(context.devices().size(), 1U) << reason(context);
    EXPECT_EQ(context.devices().front().features.find("avx2"), std::string::npos) << context.devices().front().features;
    VerifyOptions only;
    only.op = Op::matmul;
    for (const VerifyResult& r : verify(context.choose("ggml:CPU"), only))
        EXPECT_NE(r.status, VerifyResult::failed) << r.name << ": " << r.text;
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
        GTEST_SKIP() << "no older ggml at " << kOld << ": scripts/fetch-ggml.sh could not, or did not, fetch it from npm";
    fs::copy_file(kStock / "libggml-base.so", folder_ / "libggml-base.so");
    fs::copy_file(kOld / "libggml-cpu-x64.so", folder_ / "libggml-cpu-x64.so");
    const Context context(options(folder_));
    EXPECT_TRUE(context.devices().empty());
    EXPECT_NE(reason(context).find("not built for the libggml-base"), std::string::npos) << reason(context);
}

TEST_F(GgmlBackend, AWholeOlderReleaseRuns) {
    if (!fs::exists(kOld / "libggml-base.so"))
        GTEST_SKIP() << "no older ggml at " << kOld << ": scripts/fetch-ggml.sh could not, or did not, fetch it from npm";
    const Context context(options(kOld));
    VerifyOptions only;
    only.op = Op::clip;
    for (const VerifyResult& r : verify(context.choose("ggml:CPU"), only))
        EXPECT_NE(r.status, VerifyResult::failed) << r.name << ": " << r.text;
}

TEST_F(GgmlBackend, ModulesThatNumberTheirOpsOtherwiseAreAVerdict) {
    const fs::path middle = BP_GGML_STOCK_MIDDLE;
    if (!fs::exists(middle / "libggml-cpu-x64.so"))
        GTEST_SKIP() << "no ggml 0.15.3 at " << middle << ": scripts/fetch-ggml.sh could not, or did not, fetch it from npm";
    fs::copy_file(kStock / "libggml-base.so", folder_ / "libggml-base.so");
    fs::copy_file(middle / "libggml-cpu-x64.so", folder_ / "libggml-cpu-x64.so");
    const Context context(options(folder_));
    EXPECT_TRUE(context.devices().empty());
    EXPECT_FALSE(reason(context).empty());
}

TEST_F(GgmlBackend, TheLibraryMayBeInLibAndTheModulesInBin) {
    for (const char* name : {"bin", "lib"}) fs::create_directory(folder_ / name);
    fs::copy_file(kStock / "libggml-base.so", folder_ / "lib" / "libggml-base.so.0.25.1");
    fs::copy_file(kStock / "libggml-cpu-x64.so", folder_ / "bin" / "libggml-cpu-x64.so");
    for (const char* named : {"bin", "lib", "."}) {
        const Context context(options(folder_ / named));
        EXPECT_EQ(context.devices().size(), 1U) << named << ": " << reason(context);
    }
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

// Which modules are opened when a host that tries nothing in a child opens the backend on folder_.
class GgmlBackendOpens : public GgmlBackend {
protected:
    void SetUp() override {
        GgmlBackend::SetUp();
        if (IsSkipped()) return;
        for (const char* name : {"libggml-base.so", "libggml-cpu-x64.so", "libggml-cpu-sse42.so"})
            fs::copy_file(kStock / name, folder_ / name);
        fs::create_directory(folder_ / "cache");
    }
    [[nodiscard]] std::string open() const {
        ContextOptions o = options(folder_);
        o.probe = ProbePolicy::never;
        o.cache_folder = folder_ / "cache";
        const ggml_test::Opened opened(folder_.string());
        const Context context(o);
        EXPECT_EQ(context.devices().size(), 1U) << reason(context);
        return opened.text() + (context.devices().empty() ? "" : " -> " + context.devices().front().driver);
    }
    static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
};

TEST_F(GgmlBackendOpens, AllOfThemOnceAndThenTheWinnerAlone) {
    const std::string first = open();
    EXPECT_TRUE(has(first, "opened 2 sidecars 0")) << first;
    const std::string second = open();
    EXPECT_TRUE(has(second, "opened 1 sidecars 0: libggml-cpu-sse42.so -> ")) << second;
    EXPECT_TRUE(has(second, ", libggml-cpu-sse42.so")) << second;
    fs::remove(folder_ / "libggml-cpu-sse42.so");  // what is remembered is of other files now
    const std::string third = open();
    EXPECT_TRUE(has(third, "libggml-cpu-x64.so -> ")) << third;
}

TEST_F(GgmlBackendOpens, TheWinnerAloneWhereSidecarsAre) {
    if (std::string(BP_GGML_CLI).empty())
        GTEST_SKIP() << "sidecars are written by the command line and backplane-probe-ggml, of which this build lacks one";
    ASSERT_EQ(std::system((BP_GGML_CLI " modules index " + folder_.string() + " >/dev/null").c_str()), 0);
    const std::string first = open();
    EXPECT_TRUE(has(first, "opened 1 sidecars 2: libggml-cpu-sse42.so -> ")) << first;
    EXPECT_TRUE(has(open(), "opened 1 sidecars 2"));  // nothing was asked, so nothing was remembered

    // One that lies: the module itself is asked before it runs, and the better one is taken.
    const fs::path sidecar = folder_ / "libggml-cpu-x64.so.backplane.json";
    std::ifstream in(sidecar);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const size_t at = text.find("\"score\":") + 8;
    text.replace(at, text.find(',', at) - at, "2000000");
    std::ofstream(sidecar) << text;
    const std::string lied = open();
    EXPECT_TRUE(has(lied, "opened 2 sidecars 2")) << lied;
    EXPECT_TRUE(has(lied, ", libggml-cpu-sse42.so")) << lied;

    // One that is no use: its module is opened and asked as before.
    std::ofstream(sidecar) << "{";
    const std::string broken = open();
    EXPECT_TRUE(has(broken, ", libggml-cpu-sse42.so")) << broken;
}

// ggml's Vulkan module on lavapipe, which it offers when it is told to.
class GgmlVulkan : public GgmlBackend {
protected:
    void SetUp() override {
        GgmlBackend::SetUp();
        if (IsSkipped()) return;
        if (!fs::exists(kVulkan / "libggml-vulkan.so"))
            GTEST_SKIP() << "no ggml with Vulkan at " << kVulkan
                         << ": scripts/fetch-ggml.sh could not, or did not, fetch it from npm";
        ::setenv("GGML_VK_VISIBLE_DEVICES", "0", 1);
        ::setenv("GGML_VK_DISABLE_F16", "1", 1);  // or it rounds what it multiplies to f16
        const std::string lavapipe = test::driver_file("vulkan");
        if (lavapipe.empty()) GTEST_SKIP() << "lavapipe (mesa-vulkan-drivers) is not installed";
        for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) ::setenv(name, lavapipe.c_str(), 1);
        testing::internal::CaptureStderr();
        context_.emplace(options(kVulkan));
        said_ = testing::internal::GetCapturedStderr();
    }
    std::optional<Context> context_;
    std::string said_;
};

TEST_F(GgmlVulkan, ARasteriserOnTheProcessorIsNoGpu) {
    ASSERT_EQ(context_->devices().size(), 2U) << reason(*context_);
    EXPECT_EQ(context_->choose("ggml:Vulkan0").info().kind, DeviceKind::software);
    EXPECT_EQ(context_->choose("auto").info().name, "CPU");
    EXPECT_EQ(said_.find("ggml"), std::string::npos) << "on the error stream of the application: " << said_;
}

// Mesa 22.3 goes on using memory that this module frees between two graphs.
TEST_F(GgmlVulkan, ComputesWhileBuffersComeAndGo) {
    const Device device = context_->choose("ggml:Vulkan0");
    // Buffers and graphs of many sizes, and few kernels: building one takes this driver seconds on a busy machine.
    for (const auto& [op, names] : {std::pair{Op::add, ""}, std::pair{Op::reshape, ""}, std::pair{Op::conv, "1x1"}}) {
        VerifyOptions only;
        only.op = op;
        only.name_filter = names;
        int passed = 0;
        for (const VerifyResult& r : verify(device, only)) {
            EXPECT_NE(r.status, VerifyResult::failed) << r.name << ": " << r.text;
            passed += r.status == VerifyResult::passed ? 1 : 0;
        }
        EXPECT_GT(passed, 5) << names;
    }
}

}  // namespace
}  // namespace backplane
