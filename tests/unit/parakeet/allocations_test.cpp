// Memory that runs out at every single allocation of a transcription and of an enlargement, one at a time and all from there on: what comes is right, or an
// error that says so comes; the next one is right; nothing is left behind.
#include "models/esrgan_file.hpp"

#include "backplane/transcriber.hpp"
#include "models/parakeet/recognizer.hpp"
#include "support/failing_allocations.hpp"
#include "tiny_network.hpp"

namespace backplane::parakeet {
namespace {

using Failing = test::FailingAllocations;

class EveryAllocationOf : public ::testing::Test {
protected:
    // `done`: makes something of the device, and is right or throws.
    void fail_each(const std::function<void()>& done) {
        Failing::start_anew();
        done();
        const int all = Failing::asked;
        ASSERT_GT(all, 2);
        const int buffers = Failing::alive;
        const uint64_t held = ledger(failing_.device).held;
        for (const int failures : {1, 1000000}) {
            int ended = 0;
            for (int n = 0; n < all; ++n) {
                SCOPED_TRACE("allocation " + std::to_string(n) + " of " + std::to_string(all));
                Failing::start_anew();
                Failing::failures = failures;
                Failing::fail_from = n;
                try {
                    done();
                } catch (const Error& error) {
                    ++ended;
                    EXPECT_EQ(error.code(), Code::no_device_memory) << error.what();
                    EXPECT_NE(std::string(error.what()).find("cpu:0"), std::string::npos) << error.what();
                }
                EXPECT_LE(Failing::asked, 40 * all) << "it tries for a bounded time";
                Failing::fail_from = -1;
                done();
                EXPECT_EQ(Failing::alive, buffers) << "nothing is left behind";
                EXPECT_EQ(ledger(failing_.device).held, held);
            }
            EXPECT_TRUE(failures == 1 || ended > 0) << "else nothing was tried";
        }
    }

    TemporaryFolder folder_;
    Failing failing_{device_of("cpu")};
};

TEST_F(EveryAllocationOf, ATranscriptionFailsAndItEndsRightOrSaysSoAndTheNextIsRight) {
    write_random_network(folder_ / "tiny.gguf", tiny_transducer({0, 1, 2, 3, 4}), {.seed = 5, .blank = 0});
    const std::vector<float> sound = random_sound(16000 * 2, 3);
    std::string want;
    fail_each([&] {
        Transcriber transcriber({failing_.device}, folder_ / "tiny.gguf", {.window = 5, .batch = 1});
        const std::string said = transcriber.transcribe(sound).text;
        if (want.empty()) want = said;
        EXPECT_EQ(said, want);
    });
    EXPECT_FALSE(want.empty());
}

TEST_F(EveryAllocationOf, AnEnlargementFailsAndItEndsRightOrSaysSoAndTheNextIsRight) {
    const auto model = std::make_shared<const Esrgan>(EsrganFile().open());
    constexpr uint32_t kWidth = 20, kHeight = 14;
    std::vector<uint8_t> in(size_t{kWidth} * kHeight * 3), want;
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * 7);
    fail_each([&] {
        std::vector<uint8_t> out(in.size() * 4);
        Upscaler(failing_.device, model).run(in, kWidth, kHeight, 3, out);
        if (want.empty()) want = out;
        EXPECT_EQ(out, want);
    });
}

}  // namespace
}  // namespace backplane::parakeet
