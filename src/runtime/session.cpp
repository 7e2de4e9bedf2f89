#include <algorithm>

#include <optional>

#include "base/errors.hpp"
#include "runtime/weight_store.hpp"

namespace backplane {

namespace {

// Names a set of tensors for an error message.
std::string names_of(const Graph& graph, Role role) {
    std::string text;
    for (const TensorId id : graph.with_role(role)) text += (text.empty() ? "'" : ", '") + graph[id].name + "'";
    return text.empty() ? "none" : text;
}

}  // namespace

struct Session::Impl {
    Graph graph;
    Program program;
    std::shared_ptr<WeightStore> weights;
    std::vector<Binding> fixed;  // weights and state: bound once
    std::vector<std::pair<TensorId, Buffer>> states;
    struct Port {  // an input or output: bound for each run
        TensorId tensor;
        uint64_t bytes = 0;
        bool used = false;  // the program has a slot for it
        Buffer own;         // staging, made when the caller's memory cannot be used in place
    };
    std::vector<Port> inputs, outputs;

    Impl(const Device& device, const Graph& graph_, std::shared_ptr<WeightStore> weights_, const CompileOptions& options)
        : graph(graph_), program(device, graph_, options), weights(std::move(weights_)) {
        if (!weights) throw Error(Code::invalid, "cannot make a session: no weight store given");
        for (const TensorId id : graph.with_role(Role::input)) inputs.push_back(port(id));
        for (const TensorId id : graph.with_role(Role::output)) outputs.push_back(port(id));
        if (options.plan_only) return;
        for (const Slot& slot : program.info().slots) bind(slot);
    }

    [[nodiscard]] Port port(TensorId id) const { return {id, bytes(graph[id].dtype, graph[id].shape), false, {}}; }

    void bind(const Slot& slot) {
        const Tensor& tensor = graph[slot.tensor];
        switch (tensor.role) {
            case Role::weight: fixed.push_back({slot.tensor, weights->get(program, slot, tensor), 0, slot.bytes}); break;
            case Role::state: bind_state(slot); break;
            case Role::input: mark(inputs, slot); break;
            case Role::output: mark(outputs, slot); break;
            default:
                throw Error(Code::internal, "the module of " + program.device().info().id + " wants temporary '" +
                                                tensor.name + "' bound: report this to its author");
        }
    }

    // A state and the value that replaces it after the run share one buffer: the program updates in place.
    void bind_state(const Slot& slot) {
        const uint32_t in = graph[slot.tensor].state_in;
        const TensorId owner = in == 0 ? slot.tensor : TensorId{in - 1};
        auto found = std::find_if(states.begin(), states.end(), [&](const auto& s) { return s.first == owner; });
        if (found == states.end()) {
            Buffer buffer(program.device(), slot.bytes);
            buffer.write(std::vector<std::byte>(slot.bytes));
            states.emplace_back(owner, std::move(buffer));
            found = states.end() - 1;
        }
        fixed.push_back({slot.tensor, found->second, 0, slot.bytes});
    }

    static void mark(std::vector<Port>& ports, const Slot& slot) {
        for (Port& p : ports)
            if (p.tensor == slot.tensor) p.used = true;
    }

    Port& named(std::vector<Port>& ports, Role role, std::string_view name, uint64_t size) {
        const auto found =
            std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return graph[p.tensor].name == name; });
        const char* what = role == Role::input ? "input" : "output";
        if (found == ports.end())
            throw Error(Code::not_found, std::string("the graph has no ") + what + " '" + std::string(name) +
                                             "'; it has: " + names_of(graph, role));
        if (found->bytes != size)
            throw Error(Code::invalid, std::string(what) + " '" + std::string(name) + "': " + std::to_string(size) +
                                           " bytes given, " + name_of(graph[found->tensor].dtype) + " " +
                                           to_string(graph[found->tensor].shape) + " has " + std::to_string(found->bytes));
        return *found;
    }

    Buffer& staging(Port& p) const {
        if (!p.own) p.own = Buffer(program.device(), p.bytes);
        return p.own;
    }

    void run(std::span<const NamedBytes> in, std::span<const NamedRoom> out, const std::atomic<uint32_t>* cancel) {
        if (in.size() != inputs.size() || out.size() != outputs.size())
            throw Error(Code::invalid, "cannot run: " + std::to_string(in.size()) + " inputs and " +
                                           std::to_string(out.size()) + " outputs given, the graph has inputs " +
                                           names_of(graph, Role::input) + " and outputs " + names_of(graph, Role::output));
        std::vector<Binding> bindings = fixed;
        for (const NamedBytes& i : in) {
            Port& p = named(inputs, Role::input, i.name, i.bytes.size());
            if (!p.used) continue;
            const std::optional<Buffer> buffer = in_place(program.device(), i.bytes);
            if (!buffer) staging(p).write(i.bytes);
            bindings.push_back({p.tensor, buffer ? *buffer : p.own, 0, p.bytes});
        }
        std::vector<std::pair<Port*, std::span<std::byte>>> copies;
        for (const NamedRoom& o : out) {
            Port& p = named(outputs, Role::output, o.name, o.bytes.size());
            if (!p.used) continue;
            const std::optional<Buffer> buffer = in_place(program.device(), o.bytes);
            if (!buffer) copies.emplace_back(&p, o.bytes);
            bindings.push_back({p.tensor, buffer ? *buffer : staging(p), 0, p.bytes});
        }
        const Buffer workspace = weights->state()->workspace_for(program.info().workspace_bytes);
        program.run(bindings, workspace, cancel);
        for (const auto& [port, room] : copies) port->own.read(room);
    }
};

Session::Session(const Device& device, const Graph& graph, WeightSource weights, const CompileOptions& options)
    : Session(device, graph, std::make_shared<WeightStore>(device, std::move(weights)), options) {}

Session::Session(const Device& device, const Graph& graph, std::shared_ptr<WeightStore> weights,
                 const CompileOptions& options)
    : impl_(std::make_unique<Impl>(device, graph, std::move(weights), options)) {}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

void Session::run(std::span<const NamedBytes> inputs, std::span<const NamedRoom> outputs,
                  const std::atomic<uint32_t>* cancel) {
    impl_->run(inputs, outputs, cancel);
}

void Session::reset_state() {
    for (auto& [tensor, buffer] : impl_->states) buffer.write(std::vector<std::byte>(buffer.size()));
}

const Program& Session::program() const { return impl_->program; }
const Graph& Session::graph() const { return impl_->graph; }

}  // namespace backplane
