// Several processes that share a folder: as an environment says it, under mpirun, and in a Slurm of one node.
#include "many.hpp"

namespace backplane::batch_tests {
namespace {

// Four processes at once; the outcome of each.
std::vector<Outcome> four(const Many& many, const std::vector<std::string>& more,
                          const std::function<std::vector<std::string>(int)>& environment) {
    std::vector<Outcome> outcomes(4);
    std::vector<std::thread> ranks;
    for (int r = 0; r < 4; ++r)
        ranks.emplace_back([&, r] {
            const Place own;  // for what it prints
            outcomes[static_cast<size_t>(r)] = e2e::run(own, many.command(more), many.environment(environment(r)));
        });
    for (std::thread& rank : ranks) rank.join();
    return outcomes;
}

void expect_shared(const Many& many, const std::string& report, size_t files) {
    const std::vector<Json> all = objects(report);
    ASSERT_EQ(all.size(), files + 1) << report;
    std::set<int64_t> ranks;
    for (const Json& one : all)
        if (one.contains("file")) ranks.insert(one["rank"].get<int64_t>());
    EXPECT_EQ(ranks, (std::set<int64_t>{0, 1, 2, 3}));
    EXPECT_EQ(all.back()["summary"]["done"].get<size_t>(), files);
    many.expect_each_once(4);
}

TEST(Ranks, FourOfAnEnvironmentShareAFolderAndTheFirstReports) {
    const Many many(40);
    const auto outcomes = four(many, {"--json", "--threads", "1"}, [](int r) {
        const std::string n = std::to_string(r);
        return std::vector<std::string>{"SLURM_PROCID=" + n, "SLURM_LOCALID=" + n, "SLURM_STEP_NUM_TASKS=4",
                                        "SLURM_JOB_ID=7", "SLURM_STEP_ID=0"};
    });
    for (const Outcome& o : outcomes) EXPECT_EQ(o.exit_code, 0) << o.err;
    for (int r = 1; r < 4; ++r) EXPECT_EQ(outcomes[static_cast<size_t>(r)].out, "");
    expect_shared(many, outcomes[0].out, 40);
}

TEST(Ranks, PodsOfAnIndexedJobDoTheSame) {
    const Many many(16);
    const auto pod = [](int r) { return std::vector<std::string>{"JOB_COMPLETION_INDEX=" + std::to_string(r)}; };
    const auto untold = four(many, {"--json"}, pod);
    for (const Outcome& o : untold) {
        EXPECT_EQ(o.exit_code, 1);
        EXPECT_NE(o.err.find("--ranks"), std::string::npos) << o.err;
    }
    const auto outcomes = four(many, {"--json", "--ranks", "4", "--threads", "1"}, pod);
    for (const Outcome& o : outcomes) EXPECT_EQ(o.exit_code, 0) << o.err;
    expect_shared(many, outcomes[0].out, 16);
}

TEST(Ranks, AFileThatFailsFailsTheFirstRankAlone) {
    const Many many(12);
    std::ofstream(many.place().at("in/bad.png")) << "no picture";
    const auto outcomes = four(many, {"--threads", "1"}, [](int r) {
        return std::vector<std::string>{"PMI_RANK=" + std::to_string(r), "PMI_SIZE=4"};
    });
    EXPECT_EQ(outcomes[0].exit_code, 1);
    EXPECT_NE(outcomes[0].err.find("bad.png"), std::string::npos);
    EXPECT_NE(outcomes[0].out.find("12 of 13 files"), std::string::npos) << outcomes[0].out;
    for (int r = 1; r < 4; ++r) EXPECT_EQ(outcomes[static_cast<size_t>(r)].exit_code, 0) << "a launcher would end all";
}

TEST(Ranks, OneThatIsKilledIsGivenUpAndTheNextJobDoesItsFiles) {
    const Many many(12);
    const auto environment = [&](int r, const char* job) {
        return many.environment({"SLURM_PROCID=" + std::to_string(r), "SLURM_STEP_NUM_TASKS=2",
                                 std::string("SLURM_JOB_ID=") + job, "SLURM_STEP_ID=0"});
    };
    const Outcome first = e2e::run(many.place(), many.command({"--silence", "1"}), environment(0, "7"));
    EXPECT_EQ(first.exit_code, 1);
    EXPECT_NE(first.err.find("rank 1 did not begin"), std::string::npos) << first.err;
    EXPECT_NE(first.out.find("1 file not done"), std::string::npos) << first.out;
    const Place own;
    const e2e::Started other(own, many.command(), environment(1, "8"));
    const Outcome second = e2e::run(many.place(), many.command(), environment(0, "8"));
    EXPECT_EQ(other.wait().exit_code, 0);
    EXPECT_EQ(second.exit_code, 0) << second.err << second.out;
    many.expect_each_once(2);
}

// The file of a program, or empty.
std::string found(const char* program) {
    for (const char* folder : {"/usr/bin/", "/usr/sbin/", "/usr/local/bin/"})
        if (fs::exists(std::string(folder) + program)) return std::string(folder) + program;
    return {};
}

std::string as_a_line(const Many& many, const std::vector<std::string>& command) {
    std::string line = "env";
    for (const std::string& variable : many.environment()) line += " '" + variable + "'";
    line += std::string(" '") + BP_TEST_CLI + "'";
    for (const std::string& word : command) line += " '" + word + "'";
    return line;
}

TEST(Ranks, FourUnderMpirunDoEachFileOnce) {
    if (found("mpirun").empty()) GTEST_SKIP() << "no mpirun: Debian's package openmpi-bin";
    const Many many(40);
    std::ofstream(many.place().at("in/bad.png")) << "no picture";
    const std::string start = "mpirun --allow-run-as-root --oversubscribe --mca plm isolated -n 4 ";
    const std::string report = many.place().at("report");
    const Outcome failed =
        e2e::shell(many.place(), start + as_a_line(many, many.command({"--threads", "1"})) + " > " + report);
    EXPECT_NE(failed.exit_code, 0) << "one is no picture";
    EXPECT_NE(e2e::content(report).find("40 of 41 files"), std::string::npos) << e2e::content(report) << failed.err;
    fs::remove(many.place().at("in/bad.png"));
    const Outcome o =
        e2e::shell(many.place(), start + as_a_line(many, many.command({"--threads", "1", "--json"})) + " > " + report);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_EQ(objects(e2e::content(report)).back()["summary"]["done_before"].get<size_t>(), 40U);
    many.expect_each_once(4);
}

TEST(Ranks, FourInASlurmOfOneNodeDoEachFileOnce) {
    const Many many(40);
    const std::string report = many.place().at("report"), slurm = many.place().at("slurm");
    const Outcome o =
        e2e::shell(many.place(), BP_TEST_SOURCE_DIR "/tests/batch/one_node_slurm.sh " + slurm + " srun -n 4 " +
                                     as_a_line(many, many.command({"--threads", "1", "--json"})) + " > " + report);
    if (o.exit_code == 77) {
        const std::string why = e2e::content(report);
        GTEST_SKIP() << why.substr(why.rfind('\n', why.size() - 2) + 1);
    }
    EXPECT_EQ(o.exit_code, 0) << o.err;
    expect_shared(many, e2e::content(report), 40);
}

}  // namespace
}  // namespace backplane::batch_tests
