// Model::check() for programs.
#pragma once

#include <algorithm>
#include <vector>

#include "backplane/model.hpp"
#include "base/json.hpp"

namespace backplane {

// {"runs": true, "nodes": [{"name", "op", "device", "folded", "why"}]}
inline base::Json model_check_json(const std::vector<ModelNode>& nodes) {
    const auto is_nowhere = [](const ModelNode& node) { return !node.folded && node.device.empty(); };
    base::Json json{{"runs", std::none_of(nodes.begin(), nodes.end(), is_nowhere)}, {"nodes", base::Json::array()}};
    for (const ModelNode& node : nodes)
        json["nodes"].push_back(
            {{"name", node.name}, {"op", node.op}, {"device", node.device}, {"folded", node.folded}, {"why", node.why}});
    return json;
}

}  // namespace backplane
