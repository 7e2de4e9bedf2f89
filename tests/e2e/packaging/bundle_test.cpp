// backplane bundle check, machine, modules catalogue and plan: folders that are given to others, judged for machines that are not here.
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "program.hpp"

namespace backplane::e2e {
namespace {

using base::Json;

void put(const std::string& path, const std::string& bytes) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    fs::permissions(path, fs::perms::owner_all);
}
void bring(const fs::path& from, const std::string& to) { put(to, content(from)); }

const fs::path kModules = BP_TEST_MODULES;

// bin/app with its modules, as one gives it to others.
void make_bundle(const Place& p) {
    bring("/bin/true", p.at("b/bin/app"));
    bring(kModules / "backplane-reference.so", p.at("b/bin/backplane/backplane-reference.so"));
    bring(kModules / "backplane-probe", p.at("b/bin/backplane/backplane-probe"));
    put(p.at("b/LICENSE.txt"), "MIT");
}

// A module of another make, which says by its sidecar what the test wants.
void put_described(const Place& p, const std::string& name, const std::string& more) {
    std::string bytes = content(fs::path(BP_TEST_MINIMAL) / "backplane-minimal.so");
    bytes.replace(bytes.find("BPN1") - 12, 9, std::string("Somebody\0", 9));
    bytes += name;  // another file than its neighbours
    put(p.at("b/bin/backplane/backplane-" + name + ".so"), bytes);
    put(p.at("b/bin/backplane/backplane-" + name + ".so.backplane.json"),
        R"({"backend":")" + name + R"(","version":"1.0","probe":"child",)" + more + "}");
}

Json check(const Place& p, int exit_code, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {"bundle", "check", p.at("b"), "--json"});
    const Outcome o = run(p, arguments);
    EXPECT_EQ(o.exit_code, exit_code) << o.out << o.err;
    return Json::parse(o.out);
}

const Json& named(const Json& list, const std::string& member, const std::string& value) {
    for (const Json& each : list)
        if (each[member] == Json(value)) return each;
    static const Json kNone;
    ADD_FAILURE() << "there is no " << value << " in " << list;
    return kNone;
}

std::string code_of(const Json& report, const std::string& machine, const std::string& file) {
    return named(named(report["machines"], "name", machine)["modules"], "path", "bin/backplane/" + file)["code"].text();
}

TEST(BundleCheck, AWholeFolderIsJudgedForEveryMachineThatComesAlong) {
    const Place p;
    make_bundle(p);
    const Json report = check(p, 0);
    EXPECT_EQ(report["machines"].size(), 12U);
    EXPECT_EQ(report["missing"], Json::array());
    EXPECT_EQ(report["searched"], Json::array({"bin/backplane", "bin"}));
    EXPECT_EQ(named(report["files"], "path", "bin/backplane/backplane-reference.so")["bytes"],
              Json(static_cast<unsigned long>(fs::file_size(kModules / "backplane-reference.so"))));
    EXPECT_EQ(code_of(report, "debian-12-server", "backplane-reference.so"), "none");
    EXPECT_EQ(named(report["machines"], "name", "debian-12-server")["backends"], Json::array({"reference"}));
    EXPECT_EQ(code_of(report, "graviton-3", "backplane-reference.so"), "wrong-architecture");
    EXPECT_EQ(code_of(report, "alpine-3.20", "backplane-reference.so"), "library-missing");
    EXPECT_EQ(named(report["machines"], "name", "windows-11-nvidia")["modules"], Json::array());
    EXPECT_EQ(run(p, {"bundle", "check", p.at("b"), "--machine", "graviton-3"}).exit_code, 1);
    EXPECT_EQ(run(p, {"bundle", "check", p.at("b"), "--machine", "steam-deck"}).exit_code, 0);
    const Outcome text = run(p, {"bundle", "check", p.at("b")});
    EXPECT_NE(text.out.find("built for x86-64, the machine is arm64"), std::string::npos) << text.out;
}

TEST(BundleCheck, FeaturesDriversAndLibrariesOfAMachineDecideAsTheyDoThere) {
    const Place p;
    make_bundle(p);
    put_described(p, "wide", R"("cpu":["avx512f"])");
    put_described(p, "driven", R"("needs":[{"soname":"libcuda.so.1","priority":"required","least":"525.60"}])");
    put_described(p, "loader", R"("needs":[{"soname":"libvulkan.so.1","priority":"recommended"}])");
    const Json report = check(p, 0);
    EXPECT_EQ(code_of(report, "ubuntu-24.04-h100", "backplane-wide.so"), "none");
    EXPECT_EQ(code_of(report, "debian-12-server", "backplane-wide.so"), "cpu-feature-missing");
    EXPECT_EQ(code_of(report, "ubuntu-24.04-h100", "backplane-driven.so"), "none");
    EXPECT_EQ(code_of(report, "ubuntu-22.04-nvidia-470", "backplane-driven.so"), "library-too-old");
    EXPECT_EQ(code_of(report, "steam-deck", "backplane-driven.so"), "library-missing");
    const auto remark = [&](const char* machine) {
        return named(named(report["machines"], "name", machine)["modules"], "path",
                     "bin/backplane/backplane-loader.so")["remark"]
            .text();
    };
    EXPECT_EQ(remark("steam-deck"), "");
    EXPECT_NE(remark("debian-12-server").find("libvulkan.so.1"), std::string::npos);
}

TEST(BundleCheck, WhatIsMissingIsNamed) {
    const Place p;
    bring("/bin/true", p.at("b/bin/app"));
    EXPECT_EQ(named(check(p, 1)["missing"], "what", "modules")["what"], Json("modules"));
    bring(BP_TEST_SCRIPTED, p.at("b/bin/backplane/backplane-scripted.so"));
    bring(kModules / "backplane-reference.so", p.at("b/plugins/backplane-reference.so"));
    bring("/bin/true", p.at("b/bin/backplane/libother.so"));
    put(p.at("b/bin/backplane/backplane-gone.so.backplane.json"), "{}");
    const Json missing = check(p, 1)["missing"];
    EXPECT_NE(named(missing, "what", "probe")["text"].text().find("backplane-probe"), std::string::npos);
    EXPECT_NE(named(missing, "what", "place")["text"].text().find("plugins/backplane-reference.so"), std::string::npos);
    EXPECT_NE(named(missing, "what", "sidecar")["text"].text().find("libother.so"), std::string::npos);
    EXPECT_NE(named(missing, "what", "module")["text"].text().find("backplane-gone.so.backplane.json"), std::string::npos);
    EXPECT_NE(named(missing, "what", "licence")["text"].text().find("LICENSE"), std::string::npos);
    EXPECT_EQ(missing.size(), 5U) << missing;
    bring(kModules / "backplane-probe", p.at("b/bin/backplane/backplane-probe"));
    const Json left = check(p, 1)["missing"];
    for (const Json& each : left) EXPECT_NE(each["what"], Json("probe"));
}

TEST(BundleCheck, AFolderThatOthersMayWriteToIsSaidToBeRefused) {
    const Place p;
    make_bundle(p);
    fs::permissions(p.at("b/bin/backplane"), fs::perms::all);
    const Json report = check(p, 1);
    const std::string text = named(report["missing"], "what", "place")["text"].text();
    EXPECT_NE(text.find("bin/backplane is not searched: refused: everybody may write"), std::string::npos) << text;
}

// The rules are those of discovery: what is said of this machine, written down, is what discovery says here.
TEST(BundleCheck, ThisMachineWrittenDownIsJudgedAsItIs) {
    const Place p;
    make_bundle(p);
    put_described(p, "wide", R"("cpu":["avx512f","amx_tile"])");
    put_described(p, "driven", R"("needs":[{"soname":"libcuda.so.1","priority":"required","least":"9999.1"}])");
    put_described(p, "odd", R"("needs":[{"soname":"libno-such-thing.so.7","priority":"required"}])");
    ASSERT_EQ(run(p, {"machine", "record", p.at("here.json"), "--name", "here"}).exit_code, 0);
    const Json report = check(p, 0, {"--machine", p.at("here.json")});
    const Json& machine = named(report["machines"], "name", "here");
    const Outcome listed =
        run(p, {"modules", "list", "--modules", p.at("b/bin/backplane"), "--json"}, {"BACKPLANE_PROBE=never"});
    const Json here = Json::parse(listed.out)["modules"];
    ASSERT_EQ(machine["modules"].size(), 4U) << machine;
    for (const Json& module : machine["modules"]) {
        const Json& other = named(here, "path", p.at("b/" + module["path"].text()));
        if (module["verdict"] == Json("rejected")) {
            EXPECT_EQ(module["code"], other["code"]) << module;
            EXPECT_EQ(module["reason"], other["reason"]);
        } else {
            EXPECT_NE(other["verdict"], Json("rejected")) << other;
        }
    }
}

TEST(Machine, AFileThatIsNoneIsRefusedInALine) {
    const Place p;
    make_bundle(p);
    const auto refused = [&](const std::string& text, const std::string& word) {
        put(p.at("m.json"), text);
        const Outcome o = run(p, {"bundle", "check", p.at("b"), "--machine", p.at("m.json")});
        EXPECT_EQ(o.exit_code, 1) << o.out;
        EXPECT_NE(o.err.find(word), std::string::npos) << o.err;
        EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    };
    const std::string good =
        R"({"backplane_machine":1,"name":"x","system":"linux","architecture":"x86-64","cpu_features":[],"libraries":null})";
    put(p.at("good.json"), good);
    EXPECT_EQ(run(p, {"bundle", "check", p.at("b"), "--machine", p.at("good.json")}).exit_code, 0);
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        return text.replace(text.find(from), from.size(), to);
    };
    refused("", "is no machine that was written down");
    refused("[1]", "backplane_machine");
    refused(with(":1", ":2"), "version");
    refused(with("linux", "plan9"), "there is no system 'plan9'");
    refused(with("[]", R"(["avx1024"])"), "there is no CPU feature 'avx1024'");
    refused(with("null", R"({"libc.so.6":6})"), "no machine");
    refused(with("null", "[]"), "'libraries' is no object");
    refused(with("\"name\"", R"("nmae":"","name")"), "'nmae' is no member");
    refused(std::string(2 << 20, ' '), "too long");
    const Outcome unknown = run(p, {"bundle", "check", p.at("b"), "--machine", "steam-dek"});
    EXPECT_NE(unknown.err.find("did you mean 'steam-deck'"), std::string::npos) << unknown.err;
    EXPECT_EQ(run(p, {"bundle", "check", p.at("none")}).exit_code, 1);
}

TEST(ModulesPlan, OfACatalogueAsOfTheFolder) {
    const Place p;
    make_bundle(p);
    put_described(p, "driven", R"("needs":[{"soname":"libcuda.so.1","priority":"required","least":"525.60"}])");
    put_described(p, "loader", R"("needs":[{"soname":"libvulkan.so.1","priority":"recommended"}])");
    const std::string folder = p.at("b/bin/backplane");
    bring("/bin/true", folder + "/backplane-probe-another");  // of no account to discovery, either
    const Outcome written = run(p, {"modules", "catalogue", folder, "-o", p.at("c.json")});
    ASSERT_EQ(written.exit_code, 0);
    EXPECT_EQ(written.err, "");
    const std::string module = content(folder + "/backplane-driven.so");
    EXPECT_EQ(run(p, {"modules", "catalogue", folder, "-o", folder + "/backplane-driven.so"}).exit_code, 2);
    EXPECT_EQ(content(folder + "/backplane-driven.so"), module);
    const auto files = [&](const std::string& from, const std::string& machine) {
        const Outcome o = run(p, {"modules", "plan", from, "--machine", machine, "--json"});
        EXPECT_EQ(o.exit_code, 0) << o.err;
        return Json::parse(o.out);
    };
    for (const char* machine : {"ubuntu-24.04-h100", "ubuntu-22.04-nvidia-470", "debian-12-server"})
        EXPECT_EQ(files(p.at("c.json"), machine), files(folder, machine)) << machine;
    const Json h100 = files(p.at("c.json"), "ubuntu-24.04-h100");
    EXPECT_EQ(h100["files"].size(), 6U) << h100;  // with the probe, and what says of two what they need
    EXPECT_EQ(named(h100["files"], "for", "driven")["file"], Json("backplane-driven.so"));
    EXPECT_EQ(named(h100["files"], "file", "backplane-driven.so.backplane.json")["bytes"],
              Json(fs::file_size(folder + "/backplane-driven.so.backplane.json")));
    EXPECT_EQ(named(h100["files"], "for", "probe")["file"], Json("backplane-probe"));
    const Json server = files(p.at("c.json"), "debian-12-server");
    EXPECT_EQ(server["files"].size(), 1U) << server;  // nothing that is tried: no probe
    EXPECT_EQ(named(server["left_out"], "file", "backplane-driven.so")["code"], Json("library-missing"));
    EXPECT_NE(named(server["left_out"], "file", "backplane-loader.so")["reason"].text().find("finds no device"),
              std::string::npos);
    EXPECT_EQ(named(files(p.at("c.json"), "ubuntu-22.04-nvidia-470")["left_out"], "file", "backplane-driven.so")["code"],
              Json("library-too-old"));
    EXPECT_EQ(run(p, {"modules", "plan", p.at("c.json"), "--machine", "graviton-3"}).exit_code, 1);
    // Known answers of FIPS 180-4, by way of a file.
    put(p.at("b/bin/backplane/backplane-probe"), "abc");
    const Json abc = Json::parse(run(p, {"modules", "catalogue", folder}).out);
    EXPECT_EQ(named(abc["files"], "file", "backplane-probe")["sha512"],
              Json("ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423"
                   "643ce80e2a9ac94fa54ca49f"));
}

TEST(ModulesPlan, ACatalogueThatIsNoneIsRefusedInALine) {
    const Place p;
    make_bundle(p);
    ASSERT_EQ(run(p, {"modules", "catalogue", p.at("b/bin/backplane"), "-o", p.at("c.json")}).exit_code, 0);
    const std::string good = content(p.at("c.json"));
    const auto refused = [&](const std::string& text) {
        put(p.at("bad.json"), text);
        const Outcome o = run(p, {"modules", "plan", p.at("bad.json")});
        EXPECT_EQ(o.exit_code, 1) << text;
        EXPECT_NE(o.err.find("is no catalogue"), std::string::npos) << o.err;
    };
    for (size_t cut = 0; cut < good.size(); cut += 97) refused(good.substr(0, cut));
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        return text.replace(text.find(from), from.size(), to);
    };
    refused(with("\"elf\"", "\"fle\""));
    refused(with("\"backplane-reference.so\"", "\"../backplane-reference.so\""));
    refused(with("\"backplane_catalogue\": 1", "\"backplane_catalogue\": 7"));
    EXPECT_EQ(run(p, {"modules", "plan", p.at("none.json")}).exit_code, 1);
    EXPECT_EQ(run(p, {"modules", "catalogue", p.at("b/bin")}).exit_code, 1);
}

}  // namespace
}  // namespace backplane::e2e
