// The parts of a Graph, for what makes and changes one: the builder, and from_abi.cpp from plain data.
#pragma once

#include <array>
#include <atomic>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane {

// What copies of a Graph share. Whoever is the only one to hold it may change it.
struct Graph::Held {
    std::vector<TensorInfo> tensors;
    std::vector<Node> nodes;
    std::atomic<uint32_t> holders{1};
    std::atomic<bool> hashed{false};
    std::array<std::atomic<uint64_t>, 2> hash{};  // once `hashed`

    // What a change must not name or update again, found when it is first asked for. Throws Error(invalid): there is such a name already.
    void take_name(Role role, const std::string& name, const char* what);
    [[nodiscard]] bool take_update(uint32_t state);  // false: it is updated already

    bool indexed = false;  // the next two are of all tensors
    std::set<std::pair<Role, std::string>> names;
    std::set<uint32_t> updated;

private:
    void index();
};

struct GraphAccess {
    // For changes that come now; valid until the graph is copied.
    static std::vector<TensorInfo>& tensors(Graph& graph) {
        Graph::Held& held = graph.change();
        held.indexed = false;
        return held.tensors;
    }
    static std::vector<Node>& nodes(Graph& graph) { return graph.change().nodes; }
};

namespace graph {

// Throws Error(invalid) when there can be no such tensor: unknown dtype, a rank over 8, a negative extent, too many elements, a block type whose last
// axis is no whole number of blocks.
void check_tensor(DType dtype, const Shape& shape);

// The same, with words before it. `what` gives them: nothing is put together while all is well.
template <typename What>
void check_tensor(const What& what, DType dtype, const Shape& shape) {
    try {
        check_tensor(dtype, shape);
    } catch (const Error& e) {
        throw Error(e.code(), what() + ": " + e.what());
    }
}

}  // namespace graph
}  // namespace backplane
