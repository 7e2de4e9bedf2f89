// Many clips through one Transcriber: which windows go together, what is read ahead, and what becomes of clips that cannot be read or run.
#include "models/parakeet/batches.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <new>

#include "tiny_network.hpp"

namespace backplane::parakeet {
namespace {

using Places = std::vector<size_t>;

Places batch_of(const std::vector<size_t>& lengths, size_t batch, bool may_wait) {
    return next_batch(lengths, batch, may_wait);
}

TEST(NextBatch, WaitsForAWholeBatchOfWhichAnEighthAtMostIsPadding) {
    EXPECT_EQ(batch_of({}, 4, true), Places());
    EXPECT_EQ(batch_of({}, 4, false), Places());
    EXPECT_EQ(batch_of({100, 100, 100}, 4, true), Places());
    EXPECT_EQ(batch_of({100, 100, 100, 100}, 4, true), (Places{0, 1, 2, 3}));
    EXPECT_EQ(batch_of({100, 900, 100, 900, 100, 900}, 3, true), (Places{0, 2, 4})) << "of two, that of the oldest";
    EXPECT_EQ(batch_of({100, 900, 300, 900, 500, 900}, 3, true), (Places{1, 3, 5}));
    EXPECT_EQ(batch_of({80, 100, 100, 70}, 4, true), (Places{0, 1, 2, 3})) << "50 of 400";
    EXPECT_EQ(batch_of({80, 100, 100, 69}, 4, true), Places()) << "51 of 400";
    EXPECT_EQ(batch_of({700, 30, 5}, 1, true), Places{0}) << "one at a time: in order of coming";
}

TEST(NextBatch, WhereNothingMoreComesTheOldestGoesWithThoseAtLeastHalfAsLong) {
    EXPECT_EQ(batch_of({100, 900, 50, 49, 200, 201}, 8, false), (Places{0, 2})) << "or 0 and 4: of two alike, the shorter";
    EXPECT_EQ(batch_of({100, 101, 199, 900}, 8, false), (Places{0, 1, 2}));
    EXPECT_EQ(batch_of({1, 900}, 8, false), Places{0});
    EXPECT_EQ(batch_of({900, 1}, 8, false), Places{0});
    EXPECT_EQ(batch_of({10, 11, 12, 15, 16, 17}, 3, false), (Places{0, 1, 2}));
    EXPECT_EQ(batch_of({700, 30, 5}, 1, false), Places{0});
}

// Whatever waits, all of it goes, each once, and the oldest is never passed over when nothing may wait.
TEST(NextBatch, EveryWindowGoesOnce) {
    for (unsigned seed = 1; seed < 60; ++seed) {
        std::vector<size_t> lengths, numbers;
        uint32_t random = seed;
        for (size_t i = 0; i < seed; ++i) {
            random = random * 1664525 + 1013904223;
            lengths.push_back(1 + (random >> 12) % 1000);
            numbers.push_back(i);
        }
        std::vector<size_t> gone;
        while (!lengths.empty()) {
            const Places batch = batch_of(lengths, 1 + seed % 9, false);
            ASSERT_FALSE(batch.empty());
            ASSERT_LE(batch.size(), 1 + seed % 9);
            ASSERT_TRUE(std::is_sorted(batch.begin(), batch.end()));
            for (auto i = batch.rbegin(); i != batch.rend(); ++i) {
                gone.push_back(numbers[*i]);
                numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(*i));
                lengths.erase(lengths.begin() + static_cast<std::ptrdiff_t>(*i));
            }
        }
        std::sort(gone.begin(), gone.end());
        for (size_t i = 0; i < seed; ++i) ASSERT_EQ(gone[i], i);
    }
}

Window window_of(size_t clip, size_t samples) {
    Window window;
    window.clip = clip;
    window.samples.resize(samples);
    return window;
}

TEST(WaitingWindows, NoMoreThanFourBatchesRunBeforeTheOneThatWaitsLongest) {
    WaitingWindows waiting(2, 1000);
    waiting.add(window_of(0, 10));
    size_t batches = 0;
    for (size_t clip = 1; clip < 100; ++clip) {
        waiting.add(window_of(clip, 900));
        const std::vector<Window> batch = waiting.take(true);
        if (batch.empty()) continue;
        if (batch.front().clip == 0) break;
        ++batches;
    }
    EXPECT_EQ(batches, 4U);
}

TEST(WaitingWindows, AFullRoomIsNotWaitedIn) {
    WaitingWindows waiting(4, 1000);
    for (const size_t samples : {1000U, 700U, 900U, 300U, 80U, 20U}) {
        waiting.add(window_of(samples, samples));
        EXPECT_TRUE(waiting.take(true).empty()) << samples;
    }
    waiting.add(window_of(7, 5000));
    const std::vector<Window> batch = waiting.take(true);
    ASSERT_EQ(batch.size(), 3U) << "8000 samples";
    EXPECT_EQ(batch.front().clip, 1000U);
    waiting.drop(300);
    waiting.drop(7);
    EXPECT_TRUE(waiting.take(true).empty());
    size_t rest = 0;
    for (std::vector<Window> some = waiting.take(false); !some.empty(); some = waiting.take(false)) rest += some.size();
    EXPECT_EQ(rest, 2U);
}

SampleSource source_of(std::vector<float> samples) {
    return [all = std::move(samples), at = size_t{0}](std::span<float> into) mutable {
        const size_t n = std::min(into.size(), all.size() - at);
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at), n, into.begin());
        at += n;
        return n;
    };
}

class ClipQueueTest : public ::testing::Test {
protected:
    ClipQueueTest() {
        write_random_network(folder / "tiny.gguf", tiny_transducer({0, 1, 2, 3, 4}), {.seed = 21, .blank = 1});
    }
    [[nodiscard]] Transcriber transcriber(int64_t batch, const char* device = "cpu") const {
        return {{device_of(device)}, folder / "tiny.gguf", {.window = 6, .batch = batch}};
    }
    static uint64_t encoder_runs(const Transcriber& network) {
        uint64_t all = 0;
        for (const NetworkRuns& ran : network.runs())
            if (ran.part == "encoder") all += ran.runs;
        return all;
    }
    // Clips as sounds; an empty function: one that cannot be opened.
    void transcribe(Transcriber& network, const std::vector<std::function<SampleSource()>>& clips,
                    const TranscribeHooks& hooks = {}) {
        said.clear();
        failed.clear();
        order.clear();
        size_t at = 0;
        ClipQueue queue;
        queue.next = [&]() -> std::optional<SampleSource> {
            if (at == clips.size()) return {};
            return clips[at++]();
        };
        queue.done = [&](size_t clip, Transcript one) {
            order.push_back(clip);
            EXPECT_TRUE(said.emplace(clip, std::move(one)).second) << clip;
            if (each) each();
        };
        queue.failed = [&](size_t clip, const Error& error) { EXPECT_TRUE(failed.emplace(clip, error.what()).second); };
        network.transcribe(queue, hooks);
    }
    static std::function<SampleSource()> sound(size_t samples, unsigned seed) {
        return [=] { return source_of(random_sound(samples, seed)); };
    }

    TemporaryFolder folder;
    std::map<size_t, Transcript> said;
    std::map<size_t, std::string> failed;
    std::vector<size_t> order;  // that clips were done in
    std::function<void()> each;
};

TEST_F(ClipQueueTest, ClipsOfLikeLengthGoTogetherAndSayWhatTheySayAlone) {
    for (const char* device : {"cpu", "reference"}) {
        std::vector<std::function<SampleSource()>> clips;
        std::vector<size_t> lengths;
        for (unsigned i = 0; i < 12; ++i) {
            lengths.push_back(i % 2 == 0 ? 8000 + i * 20 : 30000 + i * 100);
            clips.push_back(sound(lengths.back(), i));
        }
        Transcriber network = transcriber(3, device);
        transcribe(network, clips);
        EXPECT_EQ(encoder_runs(network), 4U) << device;
        ASSERT_EQ(said.size(), clips.size());
        EXPECT_TRUE(failed.empty());
        EXPECT_FALSE(std::is_sorted(order.begin(), order.end())) << "as they are done";
        Transcriber alone = transcriber(1, device);
        size_t words = 0;
        for (unsigned i = 0; i < 12; ++i) {
            const Transcript want = alone.transcribe(random_sound(lengths[i], i));
            EXPECT_EQ(said[i].text, want.text);
            EXPECT_EQ(said[i].words.size(), want.words.size());
            EXPECT_EQ(said[i].seconds, want.seconds);
            words += want.words.size();
        }
        EXPECT_GT(words, 3U);
    }
}

TEST_F(ClipQueueTest, WindowsOfALongClipAreJoinedInOrderWhateverRunsBetween) {
    std::vector<float> longer;
    for (unsigned i = 0; i < 14; ++i) {
        const std::vector<float> one = random_sound(20000 + 7000 * (i % 5), i);
        longer.insert(longer.end(), one.begin(), one.end());
        longer.resize(longer.size() + 9000);
    }
    Transcriber network = transcriber(4);
    transcribe(network, {sound(50000, 1), [&] { return source_of(longer); }, sound(70000, 2), sound(20000, 3)});
    ASSERT_EQ(said.size(), 4U);
    const Transcript want = transcriber(1).transcribe(longer);
    EXPECT_EQ(said[1].text, want.text);
    EXPECT_GT(want.words.size(), 3U);
    EXPECT_TRUE(std::is_sorted(said[1].words.begin(), said[1].words.end(),
                               [](const Word& a, const Word& b) { return a.start < b.start; }));
}

TEST_F(ClipQueueTest, AClipThatCannotBeOpenedReadOrRunEndsNoOther) {
    const auto broken = [] {
        return SampleSource([at = size_t{0}](std::span<float> into) mutable -> size_t {
            if (at > 200000) throw Error(Code::corrupt, "the file ends");
            std::fill(into.begin(), into.end(), 0.01F);
            at += into.size();
            return into.size();
        });
    };
    const auto missing = []() -> SampleSource { throw Error(Code::not_found, "no such file"); };
    const auto not_finite = [] {
        std::vector<float> samples = random_sound(30000, 5);
        samples[777] = NAN;
        return source_of(samples);
    };
    for (const int64_t batch : {1, 3}) {
        Transcriber network = transcriber(batch);
        transcribe(network, {missing, sound(30000, 1), broken, sound(30000, 2), not_finite, [] { return source_of({}); },
                             sound(50, 1), missing});
        EXPECT_EQ(said.size(), 4U);
        for (const size_t clip : {1U, 3U, 5U, 6U}) EXPECT_TRUE(said.contains(clip)) << clip;
        EXPECT_EQ(said[1].text, transcriber(1).transcribe(random_sound(30000, 1)).text);
        EXPECT_EQ(said[5].seconds, 0);
        ASSERT_EQ(failed.size(), 4U);
        EXPECT_EQ(failed[0], "no such file");
        EXPECT_EQ(failed[2], "the file ends");
        EXPECT_NE(failed[4].find("sample 777"), std::string::npos);
        transcribe(network, {});
        EXPECT_TRUE(said.empty() && failed.empty());
    }
}

// The sound of one is too loud for numbers of 32 bits: a batch that it is in gives none, the others alone do.
TEST_F(ClipQueueTest, ABatchThatCannotRunIsTriedClipByClip) {
    const auto loud = [] { return source_of(std::vector<float>(16000, 1e30F)); };
    Transcriber network = transcriber(3);
    transcribe(network, {sound(16000, 1), loud, sound(16000, 2), sound(16000, 3)});
    EXPECT_EQ(said.size(), 3U);
    ASSERT_EQ(failed.size(), 1U);
    EXPECT_EQ(failed[1], "cannot transcribe: the sound has samples of up to 1e+30, far beyond -1 to 1");
    EXPECT_EQ(encoder_runs(network), 1U + 3U + 1U);
}

TEST_F(ClipQueueTest, WhatIsNoErrorOfAClipEndsTheCall) {
    Transcriber network = transcriber(2);
    const auto full = []() -> SampleSource { throw std::bad_alloc(); };
    EXPECT_THROW(transcribe(network, {sound(8000, 1), full, sound(8000, 2)}), std::bad_alloc);
    const auto cancelled = []() -> SampleSource { throw Error(Code::cancelled, "enough"); };
    expect_error([&] { transcribe(network, {sound(8000, 1), cancelled}); }, Code::cancelled, "enough");
    each = [] { throw Error(Code::denied, "no room"); };
    expect_error([&] { transcribe(network, {sound(8000, 1), sound(8000, 2), sound(8000, 3)}); }, Code::denied, "no room");
}

TEST_F(ClipQueueTest, CancellingLeavesClipsThatAreDone) {
    std::atomic<uint32_t> cancel{0};
    TranscribeHooks hooks;
    hooks.cancel = &cancel;
    each = [&] { cancel = said.size() >= 3 ? 1 : 0; };
    std::vector<std::function<SampleSource()>> clips;
    for (unsigned i = 0; i < 40; ++i) clips.push_back(sound(16000, i));
    Transcriber network = transcriber(1);
    expect_error([&] { transcribe(network, clips, hooks); }, Code::cancelled, "");
    EXPECT_EQ(said.size(), 3U);
}

TEST_F(ClipQueueTest, WhatIsReadAheadIsBounded) {
    // Windows of six seconds, two at a time: two such batches wait, one is read ahead, one is in the reader's hand.
    std::atomic<size_t> read{0};
    size_t most = 0, done = 0;
    std::vector<std::function<SampleSource()>> clips;
    for (unsigned i = 0; i < 60; ++i)
        clips.emplace_back([&read, i] {
            return SampleSource(
                [&read, inner = source_of(random_sound(16000 * (1 + i % 5), i))](std::span<float> into) mutable {
                    const size_t n = inner(into);
                    read += n;
                    return n;
                });
        });
    TranscribeHooks hooks;
    each = [&] {
        done += static_cast<size_t>(std::llround(said[order.back()].seconds * 16000));
        most = std::max(most, read - done);
    };
    Transcriber network = transcriber(2);
    transcribe(network, clips, hooks);
    ASSERT_EQ(said.size(), 60U);
    EXPECT_EQ(done, read);
    constexpr size_t kBatch = 2 * size_t{16000} * 6;
    EXPECT_LE(most, (2 + 1 + 1) * kBatch + 2 * 16000 * 6);
}

TEST_F(ClipQueueTest, ProgressCountsEachSecondOnce) {
    std::vector<double> seen;
    TranscribeHooks hooks;
    hooks.progress = [&](double seconds) { seen.push_back(seconds); };
    Transcriber network = transcriber(3);
    transcribe(network, {sound(16000, 1), sound(32000, 2), sound(16000 * 20, 3), sound(16000, 4)}, hooks);
    ASSERT_FALSE(seen.empty());
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_NEAR(seen.back(), 24, 1e-9);
}

}  // namespace
}  // namespace backplane::parakeet
