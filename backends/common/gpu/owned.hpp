// An object of a driver that is ours to give back, and the failure that its answer is.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "backplane/sdk.hpp"

namespace backplane::gpu {

// `attempted`: "allocate 64 MiB on llvmpipe"; `name` and `number` are the driver's answer, `code` is what it stands for.
inline sdk::Failure failure_of(bp_code code, const std::string& attempted, const std::string& name, int number) {
    const char* advice = code == BP_DEVICE_LOST        ? "close the device and open it again"
                         : code == BP_NO_DEVICE_MEMORY ? "free buffers, use smaller tiles or another device"
                         : code == BP_NO_HOST_MEMORY   ? "free memory of the process"
                         : code == BP_UNSUPPORTED      ? "update the driver or use another device"
                                                       : "see the driver's log";
    return sdk::Failure(code, attempted + ": " + name + "; " + advice, number);
}

// What a driver answers: its name for that, and what it stands for.
struct Answer {
    int number;
    const char* name;
    bp_code code = BP_INTERNAL;
};
struct Answers {
    const char* unnamed;  // stands before a number that has no name: "VkResult "
    std::span<const Answer> known;

    [[nodiscard]] Answer of(int number) const {
        for (const Answer& answer : known)
            if (answer.number == number) return answer;
        return {number, nullptr};
    }
    [[nodiscard]] std::string name(int number) const {
        const char* name = of(number).name;
        return name != nullptr ? name : unnamed + std::to_string(number);
    }
    // Throws Failure with the code that an answer stands for, unless it is 0. `attempted`: as above.
    void check(int number, const std::string& attempted) const {
        if (number != 0) throw failure_of(of(number).code, attempted, name(number), number);
    }
};

// `Release` is called with the object; an object that is T{} is none.
template <typename T, typename Release>
class Owned {
public:
    Owned() = default;
    Owned(T object, Release release) : object_(object), release_(release) {}
    Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, T{})), release_(other.release_) {}
    Owned& operator=(Owned other) noexcept {
        std::swap(object_, other.object_);
        std::swap(release_, other.release_);
        return *this;
    }
    ~Owned() {
        if (object_ != T{}) release_(object_);
    }

    [[nodiscard]] T get() const { return object_; }
    explicit operator bool() const { return object_ != T{}; }

private:
    T object_{};
    Release release_{};
};

}  // namespace backplane::gpu
