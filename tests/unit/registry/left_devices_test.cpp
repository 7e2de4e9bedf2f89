// A driver's device that is the machine's processors is tried when somebody wants it, where the module has a chip that is sound.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "support/patience.hpp"
#include "support/system.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

struct Opened {
    long process = 0;
    unsigned long device = 0;
};

// The scripted module with a discrete device, number 1, and one of the processors, number 2.
class LeftDevices : public ::testing::Test {
protected:
    LeftDevices() : folder_(test::make_temporary_folder()) { script(""); }
    ~LeftDevices() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    void script(const std::string& more, DeviceKind first = DeviceKind::discrete) const {
        std::ofstream(at("script")) << "log " << at("log").string() << "\ndevice 1 " << static_cast<uint32_t>(first)
                                    << " chip\ndevice 2 " << static_cast<uint32_t>(DeviceKind::cpu) << " processors\n"
                                    << more;
    }
    [[nodiscard]] fs::path at(const char* name) const { return folder_ / name; }
    [[nodiscard]] ContextOptions options() const {
        ContextOptions options = test::patient();
        options.module_paths = {fs::path(BP_TEST_SCRIPTED) / "3"};
        options.search_defaults = options.use_linked_in = options.use_environment = false;
        options.probe_program = BP_TEST_PROBE;
        options.state_folder = at("state");
        options.options = {{"scripted.script", at("script").string()}};
        return options;
    }

    // The devices that children have opened since the last call, in turn.
    std::vector<unsigned long> tried() {
        std::vector<unsigned long> devices;
        std::ifstream file(at("log"));
        size_t line = 0;
        for (Opened o; file >> o.process >> o.device; ++line)
            if (line >= read_ && o.process != test::process_id()) devices.push_back(o.device);
        read_ = line;
        return devices;
    }
    using Tried = std::vector<unsigned long>;

    static std::string error_of(const Context& context, const char* filter) {
        try {
            return "chose " + context.choose(filter).info().id;
        } catch (const Error& error) {
            return error.what();
        }
    }

private:
    fs::path folder_;
    size_t read_ = 0;
};

TEST_F(LeftDevices, AreNotTriedForWhoTakesTheChip) {
    const Context context(options());
    EXPECT_EQ(context.choose().info().id, "scripted:0");
    EXPECT_NE(context.why(), "");
    EXPECT_EQ(tried(), Tried{1});
}

TEST_F(LeftDevices, AreTriedOnceWhenTheyAreWanted) {
    {
        const Context context(options());
        EXPECT_EQ(context.choose("scripted:1").info().id, "scripted:1");
        EXPECT_EQ(tried(), (Tried{1, 2}));
        EXPECT_EQ(context.choose("scripted:1").info().id, "scripted:1");
    }
    const Context again(options());
    EXPECT_EQ(again.choose("cpu").info().id, "scripted:1");
    EXPECT_EQ(again.devices().size(), 2U);
    EXPECT_EQ(tried(), Tried{}) << "it is remembered";
}

TEST_F(LeftDevices, AreTriedForWhoeverListsAllDevices) {
    script("refuse 2\n");
    for (const bool report : {true, false}) {
        ContextOptions options = this->options();
        options.state_folder = at(report ? "one" : "two");
        const Context context(options);
        const std::vector<DeviceInfo> devices = report ? context.report().devices : context.devices();
        ASSERT_EQ(devices.size(), 2U);
        EXPECT_NE(devices[1].fault.find("the driver refuses device"), std::string::npos) << devices[1].fault;
        EXPECT_EQ(tried(), (Tried{1, 2}));
    }
}

TEST_F(LeftDevices, ThatFailAreNotChosenButByName) {
    script("refuse 2\n");
    const Context context(options());
    EXPECT_EQ(context.choose("cpu,discrete").info().id, "scripted:0") << "it came first, and was found unfit";
    EXPECT_EQ(tried(), (Tried{1, 2}));
    const std::string text = error_of(context, "scripted:1");
    EXPECT_NE(text.find("the driver refuses device"), std::string::npos) << text;
    EXPECT_NE(context.devices()[1].fault.find("failed its trial"), std::string::npos) << context.devices()[1].fault;
    EXPECT_EQ(tried(), Tried{});
}

TEST_F(LeftDevices, ThatEndTheirProcessEndAChild) {
    script("abort 2\n");
    {
        const Context context(options());
        EXPECT_EQ(context.choose().info().id, "scripted:0");
        const std::string text = error_of(context, "scripted:1");
        EXPECT_NE(text.find("'open of device 1'"), std::string::npos) << text;
        EXPECT_NE(text.find("modules forget"), std::string::npos) << text;
        EXPECT_EQ(tried(), (Tried{1, 2})) << "and the module is good without it";
    }
    const Context again(options());
    EXPECT_EQ(again.choose("cpu,discrete").info().id, "scripted:0");
    EXPECT_EQ(tried(), Tried{}) << "it is remembered";
}

TEST_F(LeftDevices, AreTriedAtOnceWhereNoChipIsSound) {
    script("refuse 1\n");
    {
        const Context context(options());
        EXPECT_EQ(tried(), (Tried{1, 2}));
        EXPECT_EQ(context.choose().info().id, "scripted:1");
    }
    script("", DeviceKind::software);
    ContextOptions options = this->options();
    options.state_folder = at("another");
    EXPECT_EQ(Context(options).choose().info().id, "scripted:1");
    EXPECT_EQ(tried(), (Tried{1, 2}));
}

TEST_F(LeftDevices, WithoutAChildToTryThemAreNotOpened) {
    ContextOptions options = this->options();
    options.probe_program = at("probe");
    fs::copy_file(BP_TEST_PROBE, at("probe"));
    {
        const Context context(options);
        fs::remove(at("probe"));
        const std::string text = error_of(context, "scripted:1");
        EXPECT_NE(text.find("could not be tried in a child process"), std::string::npos) << text;
        EXPECT_EQ(context.choose().info().id, "scripted:0");
        EXPECT_EQ(tried(), Tried{1});
    }
    EXPECT_EQ(Context(this->options()).choose("scripted:1").info().id, "scripted:1") << "nothing was remembered of it";
}

}  // namespace
}  // namespace backplane
