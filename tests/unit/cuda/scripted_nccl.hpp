// What a test says to scripted_nccl.cpp, and sees there, by its function scripted_nccl().
#pragma once

#include <functional>

namespace backplane::cuda::scripted {

struct NcclWorld {
    int init = 0;                  // what ncclCommInitAll answers
    int right_sums = 1'000'000;    // of two cards, before one that fails
    std::function<void()> before;  // each all-reduce
    std::function<bool()> hangs;   // when a group has been handed over: true, nothing is added up
    std::function<void()> at_abort;
    int async = 0;  // what ncclCommGetAsyncError says
    int inits = 0, alive = 0, aborted = 0, sums = 0;
};

}  // namespace backplane::cuda::scripted
