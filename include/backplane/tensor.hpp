// A tensor on a device, and the end of work under way.
//
//   Tensor hidden;                                                          // made by the first submit, given to the second
//   encoder.submit({{"pixels", pixels}}, {{"hidden", &hidden}});
//   Event done = decoder.submit({{"hidden", hidden}}, {{"text", room}});   // waits for nothing on the host
//   done.wait();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backplane/context.hpp"
#include "backplane/graph.hpp"

namespace backplane {

namespace plan {
class Storage;
struct Flight;
}  // namespace plan

// (bytes, offset, dtype, shape) on one device: dense, row-major. Copies share the bytes; the bytes know which work writes and reads them, so a
// Tensor may be handed on the moment submit() returned: to a later submit, to another Session on the device, to read(). Its device stays open
// while a Tensor lives; the bytes go back when the last Tensor is gone and the work that uses them is done.
//
// Threads: different Tensors, and reading one: any. Who writes a Tensor that another thread uses orders the two himself. After its device was
// lost every use throws Error(device_lost); destruction does not.
class Tensor {
public:
    Tensor() = default;  // no tensor
    Tensor(const Device& device, DType dtype,
           Shape shape);  // content undefined. Throws Error: invalid (no device), no_device_memory
    // Returns when copied. Throws Error: as above; invalid unless there are exactly bytes(dtype, shape).
    static Tensor from(const Device& device, DType dtype, Shape shape, std::span<const std::byte> bytes);

    [[nodiscard]] explicit operator bool() const noexcept { return storage_ != nullptr; }
    [[nodiscard]] Device device() const;
    [[nodiscard]] DType dtype() const noexcept { return dtype_; }
    [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
    [[nodiscard]] uint64_t size() const;  // bytes

    // Waits for the work that writes these bytes, then copies. Throws Error: invalid (no tensor, or not exactly size() bytes); what the work
    // came to: cancelled, device_lost.
    void read(std::span<std::byte> into) const;
    void write(
        std::span<const std::byte> from);  // after everything submitted so far that uses the bytes; returns when copied
    void zero();                           // on the device, not waited for

    // A part of the first axis, sharing the bytes: rows first to first + count. Throws Error(invalid) outside of it, or for a scalar.
    [[nodiscard]] Tensor rows(int64_t first, int64_t count) const;
    // The same bytes under another shape of as many elements. Throws Error(invalid).
    [[nodiscard]] Tensor reshaped(Shape shape) const;
    // On another device (the same: this one), by way of host memory. Returns when copied. Throws Error: no_device_memory, device_lost.
    [[nodiscard]] Tensor on(const Device& device) const;

private:
    friend class Session;
    friend struct TensorAccess;
    std::shared_ptr<plan::Storage> storage_;
    uint64_t offset_ = 0;
    DType dtype_{};
    Shape shape_;
};

// The end of one submit. Copies share it. Any thread.
class Event {
public:
    Event() = default;                         // done
    [[nodiscard]] bool done() const noexcept;  // does not wait
    // Returns when every output is where it was wanted. Throws Error, the same at each call: cancelled (outputs undefined), device_lost (no
    // device left that can do it, or state lost with one), no_device_memory, internal. Where a device was lost that others stand in for, the
    // rest is done on these, by the thread that waits.
    void wait() const;
    [[nodiscard]] bool wait_for(uint64_t nanoseconds) const;  // false: not done yet. Throws as wait()
    [[nodiscard]] uint64_t bytes_moved() const noexcept;      // over the edges of devices and the host; exact once done
    [[nodiscard]] uint64_t bytes_peer() const noexcept;       // from device to device, without the host; exact once done

private:
    friend class Session;
    explicit Event(std::shared_ptr<plan::Flight> flight) : flight_(std::move(flight)) {}
    std::shared_ptr<plan::Flight> flight_;
};

}  // namespace backplane
