// Which weights are on a device. One Residency per Port, shared by all models of the process.
//
// A weight is an image: the bytes a slot wants (packed, if it has a layout). Equal (content, layout) is one copy on the device, whoever asks.
// An image lives as long as somebody is interested in it; meanwhile its bytes may go, when memory is wanted for others, and come again.
//
// Threads: [any]. An image's own lock is held while it is copied; nobody who wants another image waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plan/port.hpp"

namespace backplane::plan {

// What an image is looked for by: no text is copied for one that is known.
struct ImageKeyView {
    const void* source = nullptr;
    uint64_t content = 0;
    std::string_view name;
    uint64_t layout = 0;
    uint64_t bytes = 0;
    bool operator==(const ImageKeyView&) const = default;
};
struct ImageKey {
    const void* source = nullptr;  // whose name it is; null: `content` says it for everybody
    uint64_t content = 0;          // a hash of the bytes, 0: `name` stands for them
    std::string name;
    uint64_t layout = 0;  // as in bp_slot
    uint64_t bytes = 0;
    [[nodiscard]] ImageKeyView view() const noexcept { return {source, content, name, layout, bytes}; }
};
struct ImageKeyHash {
    using is_transparent = void;
    size_t operator()(const ImageKeyView& key) const noexcept;
    size_t operator()(const ImageKey& key) const noexcept { return (*this)(key.view()); }
};
struct ImageKeyEqual {
    using is_transparent = void;
    static ImageKeyView view(const ImageKey& key) noexcept { return key.view(); }
    static ImageKeyView view(const ImageKeyView& key) noexcept { return key; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const noexcept {
        return view(a) == view(b);
    }
};

class Residency {
public:
    // Makes the bytes of an image on the port: allocates, and copies or packs; work submitted with the result waits for the copy.
    using Make = std::function<Bytes()>;

    // The interest of one user in an image. Holds no bytes.
    struct Entry {
        std::mutex mutex;
        ImageKey key;
        Bytes bytes;  // null: not on the device now
        uint32_t pins = 0;
        uint64_t used = 0;
    };
    using Interest = std::shared_ptr<Entry>;

    explicit Residency(Port& port) : port_(port) {}

    [[nodiscard]] Interest interest(const ImageKeyView& key);
    // The image's bytes, made if they are not there. Whoever holds them keeps them.
    Bytes acquire(const Interest& image, const Make& make);
    // The same, but answers false where others would have to go.
    bool prefetch(const Interest& image, const Make& make, uint64_t bytes);
    void pin(const Interest& image, const Make& make);  // acquire, and it stays until unpin
    void unpin(const Interest& image) noexcept;
    void evict(const Interest& image) noexcept;  // pinned or in use: nothing
    // Gives back at least `bytes` of images that are neither pinned nor in use, those used longest ago first. Says whether any went.
    bool give(uint64_t bytes);

    [[nodiscard]] uint64_t bytes() const;   // of images on the device, memory used in place not counted
    [[nodiscard]] uint64_t copied() const;  // since the start

private:
    Port& port_;
    mutable std::mutex mutex_;  // of the map and the clock
    std::unordered_map<ImageKey, std::weak_ptr<Entry>, ImageKeyHash, ImageKeyEqual> entries_;
    size_t looked_through_at_ = 64;  // entries: then those that nobody wants any more are let go of
    uint64_t clock_ = 0, copied_ = 0;
};

// Places that streamed stages take in turns; images lie in one after another from its start. A copy into a place waits on the device for the run
// that read it last (Port's rule of order): with two places the copy of stage n+1 is under the run of stage n, and nobody waits on the host. What
// was copied for a stage is there until its place is taken for another one.
class Ring {
public:
    Ring(Port& port, uint32_t places, uint64_t bytes_each, const std::string& holder);
    ~Ring() { settle(); }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    [[nodiscard]] Bytes holding(uint32_t stage) const;  // null: none does
    const Bytes& next(uint32_t stage);                  // a place for it
    void forget() noexcept;                             // what places hold
    void settle() noexcept;                             // waits until no copy into it reads memory of the host
    [[nodiscard]] uint64_t bytes_each() const noexcept { return bytes_each_; }
    [[nodiscard]] size_t places() const noexcept { return places_.size(); }

    static constexpr uint64_t kAlignment = 256;  // of an image in a place
    static constexpr uint64_t in_place(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

private:
    static constexpr uint32_t kNothing = UINT32_MAX;
    struct Held {
        Bytes bytes;
        uint32_t stage = kNothing;
    };
    Port& port_;
    uint64_t bytes_each_;
    std::vector<Held> places_;
    size_t next_ = 0;
};

}  // namespace backplane::plan
