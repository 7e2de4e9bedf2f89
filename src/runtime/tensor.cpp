#include "backplane/tensor.hpp"

#include "plan/executor.hpp"
#include "runtime/tensor_access.hpp"

namespace backplane {

namespace {

plan::Storage& there(const std::shared_ptr<plan::Storage>& storage) {
    if (!storage) throw Error(Code::invalid, "no tensor: this one was never given bytes on a device");
    return *storage;
}

void expect_size(std::string_view what, uint64_t given, uint64_t size, DType dtype, const Shape& shape) {
    if (given != size)
        throw Error(Code::invalid, std::string(what) + ": " + std::to_string(given) + " bytes given, " + name_of(dtype) +
                                       " " + to_string(shape) + " has " + std::to_string(size));
}

}  // namespace

Tensor::Tensor(const Device& device, DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
    if (!device) throw Error(Code::invalid, "cannot make a tensor: no device given");
    storage_ = plan::Port::of(device)->allocate(bytes(dtype_, shape_), "tensors");
}

Tensor Tensor::from(const Device& device, DType dtype, Shape shape, std::span<const std::byte> content) {
    expect_size("cannot make a tensor", content.size(), bytes(dtype, shape), dtype, shape);
    Tensor tensor(device, dtype, std::move(shape));
    tensor.storage_->port->upload(content, *tensor.storage_, 0, true);
    return tensor;
}

Device Tensor::device() const { return storage_ ? storage_->port->device() : Device(); }

uint64_t Tensor::size() const { return storage_ ? bytes(dtype_, shape_) : 0; }

void Tensor::read(std::span<std::byte> into) const {
    plan::Storage& storage = there(storage_);
    expect_size("cannot read a tensor", into.size(), size(), dtype_, shape_);
    storage.port->wait_written(storage);
    storage.port->download(storage, offset_, into, true);
}

void Tensor::write(std::span<const std::byte> from) {
    plan::Storage& storage = there(storage_);
    expect_size("cannot write a tensor", from.size(), size(), dtype_, shape_);
    storage.port->upload(from, storage, offset_, true);
}

void Tensor::zero() {
    plan::Storage& storage = there(storage_);
    storage.port->zero(storage, offset_, size());
}

Tensor Tensor::rows(int64_t first, int64_t count) const {
    there(storage_);
    if (shape_.empty() || first < 0 || count < 0 || first > shape_[0] || count > shape_[0] - first)
        throw Error(Code::invalid, "cannot take " + std::to_string(count) + " rows from row " + std::to_string(first) +
                                       " on of a tensor of shape " + to_string(shape_));
    Tensor part = *this;
    part.shape_[0] = first;
    part.offset_ += bytes(dtype_, part.shape_);
    part.shape_[0] = count;
    return part;
}

Tensor Tensor::reshaped(Shape shape) const {
    there(storage_);
    if (bytes(dtype_, shape) != size() || elements(shape) != elements(shape_))
        throw Error(Code::invalid, "cannot see a tensor of shape " + to_string(shape_) + " as " + to_string(shape) +
                                       ": it has another number of elements");
    Tensor other = *this;
    other.shape_ = std::move(shape);
    return other;
}

Tensor Tensor::on(const Device& device) const {
    const plan::Storage& storage = there(storage_);
    if (plan::Port::of(device) == storage.port) return *this;
    std::vector<std::byte> by_way_of(size());
    read(by_way_of);
    return from(device, dtype_, shape_, by_way_of);
}

Tensor TensorAccess::make(plan::Located at, DType dtype, Shape shape) {
    Tensor tensor;
    tensor.storage_ = std::move(at.bytes);
    tensor.offset_ = at.offset;
    tensor.dtype_ = dtype;
    tensor.shape_ = std::move(shape);
    return tensor;
}

plan::Located TensorAccess::at(const Tensor& tensor) { return {tensor.storage_, tensor.offset_}; }

bool Event::done() const noexcept { return plan::Event(flight_).done(); }
void Event::wait() const { plan::Event(flight_).wait(); }
bool Event::wait_for(uint64_t nanoseconds) const { return plan::Event(flight_).wait_for(nanoseconds); }
uint64_t Event::bytes_moved() const noexcept { return plan::Event(flight_).bytes_moved(); }
uint64_t Event::bytes_peer() const noexcept { return plan::Event(flight_).bytes_peer(); }

}  // namespace backplane
