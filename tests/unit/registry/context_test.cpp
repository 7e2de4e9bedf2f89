#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "backplane/context.hpp"
#include "backplane/runtime.hpp"
#include "base/file.hpp"
#include "registry/choice_text.hpp"
#include "support/system.hpp"

namespace backplane {
namespace {

ContextOptions only_minimal() {
    ContextOptions options;
    options.module_paths = {BP_TEST_MINIMAL};
    options.search_defaults = false;
    options.use_linked_in = false;
    options.use_environment = false;
    return options;
}

std::string error_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(Registry, WithNothingToFindEverythingThatWasTriedIsSaid) {
    ContextOptions options = only_minimal();
    options.module_paths = {"/no/such/folder"};
    const Context context(options);
    EXPECT_TRUE(context.devices().empty());
    const std::string text = error_of([&] { (void)context.choose(); });
    EXPECT_NE(text.find("no usable device"), std::string::npos) << text;
    EXPECT_NE(text.find("/no/such/folder"), std::string::npos) << text;
    EXPECT_NE(text.find("name their folder in module_paths"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << "an error is one line: " << text;
    const Report report = context.report();
    EXPECT_TRUE(report.chosen.empty());
    EXPECT_NE(report.json().find("\"chosen\":\"\""), std::string::npos);
}

TEST(Registry, WithoutADeviceTheErrorNamesWhatCameNearestAndWhatToDo) {
    const ContextOptions options;
    Report report;
    const std::string nothing = registry::why_chosen({}, "", options, report);
    EXPECT_NE(nothing.find("copy them beside the library or set BACKPLANE_MODULE_PATH"), std::string::npos) << nothing;
    Candidate text;
    text.path = "/m/backplane-text.so";
    text.verdict = Verdict::rejected;
    text.reason = "not a shared library";
    Candidate broken;
    broken.path = "/m/backplane-broken.so";
    broken.verdict = Verdict::failed;
    broken.reason = "it found no device:\nthere is no driver";
    broken.remedy = "install the driver";
    report.candidates = {text, broken};
    const std::string why = registry::why_chosen({}, "", options, report);
    EXPECT_NE(
        why.find("none of the 2 modules found is used, among them backplane-broken.so: it found no device: there is no "
                 "driver; install the driver"),
        std::string::npos)
        << why;
    EXPECT_NE(why.find("BACKPLANE_MODULE_PATH"), std::string::npos) << why;
    EXPECT_EQ(why.find('\n'), std::string::npos) << why;
}

TEST(Registry, WithoutADeviceTheErrorTellsOfAPlaceThatIsThereAndWasRefusedWhoeverNamedIt) {
    const ContextOptions options;
    Report report;
    const std::string missing = "No such file or directory",
                      refused = "refused: everybody may write to this folder (chmod o-w /app)";
    report.sources = {{SourceKind::library_folder, "/lib/app", false, missing},
                      {SourceKind::installed, "/usr/lib/backplane", false, missing}};
    const std::string none = registry::why_chosen({}, "", options, report);
    EXPECT_NE(none.find("are in the 2 places that were asked; "), std::string::npos) << none;
    report.sources.insert(report.sources.begin(), {SourceKind::environment, "/no/such/folder", false, "does not exist"});
    const std::string named = registry::why_chosen({}, "", options, report);
    EXPECT_NE(named.find("('/no/such/folder': does not exist)"), std::string::npos) << named;
    for (const std::string& note : {refused, std::string("cannot be read: Permission denied")}) {
        report.sources.insert(report.sources.begin() + 1, {SourceKind::executable_folder, "/app", false, note});
        const std::string there = registry::why_chosen({}, "", options, report);
        EXPECT_NE(there.find("('/app': " + note + ")"), std::string::npos) << there;
        EXPECT_EQ(there.find("/no/such/folder"), std::string::npos) << there;
    }
}

TEST(Registry, AFilterThatNamesABackendWhoseModuleFailedSaysWhy) {
    Report report;
    DeviceInfo cpu;
    cpu.id = "cpu:0";
    report.devices = {cpu};
    Candidate broken;
    broken.path = "/m/backplane-broken.so";
    broken.verdict = Verdict::failed;
    broken.descriptor.emplace().backend = "broken";
    broken.reason = "it found no device";
    report.candidates = {broken};
    const std::string why = registry::why_chosen(registry::Filter("broken"), "the filter", {}, report);
    EXPECT_NE(why.find("the filter 'broken' matches nothing; there are: cpu:0"), std::string::npos) << why;
    EXPECT_NE(why.find("backplane-broken.so is not used: it found no device"), std::string::npos) << why;
    const std::string other = registry::why_chosen(registry::Filter("other"), "the filter", {}, report);
    EXPECT_NE(other.find("BACKPLANE_MODULE_PATH"), std::string::npos) << other;
}

TEST(Registry, ASoftwareDeviceIsNotChosenByItselfButByName) {
    const Context context(only_minimal());
    const std::string text = error_of([&] { (void)context.choose(); });
    EXPECT_NE(text.find("software"), std::string::npos) << text;
    EXPECT_NE(text.find("minimal:0"), std::string::npos) << text;
    EXPECT_EQ(context.choose("minimal:0").info().id, "minimal:0");
    EXPECT_EQ(context.choose("software").info().id, "minimal:0");
}

TEST(Registry, AFilterThatMatchesNothingSaysWhatThereIs) {
    const Context context(only_minimal());
    const std::string text = error_of([&] { (void)context.choose("fast"); });
    EXPECT_NE(text.find("'fast'"), std::string::npos) << text;
    EXPECT_NE(text.find("minimal:0"), std::string::npos) << text;
}

TEST(Registry, TheSameDeviceOpenedTwiceIsOneOpenDevice) {
    const Context context(only_minimal());
    const Device a = context.choose("minimal");
    const Device b = context.choose("minimal:0");
    EXPECT_TRUE(a == b);
    const Context other(only_minimal());
    EXPECT_FALSE(other.choose("minimal") == a);
}

TEST(Registry, ADeviceOutlivesItsContext) {
    Device device;
    {
        const Context context(only_minimal());
        device = context.choose("minimal");
    }
    EXPECT_EQ(device.info().backend, "minimal");
    Buffer buffer(device, 16);
    const std::vector<std::byte> bytes(16, std::byte{7});
    buffer.write(bytes);
    std::vector<std::byte> back(16);
    buffer.read(back);
    EXPECT_EQ(back, bytes);
}

TEST(Registry, AnExcludedBackendIsNotEvenLoaded) {
    ContextOptions options = only_minimal();
    options.device_filter = "!minimal";
    const Context context(options);
    const Report report = context.report();
    ASSERT_EQ(report.candidates.size(), 1U);
    EXPECT_EQ(report.candidates[0].code, ReasonCode::excluded_by_filter);
    EXPECT_TRUE(report.devices.empty());
}

ContextOptions minimal_and_scripted() {
    ContextOptions options = only_minimal();
    options.module_paths.push_back(std::filesystem::path(BP_TEST_SCRIPTED) / "1");
    options.probe = ProbePolicy::never;
    return options;
}

TEST(Registry, AFilterThatNamesABackendTouchesNoOtherUntilAllAreAskedFor) {
    const std::filesystem::path other = minimal_and_scripted().module_paths[1] / test::library("backplane-scripted");
    for (const char* filter : {"minimal", "MINIMAL:0", "minimal:minimal example", "minimal, !software:1"}) {
        ContextOptions options = minimal_and_scripted();
        options.device_filter = filter;
        Context context(options);
        EXPECT_EQ(context.choose().info().id, "minimal:0") << filter;
        EXPECT_FALSE(test::is_loaded(other)) << filter;
        EXPECT_EQ(context.devices().size(), 2U) << filter;
        EXPECT_TRUE(test::is_loaded(other)) << filter;
        EXPECT_EQ(context.choose().info().id, "minimal:0") << filter;
        EXPECT_EQ(context.choose("scripted").info().id, "scripted:0") << filter;
        context.rescan();
        EXPECT_EQ(context.devices().size(), 2U) << filter;
    }
    EXPECT_FALSE(test::is_loaded(other));
}

TEST(Registry, WhatIsNamedAndNotThereIsLookedForAmongAllAndTheErrorTellsThem) {
    for (const char* filter : {"minimal:7", "minimal:0,!minimal", "pci:0000:99:00.0"}) {
        ContextOptions options = minimal_and_scripted();
        options.device_filter = filter;
        const Context context(options);
        const std::string text = error_of([&] { (void)context.choose(); });
        EXPECT_NE(text.find("scripted:0"), std::string::npos) << text;
    }
    ContextOptions options = minimal_and_scripted();
    options.device_filter = "minimal:7,discrete";
    EXPECT_EQ(Context(options).choose().info().id, "scripted:0");
    options.device_filter = "minimal:7";
    EXPECT_EQ(Context(options).choose("scripted:0").info().id, "scripted:0") << "asked for by the application after all";
}

TEST(Registry, ARescanKeepsWhatIsOpen) {
    Context context(only_minimal());
    const Device before = context.choose("minimal");
    context.rescan();
    EXPECT_TRUE(context.choose("minimal") == before);
}

TEST(Registry, ThreadsMayDoEverythingAtOnce) {
    Context context(only_minimal());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 50; ++round) {
                const Device device = context.choose("minimal");
                EXPECT_EQ(device.info().id, "minimal:0");
                EXPECT_EQ(context.devices().size(), 1U);
                if (i == 0) context.rescan();
                EXPECT_FALSE(context.report().json().empty());
                const Context own(only_minimal());
                EXPECT_EQ(own.devices().size(), 1U);
            }
        });
    for (std::thread& thread : threads) thread.join();
}

// A module file of the test's own, in a folder of its own.
class OwnCopy {
public:
    OwnCopy() : folder_(test::make_temporary_folder()) { replace(); }
    ~OwnCopy() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    OwnCopy(const OwnCopy&) = delete;
    OwnCopy& operator=(const OwnCopy&) = delete;
    // As installers do it: a new file under the old name.
    void replace() const {
        std::filesystem::copy_file(std::filesystem::path(BP_TEST_MINIMAL) / file().filename(), folder_ / "new");
        EXPECT_EQ(base::replace(folder_ / "new", file()), "");
    }
    [[nodiscard]] std::filesystem::path file() const { return folder_ / test::library("backplane-minimal"); }
    [[nodiscard]] ContextOptions options() const {
        ContextOptions options = only_minimal();
        options.module_paths = {folder_};
        return options;
    }

private:
    std::filesystem::path folder_;
};

TEST(Registry, AThousandRoundsOfLoadingAndUnloadingLeaveNothingMapped) {
    const OwnCopy copy;
    for (int round = 0; round < BP_TEST_ROUNDS; ++round) {
        const Context context(copy.options());
        const Device device = context.choose("minimal");
        ASSERT_TRUE(test::is_loaded(copy.file()));
    }
    EXPECT_FALSE(test::is_loaded(copy.file()));
}

TEST(Registry, AModuleThatCameOrWentIsSeenByARescanAndOpenDevicesStay) {
    const OwnCopy copy;
    Context context(copy.options());
    const Device device = context.choose("minimal");
    test::take_away(copy.file());
    context.rescan();
    EXPECT_TRUE(context.devices().empty());
    EXPECT_EQ(Buffer(device, 8).size(), 8U) << "its module stays while a handle lives";
    copy.replace();
    context.rescan();
    ASSERT_EQ(context.devices().size(), 1U);
    EXPECT_FALSE(context.choose("minimal") == device) << "another file, another module";
    copy.replace();
    context.rescan();
    EXPECT_EQ(context.choose("minimal").info().id, "minimal:0");
}

TEST(Registry, AnUnknownOptionSaysWhichThereAre) {
    const Context context(only_minimal());
    Device device = context.choose("minimal");
    const std::string text = error_of([&] { device.set_option("speed", int64_t{3}); });
    EXPECT_NE(text.find("speed"), std::string::npos) << text;
    EXPECT_NE(text.find("there are"), std::string::npos) << text;
}

}  // namespace
}  // namespace backplane
