// Answers of the driver become failures with its own words, what they stand for, and what to do.
#include "driver.hpp"

#include <gtest/gtest.h>

#include "base/environment.hpp"
#include "scripted_cuda.hpp"
#include "support/system.hpp"

namespace backplane::cuda {
namespace {

// What the program asks of the driver by a variable (src/cli/main.cpp) is the user's to decide.
TEST(DriverSettings, AVariableIsSetWhereNobodyHasSetIt) {
    test::unset_environment("BACKPLANE_TEST_SETTING");
    base::set_where_unset("BACKPLANE_TEST_SETTING", "2");
    EXPECT_EQ(base::environment("BACKPLANE_TEST_SETTING"), "2");
    base::set_where_unset("BACKPLANE_TEST_SETTING", "8");
    EXPECT_EQ(base::environment("BACKPLANE_TEST_SETTING"), "2");
    test::unset_environment("BACKPLANE_TEST_SETTING");
}

Driver opened() {
    scripted::start_anew();
    Driver driver;
    std::string why;
    EXPECT_TRUE(driver.open(why)) << why;
    return driver;
}

TEST(DriverAnswers, AreFailuresWithTheDriversWordsAndARemedy) {
    const Driver driver = opened();
    const struct {
        int result;
        bp_code code;
        const char* text;
    } cases[] = {
        {222, BP_UNSUPPORTED,
         "load it: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (the provided PTX was compiled with an unsupported toolchain.); "
         "update the "
         "driver: it is older than the compiler of the module's kernels"},
        {209, BP_UNSUPPORTED, "install a module that was built for this card"},
        {200, BP_UNSUPPORTED, "its kernels are damaged"},
        {2, BP_NO_DEVICE_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {700, BP_DEVICE_LOST, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {719, BP_DEVICE_LOST, "CUDA_ERROR_LAUNCH_FAILED"},
        {716, BP_DEVICE_LOST, "CUDA error 716"},
        {214, BP_DEVICE_LOST, "CUDA error 214"},
        {1, BP_INTERNAL, "CUDA error 1"},
    };
    for (const auto& c : cases) {
        try {
            driver.check(c.result, "load it");
            ADD_FAILURE() << c.result << " passed";
        } catch (const sdk::Failure& failure) {
            EXPECT_EQ(failure.code(), c.code) << failure.what();
            EXPECT_NE(std::string(failure.what()).find(c.text), std::string::npos) << failure.what();
        }
    }
    EXPECT_NO_THROW(driver.check(0, "load it"));
}

TEST(DriverContexts, AreThoseOfTheThreadBeforeAgainAfterwards) {
    const Driver driver = opened();
    {
        const Current current(driver, nullptr);
        EXPECT_EQ(scripted::world().contexts, 1);
    }
    EXPECT_EQ(scripted::world().contexts, 0);
}

}  // namespace
}  // namespace backplane::cuda
