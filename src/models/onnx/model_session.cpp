#include <algorithm>
#include <cstring>
#include <list>

#include "models/onnx/model_state.hpp"

namespace backplane {

struct ModelSession::Impl {
    // An input whose content a plan is made for.
    struct Decided {
        size_t input = 0;
        std::vector<std::byte> content;
    };

    struct ModelPlan {
        std::vector<Shape> shapes;  // of all inputs of the model
        std::vector<Decided> decided;
        Session session;
        std::vector<size_t> taken;                                            // inputs of the model that the graph has
        std::vector<ModelValue> outputs;                                      // with nothing left open
        std::vector<uint64_t> sizes;                                          // bytes of these
        std::map<std::string, std::vector<std::byte>, std::less<>> unwanted;  // room for outputs that nobody takes

        [[nodiscard]] bool is_for(const GivenInputs& given) const {
            for (size_t i = 0; i < shapes.size(); ++i)
                if (shapes[i] != given.shape(i)) return false;
            return std::all_of(decided.begin(), decided.end(), [&](const Decided& one) {
                const formats::OnnxTensor* content = given.content(one.input);
                return content != nullptr &&
                       std::equal(one.content.begin(), one.content.end(), content->bytes().begin(), content->bytes().end());
            });
        }
    };

    std::vector<Device> devices;
    Model model;
    ModelOptions options;
    Weights weights;
    std::list<ModelPlan> plans;  // that which ran last in front
    PlanCounts counts;

    Impl(std::vector<Device> on, Model given, const ModelOptions& how)
        : devices(std::move(on)), model(std::move(given)), options(how), weights(model.weights(), model.info().name) {
        if (devices.empty())
            throw Error(Code::invalid,
                        "cannot make a session of a model: no device given; use Context::choose_with_fallback");
        options.plans_kept = std::max<uint32_t>(options.plans_kept, 1);
        options.session.plans_kept = 0;  // they are kept here, with their sessions
    }

    ModelPlan& plan_for(const GivenInputs& given) {
        const auto found =
            std::find_if(plans.begin(), plans.end(), [&](const ModelPlan& plan) { return plan.is_for(given); });
        if (found != plans.end()) {
            ++counts.reused;
            if (found != plans.begin()) plans.splice(plans.begin(), plans, found);
            return plans.front();
        }
        ModelPlan made = new_plan(given);
        while (plans.size() >= options.plans_kept) plans.pop_back();
        plans.push_front(std::move(made));
        ++counts.compiled;
        return plans.front();
    }

    ModelPlan new_plan(const GivenInputs& given) {
        const Model::State& state = *model.state_;
        std::set<size_t> asked;
        const Graph graph = formats::graph_of(state.network, given.answers(&asked));
        ModelPlan plan{{}, {}, Session(devices, graph, weights, options.session), {}, {}, {}, {}};
        for (size_t i = 0; i < state.inputs.size(); ++i) {
            plan.shapes.push_back(given.shape(i));
            const TensorId there = graph.find(state.inputs[i].name);
            if (there.valid() && graph[there].role == Role::input) plan.taken.push_back(i);
        }
        for (const size_t i : asked) {
            const std::span<const std::byte> content = given.content(i)->bytes();
            plan.decided.push_back({i, {content.begin(), content.end()}});
        }
        for (const ModelValue& output : state.outputs) {
            const TensorInfo& info = graph[output_of(graph, output.name)];
            plan.outputs.push_back({output.name, info.dtype, info.shape, {}, true, output.is_unsigned});
            plan.sizes.push_back(bytes(info.dtype, info.shape));
        }
        return plan;
    }

    static TensorId output_of(const Graph& graph, std::string_view name) {
        for (const TensorId id : graph.with_role(Role::output))
            if (graph[id].name == name) return id;
        throw Error(Code::internal, "the graph of the model has no output '" + std::string(name) + "'");
    }

    void run(ModelPlan& plan, const GivenInputs& given, std::span<const Output> outputs,
             const std::atomic<uint32_t>* cancel) const {
        std::vector<Input> in;
        in.reserve(plan.taken.size());
        for (const size_t i : plan.taken) {
            const ModelInput& input = *given.at(i);
            if (input.tensor)
                in.emplace_back(input.name, input.tensor);
            else
                in.emplace_back(input.name, input.bytes);
        }
        if (outputs.size() == plan.outputs.size()) return plan.session.run(in, outputs, cancel);
        std::vector<Output> all(outputs.begin(), outputs.end());
        for (size_t i = 0; i < plan.outputs.size(); ++i) {
            const std::string& name = plan.outputs[i].name;
            if (std::any_of(outputs.begin(), outputs.end(), [&](const Output& output) { return output.name == name; }))
                continue;
            std::vector<std::byte>& room = plan.unwanted[name];
            room.resize(plan.sizes[i]);
            all.emplace_back(name, std::span(room));
        }
        plan.session.run(in, all, cancel);
    }
};

ModelSession::ModelSession(std::vector<Device> devices, Model model, const ModelOptions& options)
    : impl_(std::make_unique<Impl>(std::move(devices), std::move(model), options)) {}
ModelSession::~ModelSession() = default;
ModelSession::ModelSession(ModelSession&&) noexcept = default;
ModelSession& ModelSession::operator=(ModelSession&&) noexcept = default;

std::vector<ModelResult> ModelSession::run(std::span<const ModelInput> inputs, const std::atomic<uint32_t>* cancel) {
    const GivenInputs given(*impl_->model.state_, inputs, true);
    Impl::ModelPlan& plan = impl_->plan_for(given);
    std::vector<ModelResult> results;
    std::vector<Output> rooms;
    results.reserve(plan.outputs.size());
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
        const ModelValue& output = plan.outputs[i];
        results.push_back(
            {output.name, output.dtype, output.shape, std::vector<std::byte>(plan.sizes[i]), output.is_unsigned});
        rooms.emplace_back(results.back().name, std::span(results.back().bytes));
    }
    impl_->run(plan, given, rooms, cancel);
    return results;
}

void ModelSession::run(std::span<const ModelInput> inputs, std::span<const Output> outputs,
                       const std::atomic<uint32_t>* cancel) {
    const GivenInputs given(*impl_->model.state_, inputs, true);
    impl_->run(impl_->plan_for(given), given, outputs, cancel);
}

std::vector<ModelValue> ModelSession::prepare(std::span<const ModelInput> inputs) {
    const GivenInputs given(*impl_->model.state_, inputs, true);
    return impl_->plan_for(given).outputs;
}

const Model& ModelSession::model() const noexcept { return impl_->model; }

std::vector<std::string> ModelSession::notes() const {
    return impl_->plans.empty() ? std::vector<std::string>() : impl_->plans.front().session.notes();
}

std::string ModelSession::describe() const { return impl_->plans.empty() ? "" : impl_->plans.front().session.describe(); }

std::vector<StageRuns> ModelSession::runs() const {
    std::vector<StageRuns> all;
    for (const Impl::ModelPlan& plan : impl_->plans)
        for (StageRuns& one : plan.session.runs()) all.push_back(std::move(one));
    return all;
}

PlanCounts ModelSession::plans() const {
    PlanCounts counts = impl_->counts;
    counts.kept = impl_->plans.size();
    return counts;
}

}  // namespace backplane
