// Batches that are killed at generated moments and begun again.
#include "many.hpp"

namespace backplane::batch_tests {
namespace {

// How many lines its journal has.
size_t lines_of(const Many& many) {
    const std::string text = e2e::content(many.place().at("out/.backplane-batch-0.jsonl"));
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

void kill_and_resume(const std::vector<std::string>& more, uint32_t seed, size_t files, int kills) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Many many(files, seed, 150);
    e2e::run(many.place(), {"devices"}, many.environment());  // tries the modules
    fs::rename(many.place().at("state"), many.place().at("learnt"));
    std::mt19937 random(seed);
    int killed = 0;
    size_t least_done = 0;
    for (int i = 0; i < kills && least_done < files; ++i) {
        // That a driver is kept out in which the process was killed is another test's: here it begins each time with all devices.
        fs::remove_all(many.place().at("state"));
        fs::copy(many.place().at("learnt"), many.place().at("state"), fs::copy_options::recursive);
        const e2e::Started program(many.place(), many.command(more), many.environment());
        // So many files later, and then some hundred microseconds: in the middle of whatever it does by then.
        const size_t until = lines_of(many) + 1 + random() % (files / static_cast<size_t>(kills));
        const size_t all = files - least_done + lines_of(many) + 1;
        for (int wait = 0; wait < 30000 && lines_of(many) < std::min(until, all); ++wait)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
        program.signal(SIGKILL);
        killed += program.wait().exit_code == 128 + SIGKILL ? 1 : 0;
        const size_t done = many.recorded().size();
        EXPECT_GE(done, least_done) << "what was done stays done";
        least_done = done;
    }
    EXPECT_GE(killed, kills * 3 / 4) << "most of them were at work";
    const Outcome o = e2e::run(many.place(), many.command(more), many.environment());
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_NE(o.out.find("were done before"), std::string::npos) << o.out;
    many.expect_each_once();
    const Outcome again = e2e::run(many.place(), many.command(more), many.environment());
    EXPECT_NE(again.out.find("0 of " + std::to_string(files) + " files, " + std::to_string(files) + " were done before"),
              std::string::npos)
        << again.out;
}

uint32_t seed_of_the_day() {
    if (const char* given = std::getenv("BATCH_SEED")) return static_cast<uint32_t>(std::strtoul(given, nullptr, 10));
    return static_cast<uint32_t>(std::chrono::system_clock::now().time_since_epoch() / std::chrono::hours(24));
}

TEST(Killed, EachFileIsDoneOnceAndRightOnTheCpu) {
    kill_and_resume({"--devices", "cpu", "--threads", "1"}, seed_of_the_day(), 200, 20);
}

TEST(Killed, ADeviceThatIsKeptOutSinceEndsNothing) {
    const Many many(6);
    const Outcome o = e2e::run(many.place(), many.command({"--devices", "cpu,nosuch:0"}), many.environment());
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_NE(o.err.find("nosuch:0"), std::string::npos) << o.err;
    many.expect_each_once();
}

TEST(Killed, EachFileIsDoneOnceAndRightOnThreeDevices) {
    const Many many(1);
    if (const std::string why = many.lacks_drivers(); !why.empty()) GTEST_SKIP() << why;
    kill_and_resume({"--devices", "cpu,vulkan:0,opencl:0", "--threads", "1"}, seed_of_the_day(), 200, 20);
}

}  // namespace
}  // namespace backplane::batch_tests
