#include "backplane/pipeline.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/device_order.hpp"
#include "runtime/layers.hpp"
#include "runtime/part_times.hpp"
#include "runtime/spread/cut.hpp"

namespace backplane {

namespace runtime {

// An input of a part or an output: of the whole graph by its name there, or between parts.
struct PipelinePort {
    std::string name;  // in the part
    TensorId whole;
    std::string given;  // the name in the whole graph; empty: between parts
};

struct PipelinePart {
    PipelinePart(Session session_, std::vector<PipelinePort> inputs_, std::vector<PipelinePort> outputs_)
        : session(std::move(session_)), inputs(std::move(inputs_)), outputs(std::move(outputs_)) {}

    std::mutex mutex;  // of the session
    Session session;
    std::vector<PipelinePort> inputs, outputs;
};

}  // namespace runtime

namespace {

using Port = runtime::PipelinePort;
using Part = runtime::PipelinePart;

std::vector<Port> ports_of(const Graph& graph, const std::vector<TensorId>& whole_of, const Graph& whole, Role role) {
    std::vector<Port> all;
    for (const TensorId id : graph.with_role(role)) {
        const TensorId there = whole_of.empty() ? id : whole_of[id.index];
        all.push_back({graph[id].name, there, whole[there].role == role ? whole[there].name : std::string()});
    }
    return all;
}

bool goes_on(const Error& error) { return error.code() == Code::device_lost || error.code() == Code::no_device_memory; }

}  // namespace

struct Pipeline::Pass::State {
    std::vector<Input> inputs;
    std::vector<std::string> names;  // of inputs
    const std::atomic<uint32_t>* cancel = nullptr;
    std::vector<Event> events;      // of the parts that were handed over
    std::map<uint32_t, Tensor> at;  // what they make, by tensor of the whole graph
    std::exception_ptr error;       // of handing a part over
    std::shared_ptr<runtime::PartEnds> ends;

    std::mutex mutex;
    std::condition_variable changed;
    bool in_hands = false;  // of the threads that hand parts over

    void leave_hands() {
        const std::lock_guard lock(mutex);
        in_hands = false;
        changed.notify_all();  // with the lock: whoever waits may destroy this
    }
    void wait() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return !in_hands; });
    }
    void settle() noexcept {
        wait();
        for (const Event& event : events) {
            try {
                event.wait();
            } catch (const Error&) {  // NOLINT(bugprone-empty-catch): who wanted to know asked
            }
        }
        events.clear();
    }
};

// Handing work over may take as long as the work does: a device that answers to a flag is given no more than it answers for. So each part has a
// thread that hands it over, pass by pass, and gives the pass on to the next part's.
struct Pipeline::Impl {
    std::deque<runtime::PipelinePart> parts;
    uint64_t peer = 0, between = 0;  // bytes: of all passes, from device to device; of one, from part to part
    runtime::PartTimes times;        // none of one part

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
        }
        changed_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    [[nodiscard]] static Input given_to(const runtime::PipelinePort& port, const Pass::State& pass);
    [[nodiscard]] std::vector<Input> inputs_of(const runtime::PipelinePart& part, const Pass::State& pass) const;
    void check(const Pass::State& pass) const;
    void check(std::span<const Output> outputs) const;
    void start(Pass::State& pass);
    void hand_out(const Pass::State& pass, std::span<const Output> outputs) const;
    void by_host(Pass::State& pass, std::span<const Output> outputs);

private:
    struct Watched {
        backplane::Event event;
        std::shared_ptr<runtime::PartEnds> ends;
    };
    void submit(runtime::PipelinePart& part, Pass::State& pass) const;
    void serve(size_t part);
    void watch(size_t part);

    std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    std::vector<std::deque<Pass::State*>> queues_;  // by part
    std::vector<std::deque<Watched>> watched_;      // likewise
    std::vector<std::thread> threads_;              // of each part one that hands over and one that waits for the end
    bool closing_ = false;
};

Pipeline::Pass::Pass() = default;
Pipeline::Pass::~Pass() {
    if (state_) state_->settle();
}
Pipeline::Pass::Pass(Pass&&) noexcept = default;
Pipeline::Pass& Pipeline::Pass::operator=(Pass&& other) noexcept {
    if (state_) state_->settle();
    state_ = std::move(other.state_);
    return *this;
}

// What the caller gave for an input of a part.
Input Pipeline::Impl::given_to(const Port& port, const Pass::State& pass) {
    const auto found = std::find(pass.names.begin(), pass.names.end(), port.given);
    if (found == pass.names.end()) throw Error(Code::invalid, "input '" + port.given + "' is not given");
    Input input = pass.inputs[static_cast<size_t>(found - pass.names.begin())];
    input.name = port.name;
    return input;
}

std::vector<Input> Pipeline::Impl::inputs_of(const Part& part, const Pass::State& pass) const {
    std::vector<Input> inputs;
    for (const Port& port : part.inputs) {
        if (port.given.empty()) {
            inputs.emplace_back(port.name, pass.at.at(port.whole.index));
            continue;
        }
        inputs.push_back(given_to(port, pass));
    }
    return inputs;
}

void Pipeline::Impl::check(const Pass::State& pass) const {
    for (const Part& part : parts)
        for (const Port& port : part.inputs)
            if (!port.given.empty()) static_cast<void>(given_to(port, pass));
}

void Pipeline::Impl::submit(Part& part, Pass::State& pass) const {
    const std::lock_guard lock(part.mutex);
    std::vector<Tensor> made(part.outputs.size());
    std::vector<Output> outputs;
    for (size_t i = 0; i < part.outputs.size(); ++i) outputs.emplace_back(part.outputs[i].name, &made[i]);
    pass.events.push_back(part.session.submit(inputs_of(part, pass), outputs, pass.cancel));
    for (size_t i = 0; i < made.size(); ++i) {
        if (!made[i]) throw Error(Code::device_lost, "what '" + part.outputs[i].name + "' was to be went with its device");
        pass.at[part.outputs[i].whole.index] = std::move(made[i]);
    }
}

void Pipeline::Impl::start(Pass::State& pass) {
    pass.in_hands = true;
    const std::lock_guard lock(mutex_);
    if (threads_.empty()) {
        queues_.resize(parts.size());
        watched_.resize(parts.size());
        for (size_t p = 0; p < parts.size(); ++p) {
            threads_.emplace_back([this, p] { serve(p); });
            threads_.emplace_back([this, p] { watch(p); });
        }
    }
    queues_.front().push_back(&pass);
    changed_.notify_all();
}

void Pipeline::Impl::serve(size_t part) {
    for (;;) {
        Pass::State* pass = nullptr;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return closing_ || !queues_[part].empty(); });
            if (queues_[part].empty()) return;
            pass = queues_[part].front();
            queues_[part].pop_front();
        }
        try {
            submit(parts[part], *pass);
            const std::lock_guard lock(mutex_);
            watched_[part].push_back({pass->events.back(), pass->ends});
            changed_.notify_all();
        } catch (...) {
            pass->error = std::current_exception();
        }
        if (pass->error || part + 1 == parts.size()) {
            pass->leave_hands();
            continue;
        }
        const std::lock_guard lock(mutex_);
        queues_[part + 1].push_back(pass);
        changed_.notify_all();
    }
}

void Pipeline::Impl::watch(size_t part) {
    for (;;) {
        Watched one;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return closing_ || !watched_[part].empty(); });
            if (closing_) return;
            one = std::move(watched_[part].front());
            watched_[part].pop_front();
        }
        try {
            one.event.wait();
            one.ends->ended(part);
        } catch (...) {  // NOLINT(bugprone-empty-catch): finish() meets it, too
        }
    }
}

void Pipeline::Impl::hand_out(const Pass::State& pass, std::span<const Output> outputs) const {
    for (const Output& output : outputs)
        for (const Part& part : parts)
            for (const Port& port : part.outputs) {
                if (port.given.empty() || port.given != output.name) continue;
                const Tensor& made = pass.at.at(port.whole.index);
                if (output.tensor == nullptr) {
                    made.read(output.bytes);
                } else if (*output.tensor) {
                    std::vector<std::byte> bytes(made.size());
                    made.read(bytes);
                    output.tensor->write(bytes);
                } else {
                    *output.tensor = made;
                }
            }
}

// Outputs of the graph, each once at most.
void Pipeline::Impl::check(std::span<const Output> outputs) const {
    std::vector<std::string> names;
    for (const Part& part : parts)
        for (const Port& port : part.outputs)
            if (!port.given.empty()) names.push_back(port.given);
    for (const Output& output : outputs) {
        const auto is_it = [&](const Output& other) { return other.name == output.name; };
        if (std::find(names.begin(), names.end(), output.name) == names.end()) {
            std::string there;
            for (const std::string& name : names) there += (there.empty() ? "'" : ", '") + name + "'";
            throw Error(Code::not_found, "the graph has no output '" + std::string(output.name) +
                                             "'; it has: " + (there.empty() ? "none" : there));
        }
        if (std::count_if(outputs.begin(), outputs.end(), is_it) > 1)
            throw Error(Code::invalid, "output '" + std::string(output.name) + "' is wanted twice");
    }
}

// Part by part, what goes between them in memory of the host: each Session knows what to do without a device.
void Pipeline::Impl::by_host(Pass::State& pass, std::span<const Output> outputs) {
    std::map<uint32_t, std::vector<std::byte>> results;
    for (Part& part : parts) {
        const std::lock_guard lock(part.mutex);
        std::vector<Input> inputs;
        for (const Port& port : part.inputs) {
            if (port.given.empty()) {
                inputs.emplace_back(port.name, std::span<const std::byte>(results.at(port.whole.index)));
                continue;
            }
            inputs.push_back(given_to(port, pass));
        }
        std::vector<Output> into;
        for (const Port& port : part.outputs) {
            const auto wanted = std::find_if(outputs.begin(), outputs.end(),
                                             [&](const Output& o) { return !port.given.empty() && o.name == port.given; });
            if (wanted != outputs.end()) {
                into.push_back(*wanted);
                into.back().name = port.name;
                continue;
            }
            const TensorInfo& info = part.session.graph()[part.session.graph().find(port.name)];
            std::vector<std::byte>& room = results[port.whole.index];
            room.resize(bytes(info.dtype, info.shape));
            into.emplace_back(port.name, std::span<std::byte>(room));
        }
        part.session.run(inputs, into, pass.cancel);
    }
}

Pipeline::Pipeline(const std::vector<Device>& devices, size_t parts, const Graph& graph, const Weights& weights,
                   const SessionOptions& options)
    : impl_(std::make_unique<Impl>()) {
    if (parts == 0 || devices.size() < parts)
        throw Error(Code::invalid, "cannot make a pipeline of " + std::to_string(parts) + " parts on " +
                                       std::to_string(devices.size()) + " devices: give each part a device");
    if (parts == 1) {
        Session session(devices, graph, weights, options);
        const Graph& whole = session.graph();  // with rows: with inputs in parts
        auto inputs = ports_of(whole, {}, whole, Role::input), outputs = ports_of(whole, {}, whole, Role::output);
        impl_->parts.emplace_back(std::move(session), std::move(inputs), std::move(outputs));
        return;
    }
    if (options.rows > 1 || !options.device_of.empty())
        throw Error(Code::invalid,
                    "parts of a pipeline have a device each: give rows of products, and nodes that are placed "
                    "one by one, one part");
    if (!graph.with_role(Role::state).empty())
        throw Error(Code::unsupported,
                    "cannot make a pipeline of a graph with state: a batch would read what the one before it "
                    "has not written yet; make it a Session");
    const auto some = [](double share) { return share > 0 && share <= 1; };
    if (!options.shares.empty() && (options.shares.size() != parts || !std::ranges::all_of(options.shares, some)))
        throw Error(Code::invalid, "a pipeline's parts have a share of the work each, above 0 and up to 1: " +
                                       std::to_string(options.shares.size()) + " are given for " + std::to_string(parts) +
                                       " parts");
    if (graph.nodes().size() < parts)
        throw Error(Code::invalid, "cannot cut a graph of " + std::to_string(graph.nodes().size()) + " nodes into " +
                                       std::to_string(parts) + " parts");
    const auto cut = options.shares.empty() ? runtime::layers(graph, parts) : runtime::layers(graph, options.shares);
    const std::vector<runtime::PartGraph> pieces = runtime::part_graphs(graph, cut);
    for (size_t p = 0; p < pieces.size(); ++p) {
        const runtime::PartGraph& piece = pieces[p];
        impl_->parts.emplace_back(Session(runtime::with_first(devices, p), piece.graph, weights, options),
                                  ports_of(piece.graph, piece.whole, graph, Role::input),
                                  ports_of(piece.graph, piece.whole, graph, Role::output));
        impl_->times.add_part(devices[p]);
        for (const Port& port : impl_->parts.back().inputs)
            if (port.given.empty()) impl_->between += bytes(graph[port.whole].dtype, graph[port.whole].shape);
    }
}
Pipeline::~Pipeline() = default;
Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;

Pipeline::Pass Pipeline::start(std::span<const Input> inputs, const std::atomic<uint32_t>* cancel) {
    Pass pass;
    pass.state_ = std::make_unique<Pass::State>();
    Pass::State& state = *pass.state_;
    state.inputs.assign(inputs.begin(), inputs.end());
    for (const Input& input : inputs) state.names.emplace_back(input.name);
    state.cancel = cancel;
    state.ends = std::make_shared<runtime::PartEnds>(impl_->parts.size());
    impl_->check(state);
    if (impl_->parts.size() > 1) impl_->start(state);
    return pass;
}

void Pipeline::finish(Pass& pass, std::span<const Output> outputs) {
    if (pass.state_ && impl_->parts.size() > 1) impl_->check(outputs);
    const std::unique_ptr<Pass::State> state = std::move(pass.state_);
    if (!state) throw Error(Code::invalid, "the pass is finished, or was never started");
    std::deque<Part>& parts = impl_->parts;
    if (parts.size() == 1) return parts[0].session.run(impl_->inputs_of(parts[0], *state), outputs, state->cancel);
    state->wait();
    try {
        if (state->error) std::rethrow_exception(state->error);
        for (size_t p = 0; p < state->events.size(); ++p) {
            state->events[p].wait();
            state->ends->ended(p);
        }
        impl_->times.add(*state->ends);
        for (const Event& event : state->events) impl_->peer += event.bytes_peer();
        impl_->hand_out(*state, outputs);
    } catch (const Error& error) {
        state->settle();
        if (!goes_on(error)) throw;
        impl_->by_host(*state, outputs);
    }
}

size_t Pipeline::parts() const noexcept { return impl_->parts.size(); }

size_t Pipeline::part_of(std::string_view input) const {
    for (size_t p = 0; p < impl_->parts.size(); ++p)
        for (const Port& port : impl_->parts[p].inputs)
            if (port.given == input) return p;
    throw Error(Code::not_found, "the graph has no input '" + std::string(input) + "' that is read");
}

std::vector<std::string> Pipeline::notes() const {
    std::vector<std::string> all;
    for (Part& part : impl_->parts) {
        const std::lock_guard lock(part.mutex);
        for (std::string& note : part.session.notes())
            if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(std::move(note));
    }
    return all;
}

std::string Pipeline::describe() const {
    std::string text;
    for (size_t p = 0; p < impl_->parts.size(); ++p) {
        if (impl_->parts.size() > 1)
            text += "layers " + std::to_string(p + 1) + " of " + std::to_string(impl_->parts.size()) + ":\n";
        const std::lock_guard lock(impl_->parts[p].mutex);
        text += impl_->parts[p].session.describe();
    }
    if (impl_->parts.size() == 1) return text;
    return text + "between the parts, a pass: " + std::to_string(impl_->between) + " bytes; so far " +
           std::to_string(impl_->peer) + " bytes went from device to device without the host\n";
}

std::vector<std::string> Pipeline::plans_json() const {
    std::vector<std::string> all;
    for (Part& part : impl_->parts) {
        const std::lock_guard lock(part.mutex);
        all.push_back(part.session.plan_json());
    }
    return all;
}

std::vector<StageRuns> Pipeline::runs() const {
    std::vector<StageRuns> all;
    for (Part& part : impl_->parts) {
        const std::lock_guard lock(part.mutex);
        for (StageRuns& runs : part.session.runs()) all.push_back(std::move(runs));
    }
    return all;
}

std::vector<PartTime> Pipeline::times() const { return impl_->times.all(); }

uint64_t Pipeline::bytes_peer() const noexcept { return impl_->peer; }

}  // namespace backplane
