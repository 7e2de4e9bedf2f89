#include "batch/ranks.hpp"

#include <charconv>
#include <optional>

#include "backplane/error.hpp"
#include "base/environment.hpp"

namespace backplane::batch {

namespace {

std::optional<int64_t> number(const char* name) {
    const auto text = base::environment(name);
    if (!text) return {};
    int64_t value = 0;
    const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (wrong != std::errc{} || end != text->data() + text->size() || value < 0)
        throw Error(Code::invalid, std::string("the variable ") + name + " is '" + *text +
                                       "', which is no number of a process; --ranks 1 has this process do everything");
    return value;
}

struct Launcher {
    const char *name, *rank, *size, *local_rank;
};
constexpr Launcher kLaunchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
};

std::string job_of(const std::string& launcher) {
    const auto of = [](const char* name) { return base::environment(name).value_or(std::string()); };
    if (launcher == "Open MPI") return of("PMIX_NAMESPACE");
    if (const std::string job = of("SLURM_JOB_ID"); launcher == "Slurm" && !job.empty())
        return job + "." + of("SLURM_STEP_ID") + "." + of("SLURM_RESTART_COUNT");
    return {};
}

Ranks from_environment(int64_t given) {
    Ranks ranks;
    for (const Launcher& l : kLaunchers) {
        const auto rank = number(l.rank), size = number(l.size);
        if (!rank || !size) continue;
        ranks.launcher = l.name;
        ranks.rank = *rank;
        ranks.size = *size;
        ranks.local_rank = number(l.local_rank).value_or(0);
        ranks.job = job_of(ranks.launcher);
        return ranks;
    }
    if (const auto index = number("JOB_COMPLETION_INDEX")) {
        ranks.launcher = "Kubernetes";
        ranks.rank = *index;
        ranks.size = given;
        if (given == 0)
            throw Error(Code::invalid, "JOB_COMPLETION_INDEX says that this is process " + std::to_string(*index) +
                                           " of an indexed job, and nobody how many there are: say --ranks with the job's "
                                           "completions, or --ranks 1 if this process is to do everything");
    }
    return ranks;
}

}  // namespace

Ranks ranks_of(int64_t given) {
    if (given == 1) return {};
    Ranks ranks = from_environment(given);
    if (ranks.launcher == "none" && given > 1)
        throw Error(Code::invalid,
                    "--ranks " + std::to_string(given) +
                        ": nothing in the environment says which of them this process is; start it with srun, "
                        "mpirun or as an indexed job of Kubernetes");
    if (given != 0) ranks.size = given;
    if (ranks.size < 1 || ranks.rank >= ranks.size)
        throw Error(Code::invalid, ranks.launcher + " says that this is process " + std::to_string(ranks.rank) +
                                       ", and there are " + std::to_string(ranks.size) + ", counted from 0");
    return ranks;
}

}  // namespace backplane::batch
