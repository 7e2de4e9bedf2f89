// The kernels of a device: each made once, of what the host's kernel cache has or of its source, and kept there.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/gpu/api.hpp"
#include "common/gpu/kernel_table.hpp"
#include "common/hash.hpp"

namespace backplane::gpu {

template <typename A>
class KernelStore {
public:
    using Kernel = typename A::Kernel;

    // All outlive it.
    KernelStore(const backend::Host& host, const Facts& facts, typename A::Device& device)
        : host_(host), facts_(facts), device_(device) {}

    // Made when first asked for; stays where it is. [any]
    Kernel& get(uint32_t kernel, const std::vector<uint32_t>& constants) {
        if (A::kernels()[kernel].entry == nullptr)
            throw sdk::Failure(BP_INTERNAL,
                               std::string("build kernel ") + A::kernels()[kernel].name + ": this backend does not have it");
        return made_.get(kernel, constants, [&] { return make(kernel, constants); });
    }
    // Hands what has grown by running to the host's cache: called after runs. [any]
    void remember_those_that_ran() {
        if (!unsaved_any_.exchange(false)) return;  // a run takes no lock for it
        std::unique_lock lock(mutex_);
        const std::vector<Unsaved> mine = std::exchange(unsaved_, {});
        lock.unlock();
        for (const Unsaved& u : mine) host_.remember(u.key, A::binary(device_, get(u.kernel, u.constants), true));
    }
    // How many came from the host's cache.
    [[nodiscard]] uint32_t hits() const { return hits_; }

private:
    struct Unsaved {
        std::string key;
        uint32_t kernel;
        std::vector<uint32_t> constants;
    };

    // The driver, the device, the kernel and how it is built; two hashes, so that none of them comes upon another's entry.
    [[nodiscard]] std::string key_of(uint32_t kernel, const std::vector<uint32_t>& constants) const {
        const KernelSource& source = A::kernels()[kernel];
        std::string key = std::string(A::kBackend) + "/kernels/" + backend::hexadecimal(facts_.fingerprint) + "/";
        for (const uint64_t seed : {uint64_t{0xcbf29ce484222325U}, uint64_t{0x9ae16a3b2f90404fU}}) {
            uint64_t hash = backend::hash_of_words(source.code, source.bytes, seed);
            for (const std::string& text : {std::string(source.definitions), facts_.build_options, facts_.name})
                hash = backend::hash_of(text.data(), text.size() + 1, hash);
            key += backend::hexadecimal(backend::hash_of(constants.data(), constants.size() * sizeof(uint32_t), hash));
        }
        return key;
    }

    Kernel make(uint32_t kernel, const std::vector<uint32_t>& constants) {
        if (!host_.has_cache()) return A::build(device_, kernel, constants, {});
        const std::string key = key_of(kernel, constants);
        std::optional<Kernel> made;
        host_.cached(key, [&](const bp_blob& blob) {
            if (blob.size != 0 && blob.data != nullptr)
                made.emplace(A::build(device_, kernel, constants, {static_cast<const std::byte*>(blob.data), blob.size}));
        });
        if (!made) made.emplace(A::build(device_, kernel, constants, {}));
        if (made->origin == Origin::refused) host_.reject(key);
        if (made->origin == Origin::binary) ++hits_;
        if (const std::vector<std::byte> bytes = A::binary(device_, *made, false); !bytes.empty()) {
            host_.remember(key, bytes);
        } else {
            const std::lock_guard lock(mutex_);
            unsaved_.push_back({key, kernel, constants});
            unsaved_any_ = true;
        }
        return std::move(*made);
    }

    const backend::Host& host_;
    const Facts& facts_;
    typename A::Device& device_;
    KernelTable<Kernel> made_;
    std::mutex mutex_;
    std::vector<Unsaved> unsaved_;
    std::atomic<bool> unsaved_any_ = false;
    std::atomic<uint32_t> hits_ = 0;
};

}  // namespace backplane::gpu
