#include "runtime/weights.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>

namespace backplane {

namespace {

// The application's code: what it throws of its own does not know which weight was asked for.
std::span<const std::byte> from(const WeightSource& source, const std::string& name) {
    try {
        return source(name);
    } catch (const Error&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        throw Error(Code::invalid, "weight '" + name + "': the source of weights failed: " + error.what());
    }
}

std::span<const std::byte> plain_bytes(const WeightSource& source, const TensorInfo& tensor) {
    if (!source) throw Error(Code::invalid, "weight '" + tensor.name + "': the session was given no source of weights");
    const std::span<const std::byte> plain = from(source, tensor.name);
    const uint64_t wanted = bytes(tensor.dtype, tensor.shape);
    if (plain.size() != wanted)
        throw Error(plain.empty() ? Code::not_found : Code::invalid,
                    "weight '" + tensor.name + "': the source gives " + std::to_string(plain.size()) + " bytes, " +
                        std::string(name_of(tensor.dtype)) + " " + to_string(tensor.shape) + " has " +
                        std::to_string(wanted));
    return plain;
}

// A plain weight is used where it lies when the device can, so a mapped file is never copied.
plan::Bytes place_plain(plan::Port& port, const std::shared_ptr<const WeightSource>& source,
                        std::span<const std::byte> plain, const std::string& holder) {
    plan::Bytes there = port.in_place(plain);
    if (there) {
        there->memory = source;
        return there;
    }
    there = port.allocate(plain.size(), holder);
    port.upload(plain, *there);
    return there;
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): by value for those who move it in
Weights::Weights(WeightSource source, std::string name) : state_(std::make_shared<State>(std::move(source), name)) {}

uint64_t Weights::State::bytes_on(const Device& device, bool in_place) const {
    if (!device) throw Error(Code::invalid, "cannot count weights: no device given");
    const std::lock_guard lock(mutex);
    uint64_t sum = 0;
    for (const plan::Residency::Interest& image : interests) {
        const std::lock_guard own(image->mutex);
        if (image->bytes && (image->bytes->heap != 0) == in_place && image->bytes->port->device() == device)
            sum += image->bytes->bytes;
    }
    return sum;
}

uint64_t Weights::bytes_on(const Device& device) const { return state_->bytes_on(device, false); }
uint64_t Weights::bytes_in_place(const Device& device) const { return state_->bytes_on(device, true); }

std::map<Op, runtime::OpFault> Weights::State::faulty_ops(const Device& device, const std::set<Op>& wanted) {
    const std::lock_guard lock(mutex);
    Ops& known = ops[device.info().id];
    std::set<Op> fresh;
    std::set_difference(wanted.begin(), wanted.end(), known.checked.begin(), known.checked.end(),
                        std::inserter(fresh, fresh.end()));
    if (!fresh.empty()) {
        known.faulty.merge(runtime::faulty_ops(device, fresh));
        known.checked.merge(fresh);
    }
    return known.faulty;
}

Ledger ledger(const Device& device) {
    if (!device) throw Error(Code::invalid, "cannot read a ledger: no device given");
    DeviceAccess::state(device)->expect_there("cannot read the ledger of " + device.info().id);
    const std::shared_ptr<plan::Port> port = plan::Port::of(device);
    port->sweep();
    Ledger out;
    out.limit = port->budget();
    if (const std::vector<Heap> heaps = device.heaps(); !heaps.empty()) {
        out.total = heaps[0].total;
        out.available = heaps[0].available;
    }
    for (plan::Holding& one : port->ledger()) {
        out.held += one.bytes;
        out.holders.push_back({std::move(one.holder), one.bytes});
    }
    return out;
}

PlanCounts Weights::plans() const { return state_->programs.counts(); }

// No program in here: images outlive it, and any program of the device packs alike what has the same layout.
struct WeightOrigin {
    std::string holder;
    std::shared_ptr<const WeightSource> source;
    Graph graph;  // shares what the session's graph holds
    std::weak_ptr<const plan::Program> packer;
};

std::shared_ptr<const WeightOrigin> origin_of(const Weights::State& weights, const Graph& graph,
                                              const std::shared_ptr<const plan::Program>& program) {
    return std::make_shared<const WeightOrigin>(WeightOrigin{weights.holder, weights.source, graph, program});
}

bool is_origin_of(const std::shared_ptr<const WeightOrigin>& origin, const Graph& graph,
                  const std::shared_ptr<const plan::Program>& program) noexcept {
    return origin != nullptr && &origin->graph.tensors() == &graph.tensors() && !origin->packer.owner_before(program) &&
           !program.owner_before(origin->packer);
}

namespace {

// What it takes to make an image.
struct Origin {
    std::shared_ptr<const WeightOrigin> of;
    TensorId id;
    uint32_t slot = 0;
    uint64_t layout = 0, bytes = 0;  // that the slot wants

    [[nodiscard]] std::span<const std::byte> plain() const { return plain_bytes(*of->source, of->graph[id]); }
    [[nodiscard]] std::shared_ptr<const plan::Program> program() const {
        auto by = of->packer.lock();
        if (!by) throw Error(Code::internal, "weight '" + of->graph[id].name + "' is wanted by a program that is gone");
        return by;
    }
};

// The image of a streamed weight in host memory. What has a layout is packed on the device, once, and comes down to be sent again and again.
class HostImage {
public:
    HostImage(Origin origin, plan::Port& port) : origin_(std::move(origin)), port_(&port) {}

    std::span<const std::byte> operator()(plan::Storage& room, uint64_t at, std::span<std::byte> into) {
        if (!into.empty()) return made_in(into, room, at);
        if (image_.empty() && origin_.layout == 0) image_ = origin_.plain();
        if (image_.empty()) {
            own_.resize(origin_.bytes);
            image_ = made_in(own_, room, at);
        }
        return image_;
    }

private:
    std::span<const std::byte> made_in(std::span<std::byte> into, plan::Storage& room, uint64_t at) {
        const std::span<const std::byte> plain = origin_.plain();
        if (origin_.layout == 0) {
            std::copy_n(plain.begin(), std::min(plain.size(), into.size()), into.begin());
        } else {
            port_->pack(*origin_.program(), origin_.slot, plain, room, at);
            port_->wait_written(room);
            port_->download(room, at, into, true);
        }
        return into;
    }

    Origin origin_;
    plan::Port* port_;            // of the executor that asks
    std::vector<std::byte> own_;  // where nobody gave memory for what is packed
    std::span<const std::byte> image_;
};

}  // namespace

plan::Image image_of(const std::shared_ptr<Weights::State>& weights, const std::shared_ptr<const WeightOrigin>& origin,
                     TensorId id, const std::shared_ptr<const plan::Program>& program, uint32_t slot, bool streamed) {
    const TensorInfo& tensor = origin->graph[id];
    const plan::ProgramSlot& wanted = program->facts().slots[slot];
    plan::Port& port = program->port();
    // What lies in the memory of one source is nobody else's to use: it may go with that source.
    const bool shared = tensor.content != 0 && (wanted.layout != 0 || !port.in_host_memory());
    plan::ImageKeyView key;
    key.source = shared ? nullptr : weights.get();
    key.content = shared ? tensor.content : 0;
    if (!shared) key.name = tensor.name;
    key.layout = wanted.layout;
    key.bytes = wanted.bytes;
    plan::Image image;
    image.interest = port.residency().interest(key);
    {
        const std::lock_guard lock(weights->mutex);
        weights->interests.insert(image.interest);
    }
    Origin one{origin, id, slot, wanted.layout, wanted.bytes};
    if (streamed)
        image.host = [host = std::make_shared<HostImage>(one, port)](
                         plan::Storage& room, uint64_t at, std::span<std::byte> into) { return (*host)(room, at, into); };
    image.make = [one = std::move(one), &port] {
        const std::span<const std::byte> plain = one.plain();
        if (one.layout == 0) return place_plain(port, one.of->source, plain, one.of->holder);
        const auto by = one.program();
        plan::Bytes there = port.allocate(one.bytes, one.of->holder);
        port.pack(*by, one.slot, plain, *there);
        // The source may then let go of what it has read before it reads on: otherwise all of it is in this memory twice for a while.
        if (port.in_host_memory()) port.wait_written(*there);
        return there;
    };
    return image;
}

}  // namespace backplane
