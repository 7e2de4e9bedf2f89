#include "backplane/verify.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <utility>

#include "backplane/runtime.hpp"
#include "conformance/conformance.hpp"

namespace backplane {

namespace {

using graph::CaseData;
using graph::ConformanceCase;

const char* why(Why reason) {
    switch (reason) {
        case Why::op: return "the op";
        case Why::attribute: return "an attribute";
        case Why::dtype: return "the element type";
        case Why::shape: return "the shape";
        case Why::symbolic: return "symbolic dimensions";
        case Why::limit: return "a limit of the device";
        case Why::driver: return "the driver";
        default: return "a reason it does not state";
    }
}

// Of the first node the device refuses: "node 1 (Conv): the element type"; empty when it takes them all.
std::string refusal(const Device& device, const Graph& graph) {
    const std::vector<NodeSupport> support = query(device, graph);
    for (size_t i = 0; i < support.size(); ++i) {
        if (support[i].supported) continue;
        const Node& node = graph.nodes()[i];
        std::string text = "does not support node " + std::to_string(i) + " (" + name_of(node.op);
        for (const TensorId id : node.inputs)
            if (id.valid()) text += std::string(", ") + name_of(graph[id].dtype) + " " + to_string(graph[id].shape);
        text += std::string(") because of ") + why(support[i].reason);
        return support[i].text.empty() ? text : text + ": " + support[i].text;
    }
    return {};
}

// The bytes of each output, in the order of with_role(output).
std::vector<std::vector<std::byte>> outputs_of(const Device& device, const CaseData& data) {
    std::map<std::string, std::span<const std::byte>, std::less<>> weights;
    std::vector<NamedBytes> inputs;
    for (const graph::TensorContent& c : data.contents) {
        const TensorInfo& t = data.graph[c.tensor];
        if (t.role == Role::weight) {
            weights.emplace(t.name, c.bytes);
        } else {
            inputs.push_back({t.name, c.bytes});
        }
    }
    std::vector<std::vector<std::byte>> outputs;
    std::vector<NamedRoom> rooms;
    for (const TensorId id : data.graph.with_role(Role::output)) {
        const TensorInfo& t = data.graph[id];
        // What is never written must not look like a result.
        outputs.emplace_back(bytes(t.dtype, t.shape), std::byte{0xA5});
        rooms.push_back({t.name, outputs.back()});
    }
    CompileOptions options;
    options.math = static_cast<Math>(data.math);
    Session session(
        device, data.graph,
        [&](std::string_view name) {
            const auto found = weights.find(name);
            return found != weights.end() ? found->second : std::span<const std::byte>();
        },
        options);
    session.run(inputs, rooms);
    return outputs;
}

void run_case(const Device& device, const ConformanceCase& which, VerifyResult& result) {
    const CaseData data = which.build();
    result.text = refusal(device, data.graph);
    if (!result.text.empty()) {
        result.status = VerifyResult::unsupported;
        return;
    }
    const std::vector<graph::BoundedTensor> expected = graph::expect(data);
    const std::vector<std::vector<std::byte>> actual = outputs_of(device, data);
    const std::vector<TensorId> outputs = data.graph.with_role(Role::output);
    for (size_t i = 0; i < outputs.size(); ++i) {
        const graph::Comparison verdict = graph::compare(data, expected, outputs[i], actual[i]);
        result.worst = std::max(result.worst, verdict.worst);
        if (verdict.passed) continue;
        result.status = VerifyResult::failed;
        result.text += (result.text.empty() ? "" : "; ") + verdict.text;
    }
}

VerifyResult verified(const Device& device, const ConformanceCase& which) {
    VerifyResult result;
    result.name = which.name;
    result.op = which.op;
    try {
        run_case(device, which, result);
    } catch (const std::exception& e) {
        const auto* error = dynamic_cast<const Error*>(&e);
        if (error != nullptr && error->code() == Code::device_lost) throw;
        result.status = VerifyResult::failed;
        result.ran = false;
        result.worst = std::numeric_limits<double>::infinity();
        result.text = e.what();
    }
    return result;
}

std::vector<ConformanceCase> selected(const VerifyOptions& options) {
    std::vector<ConformanceCase> chosen;
    for (const Op op : all_ops()) {
        if (options.op && *options.op != op) continue;
        for (ConformanceCase& c : graph::conformance_cases(op))
            if (c.name.find(options.name_filter) != std::string::npos) chosen.push_back(std::move(c));
    }
    return chosen;
}

}  // namespace

const char* name_of(VerifyResult::Status status) noexcept {
    switch (status) {
        case VerifyResult::passed: return "passed";
        case VerifyResult::failed: return "failed";
        case VerifyResult::unsupported: return "unsupported";
    }
    return "unknown";
}

std::vector<VerifyResult> verify(const Device& device, const VerifyOptions& options) {
    if (!device) throw Error(Code::invalid, "cannot verify: no device given");
    std::vector<VerifyResult> results;
    for (const ConformanceCase& c : selected(options)) {
        if (options.cancel != nullptr && *options.cancel != 0)
            throw Error(Code::cancelled, "verification of " + device.info().id + " was cancelled before " + c.name);
        results.push_back(verified(device, c));
        if (options.progress) options.progress(results.back());
    }
    return results;
}

VerifyResult verify_one(const Device& device, std::string_view name) {
    if (!device) throw Error(Code::invalid, "cannot verify: no device given");
    const Op op = op_from_name(name.substr(0, name.find('/')));
    for (const ConformanceCase& c : graph::conformance_cases(op))
        if (c.name == name) return verified(device, c);
    throw Error(Code::not_found, "cannot verify: there is no case '" + std::string(name) + "'");
}

std::vector<std::string> verify_names(const VerifyOptions& options) {
    std::vector<std::string> names;
    for (const ConformanceCase& c : selected(options)) names.push_back(c.name);
    return names;
}

}  // namespace backplane
