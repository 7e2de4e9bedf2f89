// Links, names and lengths of POSIX systems: what is behind a link counts, and no name is too odd to be answered.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.hpp"
#include "folders.hpp"

namespace backplane::discovery::testing {
namespace {

TEST(Search, ALinkIntoAFolderThatEverybodyMayWriteToIsRefused) {
    const Folder safe;
    const Folder open;
    const fs::path target = open.add("module.so", module_bytes());
    fs::create_symlink(target, safe.path() / "backplane-good.so");
    EXPECT_EQ(find(discover_in(safe.path()), "backplane-good.so")->code, ReasonCode::none);
    test::let_others_write(open.path());
    const Discovery d = discover_in(safe.path());
    ASSERT_EQ(d.rated.size(), 1U);
    EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::writable_by_others);
    EXPECT_NE(d.rated[0].candidate.reason.find(open.path().string()), std::string::npos) << d.rated[0].candidate.reason;
}

TEST(Search, EveryFolderOnTheWayOfALinkCounts) {
    const Folder safe;
    const Folder open;
    const Folder end;
    const fs::path target = end.add("module.so", module_bytes());
    fs::create_symlink(target, open.path() / "hop.so");
    fs::create_directory_symlink(end.path(), open.path() / "hop");
    fs::create_symlink(open.path() / "hop.so", safe.path() / "backplane-file.so");
    fs::create_symlink(open.path() / "hop" / "module.so", safe.path() / "backplane-folder.so");
    test::let_others_write(open.path());
    const Discovery d = discover_in(safe.path());
    ASSERT_EQ(d.rated.size(), 2U);
    for (const Rated& r : d.rated) EXPECT_EQ(r.candidate.code, ReasonCode::writable_by_others) << r.candidate.path;
}

TEST(Search, ASidecarThatIsSuchALinkIsRefusedToo) {
    const Folder safe;
    const Folder open;
    Bytes bytes = module_bytes();
    hide_note(bytes);
    safe.add("libforeign.so", bytes);
    const fs::path json = open.path() / "sidecar.json";
    std::ofstream(json) << R"({"backend":"foreign","version":"3"})";
    fs::create_symlink(json, safe.path() / "libforeign.so.backplane.json");
    EXPECT_EQ(find(discover_in(safe.path()), "libforeign.so")->code, ReasonCode::none);
    test::let_others_write(open.path());
    EXPECT_EQ(find(discover_in(safe.path()), "libforeign.so")->code, ReasonCode::writable_by_others);
}

TEST(Search, NamesThatAreNotUtf8AreSearchedAndTheReportIsStillJson) {
    const Folder folder;
    const fs::path odd = folder.path() / "f\xff\xfe older";
    fs::create_directory(odd);
    write(odd / "backplane-\xc3\x28.so", module_bytes());
    write(odd / "backplane-\xf0\x9f.so", Bytes(3, std::byte{'x'}));
    ContextOptions options = only(odd);
    options.use_linked_in = false;
    const Context context(options);
    const Report report = context.report();
    ASSERT_EQ(report.candidates.size(), 2U);
    EXPECT_EQ(report.candidates[0].verdict, Verdict::loaded) << report.candidates[0].reason;
    const std::string text = report.json();
    const base::Json json = base::Json::parse(text);
    EXPECT_EQ(json["candidates"].size(), 2U);
    EXPECT_EQ(json.dump(), base::Json::parse(json.dump()).dump()) << "valid UTF-8 all through";
    EXPECT_EQ(json["sources"][0]["searched"], true);
    EXPECT_NO_THROW((void)report.summary());
}

TEST(Search, PathsLongerThanTheSystemAllowsAreAnswered) {
    const std::string component(300, 'c');
    std::string deep;
    while (deep.size() < 5000) deep += "/directory";
    for (const std::string& path : {"/" + component, deep, deep + "/backplane-x.so", std::string(1 << 20, 'x')}) {
        const Discovery d = discover_in(path);
        ASSERT_EQ(d.sources.size(), 1U);
        EXPECT_FALSE(d.sources[0].searched);
        EXPECT_FALSE(d.sources[0].note.empty());
        EXPECT_TRUE(d.rated.empty());
    }
    ContextOptions options;
    options.search_defaults = false;
    options.module_names = {component + ".so"};
    EXPECT_EQ(discover(options, nullptr, "").rated.at(0).candidate.code, ReasonCode::load_failed);
}

TEST(Search, AFileWhoseWholePathIsTooLongGetsAVerdict) {
    const Folder folder;
    const fs::path before = fs::current_path();
    fs::path deep = fs::canonical(folder.path());
    fs::current_path(deep);
    const std::string component(200, 'd');
    while (deep.native().size() + component.size() + 2 < 4080) {
        fs::create_directory(component);
        fs::current_path(component);
        deep /= component;
    }
    write("backplane-" + std::string(230, 'x') + ".so", module_bytes());
    fs::current_path(before);
    const Discovery d = discover_in(deep);
    ASSERT_EQ(d.rated.size(), 1U) << d.sources[0].note;
    EXPECT_GT(d.rated[0].candidate.path.native().size(), 4096U);
    EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::unreadable);
    EXPECT_NE(d.rated[0].candidate.reason.find("too long"), std::string::npos);
}

TEST(Search, ANameIsNotLeftToALoaderThatLooksInTheCurrentDirectory) {
    ContextOptions options;
    options.search_defaults = false;
    options.module_names = {"backplane-nowhere.so"};
    for (const char* list : {"/usr/lib:", ":/usr/lib", "/usr/lib::/lib", "relative", "/usr/lib:."}) {
        test::set_environment("LD_LIBRARY_PATH", list);  // for the check: the loader read it at start
        EXPECT_NE(discover(options, nullptr, "").rated.at(0).candidate.reason.find("current directory"), std::string::npos)
            << list;
    }
    test::set_environment("LD_LIBRARY_PATH", "/usr/lib:/lib");
    EXPECT_NE(discover(options, nullptr, "").rated.at(0).candidate.reason.find("would not load"), std::string::npos);
    test::unset_environment("LD_LIBRARY_PATH");
}

TEST(Search, TheNoteInMemorySaysWhatTheFileSays) {
    const Folder folder;
    const fs::path file = folder.add("backplane-memory.so", module_bytes());
    const base::DynamicLibrary held(fs::canonical(file));
    ASSERT_FALSE(held.notes().empty());
    EXPECT_EQ(held.file(), fs::canonical(file));
    Inspection memory;
    for (const auto segment : held.notes()) {
        const std::vector<std::byte> note = read_elf_notes(MemoryBytes(segment), memory);
        if (!note.empty()) read_descriptor(note, memory);
    }
    ASSERT_TRUE(memory.descriptor);
    EXPECT_EQ(memory.descriptor->json, inspect(file).descriptor->json);
    EXPECT_EQ(memory.binary.build_id, inspect(file).binary.build_id);
}

}  // namespace
}  // namespace backplane::discovery::testing
