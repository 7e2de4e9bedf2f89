#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"

namespace backplane::e2e {
namespace {

TEST(CliUse, WrongArgumentsEndWith2) {
    const Place p;
    const std::vector<std::vector<std::string>> wrong{{"frobnicate"},
                                                      {"upscale"},
                                                      {"upscale", "a.png"},
                                                      {"upscale", "a.png", "b.png", "--scale", "5"},
                                                      {"upscale", "a.png", "b.png", "--tile", "huge"},
                                                      {"devices", "--no-such-flag"},
                                                      {"bench"},
                                                      {"bench", "esrgan", "--size", "0"},
                                                      {"bench", "ops", "--op", "Relu"},
                                                      {"bench", "ops", "--op", "Conv", "--product", "1,32,32"},
                                                      {"bench", "speech", "--size", "7b"},
                                                      {"bench", "speech", "--seconds", "0"},
                                                      {"modules"},
                                                      {"model", "info"}};
    for (const auto& arguments : wrong) {
        const Outcome o = run(p, arguments);
        EXPECT_EQ(o.exit_code, 2) << arguments[0] << ": " << o.out << o.err;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
        EXPECT_EQ(o.out, "");
    }
}

TEST(CliUse, AMisspeltWordIsNamedWithWhatWasProbablyMeant) {
    const Place p;
    struct Misspelt {
        std::vector<std::string> arguments;
        std::string text;
    };
    for (const Misspelt& c : std::vector<Misspelt>{
             {{"upscal", "a", "b"}, "backplane: there is no command 'upscal'; did you mean 'upscale'?\n"},
             {{"device"}, "backplane: there is no command 'device'; did you mean 'devices'?\n"},
             {{"bench", "op"}, "backplane: there is no command 'bench op'; did you mean 'ops'?\n"},
             {{"devices", "--modul", "x"}, "backplane: devices: there is no option '--modul'; did you mean '--modules'?\n"},
             {{"devices", "--modul=x"}, "backplane: devices: there is no option '--modul'; did you mean '--modules'?\n"}})
        EXPECT_EQ(run(p, c.arguments).err, c.text);
    EXPECT_NE(run(p, {"frobnicate"}).err.find("'frobnicate'"), std::string::npos);
    for (const char* which : {"ops", "chain", "plan", "stream", "esrgan", "discovery"})
        EXPECT_NE(run(p, {"bench"}).err.find(which), std::string::npos) << which;
    EXPECT_NE(run(p, {"devices", "a", "b"}).err.find("'a'"), std::string::npos);
}

TEST(CliUse, WithJsonAWrongArgumentIsJson) {
    const Place p;
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"upscale", "--json"}, {"upscal", "--json"}, {"devices", "--json", "--nope"}}) {
        const Outcome o = run(p, arguments);
        EXPECT_EQ(o.exit_code, 2);
        EXPECT_NE(o.out.find("\"error\""), std::string::npos) << o.out;
        EXPECT_NE(o.out.find("\"usage\""), std::string::npos) << o.out;
        EXPECT_TRUE(is_one_line(o.err)) << o.err;
    }
}

TEST(CliUse, TheBareProgramShowsItsHelpAndSaysThatNothingWasDone) {
    const Place p;
    const Outcome o = run(p, {});
    EXPECT_EQ(o.exit_code, 2);
    EXPECT_NE(o.out.find("Examples:"), std::string::npos) << o.out << o.err;
    const Outcome help = run(p, {"help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_EQ(help.out, o.out);
    EXPECT_EQ(run(p, {"help", "bench", "ops"}).out, run(p, {"bench", "ops", "--help"}).out);
    EXPECT_EQ(run(p, {"help", "upscal"}).exit_code, 2);
    EXPECT_EQ(run(p, {"version"}).out, run(p, {"--version"}).out);
}

TEST(CliUse, EveryCommandHasHelpWithAnExample) {
    const Place p;
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{},
                                                                                         {"devices"},
                                                                                         {"doctor"},
                                                                                         {"upscale"},
                                                                                         {"transcribe"},
                                                                                         {"plan"},
                                                                                         {"verify"},
                                                                                         {"bench", "ops"},
                                                                                         {"bench", "esrgan"},
                                                                                         {"bench", "speech"},
                                                                                         {"bench", "discovery"},
                                                                                         {"modules", "list"},
                                                                                         {"modules", "inspect"},
                                                                                         {"modules", "index"},
                                                                                         {"modules"},
                                                                                         {"model"},
                                                                                         {"cache"},
                                                                                         {"bench"},
                                                                                         {"tune"},
                                                                                         {"model", "import"},
                                                                                         {"model", "convert"},
                                                                                         {"model", "info"}}) {
        std::vector<std::string> arguments = command;
        arguments.emplace_back("--help");
        const Outcome o = run(p, arguments);
        EXPECT_EQ(o.exit_code, 0);
        std::string words = "\n  backplane";
        for (const std::string& word : command) words += " " + word;
        EXPECT_NE(o.out.find(words, o.out.find("Example")), std::string::npos) << "no example of its own:\n" << o.out;
        for (const char* noise : {"TEXT:{", "INT:{", ":INT in", ":FLOAT in", "Excludes:", "REQUIRED"})
            EXPECT_EQ(o.out.find(noise), std::string::npos) << o.out;
        std::istringstream lines(o.out);
        for (std::string line; std::getline(lines, line);) {
            if (!line.starts_with("  -")) continue;
            const std::string option = line.substr(0, line.find("  ", 2));
            EXPECT_EQ(std::ranges::count(option, '['), std::ranges::count(option, ']')) << "cut off: " << option;
        }
    }
    const Outcome version = run(p, {"--version"});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_NE(version.out.find('.'), std::string::npos);
}

}  // namespace
}  // namespace backplane::e2e
