// What is said where a machine lacks a driver, or has one that is broken; each time the CPU is there and is chosen.
#include <functional>

#include "machine.hpp"

namespace backplane::drivers {
namespace {

// Registers a library as a driver: a manifest for Vulkan, an ICD file for OpenCL. Returns the variable that has the loader read it.
std::string registered(const Place& p, const std::string& backend, const std::string& library,
                       const std::string& name = "one") {
    if (backend == "vulkan") {
        const std::string file = p.at("icd/" + name + ".json");
        write(file,
              R"({"file_format_version": "1.0.0", "ICD": {"library_path": ")" + library + R"(", "api_version": "1.3.0"}})");
        return "VK_DRIVER_FILES=" + file;
    }
    write(p.at("icd/" + name + ".icd"), library + "\n");
    return "OCL_ICD_VENDORS=" + p.at("icd");
}

std::string fake(const std::string& backend) { return backend == "vulkan" ? BP_TEST_FAKE_VULKAN : BP_TEST_FAKE_OPENCL; }

// /dev as the test says; a name that begins with '!' may not be opened.
Environment with_dev(const Place& p, const std::vector<std::string>& files) {
    fs::create_directories(p.at("dev"));
    for (const std::string& file : files) {
        const std::string path = p.at("dev/" + file.substr(file[0] == '!' ? 1 : 0));
        write(path, "");
        fs::permissions(path, file[0] == '!' ? fs::perms::none : fs::perms::owner_all);
    }
    return {std::string("LD_PRELOAD=") + BP_TEST_PRETEND, "BP_PRETEND_DEV=" + p.at("dev")};
}

Environment operator+(Environment a, const Environment& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

struct Lack {
    const char* name;
    std::function<Environment(const Place&, const std::string& backend)> arrange;
    std::vector<std::string> words;  // of the sentence; BACKEND's own: "vulkan text|opencl text"
    bool dies = false;               // with the process that loads the driver
};
void PrintTo(const Lack& lack, std::ostream* out) { *out << lack.name; }

const Lack kLacks[] = {
    {"NoLoader",
     [](const Place&, const std::string& backend) {
         return Environment{std::string("LD_PRELOAD=") + BP_TEST_PRETEND, "BP_PRETEND_ABSENT=" + loader_of(backend)};
     },
     {"loader", "does not open", "No such file", "Debian: libvulkan1|Debian: ocl-icd-libopencl1"}},
    {"ALoaderThatIsNoLibrary",
     [](const Place& p, const std::string& backend) {
         write(p.at("lib/" + loader_of(backend)), std::string(4096, 'x'));
         return Environment{"LD_LIBRARY_PATH=" + p.at("lib")};
     },
     {"loader", "does not open", "invalid ELF header"}},
    {"ALoaderThatIsAStub",
     [](const Place& p, const std::string& backend) {
         fs::create_directories(p.at("lib"));
         fs::copy_file(BP_TEST_STUB, p.at("lib/" + loader_of(backend)));
         return Environment{"LD_LIBRARY_PATH=" + p.at("lib")};
     },
     {"has no vkGetInstanceProcAddr (a stub?)|has no clGetPlatformIDs (a stub?)", "install it"}},
    {"NoDriverRegistered",
     [](const Place& p, const std::string& backend) {
         if (backend == "opencl") return Environment{"OCL_ICD_VENDORS=" + p.at("nowhere")};
         // Where no variable names any: the folders of this machine may have some, so the variable names none.
         return Environment{"VK_DRIVER_FILES=:"};
     },
     {"no Vulkan driver is registered|no ICD is registered", "VK_DRIVER_FILES=:|install a driver"}},
    {"ADriverFileThatIsNotThere",
     [](const Place& p, const std::string& backend) {
         if (backend == "opencl") return Environment{"OCL_ICD_VENDORS=" + p.at("none.icd")};
         return Environment{"VK_DRIVER_FILES=" + p.at("none.json")};
     },
     {"none.json cannot be read: No such file|none.icd is empty or absent"}},
    {"ADriverFileThatNamesNothing",
     [](const Place& p, const std::string& backend) {
         const std::string variable = registered(p, backend, "");
         if (backend == "vulkan") write(p.at("icd/one.json"), "{");
         return Environment{variable};
     },
     {"names no library", "install that driver again"}},
    {"ADriverFileThatNamesAMissingLibrary",
     [](const Place& p, const std::string& backend) { return Environment{registered(p, backend, p.at("gone.so"))}; },
     {"gone.so which cannot be loaded", "No such file", "install that driver again"}},
    {"ADriverFileThatNamesWhatIsNoDriver",
     [](const Place& p, const std::string& backend) { return Environment{registered(p, backend, BP_TEST_STUB)}; },
     {"which is no Vulkan driver (a stub?)|which is no OpenCL driver (a stub?)"}},
    {"ADriverThatDoesNotStart",
     [](const Place& p, const std::string& backend) {
         return Environment{registered(p, backend, fake(backend)), "BP_FAKE_DRIVER=unwilling"} +
                with_dev(p, {"dri/renderD128"});
     },
     {"load but none starts (one.json)|load but offer no platform"}},
    {"ADriverWithoutADevice",
     [](const Place& p, const std::string& backend) {
         return Environment{registered(p, backend, fake(backend)), "BP_FAKE_DRIVER=none"} + with_dev(p, {"dri/renderD128"});
     },
     {"start but have no device (one.json)|platform Fake has no device"}},
    {"NoDeviceFile",
     [](const Place& p, const std::string& backend) {
         return Environment{registered(p, backend, fake(backend)), "BP_FAKE_DRIVER=none"} + with_dev(p, {"null"});
     },
     {"have no device|has no device", "this machine, or this container, has no device file of a GPU"}},
    {"NoPermissionForTheDeviceFile",
     [](const Place& p, const std::string& backend) {
         return Environment{registered(p, backend, fake(backend)), "BP_FAKE_DRIVER=none"} + with_dev(p, {"!dri/renderD128"});
     },
     {"have no device|has no device", "no permission to open /dev/dri/renderD128", "add the user to the group"}},
    {"ADriverThatCrashes",
     [](const Place& p, const std::string& backend) {
         return Environment{registered(p, backend, fake(backend)), "BP_FAKE_DRIVER=crash"};
     },
     {"signal 11", "when it was tried in a child process"},
     true},
    {"ADriverThatEndsTheProcess",
     [](const Place& p, const std::string& backend) {
         return Environment{registered(p, backend, fake(backend)), "BP_FAKE_DRIVER=exit"};
     },
     {"ended the process with exit code 0", "when it was tried in a child process"},
     true},
};

// "vulkan's|opencl's", or one for both.
std::string of(const std::string& backend, const std::string& word) {
    const size_t split = word.find('|');
    return split == std::string::npos ? word : backend == "vulkan" ? word.substr(0, split) : word.substr(split + 1);
}

Json candidate_of(const Json& report, const std::string& backend) {
    for (const Json& c : report["candidates"])
        if (c["backend"] == backend) return c;
    return {};
}

// Adds these registrations, and a driver that works, to the one that `variable` names.
void beside_a_working_one(const Place& p, const std::string& backend, std::string& variable,
                          const std::vector<std::string>& names) {
    if (backend == "opencl") {
        fs::copy_file(driver_file(backend), p.at("icd/z-good.icd"));
        return;
    }
    for (const std::string& name : names) variable += ":" + p.at("icd/" + name + ".json");
    variable += ":" + driver_file(backend);
}

Json doctor(const Place& p, const std::string& backend, const Environment& environment) {
    const Outcome o = e2e::run(p, {"doctor", "--json", "--no-cache", "--device", only(backend)}, quiet(p, environment));
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return Json::parse(o.out);
}

// What the report says beside verdicts that begins with the backend's name.
std::vector<std::string> notes_on(const Json& report, const std::string& backend) {
    std::vector<std::string> out;
    for (const Json& line : report["notes"])
        if (line.text().rfind(backend + ": ", 0) == 0) out.push_back(line.text());
    return out;
}

class Verdicts : public testing::TestWithParam<std::tuple<std::string, Lack>> {};

TEST_P(Verdicts, SayWhatIsLackingAndLeaveTheCpu) {
    const auto& [backend, lack] = GetParam();
    BP_NEEDS(backend, false);
    if (lack.dies && how_built(backend) != "module")
        GTEST_SKIP() << backend << " is linked in: what it does, the program does";
    const Place p;
    const Environment environment = quiet(p, lack.arrange(p, backend));
    const Outcome o = e2e::run(p, {"doctor", "--json", "--no-cache", "--device", only(backend)}, environment);
    ASSERT_EQ(o.exit_code, 0) << o.err;
    const Json report = Json::parse(o.out);
    EXPECT_EQ(report["chosen"], "cpu:0") << report["why"];
    EXPECT_TRUE(device(report, backend + ":0").is_null()) << report["devices"];
    const Json candidate = candidate_of(report, backend);
    EXPECT_EQ(candidate["verdict"], "failed") << candidate;
    EXPECT_EQ(candidate["code"], lack.dies ? "quarantined" : "no-devices");
    const std::string reason = candidate["reason"].text();
    EXPECT_EQ(reason.rfind("it found no device: ", 0) == 0, !lack.dies) << reason;
    for (const std::string& word : lack.words) EXPECT_NE(reason.find(of(backend, word)), std::string::npos) << reason;
}

INSTANTIATE_TEST_SUITE_P(All, Verdicts, testing::Combine(testing::Values("vulkan", "opencl"), testing::ValuesIn(kLacks)),
                         [](const auto& p) { return std::get<0>(p.param) + "_" + std::get<1>(p.param).name; });

class Backends : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, Backends, testing::Values("vulkan", "opencl"), [](const auto& p) { return p.param; });

TEST_P(Backends, ADriverThatHangsCostsItsTimeAndNoMore) {
    const std::string& backend = GetParam();
    BP_NEEDS(backend, false);
    if (how_built(backend) != "module") GTEST_SKIP() << backend << " is linked in: what it does, the program does";
    const Place p;
    set_environment(quiet(p, {registered(p, backend, fake(backend)), "BP_FAKE_DRIVER=hang"}));
    ContextOptions options = options_for(p);
    options.device_filter = only(backend);
    options.probe_limit = std::chrono::milliseconds(1500);
    options.probe_program = BP_TEST_PROBE;
    const Report report = Context(options).report();
    EXPECT_EQ(report.chosen, "cpu:0") << report.why;
    size_t found = 0;
    for (const Candidate& c : report.candidates)
        if (c.descriptor && c.descriptor->backend == backend) {
            ++found;
            EXPECT_EQ(c.code, ReasonCode::timed_out) << c.reason;
        }
    EXPECT_EQ(found, 1U);
}

TEST_P(Backends, AWorkingDriverBesideABrokenOneIsUsed) {
    const std::string& backend = GetParam();
    BP_NEEDS(backend, true);
    const Place p;
    Environment environment{registered(p, backend, p.at("gone.so"), "a-gone")};
    registered(p, backend, BP_TEST_STUB, "b-stub");
    beside_a_working_one(p, backend, environment[0], {"b-stub"});
    const Json report = doctor(p, backend, environment);
    EXPECT_FALSE(device(report, backend + ":0").is_null()) << report;
    EXPECT_EQ(report["chosen"], "cpu:0");
    const std::vector<std::string> notes = notes_on(report, backend);
    ASSERT_EQ(notes.size(), 1U) << report["notes"];
    for (const char* word :
         {"a-gone.", "gone.so which cannot be loaded", "No such file", "and 1 more are broken", "install that driver again"})
        EXPECT_NE(notes[0].find(word), std::string::npos) << notes[0];
}

// Drivers of absent hardware, and those for programs of another word size: nothing is wrong with them.
TEST_P(Backends, OfDriversThatOnlyHaveNothingToDriveNothingIsSaid) {
    const std::string& backend = GetParam();
    BP_NEEDS(backend, true);
    for (const char* fault : {"none", "unwilling"}) {
        const Place p;
        Environment environment{registered(p, backend, fake(backend), "a-idle"), std::string("BP_FAKE_DRIVER=") + fault};
        std::string header = "\177ELF\001\001\001";  // of 32 bits
        header.resize(4096);
        write(p.at("lib/small.so"), header);
        registered(p, backend, p.at("lib/small.so"), "b-small");
        beside_a_working_one(p, backend, environment[0], {"b-small"});
        const Json report = doctor(p, backend, environment);
        EXPECT_FALSE(device(report, backend + ":0").is_null()) << report;
        EXPECT_EQ(notes_on(report, backend), std::vector<std::string>()) << fault;
    }
}

TEST_P(Backends, OfManyBrokenDriversTheFirstIsNamedAndTheAdviceIsKept) {
    const std::string& backend = GetParam();
    BP_NEEDS(backend, false);
    const Place p;
    std::string variable = registered(p, backend, p.at("gone-0.so"), "driver-0");
    for (const std::string n : {"1", "2", "3"}) {
        registered(p, backend, p.at("gone-" + n + ".so"), "driver-" + n);
        if (backend == "vulkan") variable += ":" + p.at("icd/driver-" + n + ".json");
    }
    const Outcome o = e2e::run(p, {"doctor", "--json", "--no-cache", "--device", only(backend)}, quiet(p, {variable}));
    const std::string reason = candidate_of(Json::parse(o.out), backend)["reason"].text();
    EXPECT_NE(reason.find("gone-0.so"), std::string::npos) << reason;
    EXPECT_NE(reason.find("and 3 more are broken"), std::string::npos) << reason;
    EXPECT_NE(reason.find("install that driver again"), std::string::npos) << reason;
}

// A verdict from better days: something that the driver's loader reads has changed since, and crashes.
struct Change {
    const char* name;
    const char* backend;
    std::function<Environment(const Place&)> before, after;  // arrange the machine, say the environment
};
void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

std::string crashing_layer(const Place& p, const std::string& folder) {
    write(p.at(folder + "/crash.json"),
          std::string(R"({"file_format_version": "1.1.2", "layer": {"name": "VK_LAYER_BP_crash", "type": "GLOBAL", )") +
              R"("library_path": ")" + BP_TEST_FAKE_VULKAN +
              R"(", "api_version": "1.3.0", "implementation_version": "1", "description": "crashes", )" +
              R"("disable_environment": {"BP_DISABLE_LAYER": "1"}}})");
    return p.at(folder);
}

const Environment kCrash{"BP_FAKE_DRIVER=crash"};  // of the fakes alone

const Change kChanges[] = {
    {"AnImplicitLayerIsInstalled", "vulkan", [](const Place&) { return kCrash; },
     [](const Place& p) {
         crashing_layer(p, "home/.local/share/vulkan/implicit_layer.d");
         return kCrash;
     }},
    {"AVariableNamesALayer", "vulkan", [](const Place&) { return kCrash; },
     [](const Place& p) {
         return kCrash + Environment{"VK_LAYER_PATH=" + crashing_layer(p, "layers"), "VK_INSTANCE_LAYERS=VK_LAYER_BP_crash"};
     }},
    {"TheFileBehindAVariableIsEditedInPlace", "vulkan",
     [](const Place& p) {
         write(p.at("icd/one.json"), content(driver_file("vulkan")));
         return kCrash + Environment{"VK_DRIVER_FILES=" + p.at("icd/one.json")};
     },
     [](const Place& p) { return kCrash + Environment{registered(p, "vulkan", fake("vulkan"))}; }},
    {"AFileIsAddedToTheFolderBehindAVariable", "opencl",
     [](const Place& p) {
         write(p.at("icd/z-good.icd"), content(driver_file("opencl")));
         return kCrash + Environment{"OCL_ICD_VENDORS=" + p.at("icd")};
     },
     [](const Place& p) { return kCrash + Environment{registered(p, "opencl", fake("opencl"))}; }},
};

class StaleVerdicts : public testing::TestWithParam<Change> {};

TEST_P(StaleVerdicts, AreNotBelievedTheHostLivesAndTheReportSaysWhyAndForHowLong) {
    const Change& change = GetParam();
    const std::string backend = change.backend;
    BP_NEEDS(backend, true);
    if (how_built(backend) != "module") GTEST_SKIP() << backend << " is linked in: what it does, the program does";
    const Place p;
    for (const char* time : {"tried", "remembered"}) {
        const Json good = doctor(p, backend, change.before(p));
        EXPECT_FALSE(device(good, backend + ":0").is_null()) << time << good;
    }
    const Environment after = change.after(p);
    for (const char* time : {"tried again", "remembered"}) {
        const Json report = doctor(p, backend, after);
        EXPECT_EQ(report["chosen"], "cpu:0") << time;
        EXPECT_EQ(candidate_of(report, backend)["code"], "quarantined") << time << candidate_of(report, backend);
        const std::string remedy = candidate_of(report, backend)["remedy"].text();
        for (const char* words : {"remembered since ", " until ", "backplane modules forget "})
            EXPECT_NE(remedy.find(words), std::string::npos) << time << ": " << remedy;
    }
}

INSTANTIATE_TEST_SUITE_P(All, StaleVerdicts, testing::ValuesIn(kChanges), [](const auto& p) { return p.param.name; });

TEST(Verdicts, VariablesThatHideDevicesAreNamed) {
    BP_NEEDS("opencl", true);
    const Place p;
    const Outcome o =
        e2e::run(p, {"doctor", "--json", "--no-cache", "--device", only("opencl")}, quiet(p, {"POCL_DEVICES=nonsense"}));
    const std::string reason = candidate_of(Json::parse(o.out), "opencl")["reason"].text();
    EXPECT_NE(reason.find("POCL_DEVICES=nonsense"), std::string::npos) << reason;
}

TEST(Verdicts, VariablesThatHideDriversAreNamed) {
    BP_NEEDS("vulkan", true);
    const Place p;
    const Outcome o = e2e::run(p, {"doctor", "--json", "--no-cache", "--device", only("vulkan")},
                               quiet(p, {"VK_LOADER_DRIVERS_DISABLE=*"}));
    const Json report = Json::parse(o.out);
    if (!device(report, "vulkan:0").is_null()) GTEST_SKIP() << "this Vulkan loader does not know VK_LOADER_DRIVERS_DISABLE";
    const std::string reason = candidate_of(report, "vulkan")["reason"].text();
    EXPECT_NE(reason.find("VK_LOADER_DRIVERS_DISABLE=*"), std::string::npos) << reason;
}

}  // namespace
}  // namespace backplane::drivers
