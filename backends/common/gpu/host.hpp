// The host's table, read with BP_HAS: a host may offer less than we know.
#pragma once

#include <string>

#include "backplane/sdk.hpp"

namespace backplane::gpu {

class Host {
public:
    explicit Host(const bp_host* table) : table_(table) {}

    void warn(const std::string& text) const {
        if (table_ != nullptr && BP_HAS(table_, log)) table_->log(table_->self, BP_LOG_WARNING, text.c_str());
    }
    // An option as text, for example "opencl.kernels"; empty when it is not set.
    [[nodiscard]] std::string option(const char* name) const {
        const char* text = table_ != nullptr && BP_HAS(table_, option) ? table_->option(table_->self, name) : nullptr;
        return text != nullptr ? text : "";
    }
    [[nodiscard]] bool has_cache() const {
        return table_ != nullptr && BP_HAS(table_, cache_get) && BP_HAS(table_, cache_done) && BP_HAS(table_, cache_put);
    }
    // body(bytes) with what is remembered under `key`; false: nothing.
    template <typename Body>
    bool cached(const std::string& key, Body&& body) const {
        if (!has_cache()) return false;
        bp_blob value{};
        void* lease = nullptr;
        if (table_->cache_get(table_->self, {key.data(), key.size()}, &value, &lease) != BP_OK) return false;
        body(value);
        table_->cache_done(table_->self, lease);
        return true;
    }
    void remember(const std::string& key, bp_blob value) const {
        if (has_cache()) table_->cache_put(table_->self, {key.data(), key.size()}, value);
    }
    void reject(const std::string& key) const {
        if (table_ != nullptr && BP_HAS(table_, cache_reject)) table_->cache_reject(table_->self, {key.data(), key.size()});
    }

private:
    const bp_host* table_;
};

}  // namespace backplane::gpu
