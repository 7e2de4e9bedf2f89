// A folder with a module that misbehaves as a plan says (plan.hpp) and a good one of the same backend that it outranks, for tests of what a
// Context makes of them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/runtime.hpp"
#include "registry/verdict_store.hpp"
#include "support/system.hpp"

namespace backplane::zoo {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

inline void compute(const Device& device) {
    Graph graph;
    graph.output(graph.add(Op::relu, {graph.input("x", DType::f32, {4})}), "y");
    Session session(device, graph, WeightSource{});
    const std::vector<float> in{1, -2, 3, -4};
    std::vector<float> out(4, 9);
    session.run({{{"x", std::as_bytes(std::span(in))}}}, {{{"y", std::as_writable_bytes(std::span(out))}}});
    EXPECT_EQ(out, (std::vector<float>{1, 0, 3, 0}));
}

inline std::vector<std::string> lines_of(const fs::path& file) {
    std::vector<std::string> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

// A folder with a module that misbehaves as `plan` says.
class Place {
public:
    explicit Place(const std::string& plan) : folder_(test::make_temporary_folder()) { put("one", plan); }
    ~Place() {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // One more such module, in a folder of its own.
    void put(const std::string& name, const std::string& plan) {
        fs::create_directories(folder_ / name / "modules");
        std::ofstream(folder_ / name / "plan") << plan;
        const bool unloadable = plan.ends_with("/unloadable");
        const fs::path file = folder_ / name / "modules" / "backplane-faulty.so";
        fs::copy_file(fs::path(BP_TEST_ZOO_MODULES) / (unloadable ? "backplane-unloadable.so" : "backplane-kept.so"), file);
        files_.push_back(file);
    }
    // Changes the name of the backend and the build, so that it is another module.
    void rename_backend(size_t which, const std::string& to) const {
        std::ostringstream all;
        all << std::ifstream(files_.at(which), std::ios::binary).rdbuf();
        std::string bytes = all.str();
        const std::string from = "\"backend\":\"minimal\"";
        bytes.replace(bytes.find(from), from.size(), "\"backend\":\"" + to + "\"");
        std::ofstream(files_.at(which), std::ios::binary | std::ios::trunc) << bytes << to;
    }

    [[nodiscard]] ContextOptions options() const {
        ContextOptions o;
        o.search_defaults = o.use_linked_in = o.use_environment = false;
        o.state_folder = state();
        o.probe_program = BP_TEST_PROBE;
        o.probe_limit = milliseconds(BP_TEST_PROBE_LIMIT);
        o.module_paths = files_;
        o.module_paths.emplace_back(fs::path(BP_TEST_ZOO_MODULES) / "backplane-minimal.so");
        return o;
    }
    [[nodiscard]] std::vector<registry::RememberedTrial> trials() const { return registry::VerdictStore(state()).all(); }
    [[nodiscard]] size_t remembered() const { return trials().size(); }
    [[nodiscard]] fs::path state() const { return folder_ / "state"; }
    [[nodiscard]] fs::path at(const std::string& name) const { return folder_ / name; }
    [[nodiscard]] fs::path module() const { return files_.front(); }

private:
    fs::path folder_;
    std::vector<fs::path> files_;
};

inline std::string all_notes(const Report& report) {
    std::string all;
    for (const std::string& note : report.notes) all += note + "\n";
    return all;
}

// A program in the probe's place.
inline fs::path script(const Place& place, const std::string& text) {
    const fs::path file = place.at("script");
    std::ofstream(file) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(file, fs::perms(0755));
    return file;
}

// Of a trial of what hangs, which costs all of it.
constexpr milliseconds kShort(1500);

// Where a busy machine did not get as far as the fault within the limit, the same with a longer one.
inline std::unique_ptr<Context> context_at(const Place& place, ContextOptions options) {
    auto context = std::make_unique<Context>(options);
    while (options.probe_limit < milliseconds(BP_TEST_PROBE_LIMIT) && !std::filesystem::exists(place.at("one") / "fired")) {
        options.probe_limit *= 4;
        context.reset();
        fs::remove_all(place.state());
        context = std::make_unique<Context>(options);
    }
    return context;
}

inline void expect_the_good_one(const Place& place, const ContextOptions& options, ReasonCode code,
                                const std::string& words) {
    const std::unique_ptr<Context> context = context_at(place, options);
    const Report report = context->report();
    const Candidate& bad = report.candidates.at(0);
    ASSERT_EQ(bad.path, fs::canonical(place.module()));
    EXPECT_EQ(bad.verdict, Verdict::failed) << report.summary();
    EXPECT_EQ(bad.code, code) << report.summary();
    EXPECT_NE(bad.reason.find(words), std::string::npos) << report.summary();
    ASSERT_EQ(report.devices.size(), 1U) << report.summary();
    compute(context->choose("minimal"));
}

}  // namespace backplane::zoo
