#include "plan/residency.hpp"

#include <algorithm>

namespace backplane::plan {

size_t ImageKeyHash::operator()(const ImageKeyView& key) const noexcept {
    size_t hash = std::hash<std::string_view>()(key.name);
    for (const uint64_t part :
         {static_cast<uint64_t>(reinterpret_cast<uintptr_t>(key.source)), key.content, key.layout, key.bytes})
        hash = hash * 31 + std::hash<uint64_t>()(part);
    return hash;
}

Residency::Interest Residency::interest(const ImageKeyView& wanted) {
    const std::lock_guard lock(mutex_);
    const auto known = entries_.find(wanted);
    if (known != entries_.end())
        if (Interest entry = known->second.lock()) return entry;
    auto made = std::make_shared<Entry>();
    made->key = {wanted.source, wanted.content, std::string(wanted.name), wanted.layout, wanted.bytes};
    if (known != entries_.end()) {
        known->second = made;
    } else {
        entries_.emplace(made->key, made);
    }
    if (entries_.size() >= looked_through_at_) {
        std::erase_if(entries_, [](const auto& e) { return e.second.expired(); });
        looked_through_at_ = std::max<size_t>(64, 2 * entries_.size());
    }
    return made;
}

Bytes Residency::acquire(const Interest& image, const Make& make) {
    const std::lock_guard own(image->mutex);
    if (!image->bytes) {
        image->bytes = make();
        const std::lock_guard lock(mutex_);
        if (image->bytes->heap != kOnHost) copied_ += image->bytes->bytes;
    }
    const std::lock_guard lock(mutex_);
    image->used = ++clock_;
    return image->bytes;
}

bool Residency::prefetch(const Interest& image, const Make& make, uint64_t bytes) {
    {
        const std::lock_guard own(image->mutex);
        if (image->bytes) return true;
    }
    if (port_.budget() != 0 && port_.held() + bytes > port_.budget()) return false;
    return acquire(image, make) != nullptr;
}

void Residency::pin(const Interest& image, const Make& make) {
    const Bytes there = acquire(image, make);
    const std::lock_guard own(image->mutex);
    ++image->pins;
    image->bytes = there;
}

void Residency::unpin(const Interest& image) noexcept {
    const std::lock_guard own(image->mutex);
    if (image->pins > 0) --image->pins;
}

void Residency::evict(const Interest& image) noexcept {
    Bytes going;
    const std::lock_guard own(image->mutex);
    if (image->pins == 0 && image->bytes.use_count() == 1) going = std::move(image->bytes);
}

bool Residency::give(uint64_t bytes) {
    std::vector<Interest> all;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [key, entry] : entries_)
            if (Interest there = entry.lock()) all.push_back(std::move(there));
        std::sort(all.begin(), all.end(), [](const Interest& a, const Interest& b) { return a->used < b->used; });
    }
    uint64_t given = 0;
    for (const Interest& image : all) {
        if (given >= bytes) break;
        // One that is being copied just now is in use.
        const std::unique_lock own(image->mutex, std::try_to_lock);
        if (!own || image->pins > 0 || image->bytes.use_count() != 1 || image->bytes->heap != 0) continue;
        given += image->bytes->bytes;
        image->bytes.reset();
    }
    return given > 0;
}

uint64_t Residency::bytes() const {
    const std::lock_guard lock(mutex_);
    uint64_t sum = 0;
    for (const auto& [key, entry] : entries_)
        if (const Interest there = entry.lock(); there && there->bytes && there->bytes->heap == 0)
            sum += there->bytes->bytes;
    return sum;
}

uint64_t Residency::copied() const {
    const std::lock_guard lock(mutex_);
    return copied_;
}

Ring::Ring(Port& port, uint32_t places, uint64_t bytes_each, const std::string& holder)
    : port_(port), bytes_each_(bytes_each) {
    for (uint32_t i = 0; i < std::max(places, 1U); ++i) places_.push_back({port.allocate(bytes_each, holder)});
}

Bytes Ring::holding(uint32_t stage) const {
    for (const Held& place : places_)
        if (place.stage == stage) return place.bytes;
    return nullptr;
}

const Bytes& Ring::next(uint32_t stage) {
    Held& place = places_[next_++ % places_.size()];
    place.stage = stage;
    return place.bytes;
}

void Ring::settle() noexcept {
    for (const Held& place : places_) {
        try {
            port_.wait_written(*place.bytes);
        } catch (const Error&) {  // NOLINT(bugprone-empty-catch): what it came to is not asked here
        }
    }
}

void Ring::forget() noexcept {
    for (Held& place : places_) place.stage = kNothing;
}

}  // namespace backplane::plan
