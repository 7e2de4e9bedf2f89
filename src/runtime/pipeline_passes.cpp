// What becomes of a pass: handed over part by part, watched, handed out; by way of the host where a device is gone.
#include <algorithm>
#include <tuple>

#include "plan/port.hpp"
#include "runtime/pipeline_impl.hpp"
#include "runtime/tensor_access.hpp"

namespace backplane {

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

std::vector<Input> Pipeline::Impl::inputs_of(size_t part, const Pass::State& pass) const {
    std::vector<Input> inputs;
    for (size_t i = 0; i < parts[part].inputs.size(); ++i) {
        const Port& port = parts[part].inputs[i];
        const auto brought = pass.brought.find({part, i});
        if (port.given.empty())
            inputs.emplace_back(port.name, pass.at.at(port.whole.index));
        else if (brought != pass.brought.end())
            inputs.emplace_back(port.name, brought->second);
        else
            inputs.push_back(given_to(port, pass));
    }
    return inputs;
}

void Pipeline::Impl::check(const Pass::State& pass) const {
    for (const Part& part : parts)
        for (const Port& port : part.inputs)
            if (!port.given.empty()) static_cast<void>(given_to(port, pass));
}

void Pipeline::Impl::submit(size_t number, Pass::State& pass) {
    Part& part = parts[number];
    const std::lock_guard lock(part.mutex);
    std::vector<Tensor> made(part.outputs.size());
    std::vector<Output> outputs;
    for (size_t i = 0; i < part.outputs.size(); ++i) {
        made[i] = room_for(number, i);
        outputs.emplace_back(part.outputs[i].name, &made[i]);
    }
    pass.events.push_back(part.session.submit(inputs_of(number, pass), outputs, pass.cancel));
    for (size_t i = 0; i < made.size(); ++i) {
        if (!made[i]) throw Error(Code::device_lost, "what '" + part.outputs[i].name + "' was to be went with its device");
        pass.at[part.outputs[i].whole.index] = std::move(made[i]);
    }
}

void Pipeline::Impl::start(Pass::State& pass) {
    pass.in_hands = true;
    const std::lock_guard lock(mutex_);
    if (threads_.empty()) {
        outstanding_.resize(lanes());
        watched_.resize(parts.size());
        threads_.emplace_back([this] { serve_inputs(); });
        for (size_t lane = 0; lane < lanes(); ++lane) threads_.emplace_back([this, lane] { serve(lane); });
        for (size_t p = 0; p < parts.size(); ++p) threads_.emplace_back([this, p] { watch(p); });
    }
    arrived_.push_back(&pass);
    ++under_way_;
    changed_.notify_all();
}

void Pipeline::Impl::serve_inputs() {
    for (;;) {
        Pass::State* pass = nullptr;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return closing_ || !arrived_.empty(); });
            if (arrived_.empty()) return;
            pass = arrived_.front();
        }
        try {
            bring(*pass);
        } catch (...) {  // NOLINT(bugprone-empty-catch): the session brings what is left, or says why not
        }
        const std::lock_guard lock(mutex_);
        arrived_.pop_front();
        if (going_.empty()) passes_ = (passes_ + lanes() - 1) / lanes() * lanes();  // a group begins
        going_.push_back({pass, passes_++, 0});
        changed_.notify_all();
    }
}

// Large ones, to devices that copy beside their work. Of one part its plan has all memory there is to have, and its session brings them.
void Pipeline::Impl::bring(Pass::State& pass) {
    for (size_t p = 0; p < parts.size() && parts.size() > 1; ++p)
        for (size_t i = 0; i < parts[p].inputs.size(); ++i) {
            const Port& port = parts[p].inputs[i];
            if (port.given.empty()) continue;
            const Input given = given_to(port, pass);
            if (given.tensor || given.bytes.size() <= plan::Port::kSmallCopy) continue;
            Tensor tensor = spare_for(p, i);
            if (!tensor) continue;
            tensor.write(given.bytes);
            pass.brought.emplace(std::pair(p, i), std::move(tensor));
        }
}

// Null: the device computes in the host's memory, or would do the copy behind its work.
Tensor Pipeline::Impl::spare_for(size_t part, size_t input) {
    {
        const std::lock_guard lock(mutex_);
        std::vector<Tensor>& spare = spare_[{part, input}];
        if (!spare.empty()) {
            Tensor tensor = std::move(spare.back());
            spare.pop_back();
            return tensor;
        }
    }
    const Device device = parts[part].device;
    const std::shared_ptr<plan::Port> port = plan::Port::of(device);
    const Graph& graph = parts[part].session.graph();
    const TensorInfo& info = graph[graph.find(parts[part].inputs[input].name)];
    if (!port->async() || port->in_host_memory() || port->queue_up(bytes(info.dtype, info.shape)) == 0) return {};
    return Tensor(device, info.dtype, info.shape);
}

// Of those that passes before have written and nobody has any more: a driver that is asked for memory, or given some back, waits for all that its device is
// at work on, and with it the passes that are under way. Null: the session makes it, as where the caller keeps the results of many passes.
Tensor Pipeline::Impl::room_for(size_t part, size_t output) {
    const Device device = parts[part].device;
    const std::shared_ptr<plan::Port> port = plan::Port::of(device);
    if (parts.size() == 1 || !port->async() || port->in_host_memory() || port->lost()) return {};
    const Graph& graph = parts[part].session.graph();
    const TensorInfo& info = graph[graph.find(parts[part].outputs[output].name)];
    if (bytes(info.dtype, info.shape) <= plan::Port::kSmallCopy) return {};
    const std::lock_guard lock(mutex_);
    std::vector<Tensor>& all = made_[{part, output}];
    constexpr long kNobodyElse = 2;  // the list, and who asks
    for (const Tensor& tensor : all)
        if (TensorAccess::at(tensor).bytes.use_count() == kNobodyElse) return tensor;
    if (all.size() >= parts.size() + 2) return {};
    try {
        return all.emplace_back(device, info.dtype, info.shape);
    } catch (const Error& error) {
        if (error.code() != Code::no_device_memory && error.code() != Code::device_lost) throw;
        return {};
    }
}

// For the passes after a pass that is done.
void Pipeline::Impl::give_back(Pass::State& pass) {
    const std::lock_guard lock(mutex_);
    for (auto& [which, tensor] : pass.brought) spare_[which].push_back(std::move(tensor));
    pass.brought.clear();
}

void Pipeline::Impl::settle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return under_way_ == 0; });
}

void Pipeline::Impl::one_is_done() {
    const std::lock_guard lock(mutex_);
    --under_way_;
    changed_.notify_all();
}

// What the lane hands over next; null: something that comes before it is not ready for that yet. A group that is not complete is waited for as long as the
// device has something to do. The lock is held.
Pipeline::Impl::Going* Pipeline::Impl::next_of(size_t lane) {
    Going* first = nullptr;
    std::tuple<uint64_t, size_t, uint64_t> order;
    bool ready = false;
    for (Going& one : going_) {
        size_t part = one.next;
        while (part < parts.size() && parts[part].lane != lane) ++part;
        if (part == parts.size()) continue;
        const auto its = std::tuple(one.number / lanes(), parts[part].round, one.number);
        if (first != nullptr && order < its) continue;
        first = &one;
        order = its;
        ready = part == one.next;
    }
    if (!ready) return nullptr;
    const bool complete = passes_ >= (first->number / lanes() + 1) * lanes();
    return complete || parts[first->next].round == 0 || outstanding_[lane] == 0 || closing_ ? first : nullptr;
}

bool Pipeline::Impl::has_parts_for(size_t lane) const {
    return std::ranges::any_of(going_, [&](const Going& one) {
        return std::any_of(parts.begin() + static_cast<std::ptrdiff_t>(one.next), parts.end(),
                           [&](const Part& part) { return part.lane == lane; });
    });
}

void Pipeline::Impl::serve(size_t lane) {
    for (;;) {
        Going* one = nullptr;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return (one = next_of(lane)) != nullptr || (closing_ && !has_parts_for(lane)); });
            if (one == nullptr) return;
            ++outstanding_[lane];
        }
        Pass::State* const pass = one->pass;
        const size_t part = one->next;
        try {
            submit(part, *pass);
        } catch (...) {
            pass->error = std::current_exception();
        }
        const bool failed = pass->error != nullptr, last = failed || part + 1 == parts.size();
        {
            const std::lock_guard lock(mutex_);
            if (failed)
                --outstanding_[lane];
            else
                watched_[part].push_back({pass->events.back(), pass->ends});
            if (last)
                going_.remove_if([&](const Going& other) { return &other == one; });
            else
                ++one->next;
            changed_.notify_all();
        }
        if (failed) one_is_done();
        if (last) pass->leave_hands();
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
            one.ends->ended(part, last_of(part));
        } catch (...) {  // NOLINT(bugprone-empty-catch): finish() meets it, too
        }
        one = {};  // with results that it kept
        {
            const std::lock_guard lock(mutex_);
            --outstanding_[parts[part].lane];
            changed_.notify_all();
        }
        if (part + 1 == parts.size()) one_is_done();
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

}  // namespace backplane
