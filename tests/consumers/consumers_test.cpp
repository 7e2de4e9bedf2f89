// Two products, each with a Backplane of its own, in one process: neither sees the other's modules, symbols or end.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <thread>

#include "base/json.hpp"
#include "support/system.hpp"

namespace {

// Of builds that link the GPU backends in: what drivers do at their start and end is not what this is about (tests/drivers).
const bool kNoDrivers = [] {
    backplane::test::set_environment("OCL_ICD_VENDORS", "/nonexistent");
    backplane::test::set_environment("VK_DRIVER_FILES", "/nonexistent.json");
    return true;
}();

namespace fs = std::filesystem;

const fs::path kFolder = BP_TEST_CONSUMERS;

// A product's library, and what it exports for this test.
class Library {
public:
    Library(const std::string& name, int how)
        : file(kFolder / ("lib" + name + ".so")), handle_(::dlopen(file.c_str(), RTLD_NOW | how)) {
        if (handle_ == nullptr) throw std::runtime_error(::dlerror());
        get(abi, "product_abi");
        get(open, "product_open");
        get(report, "product_report");
        get(run, "product_run");
        get(close, "product_close");
    }
    ~Library() { ::dlclose(handle_); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    fs::path file;
    uint32_t (*abi)() = nullptr;
    void* (*open)(const char*, char*, size_t) = nullptr;
    int (*report)(void*, char*, size_t) = nullptr;
    int (*run)(void*, float) = nullptr;
    void (*close)(void*) = nullptr;

private:
    template <typename T>
    void get(T& function, const char* name) {
        function = reinterpret_cast<T>(::dlsym(handle_, name));
        if (function == nullptr) throw std::runtime_error(::dlerror());
    }
    void* handle_;
};

// An open device of it.
class Open {
public:
    Open(const Library& library, const char* device) : library_(library) {
        std::array<char, 8192> text{};
        handle_ = library.open(device, text.data(), text.size());
        if (handle_ == nullptr) throw std::runtime_error(text.data());
    }
    ~Open() { library_.close(handle_); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

    [[nodiscard]] bool run(float start) const { return library_.run(handle_, start) != 0; }
    [[nodiscard]] backplane::base::Json report() const {
        std::string text(1 << 20, '\0');
        if (library_.report(handle_, text.data(), text.size()) == 0) throw std::runtime_error("no report");
        return backplane::base::Json::parse(text.c_str());
    }

private:
    const Library& library_;
    void* handle_;
};

std::set<std::string> devices_of(const backplane::base::Json& report) {
    std::set<std::string> ids;
    for (const auto& d : report["devices"]) ids.insert(d["id"].text());
    return ids;
}

void expect_only_its_own(const backplane::base::Json& report, const std::string& prefix) {
    for (const auto& c : report["candidates"]) {
        const fs::path path = c["path"].text();
        EXPECT_TRUE(path.empty() || path.filename().string().compare(0, prefix.size(), prefix) == 0) << c;
    }
}

std::set<std::string> exported(const fs::path& library) {
    const std::string command = std::string(BP_TEST_NM) + " -D --defined-only --format=posix '" + library.string() + "'";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
    std::set<std::string> names;
    std::array<char, 4096> line{};
    while (pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
        const std::string text(line.data());
        names.insert(text.substr(0, text.find(' ')));
    }
    return names;
}

// Which comes first, and whether its symbols are offered to the other.
struct Way {
    const char* first;
    const char* second;
    int how;
};

std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.first << " before " << way.second; }

std::string name_of(const testing::TestParamInfo<Way>& info) {
    return std::string(info.param.first) + "First" + (info.param.how == RTLD_GLOBAL ? "Global" : "Local");
}

class Consumers : public testing::TestWithParam<Way> {};

TEST_P(Consumers, EachFindsItsOwnModulesOfWhicheverMinorVersion) {
    const Library first(GetParam().first, GetParam().how);
    const Library second(GetParam().second, GetParam().how);
    EXPECT_NE(first.abi(), second.abi());
    EXPECT_EQ(first.abi() >> 16, second.abi() >> 16);
    for (const Library* library : {&first, &second}) {
        const bool acme = library->file.filename() == "libacme.so";
        const char* other = acme ? "newer:0" : "older:0";
        const Open same(*library, "minimal:0");
        const Open cross(*library, other);
        EXPECT_TRUE(same.run(-500) && cross.run(-500)) << library->file;
        const backplane::base::Json report = same.report();
        expect_only_its_own(report, acme ? "acme-" : "zeta-");
        const std::set<std::string> there = devices_of(report);
        EXPECT_TRUE(there.count("cpu:0") == 1 && there.count("minimal:0") == 1 && there.count(other) == 1) << report;
        EXPECT_EQ(there.count(acme ? "older:0" : "newer:0"), 0U) << report;
    }
}

TEST_P(Consumers, BothComputeAtOnceAndOneGoesOnWhenTheOtherIsUnloaded) {
    auto first = std::make_unique<Library>(GetParam().first, GetParam().how);
    const Library second(GetParam().second, GetParam().how);
    const fs::path gone = first->file;
    std::atomic<int> wrong{0};
    std::atomic<bool> stop{false};
    std::atomic<int> rounds{0};
    std::thread other([&] {
        const Open device(second, "cpu:0");
        while (!stop) {
            if (!device.run(-300)) ++wrong;
            ++rounds;
        }
    });
    for (int round = 0; round < 3; ++round) {
        const Open device(*first, "cpu:0");
        for (int i = 0; i < 100; ++i)
            if (!device.run(static_cast<float>(-i))) ++wrong;
    }
    first.reset();
    EXPECT_FALSE(backplane::test::is_loaded(gone)) << "it stays in memory after dlclose()";
    const int before = rounds;
    while (rounds < before + 100) std::this_thread::yield();
    stop = true;
    other.join();
    EXPECT_EQ(wrong, 0);
    const Library again(GetParam().first, GetParam().how);
    EXPECT_TRUE(Open(again, "cpu:0").run(-1));
}

INSTANTIATE_TEST_SUITE_P(Ways, Consumers,
                         testing::Values(Way{"acme", "zeta", RTLD_LOCAL}, Way{"zeta", "acme", RTLD_LOCAL},
                                         Way{"acme", "zeta", RTLD_GLOBAL}, Way{"zeta", "acme", RTLD_GLOBAL}),
                         name_of);

TEST(Hybrid, TheCpuInsideASharedLibraryAndTheRestInModules) {
    if (!BP_TEST_HYBRID) GTEST_SKIP() << "this build has no cpu backend";
    const Library library("hybrid", RTLD_LOCAL);
    const Open device(library, "cpu:0");
    EXPECT_TRUE(device.run(-7));
    const backplane::base::Json report = device.report();
    expect_only_its_own(report, "acme-");
    for (const auto& c : report["candidates"]) {
        const bool loaded = c["verdict"] == "loaded";
        EXPECT_TRUE(c["backend"] != "cpu" || loaded == (c["source"] == "linked in")) << report;
        EXPECT_TRUE(c["backend"] != "minimal" || loaded) << report;
    }
    EXPECT_TRUE(Open(library, "minimal:0").run(-7));
}

TEST(Symbols, AProductExportsWhatItNamesAndAModuleItsEntry) {
    for (const char* product : {"libacme.so", "libzeta.so"})
        for (const std::string& name : exported(kFolder / product))
            EXPECT_TRUE(name.rfind("product_", 0) == 0 || name.rfind("backplane_", 0) == 0) << product << ": " << name;
    size_t modules = 0;
    for (const auto& entry : fs::directory_iterator(kFolder)) {
        if (entry.path().filename().string().rfind("lib", 0) == 0) continue;
        EXPECT_EQ(exported(entry.path()), std::set<std::string>{"backplane_module"}) << entry.path();
        ++modules;
    }
    EXPECT_GE(modules, 4U);
}

}  // namespace
