// What the tests of the plan layer share: ports on mock devices, and closures as stages.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plan/executor.hpp"
#include "support/mock_module/mock_device.hpp"

namespace backplane::plan::test {

template <typename T>
std::span<const std::byte> in(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}
template <typename T>
std::span<std::byte> out(std::vector<T>& values) {
    return std::as_writable_bytes(std::span(values));
}

inline std::shared_ptr<Port> port_on(mock::Device& device) {
    return std::make_shared<Port>(device.handle(),
                                  Port::Shape{device.options.queues, device.options.copy_queues, 1, device.options.budget});
}

// A closure as the program of a stage.
inline std::shared_ptr<const Program> program_on(const std::shared_ptr<Port>& port, mock::Device& device,
                                                 mock::ProgramOptions options, mock::Body body) {
    return std::make_shared<const Program>(port, mock::program(device, std::move(options), std::move(body)), 64);
}

// A weight that lies in host memory.
inline Image image_of(Port& port, uint64_t content, std::span<const std::byte> host) {
    Image image;
    image.interest = port.residency().interest({nullptr, content, {}, 0, host.size()});
    image.make = [&port, host] {
        Bytes bytes = port.allocate(host.size(), "net: weights");
        port.upload(host, *bytes);
        return bytes;
    };
    image.host = [host](Storage&, uint64_t, std::span<std::byte> into) {
        std::copy_n(host.begin(), into.size(), into.begin());
        return into.empty() ? host : std::span<const std::byte>(into);
    };
    return image;
}

// A door that somebody else opens. Who stands before it for a minute says so and goes on, so that a fault is no hang.
class Door {
public:
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    bool pass() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return open_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

template <typename Call>
Code code_of(Call&& call, std::string* text = nullptr) {
    try {
        call();
    } catch (const Error& error) {
        if (text != nullptr) *text = error.what();
        return error.code();
    }
    return Code::ok;
}

}  // namespace backplane::plan::test
