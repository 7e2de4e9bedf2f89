// What the library as a shared file exports: the functions of its headers in C, each of them, and nothing else.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>

#include "tree.hpp"

namespace backplane::layouts {
namespace {

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

// The other headers in C are of libbackplane_models, or of modules.
constexpr std::array kHeaders{"backplane.h", "cost.h", "fit.h", "pipeline.h", "tune.h", "verify.h"};

std::set<std::string> declared() {
    const std::regex function(R"(BACKPLANE_API[^;(]*\b(backplane_\w+)\()");
    std::set<std::string> names;
    for (const std::string header : kHeaders) {
        std::ifstream file(BP_TEST_SOURCE_DIR "/include/backplane/" + header);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const size_t before = names.size();
        for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) names.insert((*it)[1]);
        EXPECT_GT(names.size(), before) << header;
    }
    return names;
}

TEST(Exports, TheSharedLibraryExportsTheFunctionsOfItsHeadersAndNothingElse) {
    ASSERT_GT(declared().size(), 15U);
    EXPECT_EQ(exported(built("libbackplane.so")), declared());
}

TEST(Exports, AnAddonThatContainsItAddsItsOwn) {
    std::set<std::string> expected = declared();
    expected.insert("napi_register_module_v1");
    EXPECT_EQ(exported(built("liblayout_addon.so")), expected);
}

}  // namespace
}  // namespace backplane::layouts
