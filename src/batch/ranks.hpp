// Which of several processes that were started together this one is, as what started them says.
#pragma once

#include <cstdint>
#include <string>

namespace backplane::batch {

struct Ranks {
    int64_t rank = 0, size = 1;     // of all
    int64_t local_rank = 0;         // of those on this machine; 0 where nobody says
    std::string launcher = "none";  // "Open MPI", "MPICH", "Slurm", "Kubernetes", "none"
    std::string job;                // the same for all of them and for nothing else; empty: nobody says
};

// From the environment, the innermost launcher first:
//   Open MPI     OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK; job: PMIX_NAMESPACE       (docs.open-mpi.org, "Environment variables")
//   MPICH, Intel PMI_RANK, PMI_SIZE, MPI_LOCALRANKID
//   Slurm        SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID; job: SLURM_JOB_ID, SLURM_STEP_ID, SLURM_RESTART_COUNT (srun(1)). A batch
//                script that is no step has no SLURM_STEP_NUM_TASKS: what it starts itself is one process.
//   Kubernetes   JOB_COMPLETION_INDEX of an indexed job. How many there are, Kubernetes does not say.
// `given`: how many share the work, whatever the environment says of it; 0: not given; 1: this process does all of it. Throws Error(invalid)
// that names the variable: a rank without a number of them, a rank beyond it, what is no number.
Ranks ranks_of(int64_t given);

}  // namespace backplane::batch
