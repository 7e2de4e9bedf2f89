// A libnccl.so.2 that does what a test writes into it: adds up floats of cards whose memory is the host's, at the end of a group as the real one does.
// Built as it is, of a version that is too old (SCRIPTED_NCCL_VERSION), and without a function (SCRIPTED_NCCL_INCOMPLETE).
#include "scripted_nccl.hpp"

#include <cstddef>
#include <vector>

using backplane::cuda::scripted::NcclWorld;

namespace {
NcclWorld world;
struct Asked {
    const float* from;
    float* to;
    std::size_t count;
};
std::vector<Asked> asked;
}  // namespace

#ifndef SCRIPTED_NCCL_VERSION
#define SCRIPTED_NCCL_VERSION 22803
#endif

extern "C" {
NcclWorld* scripted_nccl() { return &world; }
int ncclGetVersion(int* version) {
    *version = SCRIPTED_NCCL_VERSION;
    return 0;
}
int ncclCommInitAll(void** made, int count, const int* devices) {
    if (world.init != 0) return world.init;
    for (int i = 0; i < count; ++i) made[i] = new int(devices[i]);
    world.alive += count;
    ++world.inits;
    return 0;
}
int ncclCommDestroy(void* one) {
    delete static_cast<int*>(one);
    --world.alive;
    return 0;
}
int ncclCommGetAsyncError(void*, int* result) {
    *result = world.async;
    return 0;
}
int ncclCommAbort(void* one) {
    if (world.at_abort) world.at_abort();
    ++world.aborted;
    return ncclCommDestroy(one);
}
int ncclGroupStart() { return 0; }
int ncclGroupEnd() {
    if (world.hangs && !asked.empty() && world.hangs()) asked.clear();
    for (std::size_t i = 0; i < (asked.empty() ? 0 : asked[0].count); ++i) {
        float sum = 0;
        for (const Asked& one : asked) sum += one.from[i];
        for (const Asked& one : asked) one.to[i] = sum;
    }
    asked.clear();
    return 0;
}
#ifndef SCRIPTED_NCCL_INCOMPLETE
int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int op, void*, void*) {
    if (world.before) world.before();
    if (world.sums >= world.right_sums * 2) return 1;
    ++world.sums;
    if (type != 7 || op != 0) return 4;
    asked.push_back({static_cast<const float*>(from), static_cast<float*>(to), count});
    return 0;
}
#endif
const char* ncclGetErrorString(int result) { return result == 1 ? "unhandled cuda error" : "internal error"; }
const char* ncclGetLastError(void*) { return "the library's last words"; }
}
