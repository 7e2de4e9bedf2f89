#include "backplane/spread.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "runtime/spread/cut.hpp"
#include "runtime/spread/op_checks.hpp"
#include "runtime/weight_store.hpp"

namespace backplane {

using runtime::kNoDevice;
using runtime::Part;
using runtime::PartGraph;

struct SpreadDevices::State {
    std::vector<Device> devices;
    std::vector<std::shared_ptr<WeightStore>> weights;  // one a device

    std::mutex mutex;  // of everything below
    std::vector<std::map<Op, runtime::OpFault>> faulty;
    std::vector<std::set<Op>> checked;

    // What the device gets wrong, or does not run, of these ops.
    std::map<Op, runtime::OpFault> faulty_ops(size_t device, const std::set<Op>& ops) {
        const std::lock_guard lock(mutex);
        std::set<Op> fresh;
        std::set_difference(ops.begin(), ops.end(), checked[device].begin(), checked[device].end(),
                            std::inserter(fresh, fresh.end()));
        if (!fresh.empty()) {
            faulty[device].merge(runtime::faulty_ops(devices[device], fresh));
            checked[device].merge(fresh);
        }
        return faulty[device];
    }
};

SpreadDevices::SpreadDevices(std::vector<Device> devices, const WeightSource& weights) : state_(std::make_unique<State>()) {
    if (devices.empty())
        throw Error(Code::invalid, "cannot spread a graph: no device given; use Context::choose_with_fallback");
    for (const Device& device : devices) state_->weights.push_back(std::make_shared<WeightStore>(device, weights));
    state_->faulty.resize(devices.size());
    state_->checked.resize(devices.size());
    state_->devices = std::move(devices);
}
SpreadDevices::~SpreadDevices() = default;
const std::vector<Device>& SpreadDevices::devices() const noexcept { return state_->devices; }

namespace {

std::string counted_ops(const Graph& graph, const std::vector<size_t>& nodes) {
    std::map<std::string, size_t> counts;
    for (const size_t n : nodes) ++counts[name_of(graph.nodes()[n].op)];
    std::string text;
    for (const auto& [name, count] : counts)
        text += (text.empty() ? "" : ", ") + name + (count == 1 ? "" : " x " + std::to_string(count));
    return text;
}

std::string sentence_on(const Device& device, Op op, const runtime::OpFault& fault) {
    const std::string what = fault.kind == runtime::OpFault::wrong
                                 ? device.info().id + " computes " + name_of(op) + " wrongly (" + fault.text + ")"
                                 : device.info().id + " would not build or run " + name_of(op) + " (" + fault.text + ")";
    return what + ": it is left to the next device" + (fault.remembered.empty() ? "" : "; " + fault.remembered);
}

bool hands_over(Code code) { return code == Code::device_lost || code == Code::no_device_memory; }

}  // namespace

struct SpreadSession::Impl {
    struct Running {
        Part part;
        std::optional<PartGraph> piece;  // none: the whole graph as it is
        std::optional<Session> session;  // made when needed
    };

    std::shared_ptr<SpreadDevices> shared;
    Graph graph;
    SpreadOptions options;
    std::vector<size_t> least;  // of each node: devices before this one are not to be used for it
    std::vector<Running> parts;
    std::vector<std::vector<std::byte>> made;          // of tensors between parts, by index
    std::map<uint32_t, std::vector<std::byte>> state;  // when the graph is split: kept here
    std::vector<std::string> notes;

    Impl(std::shared_ptr<SpreadDevices> shared_, const Graph& graph_, const SpreadOptions& options_)
        : shared(std::move(shared_)), graph(graph_), options(options_), least(graph.nodes().size(), 0) {
        if (!shared) throw Error(Code::invalid, "cannot spread a graph: no devices given");
        made.resize(graph.tensors().size());
        plan({});
        for (size_t i = 0; i < parts.size();) build_or_move(i);
    }

    [[nodiscard]] const std::vector<Device>& devices() const { return shared->devices(); }

    void note(const std::string& text) {
        if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
    }

    // Which device runs each node that is not done; throws Error(unsupported) when none does.
    std::vector<size_t> assign(const std::vector<bool>& done) {
        std::vector<size_t> device_of(graph.nodes().size(), kNoDevice);
        std::vector<size_t> open;
        for (size_t n = 0; n < device_of.size(); ++n)
            if (done.empty() || !done[n]) open.push_back(n);
        for (size_t d = 0; d < devices().size() && !open.empty(); ++d) {
            if (devices()[d].state()->lost()) continue;
            try {
                offer(d, open, device_of);
            } catch (const Error& error) {
                if (error.code() != Code::device_lost) throw;
                note(std::string(error.what()));
            }
        }
        if (open.empty()) return device_of;
        std::string where;
        for (const Device& device : devices()) where += (where.empty() ? "" : ", ") + device.info().id;
        // What a device says of itself is the reason, and the only place where somebody who gets this error reads it.
        throw Error(Code::unsupported, "cannot run the graph: no device of " + where + " runs " + counted_ops(graph, open) +
                                           (notes.empty() ? "" : "; " + notes.back()));
    }

    // Takes from `open` what the device supports and computes rightly.
    void offer(size_t d, std::vector<size_t>& open, std::vector<size_t>& device_of) {
        const Device& device = devices()[d];
        const std::vector<NodeSupport> support = query(device, graph);
        std::set<Op> ops;
        for (const size_t n : open)
            if (support[n].supported && least[n] <= d) ops.insert(graph.nodes()[n].op);
        const std::map<Op, runtime::OpFault> faulty = shared->state().faulty_ops(d, ops);
        std::vector<size_t> refused;
        std::vector<size_t> left;
        for (const size_t n : open) {
            const auto bad = faulty.find(graph.nodes()[n].op);
            if (least[n] <= d && support[n].supported && bad == faulty.end()) {
                device_of[n] = d;
                continue;
            }
            left.push_back(n);
            if (!support[n].supported) refused.push_back(n);
            if (support[n].supported && bad != faulty.end()) note(sentence_on(device, bad->first, bad->second));
        }
        if (!refused.empty() && refused.size() < graph.nodes().size())
            note(device.info().id + " does not support " + counted_ops(graph, refused) + ": left to the next device");
        open = std::move(left);
    }

    // New parts for all nodes that are not done; those at the front stay, and are done.
    void plan(const std::vector<bool>& done) {
        const std::vector<size_t> device_of = assign(done);
        for (Part& part : runtime::cut(graph, device_of)) {
            Running running{std::move(part), {}, {}};
            if (running.part.nodes.size() != graph.nodes().size()) running.piece = runtime::part_graph(graph, running.part);
            parts.push_back(std::move(running));
        }
        if (parts.size() > 1)
            for (const TensorId id : graph.with_role(Role::state))
                if (graph[id].state_in == 0 && !state.contains(id.index))
                    state[id.index].assign(bytes(graph[id].dtype, graph[id].shape), std::byte{0});
    }

    void build(Running& running) {
        if (running.session) return;
        const size_t d = running.part.device;
        running.session.emplace(devices()[d], running.piece ? running.piece->graph : graph, shared->state().weights[d],
                                options.compile);
        if (options.compile.plan_only) return;
        // Now and not at the first run, when it is late to choose otherwise.
        static_cast<void>(
            shared->state().weights[d]->state()->workspace_for(running.session->program().info().workspace_bytes));
    }

    // Builds part i and goes on to the next, or moves it.
    void build_or_move(size_t& i) {
        try {
            build(parts[i]);
            ++i;
        } catch (const Error& error) {
            if (!hands_over(error.code()) || (error.code() == Code::no_device_memory && !options.build_elsewhere)) throw;
            hand_over(i, error);
        }
    }

    // Part i and what follows go to other devices. Throws the error again when there is none.
    void hand_over(size_t i, const Error& error) {
        const size_t d = parts[i].part.device;
        const std::string id = devices()[d].info().id;
        if (error.code() == Code::no_device_memory)
            for (const size_t n : parts[i].part.nodes) least[n] = d + 1;
        std::vector<bool> done(graph.nodes().size(), false);
        for (size_t k = 0; k < i; ++k)
            for (const size_t n : parts[k].part.nodes) done[n] = true;
        std::vector<Running> rest(std::make_move_iterator(parts.begin() + static_cast<std::ptrdiff_t>(i)),
                                  std::make_move_iterator(parts.end()));
        parts.resize(i);
        try {
            plan(done);
        } catch (const Error& none) {
            if (none.code() != Code::unsupported) throw;
            std::move(rest.begin(), rest.end(), std::back_inserter(parts));
            throw Error(error.code(), std::string(error.what()) + "; there is no other device to go on with");
        }
        note(std::string(error.what()) + ": what remained was done by " + devices()[parts[i].part.device].info().id);
    }

    // ---- a run ----

    std::span<const std::byte> content(TensorId id, std::span<const NamedBytes> inputs,
                                       std::span<const NamedRoom> outputs) const {
        const Tensor& t = graph[id];
        if (t.role == Role::input)
            for (const NamedBytes& given : inputs)
                if (given.name == t.name) return given.bytes;
        if (t.role == Role::output)
            for (const NamedRoom& room : outputs)
                if (room.name == t.name) return room.bytes;
        if (t.role == Role::state && t.state_in == 0) return state.at(id.index);
        return made[id.index];
    }

    std::span<std::byte> room(TensorId id, std::span<const NamedRoom> outputs) {
        const Tensor& t = graph[id];
        if (t.role == Role::output)
            for (const NamedRoom& given : outputs)
                if (given.name == t.name) return given.bytes;
        made[id.index].resize(bytes(t.dtype, t.shape));
        return made[id.index];
    }

    void run_part(Running& running, std::span<const NamedBytes> inputs, std::span<const NamedRoom> outputs,
                  const std::atomic<uint32_t>* cancel) {
        build(running);
        if (!running.piece) return running.session->run(inputs, outputs, cancel);
        std::vector<std::string> names;  // reserved: views of them are handed out
        names.reserve(running.piece->inputs.size() + running.piece->outputs.size());
        std::vector<NamedBytes> in;
        std::vector<NamedRoom> out;
        for (const TensorId id : running.piece->inputs)
            in.push_back({names.emplace_back(runtime::part_name(id)), content(id, inputs, outputs)});
        for (const TensorId id : running.piece->outputs)
            out.push_back({names.emplace_back(runtime::part_name(id)), room(id, outputs)});
        running.session->run(in, out, cancel);
    }

    // What Session would say of wrong names and sizes, also when the graph is split.
    void check(std::span<const NamedBytes> inputs, std::span<const NamedRoom> outputs) const {
        auto one = [&](Role role, const char* what, std::string_view name, uint64_t size) {
            for (const TensorId id : graph.with_role(role)) {
                if (graph[id].name != name) continue;
                if (const uint64_t wanted = bytes(graph[id].dtype, graph[id].shape); wanted != size)
                    throw Error(Code::invalid, std::string(what) + " '" + std::string(name) + "': " + std::to_string(size) +
                                                   " bytes given, " + name_of(graph[id].dtype) + " " +
                                                   to_string(graph[id].shape) + " has " + std::to_string(wanted));
                return;
            }
            throw Error(Code::not_found, std::string("the graph has no ") + what + " '" + std::string(name) + "'");
        };
        if (inputs.size() != graph.with_role(Role::input).size() || outputs.size() != graph.with_role(Role::output).size())
            throw Error(Code::invalid, "cannot run: " + std::to_string(inputs.size()) + " inputs and " +
                                           std::to_string(outputs.size()) + " outputs given, the graph has " +
                                           std::to_string(graph.with_role(Role::input).size()) + " and " +
                                           std::to_string(graph.with_role(Role::output).size()));
        for (const NamedBytes& i : inputs) one(Role::input, "input", i.name, i.bytes.size());
        for (const NamedRoom& o : outputs) one(Role::output, "output", o.name, o.bytes.size());
    }

    // Does the whole graph run on one device, which alone holds its state?
    [[nodiscard]] bool state_is_on_a_device(const Running& running) const {
        return !running.piece && std::any_of(graph.tensors().begin(), graph.tensors().end(),
                                             [](const Tensor& t) { return t.role == Role::state; });
    }

    // Between runs: plans anew when a part's device is lost.
    void leave_lost_devices() {
        const auto lost = [&](const Running& r) { return devices()[r.part.device].state()->lost(); };
        if (std::none_of(parts.begin(), parts.end(), lost)) return;
        parts.clear();
        plan({});
    }

    void run(std::span<const NamedBytes> inputs, std::span<const NamedRoom> outputs, const std::atomic<uint32_t>* cancel) {
        check(inputs, outputs);
        if (parts.size() > 1) leave_lost_devices();  // the last run ended elsewhere, or another session lost one
        for (size_t i = 0; i < parts.size();) {
            try {
                run_part(parts[i], inputs, outputs, cancel);
                ++i;
            } catch (const Error& error) {
                if (!hands_over(error.code())) throw;
                if (state_is_on_a_device(parts[i]))
                    throw Error(error.code(),
                                std::string(error.what()) +
                                    "; the graph's state was there alone: reset_state() begins anew on the next device");
                hand_over(i, error);
            }
        }
        for (size_t t = 0; t < graph.tensors().size(); ++t) {
            const uint32_t of = graph.tensors()[t].state_in;
            if (of != 0 && parts.size() > 1) std::swap(state.at(of - 1), made[t]);
        }
    }

    void reset_state() {
        for (auto& [id, content] : state) std::fill(content.begin(), content.end(), std::byte{0});
        leave_lost_devices();
        for (Running& running : parts)
            if (running.session && !running.piece) running.session->reset_state();
    }

    [[nodiscard]] SpreadReport report() const {
        SpreadReport report;
        report.notes = notes;
        std::map<uint32_t, size_t> maker;  // tensor -> device
        for (const Running& r : parts) {
            report.parts.push_back(
                {devices()[r.part.device].info().id, r.part.nodes.size(), counted_ops(graph, r.part.nodes)});
            if (!r.piece) continue;
            for (const TensorId id : r.piece->outputs) maker[id.index] = r.part.device;
        }
        for (const Running& r : parts) {
            if (!r.piece) continue;
            for (const TensorId id : r.piece->inputs) {
                const auto from = maker.find(id.index);
                if (from == maker.end() || from->second == r.part.device) continue;
                ++report.copies;
                report.copied_bytes += bytes(graph[id].dtype, graph[id].shape);
            }
        }
        return report;
    }
};

SpreadSession::SpreadSession(std::shared_ptr<SpreadDevices> devices, const Graph& graph, const SpreadOptions& options)
    : impl_(std::make_unique<Impl>(std::move(devices), graph, options)) {}
SpreadSession::~SpreadSession() = default;
SpreadSession::SpreadSession(SpreadSession&&) noexcept = default;
SpreadSession& SpreadSession::operator=(SpreadSession&&) noexcept = default;

void SpreadSession::run(std::span<const NamedBytes> inputs, std::span<const NamedRoom> outputs,
                        const std::atomic<uint32_t>* cancel) {
    impl_->run(inputs, outputs, cancel);
}
void SpreadSession::reset_state() { impl_->reset_state(); }
SpreadReport SpreadSession::report() const { return impl_->report(); }
const Graph& SpreadSession::graph() const { return impl_->graph; }

uint64_t SpreadSession::workspace_bytes() const {
    uint64_t most = 0;
    for (const Impl::Running& running : impl_->parts)
        if (running.session) most = std::max(most, running.session->program().info().workspace_bytes);
    return most;
}

}  // namespace backplane
