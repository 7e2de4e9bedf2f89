// An object of a driver that is ours to give back.
#pragma once

#include <utility>

namespace backplane::gpu {

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
