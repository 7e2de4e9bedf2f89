// The cache as a module sees it: the functions of bp_host.
#include "registry/host.hpp"
#include "backplane/context.hpp"
#include "support.hpp"

namespace backplane::cache::testing {
namespace {

bp_blob blob_of(std::string_view text) { return {text.data(), text.size()}; }

std::shared_ptr<registry::HostServices> services_with(const fs::path& folder) {
    auto services = std::make_shared<registry::HostServices>();
    ContextOptions options;
    options.use_environment = false;
    options.cache_folder = folder;
    services->cache = registry::open_cache(options, *services);
    return services;
}

std::optional<std::string> get(const registry::Host& host, std::string_view key) {
    const bp_host* table = host.table();
    bp_blob value{};
    void* lease = nullptr;
    if (table->cache_get(table->self, blob_of(key), &value, &lease) != BP_OK) return std::nullopt;
    std::string text(static_cast<const char*>(value.data), value.size);
    table->cache_done(table->self, lease);
    return text;
}

void put(const registry::Host& host, std::string_view key, std::string_view value) {
    host.table()->cache_put(host.table()->self, blob_of(key), blob_of(value));
}

TEST(HostCache, WithoutAFolderTheFunctionsAreAbsent) {
    const registry::Host host(services_with({}), "fake 1.0 build a");
    EXPECT_FALSE(BP_HAS(host.table(), cache_get));
    EXPECT_FALSE(BP_HAS(host.table(), cache_done));
    EXPECT_FALSE(BP_HAS(host.table(), cache_put));
    EXPECT_FALSE(BP_HAS(host.table(), cache_reject));
    EXPECT_TRUE(BP_HAS(host.table(), option));
}

TEST(HostCache, AModuleReadsWhatThisBuildOfItWroteAndNoOther) {
    const Folder folder;
    {
        const registry::Host host(services_with(folder.path()), "fake 1.0 build a");
        put(host, "key", "value");
    }
    const auto services = services_with(folder.path());
    const registry::Host same(services, "fake 1.0 build a"), other(services, "fake 1.1 build b");
    EXPECT_EQ(get(same, "key"), "value");
    EXPECT_EQ(get(other, "key"), std::nullopt);
    put(other, "key", "its own");
    EXPECT_EQ(get(same, "key"), "value");
    same.table()->cache_reject(same.table()->self, blob_of("key"));
    EXPECT_EQ(get(same, "key"), std::nullopt);
    EXPECT_EQ(get(other, "key"), "its own");
}

TEST(HostCache, ALeaseOutlivesWhatHappensToTheEntry) {
    const Folder folder;
    const registry::Host host(services_with(folder.path()), "fake 1.0 build a");
    const bp_host* table = host.table();
    const std::string value = value_of(100000, 9);
    put(host, "key", value);
    bp_blob found{};
    void* lease = nullptr;
    ASSERT_EQ(table->cache_get(table->self, blob_of("key"), &found, &lease), BP_OK);
    put(host, "key", "another");
    table->cache_reject(table->self, blob_of("key"));
    clear(folder.path());
    EXPECT_EQ(std::string(static_cast<const char*>(found.data), found.size), value);
    table->cache_done(table->self, lease);
}

TEST(HostCache, WrongArgumentsAreInvalidOrNothing) {
    const Folder folder;
    const registry::Host host(services_with(folder.path()), "fake 1.0 build a");
    const bp_host* table = host.table();
    bp_blob value{};
    void* lease = nullptr;
    EXPECT_EQ(table->cache_get(table->self, blob_of("key"), nullptr, &lease), BP_INVALID);
    EXPECT_EQ(table->cache_get(table->self, blob_of("key"), &value, nullptr), BP_INVALID);
    EXPECT_EQ(table->cache_get(table->self, {nullptr, 5}, &value, &lease), BP_INVALID);
    EXPECT_EQ(table->cache_get(table->self, blob_of("key"), &value, &lease), BP_NOT_FOUND);
    EXPECT_EQ(lease, nullptr);
    table->cache_put(table->self, {nullptr, 5}, blob_of("x"));
    table->cache_put(table->self, blob_of("x"), {nullptr, 5});
    table->cache_reject(table->self, {nullptr, 5});
    table->cache_done(table->self, nullptr);
    for (const size_t absurd : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 40}) {
        EXPECT_EQ(table->cache_get(table->self, {"key", absurd}, &value, &lease), BP_INVALID);
        table->cache_put(table->self, {"key", absurd}, blob_of("x"));
        table->cache_put(table->self, blob_of("key"), {"x", absurd});
        table->cache_put(table->self, {"key", absurd}, {"x", absurd});
        table->cache_reject(table->self, {"key", absurd});
    }
    EXPECT_EQ(folder.count(), 0U);
    table->cache_put(table->self, {nullptr, 0}, {nullptr, 0});
    EXPECT_EQ(get(host, ""), "");
}

ContextOptions only_minimal() {
    ContextOptions options;
    options.module_paths = {BP_TEST_MINIMAL};
    options.search_defaults = false;
    options.use_linked_in = false;
    options.use_environment = false;
    return options;
}

TEST(HostCache, AFolderThatCannotBeOneIsNothingToAContextWhoseModulesKeepNothing) {
    const Folder folder;
    std::vector<std::string> warnings;
    ContextOptions options = only_minimal();
    options.cache_folder = folder.add("file", "not a folder");
    options.log = [&](LogLevel level, std::string_view text) {
        if (level == LogLevel::warning) warnings.emplace_back(text);
    };
    const Context context(options);
    EXPECT_EQ(context.devices().size(), 1U);
    EXPECT_TRUE(warnings.empty()) << "nothing was asked of it: " << warnings[0];
    EXPECT_TRUE(context.report().notes.empty());
}

TEST(HostCache, AContextWithACacheThatNoModuleUsesMakesNothing) {
    const Folder folder;
    ContextOptions options = only_minimal();
    options.cache_folder = folder / "cache";
    const Context context(options);
    EXPECT_EQ(context.choose("minimal").info().id, "minimal:0");
    EXPECT_EQ(folder.count(), 0U);
}

}  // namespace
}  // namespace backplane::cache::testing
