#include "runtime/weight_store.hpp"

#include <exception>
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

std::span<const std::byte> plain_bytes(const WeightSource& source, const Tensor& tensor) {
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
Buffer place_plain(const Device& device, std::span<const std::byte> plain, uint64_t& held) {
    if (std::optional<Buffer> there = in_place(device, plain)) return *std::move(there);
    Buffer buffer(device, plain.size());
    buffer.write(plain);
    held += plain.size();
    return buffer;
}

}  // namespace

Buffer WeightStore::State::workspace_for(uint64_t size) {
    if (size == 0) return {};
    const std::lock_guard lock(mutex);
    if (workspace.size() < size) {
        workspace = Buffer();  // first give the old one back: both may not fit
        workspace = Buffer(device, size);
    }
    return workspace;
}

WeightStore::WeightStore(const Device& device, WeightSource source)
    : state_(std::make_shared<State>(device, std::move(source))) {
    if (!device) throw Error(Code::invalid, "cannot keep weights: no device given");
}

Buffer WeightStore::get(const Program& program, const Slot& slot, const Tensor& tensor) {
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    const State::Key key{tensor.name, slot.layout};
    if (const auto found = state.packed.find(key); found != state.packed.end()) return found->second;
    const std::span<const std::byte> plain = plain_bytes(state.source, tensor);
    Buffer buffer;
    if (slot.layout == 0) {
        buffer = place_plain(state.device, plain, state.bytes);
    } else {
        buffer = Buffer(state.device, slot.bytes);
        program.pack(slot, plain, buffer);
        state.bytes += slot.bytes;
    }
    return state.packed.emplace(key, std::move(buffer)).first->second;
}

uint64_t WeightStore::bytes() const {
    const std::lock_guard lock(state_->mutex);
    return state_->bytes;
}

}  // namespace backplane
