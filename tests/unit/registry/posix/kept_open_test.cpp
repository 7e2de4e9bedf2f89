// Device files of a trial stay open between the child that opened them and the first device that is opened here, and no longer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "backplane/context.hpp"
#include "support/system.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

// Descriptors of this process that are /dev/full, which the faulty module's descriptor holds.
int held(int* inherited = nullptr) {
    struct stat device {};
    struct stat status {};
    EXPECT_EQ(::stat("/dev/full", &device), 0);
    int count = 0;
    for (int file = 0; file < 1024; ++file) {
        if (::fstat(file, &status) != 0 || !S_ISCHR(status.st_mode) || status.st_rdev != device.st_rdev) continue;
        ++count;
        if (inherited != nullptr && (::fcntl(file, F_GETFD) & FD_CLOEXEC) == 0) ++*inherited;
    }
    return count;
}

class DevicesThatStayOpen : public ::testing::Test {
protected:
    DevicesThatStayOpen() : folder_(test::make_temporary_folder()) {}
    ~DevicesThatStayOpen() override {
        test::unset_environment("BACKPLANE_TEST_FAULT");
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    // The module, which a child tries and does `fault` in it.
    std::optional<Context> context(const char* fault) {
        test::set_environment("BACKPLANE_TEST_FAULT", fault);
        ContextOptions options;
        options.module_paths = {fs::path(BP_TEST_FAULTY) / "child"};
        options.search_defaults = options.use_linked_in = options.use_environment = false;
        options.probe_program = BP_TEST_PROBE;
        options.state_folder = folder_;
        return std::optional<Context>(std::in_place, options);
    }
    fs::path folder_;
};

TEST_F(DevicesThatStayOpen, UntilADeviceIsOpenHere) {
    std::optional<Context> context = this->context("child device_open 1 device");
    int inherited = 0;
    EXPECT_EQ(held(&inherited), 1) << "from the trial";
    EXPECT_EQ(inherited, 0) << "no program that is started gets it";
    EXPECT_EQ(context->devices().size(), 1U);
    EXPECT_EQ(held(), 1) << "listing opens none";
    const Device device = context->choose("minimal");
    EXPECT_EQ(held(), 0);
}

TEST_F(DevicesThatStayOpen, NoLongerThanTheContext) {
    std::optional<Context> context = this->context("child open 1 device");
    ASSERT_EQ(held(), 1);
    context.reset();
    EXPECT_EQ(held(), 0);
}

TEST_F(DevicesThatStayOpen, NoMoreThanEightOfThem) {
    std::optional<Context> context =
        this->context("child open 1 device+device+device+device+device+device+device+device+device");
    EXPECT_EQ(held(), 8);
}

TEST_F(DevicesThatStayOpen, OnlyOfATrialThatWasMadeNow) {
    this->context("child open 1 device").reset();
    const std::optional<Context> again = this->context("child open 1 device");
    EXPECT_EQ(again->devices().size(), 1U);
    EXPECT_EQ(held(), 0) << "what is remembered needs no child";
}

TEST_F(DevicesThatStayOpen, NotOfADeviceThatFails) {
    const std::optional<Context> context = this->context("child device_open 1 device+throw");
    ASSERT_EQ(context->devices().size(), 1U);
    EXPECT_FALSE(context->devices().front().fault.empty());
    EXPECT_EQ(held(), 0);
}

TEST_F(DevicesThatStayOpen, NotOfAModuleThatCrashesOrLeaves) {
    for (const char* fault : {"child device_close 1 device+crash", "child close 1 device+crash",
                              "child close 1 device+leave", "child close 1 device+kill", "child list 2 device+throw"}) {
        const std::optional<Context> context = this->context(fault);
        EXPECT_TRUE(context->devices().empty()) << fault;
        EXPECT_EQ(held(), 0) << fault;
        test::unset_environment("BACKPLANE_TEST_FAULT");
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(folder_)) fs::remove_all(entry, ignored);
    }
}

}  // namespace
}  // namespace backplane
