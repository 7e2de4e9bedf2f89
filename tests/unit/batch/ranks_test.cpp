// What launchers say in the environment, lies included.
#include "batch/ranks.hpp"

#include <gtest/gtest.h>

#include <map>

#include "backplane/error.hpp"
#include "support/system.hpp"

namespace backplane::batch {
namespace {

constexpr const char* kAll[] = {"OMPI_COMM_WORLD_RANK",
                                "OMPI_COMM_WORLD_SIZE",
                                "OMPI_COMM_WORLD_LOCAL_RANK",
                                "PMIX_NAMESPACE",
                                "PMI_RANK",
                                "PMI_SIZE",
                                "MPI_LOCALRANKID",
                                "SLURM_PROCID",
                                "SLURM_STEP_NUM_TASKS",
                                "SLURM_NTASKS",
                                "SLURM_LOCALID",
                                "SLURM_JOB_ID",
                                "SLURM_STEP_ID",
                                "SLURM_RESTART_COUNT",
                                "JOB_COMPLETION_INDEX"};

Ranks ranks(const std::map<std::string, std::string>& environment, int64_t given = 0) {
    for (const char* name : kAll) test::unset_environment(name);
    for (const auto& [name, value] : environment) test::set_environment(name, value);
    return ranks_of(given);
}

std::string refused(const std::map<std::string, std::string>& environment, int64_t given = 0) {
    try {
        ranks(environment, given);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::invalid);
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        return error.what();
    }
    ADD_FAILURE() << "not refused";
    return {};
}

TEST(Ranks, WhatMakesNoSenseIsRefusedByName) {
    for (const char* lie : {"x", "-1", "1.5", "1 ", " 1", "0x1", "99999999999999999999"})
        EXPECT_NE(refused({{"SLURM_PROCID", lie}, {"SLURM_STEP_NUM_TASKS", "2"}}).find("SLURM_PROCID"), std::string::npos)
            << lie;
    EXPECT_NE(refused({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}).find("process 4"), std::string::npos);
    refused({{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}});
    EXPECT_NE(refused({{"JOB_COMPLETION_INDEX", "3"}}).find("--ranks"), std::string::npos);
    refused({{"JOB_COMPLETION_INDEX", "3"}}, 3);
    EXPECT_NE(refused({}, 4).find("srun"), std::string::npos);
}

TEST(Ranks, EachLauncherIsUnderstood) {
    Ranks r = ranks({});
    EXPECT_EQ(r.rank, 0);
    EXPECT_EQ(r.size, 1);
    EXPECT_EQ(r.launcher, "none");
    r = ranks({{"OMPI_COMM_WORLD_RANK", "5"},
               {"OMPI_COMM_WORLD_SIZE", "8"},
               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
               {"PMIX_NAMESPACE", "j1"}});
    EXPECT_EQ(r.rank, 5);
    EXPECT_EQ(r.size, 8);
    EXPECT_EQ(r.local_rank, 1);
    EXPECT_EQ(r.launcher, "Open MPI");
    EXPECT_EQ(r.job, "j1");
    r = ranks({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}});
    EXPECT_EQ(r.launcher, "MPICH");
    EXPECT_EQ(r.local_rank, 2);
    r = ranks({{"SLURM_PROCID", "6"},
               {"SLURM_STEP_NUM_TASKS", "8"},
               {"SLURM_LOCALID", "2"},
               {"SLURM_JOB_ID", "77"},
               {"SLURM_STEP_ID", "3"}});
    EXPECT_EQ(r.launcher, "Slurm");
    EXPECT_EQ(r.rank, 6);
    EXPECT_EQ(r.local_rank, 2);
    const std::string job = r.job;
    EXPECT_NE(job, "");
    EXPECT_NE(
        ranks({{"SLURM_PROCID", "6"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "4"}}).job,
        job)
        << "another step of the allocation is another job";
    r = ranks({{"JOB_COMPLETION_INDEX", "3"}}, 5);
    EXPECT_EQ(r.launcher, "Kubernetes");
    EXPECT_EQ(r.rank, 3);
    EXPECT_EQ(r.size, 5);
}

TEST(Ranks, ABatchScriptOfSlurmThatIsNoStepIsOneProcess) {
    const Ranks r = ranks({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "0"}, {"SLURM_JOB_ID", "77"}});
    EXPECT_EQ(r.size, 1);
}

TEST(Ranks, MpirunInsideAnAllocationOfSlurmIsMpiruns) {
    const Ranks r = ranks({{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "2"},
                           {"SLURM_PROCID", "0"},
                           {"SLURM_STEP_NUM_TASKS", "1"}});
    EXPECT_EQ(r.rank, 1);
    EXPECT_EQ(r.size, 2);
}

TEST(Ranks, OneIsAllWhateverTheLauncherSays) {
    const Ranks r = ranks({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}, 1);
    EXPECT_EQ(r.rank, 0);
    EXPECT_EQ(r.size, 1);
}

}  // namespace
}  // namespace backplane::batch
