// What the functions of the scripted libcuda are made of.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "scripted_cuda.hpp"
#include "scripted_streams.hpp"

namespace backplane::cuda::scripted {

struct Object {
    int kind = 0;
};
struct ScriptedStream : Object {
    std::unique_ptr<Work> work;  // null: at once
};

// What this call answers; counts it.
int answer(const char* function);
// The card of this thread's context is.
bool is_stuck();
// When the stream comes to it; while this thread records a graph, a step of that.
void in_order(void* stream, std::function<void()> step);

template <typename T>
T* made(T* object) {
    const std::lock_guard lock(world().mutex);
    world().alive.insert(object);
    return object;
}
template <typename T>
int gone(T* object) {
    {
        const std::lock_guard lock(world().mutex);
        world().alive.erase(object);
    }
    delete object;
    return 0;
}

}  // namespace backplane::cuda::scripted

#define CALL(name) \
    if (const int result = backplane::cuda::scripted::answer(name); result != 0) return result
