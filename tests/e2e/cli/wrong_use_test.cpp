#include <gtest/gtest.h>

#include "program.hpp"

namespace backplane::e2e {
namespace {

TEST(CliUse, WrongArgumentsEndWith2) {
    const Place p;
    const std::vector<std::vector<std::string>> wrong{{},
                                                      {"frobnicate"},
                                                      {"upscale"},
                                                      {"upscale", "a.png"},
                                                      {"upscale", "a.png", "b.png", "--scale", "5"},
                                                      {"upscale", "a.png", "b.png", "--tile", "huge"},
                                                      {"devices", "--no-such-flag"},
                                                      {"bench"},
                                                      {"bench", "esrgan", "--size", "0"},
                                                      {"modules"},
                                                      {"model", "info"}};
    for (const auto& arguments : wrong) {
        const Outcome o = run(p, arguments);
        EXPECT_EQ(o.exit_code, 2) << (arguments.empty() ? "" : arguments[0]) << ": " << o.out << o.err;
        EXPECT_FALSE(o.err.empty());
    }
}

TEST(CliUse, EveryCommandHasHelpWithAnExample) {
    const Place p;
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{},
                                                                                         {"devices"},
                                                                                         {"doctor"},
                                                                                         {"upscale"},
                                                                                         {"verify"},
                                                                                         {"bench", "ops"},
                                                                                         {"bench", "esrgan"},
                                                                                         {"bench", "discovery"},
                                                                                         {"modules", "list"},
                                                                                         {"modules", "inspect"},
                                                                                         {"modules", "index"},
                                                                                         {"tune"},
                                                                                         {"model", "import"},
                                                                                         {"model", "info"}}) {
        std::vector<std::string> arguments = command;
        arguments.emplace_back("--help");
        const Outcome o = run(p, arguments);
        EXPECT_EQ(o.exit_code, 0);
        EXPECT_NE(o.out.find("Example"), std::string::npos) << (command.empty() ? "backplane" : command.back());
    }
    const Outcome version = run(p, {"--version"});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_NE(version.out.find('.'), std::string::npos);
}

}  // namespace
}  // namespace backplane::e2e
