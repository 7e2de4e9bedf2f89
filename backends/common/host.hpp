// The host's table, read safely: what it does not give has the defined answer of module.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <span>
#include <string>

#include "backplane/sdk.hpp"

namespace backplane::backend {

class Host {
public:
    explicit Host(const bp_host* table) : table_(table != nullptr ? sdk::read(table) : bp_host{}) {}

    void log(uint32_t level, const std::string& text) const {
        if (table_.log != nullptr) table_.log(table_.self, level, text.c_str());
    }
    void warn(const std::string& text) const { log(BP_LOG_WARNING, text); }
    // An option as text, for example "opencl.kernels"; empty when it is not set.
    [[nodiscard]] std::string option(const char* name) const {
        const char* text = table_.option != nullptr ? table_.option(table_.self, name) : nullptr;
        return text != nullptr ? text : "";
    }
    // The same of an option that takes one of these values. Throws Failure(BP_INVALID) when it has another.
    [[nodiscard]] std::string option(const char* name, std::initializer_list<const char*> values) const {
        std::string text = option(name);
        std::string all;
        for (const char* value : values) {
            if (text == value) return text;
            all += (all.empty() ? "" : ", ") + std::string(value);
        }
        if (!text.empty())
            throw sdk::Failure(BP_INVALID, std::string("option ") + name + " is '" + text + "'; give one of " + all);
        return text;
    }
    // The same of an option that takes a whole number; `otherwise` when it is not set.
    [[nodiscard]] uint32_t number(const char* name, uint32_t least, uint32_t most, uint32_t otherwise) const {
        const std::string text = option(name);
        if (text.empty()) return otherwise;
        const bool number = text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
        const auto value = static_cast<uint32_t>(number ? std::stoul(text) : 0);
        if (!number || value < least || value > most)
            throw sdk::Failure(BP_INVALID, std::string("option ") + name + " is '" + text + "'; give a number from " +
                                               std::to_string(least) + " to " + std::to_string(most));
        return value;
    }
    // For tests: the device of this backend is lost at the run after so many; 0: never. Throws as number() does.
    [[nodiscard]] uint32_t lose_after(const char* backend) const {
        return number(std::string(backend).append(".lose-after").c_str(), 1, 999'999'999, 0);
    }
    [[nodiscard]] bool has_parallel() const { return table_.parallel != nullptr; }
    // body(i) for each i below n, on threads that the host lends; it throws nothing.
    template <typename Body>
    void parallel(uint32_t n, const Body& body) const {
        table_.parallel(
            table_.self, n, [](void* all, uint32_t i) { (*static_cast<const Body*>(all))(i); }, const_cast<Body*>(&body));
    }
    // Null: there is not so much. Given back with the same alignment.
    [[nodiscard]] void* allocate(size_t size, size_t alignment) const {
        if (table_.allocate != nullptr) return table_.allocate(table_.self, size, alignment);
        return ::operator new (size, std::align_val_t{alignment}, std::nothrow);
    }
    void release(void* memory, size_t alignment) const {
        if (table_.release != nullptr) {
            table_.release(table_.self, memory);
        } else {
            ::operator delete (memory, std::align_val_t{alignment});
        }
    }
    [[nodiscard]] bool has_cache() const {
        return table_.cache_get != nullptr && table_.cache_done != nullptr && table_.cache_put != nullptr;
    }
    // body(bytes) with what is remembered under `key`; false: nothing.
    template <typename Body>
    bool cached(const std::string& key, Body&& body) const {
        if (!has_cache()) return false;
        bp_blob value{};
        void* lease = nullptr;
        if (table_.cache_get(table_.self, {key.data(), key.size()}, &value, &lease) != BP_OK) return false;
        const struct Lease {
            const bp_host& table;
            void* of;
            ~Lease() { table.cache_done(table.self, of); }
        } held{table_, lease};
        body(value);
        return true;
    }
    // No bytes: nothing is remembered.
    void remember(const std::string& key, std::span<const std::byte> value) const {
        if (has_cache() && !value.empty())
            table_.cache_put(table_.self, {key.data(), key.size()}, {value.data(), value.size()});
    }
    void reject(const std::string& key) const {
        if (table_.cache_reject != nullptr) table_.cache_reject(table_.self, {key.data(), key.size()});
    }

private:
    bp_host table_;
};

}  // namespace backplane::backend
