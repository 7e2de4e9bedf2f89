// What is printed: text from outside, output that does not arrive, colours.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>

#include "base/json.hpp"
#include "base/visible_text.hpp"
#include "program.hpp"

namespace backplane::e2e {
namespace {

using base::Json;

// A name that sets the title of a terminal and clears it; C1 as UTF-8 and as a byte; a change of direction; a line of its own.
const std::string kHostile =
    "\033]0;owned\a\033[2J\xc2\x9b"
    "31m\x9b\xe2\x80\xae\n\x7f";

void expect_harmless(const std::string& text) {
    for (const std::string& bad :
         {std::string("\033"), std::string("\a"), std::string("\xc2\x9b"), std::string("\xe2\x80\xae"), std::string("\x7f")})
        EXPECT_EQ(text.find(bad), std::string::npos) << base::visible(text);
    // No byte of 0x9b that is not part of a longer character.
    for (size_t at = text.find('\x9b'); at != std::string::npos; at = text.find('\x9b', at + 1))
        EXPECT_TRUE(at > 0 && (static_cast<unsigned char>(text[at - 1]) & 0x80) != 0);
}

TEST(CliOutput, ANameOfAFileNeverActsOnTheTerminal) {
    const Place p;
    fs::create_directory(p.at("m"));
    std::ofstream(p.at("m/backplane-" + kHostile + ".so")) << "rubbish";
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"doctor"}, {"devices"}, {"devices", "--verbose"}, {"devices", "--device", "nosuch"}, {"modules", "list"}}) {
        std::vector<std::string> arguments = words;
        arguments.insert(arguments.end(), {"--modules", p.at("m")});
        const Outcome o = run(p, arguments, {"BACKPLANE_LOG=debug"});
        expect_harmless(o.out);
        expect_harmless(o.err);
    }
    EXPECT_NE(run(p, {"doctor", "--modules", p.at("m")})
                  .out.find("backplane-\\x1b]0;owned\\x07\\x1b[2J\\u009b31m\\x9b\\u202e\\n\\x7f.so"),
              std::string::npos);
    const Outcome missing = run(p, {"upscale", p.at(kHostile), p.at("out.png")});
    EXPECT_TRUE(is_one_line(missing.err)) << missing.err;
    expect_harmless(missing.err);
    const Outcome usage = run(p, {kHostile});
    EXPECT_TRUE(is_one_line(usage.err)) << usage.err;
    expect_harmless(usage.err);
}

TEST(CliOutput, WhatAModelSaysNeverActsOnTheTerminal) {
    const Place p;
    GgufWriter writer;
    const std::string text =
        "\033]0;owned\a\033[2J\xc2\x9b"
        "31m\xe2\x80\xae\n\x7f";
    writer.set("general.name", text);
    writer.set("general.description", text + "\x9b");
    const std::vector<float> one(1);
    writer.add("a" + text, DType::f32, {1}, std::as_bytes(std::span(one)));
    writer.write(p.at("hostile.gguf"));
    const Outcome o = run(p, {"model", "info", p.at("hostile.gguf"), "--tensors"});
    expect_harmless(o.out + o.err);
}

TEST(CliOutput, JsonIsExactAndHarmless) {
    const Place p;
    fs::create_directory(p.at("m"));
    const std::string path = fs::canonical(p.at("m")).string() + "/backplane-" + kHostile + ".so";
    std::ofstream(path) << "rubbish";
    const Outcome o = run(p, {"modules", "list", "--json", "--modules", p.at("m")});
    expect_harmless(o.out);
    bool found = false;
    const Json json = Json::parse(o.out);
    for (const Json& c : json["modules"]) {
        if (!c.contains("path_bytes")) continue;
        found = true;
        std::string bytes;
        const auto digits = c["path_bytes"].get<std::string>();
        for (size_t i = 0; i < digits.size(); i += 2)
            bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
        EXPECT_EQ(bytes, path);
        EXPECT_NE(c["path"].get<std::string>().find("\xc2\x9b"
                                                    "31m\xef\xbf\xbd"),
                  std::string::npos)
            << c["path"];
    }
    EXPECT_TRUE(found) << o.out;
    // What is UTF-8 is as it is, without a second form.
    std::ofstream(p.at("m/backplane-gr\xc3\xbc\xc3\x9f-\xe2\x80\xae.so")) << "rubbish";
    fs::remove(path);
    const Json plain = Json::parse(run(p, {"modules", "list", "--json", "--modules", p.at("m")}).out);
    bool plain_found = false;
    for (const Json& c : plain["modules"]) {
        EXPECT_FALSE(c.contains("path_bytes"));
        plain_found |= c["path"].get<std::string>().find("gr\xc3\xbc\xc3\x9f-\xe2\x80\xae.so") != std::string::npos;
    }
    EXPECT_TRUE(plain_found);
}

TEST(CliOutput, WhatCannotBeWrittenIsAFailure) {
    if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
    const Place p;
    const std::string model = p.model();
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"devices"},
                                               {"devices", "--json"},
                                               {"doctor", "--json"},
                                               {"modules", "list"},
                                               {"model", "info", model},
                                               {"cache", "info", "--cache", p.at("kernels")},
                                               {"--help"},
                                               {"upscale", "--help"},
                                               {"--version"}}) {
        const Outcome full = Started(p, arguments, {}, "/dev/full").wait();
        EXPECT_EQ(full.exit_code, 1) << arguments[0];
        EXPECT_EQ(full.err, "backplane: cannot write the output: No space left on device\n") << arguments[0];
        const Outcome closed = Started(p, arguments, {}, "").wait();
        EXPECT_EQ(closed.exit_code, 1) << arguments[0];
        EXPECT_EQ(closed.err, "backplane: cannot write the output: Bad file descriptor\n") << arguments[0];
    }
    // Without an output stream, no file that the program writes takes its place.
    const Outcome closed = Started(p, {"upscale", p.picture(), p.at("out.png"), "--model", model}, {}, "").wait();
    EXPECT_EQ(closed.exit_code, 1);
    ImageInfo info;
    read_image(p.at("out.png"), info);
    EXPECT_EQ(info.width, 74U);
}

// What the program prints on a terminal of its own.
std::string on_terminal(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
    const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return {};
    const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
    const pid_t child = ::fork();
    if (child == 0) {
        for (int stream = 0; stream <= 2; ++stream) ::dup2(terminal, stream);
        ::close(terminal);
        ::close(master);
        for (const char* name : {"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "BACKPLANE_DEVICE"}) ::unsetenv(name);
        for (const std::string& variable : environment) ::putenv(const_cast<char*>(variable.c_str()));
        std::vector<char*> argv{const_cast<char*>(BP_TEST_CLI)};
        for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
        argv.push_back(nullptr);
        ::execv(BP_TEST_CLI, argv.data());
        ::_exit(127);
    }
    ::close(terminal);
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t got = 0; (got = ::read(master, piece.data(), piece.size())) > 0;)
        text.append(piece.data(), static_cast<size_t>(got));
    ::close(master);
    int status = 0;
    ::waitpid(child, &status, 0);
    return text;
}

TEST(CliOutput, ColoursAreForTerminalsThatWantThem) {
    const Place p;
    const std::string state = "BACKPLANE_STATE_DIR=" + p.at("state");
    EXPECT_NE(on_terminal({"devices"}, {state, "TERM=xterm"}).find("\033[1m"), std::string::npos);
    for (const char* without : {"NO_COLOR=1", "TERM=dumb", "CLICOLOR=0"}) {
        const std::string text = on_terminal({"devices"}, {state, "TERM=xterm", without});
        EXPECT_EQ(text.find('\033'), std::string::npos) << without;
        EXPECT_NE(text.find("cpu:0"), std::string::npos) << text;
    }
    EXPECT_NE(run(p, {"devices"}, {"CLICOLOR_FORCE=1"}).out.find("\033[1m"), std::string::npos);
    EXPECT_EQ(run(p, {"devices"}).out.find('\033'), std::string::npos);
    // A bar that is written over needs a terminal that can.
    const std::string upscale =
        on_terminal({"upscale", p.picture(), p.at("out.png"), "--model", p.model(), "--tile", "8"}, {state, "TERM=dumb"});
    EXPECT_EQ(upscale.find('\033'), std::string::npos) << upscale;
}

}  // namespace
}  // namespace backplane::e2e
