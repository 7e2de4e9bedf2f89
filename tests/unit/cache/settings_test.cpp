// Off unless asked: who asks, and who is stronger.
#include "cache/settings.hpp"

#include "support.hpp"

namespace backplane::cache::testing {
namespace {

class CacheSettings : public ::testing::Test {
protected:
    CacheSettings() { forget(); }
    ~CacheSettings() override { forget(); }
    static void forget() {
        test::unset_environment("BACKPLANE_CACHE_DIR");
        test::unset_environment("BACKPLANE_CACHE_LIMIT");
    }
    const Folder folder_;
};

TEST_F(CacheSettings, WithoutAWordThereIsNone) {
    EXPECT_TRUE(settings_for({}).folder.empty());
    EXPECT_TRUE(settings_for({}).problem.empty());
}

TEST_F(CacheSettings, TheApplicationIsStrongerThanTheEnvironment) {
    test::set_environment("BACKPLANE_CACHE_DIR", (folder_ / "environment").string());
    ContextOptions options;
    EXPECT_EQ(settings_for(options).folder, folder_ / "environment");
    options.cache_folder = folder_ / "application";
    EXPECT_EQ(settings_for(options).folder, folder_ / "application");
    options.use_cache = false;
    EXPECT_TRUE(settings_for(options).folder.empty());
    options = {};
    options.use_environment = false;
    EXPECT_TRUE(settings_for(options).folder.empty());
}

TEST_F(CacheSettings, ARelativeFolderIsTheApplicationsToNameAndNotTheEnvironments) {
    ContextOptions options;
    options.cache_folder = "kernels";
    EXPECT_EQ(settings_for(options).folder, fs::current_path() / "kernels");
    test::set_environment("BACKPLANE_CACHE_DIR", "kernels");
    const Settings settings = settings_for({});
    EXPECT_TRUE(settings.folder.empty());
    EXPECT_NE(settings.problem.find("not an absolute path"), std::string::npos) << settings.problem;
}

TEST_F(CacheSettings, TheLimitIsAnOptionOrAVariableAndNonsenseIsSaid) {
    ContextOptions options;
    options.cache_folder = folder_.path();
    EXPECT_EQ(settings_for(options).limit, uint64_t{256} << 20);
    test::set_environment("BACKPLANE_CACHE_LIMIT", "1G");
    EXPECT_EQ(settings_for(options).limit, uint64_t{1} << 30);
    options.options["host.cache-limit"] = "64M";
    EXPECT_EQ(settings_for(options).limit, uint64_t{64} << 20);
    options.options["host.cache-limit"] = "much";
    EXPECT_EQ(settings_for(options).limit, uint64_t{256} << 20);
    EXPECT_NE(settings_for(options).problem.find("'much'"), std::string::npos);
}

TEST_F(CacheSettings, SizesAreReadWithTheirUnits) {
    EXPECT_EQ(parse_size("0"), 0U);
    EXPECT_EQ(parse_size("65536"), 65536U);
    EXPECT_EQ(parse_size("12B"), 12U);
    EXPECT_EQ(parse_size("2k"), 2048U);
    EXPECT_EQ(parse_size("64M"), uint64_t{64} << 20);
    EXPECT_EQ(parse_size("64MiB"), uint64_t{64} << 20);
    EXPECT_EQ(parse_size("3gb"), uint64_t{3} << 30);
    EXPECT_EQ(parse_size("1T"), uint64_t{1} << 40);
    EXPECT_EQ(parse_size("18446744073709551615"), UINT64_MAX);
    for (const char* wrong :
         {"", "M", "-1", "1.5G", "1 G", "1X", "1Mi", "1MM", "18446744073709551616", "99999999999T", "0x10"})
        EXPECT_EQ(parse_size(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace backplane::cache::testing
