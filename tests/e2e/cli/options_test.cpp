// Options that nobody takes, and paths that are not there.
#include <gtest/gtest.h>

#include "backplane/context.hpp"
#include "base/json.hpp"
#include "program.hpp"

namespace backplane::e2e {
namespace {

struct Case {
    std::vector<std::string> arguments;
    std::string text;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {{"--option", "cpu.threads=-5"}, "option cpu.threads is '-5'; give a number from 1 to 256"},
        {{"--option", "cpu.threads=abc"}, "option cpu.threads is 'abc'; give a number from 1 to 256"},
        {{"--option", "cpu.threds=2"}, "option cpu.threds: cpu has no such option; did you mean 'cpu.threads'?"},
        {{"--option", "threads=3"}, "option threads: options are named BACKEND.NAME; did you mean 'cpu.threads'?"},
        {{"--option", "cpv.threads=3"}, "option cpv.threads: there is no backend 'cpv' here; did you mean 'cpu.threads'?"},
        {{"--option", "warp.core=3"}, "option warp.core: there is no backend 'warp' here; there are: "},
        {{"--option", "host.cache-limits=1M"},
         "option host.cache-limits: host has no such option; did you mean 'host.cache-limit'?"},
        {{"--option", "host.fresh-memory=zeros"}, "option host.fresh-memory is 'zeros'; give one of nan"},
        {{"--cpu-mask", "avx9"},
         "the CPU mask 'avx9' names 'avx9', which is no feature of any CPU known here; did you mean '"}};
    return all;
}

TEST(CliOptions, WhatNobodyTakesIsWrongUsageAndNamed) {
    const Place p;
    const std::string model = p.model(), in = p.picture();
    for (const Case& c : cases()) {
        for (std::vector<std::string> arguments :
             std::vector<std::vector<std::string>>{{"devices"},
                                                   {"doctor"},
                                                   {"devices", "--device", "cpu"},
                                                   {"upscale", in, p.at("out.png"), "--model", model}}) {
            arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
            const Outcome o = run(p, arguments);
            EXPECT_EQ(o.exit_code, 2) << c.arguments[1];
            EXPECT_TRUE(is_one_line(o.err)) << o.err;
            EXPECT_EQ(o.err.find("backplane: " + c.text), 0U) << o.err;
            EXPECT_FALSE(fs::exists(p.at("out.png")));
        }
    }
    const Outcome json = run(p, {"devices", "--json", "--option", "cpu.threds=2"});
    EXPECT_EQ(base::Json::parse(json.out)["error"]["code"], "usage");
}

TEST(CliOptions, WhatIsTakenIsTaken) {
    const Place p;
    EXPECT_EQ(run(p, {"devices", "--device", "cpu", "--option", "cpu.threads=2", "--option", "host.cache-limit=1M",
                      "--option", "host.fresh-memory=nan", "--cpu-mask", "avx512f,sve"})
                  .exit_code,
              0);
    // A module that states no options may have any; one that another machine's users set hides what is not here.
    EXPECT_EQ(run(p, {"devices", "--modules", BP_TEST_MINIMAL, "--option", "minimal.anything=1"}).exit_code, 0);
    EXPECT_EQ(run(p, {"devices"}, {"BACKPLANE_CPU_MASK=avx9"}).exit_code, 0)
        << "of the environment a note, as it is for every program";
    EXPECT_NE(run(p, {"devices"}, {"BACKPLANE_CPU_MASK=avx9"}).out.find("Note: the CPU mask 'avx9'"), std::string::npos);
}

TEST(CliOptions, AnApplicationGetsNotesAndMayAskForErrors) {
    ContextOptions options;
    options.search_defaults = false;
    options.module_paths = {BP_TEST_MODULES};
    options.options = {{"cpu.threds", "2"}};
    {
        const Context context(options);
        const std::vector<OptionProblem> problems = context.option_problems();
        ASSERT_EQ(problems.size(), 1U);
        EXPECT_EQ(problems[0].name, "cpu.threds");
        EXPECT_EQ(problems[0].value, "2");
        const std::vector<std::string> notes = context.report().notes;
        EXPECT_NE(std::find(notes.begin(), notes.end(), problems[0].text), notes.end());
        EXPECT_TRUE(context.choose("cpu")) << "as before: nothing else depends on it";
    }
    options.strict_options = true;
    EXPECT_THROW(Context{options}, OptionError);
}

TEST(CliOptions, AModulePathThatIsNotThereIsSaid) {
    const Place p;
    const Outcome o = run(p, {"devices", "--modules", p.at("nope")});
    EXPECT_EQ(o.exit_code, 0) << "it was searched without";
    EXPECT_TRUE(is_one_line(o.err)) << o.err;
    EXPECT_NE(o.err.find("--modules " + p.at("nope")), std::string::npos) << o.err;
    EXPECT_EQ(run(p, {"devices", "--modules", p.at("")}).err, "");
}

TEST(CliOptions, AFilterIsCalledWhatTheUserCalledIt) {
    const Place p;
    const Outcome devices = run(p, {"devices", "--device", "nosuch"});
    EXPECT_EQ(devices.exit_code, 1);
    EXPECT_NE(devices.out.find("--device 'nosuch' matches nothing"), std::string::npos) << devices.out << devices.err;
    const Outcome upscale = run(p, {"upscale", p.picture(), p.at("out.png"), "--model", p.model(), "--device", "nosuch"});
    EXPECT_NE(upscale.err.find("--device 'nosuch' matches nothing"), std::string::npos) << upscale.err;
}

}  // namespace
}  // namespace backplane::e2e
