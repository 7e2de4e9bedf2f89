// What a WeightStore shares: packed weights by (content, layout), and one workspace for all programs that use the store.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "runtime/buffer_state.hpp"

namespace backplane {

struct WeightStore::State {
    State(Device device_, WeightSource source_) : device(std::move(device_)), source(std::move(source_)) {}

    using Key = std::pair<std::string, uint64_t>;  // name and layout
    Device device;
    WeightSource source;
    mutable std::mutex mutex;
    std::map<Key, Buffer> packed;
    uint64_t bytes = 0;
    Buffer workspace;

    // Runs on one device are serialised, so programs can take turns with one workspace. A larger one replaces it; the smaller
    // one lives as long as somebody still holds it.
    Buffer workspace_for(uint64_t size);
};

}  // namespace backplane
