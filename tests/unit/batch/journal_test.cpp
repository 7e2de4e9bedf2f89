// A file of lines that processes are killed over, and what is read of it.
#include "batch/journal.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "backplane/error.hpp"
#include "base/file.hpp"
#include "support/system.hpp"

namespace backplane::batch {
namespace {

namespace fs = std::filesystem;
using base::AppendedFile;
using base::AppendedLines;

class Journals : public testing::Test {
protected:
    ~Journals() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    static std::string content(const fs::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
    }

    const fs::path folder_ = test::make_temporary_folder();
};

TEST_F(Journals, ALineThatWasCutOffIsNotReadAndTheNextBeginsOnALineOfItsOwn) {
    const std::string whole = "{\"a\":1}\n{\"b\":2}\n";
    for (size_t cut = 0; cut <= whole.size(); ++cut) {
        write("a", whole.substr(0, cut));
        const size_t kept = cut == 0                                          ? 0
                            : whole.rfind('\n', cut - 1) == std::string::npos ? 0
                                                                              : whole.rfind('\n', cut - 1) + 1;
        AppendedLines lines(folder_ / "a");
        EXPECT_EQ(lines.next().size(),
                  static_cast<size_t>(std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept), '\n')));
        AppendedFile(folder_ / "a").append("new");
        EXPECT_EQ(content(folder_ / "a"), whole.substr(0, kept) + "new\n") << cut;
    }
    // Further back than one reading of the file's end.
    write("a", "x\n" + std::string(10000, 'y'));
    AppendedFile(folder_ / "a").append("new");
    EXPECT_EQ(content(folder_ / "a"), "x\nnew\n");
    write("a", std::string(10000, 'y'));
    AppendedFile(folder_ / "a").append("new");
    EXPECT_EQ(content(folder_ / "a"), "new\n");
}

TEST_F(Journals, OneProcessAtATimeAndOthersMayRead) {
    const auto code_of = [&](const fs::path& path) {
        try {
            const AppendedFile file(path);
        } catch (const Error& error) {
            return error.code();
        }
        return Code::ok;
    };
    {
        AppendedFile file(folder_ / "a");
        EXPECT_EQ(code_of(folder_ / "a"), Code::busy);
        AppendedLines lines(folder_ / "a");
        EXPECT_TRUE(lines.next().empty());
        file.append("one");
        EXPECT_EQ(lines.next(), std::vector<std::string>{"one"});
        file.append(std::string(200000, 'x'));
        file.append("");
        EXPECT_EQ(lines.next().size(), 2U);
        EXPECT_TRUE(lines.next().empty());
    }
    EXPECT_EQ(code_of(folder_ / "a"), Code::ok);
    EXPECT_EQ(code_of(folder_ / "no" / "folder"), Code::not_found);
    EXPECT_NE(code_of(folder_), Code::ok);
    AppendedLines none(folder_ / "none");
    EXPECT_TRUE(none.next().empty());
    EXPECT_EQ(none.pulse(), 0);
}

TEST_F(Journals, WhatIsNoLineOfOursIsPassedOver) {
    write(".backplane-batch-0.jsonl",
          "no json\n[]\n7\n{\"key\":5}\n{\"key\":\"failed\",\"error\":{}}\n{\"key\":\"good\",\"bytes\":1}\n\xff\xfe\n"
          "{\"key\":\"twice\",\"bytes\":1}\n{\"key\":\"twice\",\"bytes\":2}\n{\"key\":\"cut");
    write(".backplane-batch-12.jsonl", "{\"key\":\"other\",\"bytes\":3}\n");
    write("backplane-batch-3.jsonl", "{\"key\":\"visible\"}\n");
    const auto done = done_so_far(folder_);
    ASSERT_EQ(done.size(), 3U);
    EXPECT_EQ(done.at("twice").at("bytes").get<int>(), 2) << "the last line counts";
    EXPECT_TRUE(done.contains("other"));
    EXPECT_TRUE(done_so_far(folder_ / "none").empty());
}

TEST_F(Journals, AFollowerHearsThisJobAlone) {
    Ranks ranks{3, 4, 0, "Slurm", "job 1"};
    { Journal(folder_, ranks, "list").end(); }
    const auto line = [](const char* key) { return base::Json{{"key", key}}; };
    Follower follower(folder_, 3, "job 2", 1000);
    EXPECT_TRUE(follower.next().empty());
    EXPECT_FALSE(follower.begun()) << "that was another job, and it ended";
    EXPECT_FALSE(follower.ended());
    ranks.job = "job 2";
    {
        Journal journal(folder_, ranks, "this list");
        journal.write(line("a"));
        EXPECT_EQ(follower.next().size(), 1U);
        EXPECT_TRUE(follower.begun());
        EXPECT_FALSE(follower.ended());
        EXPECT_EQ(follower.list(), "this list");
    }
    Journal again(folder_, ranks, "this list");  // it was killed and begun anew
    again.write(line("b"));
    again.end();
    EXPECT_EQ(follower.next().size(), 1U);
    EXPECT_TRUE(follower.ended());
    // Where nobody names the job, what began long ago is of another.
    const int64_t now = base::status_of(journal_file(folder_, 3)).modified_ns / 1'000'000'000;
    Follower young(folder_, 3, "", now);
    EXPECT_EQ(young.next().size(), 2U);
    Follower late(folder_, 3, "", now + 3600);
    EXPECT_TRUE(late.next().empty());
    EXPECT_FALSE(late.begun());
}

}  // namespace
}  // namespace backplane::batch
