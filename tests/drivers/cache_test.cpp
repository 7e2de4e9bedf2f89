// The kernel cache (docs/kernel-cache.md) under modules that drive real drivers: what a driver made comes back to it whole, or not at all.
#include <functional>
#include <optional>

#include "cache/entry.hpp"
#include "machine.hpp"
#include "small_graph.hpp"

namespace backplane::drivers {
namespace {

using Entries = std::map<std::string, std::string>;  // bytes by name

Entries entries_in(const std::string& folder) {
    Entries out;
    std::error_code ignored;
    for (const auto& file : fs::directory_iterator(folder, ignored)) {
        if (file.path().extension() == ".kernel") out[file.path().filename().string()] = e2e::content(file.path());
    }
    return out;
}

bool is_good(const std::string& bytes) {
    std::string why;
    return cache::parse(std::as_bytes(std::span(bytes)), why).has_value();
}

class Cached : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        BP_NEEDS(GetParam(), true);
        set_environment(quiet(place_));
    }
    // One start of an application: a context, a device, a session.
    SmallResult start() {
        ContextOptions options = options_for(place_);
        options.device_filter = only(GetParam());
        options.cache_folder = folder_;
        options.probe = ProbePolicy::never;
        options.log = [this](LogLevel, std::string_view text) { log_ += std::string(text) + "\n"; };
        log_.clear();
        const Context context(options);
        return run_small(context.choose(GetParam() + ":0"));
    }
    // Every entry changed, each in a way of its own (which: 0, 1, 2, 0 ...), as a start takes a driver a second; the next start gives the
    // same result and leaves good entries behind. That no changed entry is taken for a whole one is tests/unit/cache's.
    void expect_rebuilt(const SmallResult& cold,
                        const std::function<std::string(const std::string&, size_t which)>& change) {
        const Entries before = entries_in(folder_);
        ASSERT_GE(before.size(), 3U);
        size_t which = 0;
        for (const auto& [name, bytes] : before) write(folder_ + "/" + name, change(bytes, which++ % 3));
        const SmallResult again = start();
        EXPECT_EQ(largest_difference(again.y, cold.y), 0.0F);
        EXPECT_EQ(again.program.cache_hits, 0U) << "a damaged entry reached the driver";
        const Entries after = entries_in(folder_);
        for (const auto& [name, bytes] : before) {
            ASSERT_EQ(after.count(name), 1U) << name << " was not made again; " << log_;
            EXPECT_TRUE(is_good(after.at(name))) << name;
        }
    }
    [[nodiscard]] bool counts_hits() const {
        return GetParam() == "opencl";
    }  // lavapipe never says that a pipeline came out of its cache

    const Place place_;
    const std::string folder_ = place_.at("kernels");
    std::string log_;
};
INSTANTIATE_TEST_SUITE_P(All, Cached, testing::Values("vulkan", "opencl"), [](const auto& p) { return p.param; });

TEST_P(Cached, AWarmStartFindsWhatTheColdOneWroteAndWritesNothing) {
    const SmallResult cold = start();
    EXPECT_EQ(cold.program.cache_hits, 0U);
    const Entries written = entries_in(folder_);
    ASSERT_FALSE(written.empty()) << log_;
    std::map<std::string, fs::file_time_type> times;
    for (const auto& [name, bytes] : written) {
        EXPECT_TRUE(is_good(bytes)) << name;
        times[name] = fs::last_write_time(folder_ + "/" + name);
    }
    const SmallResult warm = start();
    EXPECT_EQ(largest_difference(warm.y, cold.y), 0.0F);
    EXPECT_EQ(warm.program.cache_hits, counts_hits() ? written.size() : 0);
    EXPECT_EQ(entries_in(folder_), written);
    for (const auto& [name, time] : times) EXPECT_EQ(fs::last_write_time(folder_ + "/" + name), time) << name;
}

TEST_P(Cached, AnEntryWithOneByteChangedIsDroppedAndBuiltAgain) {
    const SmallResult cold = start();
    // In the value: its first byte, one in the middle, its last.
    expect_rebuilt(cold, [](std::string bytes, size_t which) {
        std::string why;
        const size_t value = cache::parse(std::as_bytes(std::span(bytes)), why)->value.size();
        const size_t at = bytes.size() - value + (value - 1) * which / 2;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
        return bytes;
    });
}

TEST_P(Cached, ATruncatedEntryIsDroppedAndBuiltAgain) {
    const SmallResult cold = start();
    expect_rebuilt(cold, [](const std::string& bytes, size_t which) {
        return bytes.substr(0, which == 0 ? bytes.size() - 1 : which == 1 ? bytes.size() / 2 : 0);
    });
}

// The host vouches for the bytes, and yet the driver does not like them: as after a driver that kept its version and changed its format.
TEST_P(Cached, AnEntryThatTheDriverRefusesIsRejectedAndBuiltFromSource) {
    const SmallResult cold = start();
    const Entries made = entries_in(folder_);
    expect_rebuilt(cold, [](const std::string& bytes, size_t) {
        std::string why;
        const cache::Entry entry = *cache::parse(std::as_bytes(std::span(bytes)), why);
        const std::string value(200, 'n');
        const std::vector<std::byte> file = cache::frame(entry.scope, entry.key, std::as_bytes(std::span(value)));
        const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
        EXPECT_TRUE(is_good(text)) << "the host finds nothing wrong with it";
        return text;
    });
    for (const auto& [name, bytes] : entries_in(folder_))
        EXPECT_EQ(bytes.find(std::string(200, 'n')), std::string::npos) << name << " still has what was refused";
    EXPECT_EQ(entries_in(folder_).size(), made.size());
    const SmallResult warm = start();
    EXPECT_EQ(largest_difference(warm.y, cold.y), 0.0F);
    EXPECT_EQ(warm.program.cache_hits, counts_hits() ? made.size() : 0);
}

TEST_P(Cached, WithoutAFolderNothingIsWrittenAnywhere) {
    const std::string in = place_.picture();
    const std::string model = place_.model();
    const Outcome o = e2e::run(
        place_, {"upscale", in, place_.at("out.png"), "--model", model, "--device", GetParam() + ":0", "--no-cache"},
        quiet(place_));
    ASSERT_EQ(o.exit_code, 0) << o.err;
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(place_.at(""))) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    // The state folder holds what was learnt of the driver, no kernels; nothing came into being in the user's own folder.
    EXPECT_EQ(names, (std::vector<std::string>{"in.png", "out.png", "state", "tiny.gguf"}));
    for (const auto& entry : fs::recursive_directory_iterator(place_.at("state")))
        EXPECT_NE(entry.path().extension(), ".kernel") << entry.path();

    // The same with one: there are entries, in that folder and nowhere else.
    const Outcome with = e2e::run(
        place_, {"upscale", in, place_.at("out.png"), "--model", model, "--device", GetParam() + ":0", "--cache", folder_},
        quiet(place_));
    ASSERT_EQ(with.exit_code, 0) << with.err;
    EXPECT_FALSE(entries_in(folder_).empty());
    EXPECT_FALSE(fs::exists(place_.at("home")));
}

}  // namespace
}  // namespace backplane::drivers
