// Clips to tokens through whole networks on devices, against float64 that takes a frame and a token at a time.
#include "models/parakeet/recognizer.hpp"

#include <deque>
#include <limits>
#include <map>
#include <set>

#include "oracle.hpp"
#include "tiny_network.hpp"

namespace backplane::parakeet {
namespace {

class RecognizerTest : public ::testing::Test {
protected:
    ModelFile network(const Config& config, unsigned seed, float blank) {
        write_random_network(folder / "tiny.gguf", config, {.seed = seed, .blank = blank});
        return ModelFile::open(folder / "tiny.gguf");
    }
    static std::vector<std::vector<Token>> run(Recognizer& recognizer, const std::vector<std::vector<float>>& clips) {
        std::vector<std::span<const float>> spans(clips.begin(), clips.end());
        return recognizer.run(spans, nullptr);
    }
    static oracle::Rows encoded(const ModelFile& file, const std::vector<float>& clip) {
        return oracle::Encoder(file).run(oracle::features(file.config().preprocessor, file.config().encoder.mels, clip));
    }
    static void expect_same(const std::vector<Token>& got, const std::vector<oracle::Said>& want, const std::string& what) {
        ASSERT_EQ(got.size(), want.size()) << what;
        for (size_t i = 0; i < got.size(); ++i) {
            EXPECT_EQ(got[i].id, want[i].id) << what << ", token " << i;
            EXPECT_EQ(got[i].frame, want[i].frame) << what << ", token " << i;
            EXPECT_EQ(got[i].duration, want[i].duration) << what << ", token " << i;
            EXPECT_NEAR(got[i].confidence, want[i].confidence, 2e-3) << what << ", token " << i;
        }
    }
    // Tokens that the float64 decoder gives, of all clips.
    static size_t compare(const ModelFile& file, const char* device, const std::vector<std::vector<float>>& clips) {
        Recognizer recognizer({device_of(device)}, file, DType::f32, Head::transducer);
        const std::vector<std::vector<Token>> together = run(recognizer, clips);
        size_t tokens = 0;
        for (size_t i = 0; i < clips.size(); ++i) {
            const std::vector<oracle::Said> want = oracle::Transducer(file).run(encoded(file, clips[i]));
            expect_same(together[i], want, "clip " + std::to_string(i) + " of a batch");
            expect_same(run(recognizer, {clips[i]})[0], want, "clip " + std::to_string(i));
            tokens += want.size();
        }
        return tokens;
    }
    static std::vector<oracle::Said> collapsed(const ModelFile& file, const std::vector<float>& clip) {
        const oracle::Rows logits = oracle::Encoder(file).linear(encoded(file, clip), "ctc_decoder.decoder_layers.0");
        std::vector<oracle::Said> all;
        int32_t last = -1;
        for (size_t t = 0; t < logits.size(); ++t) {
            const auto best = std::max_element(logits[t].begin(), logits[t].end());
            const auto id = static_cast<int32_t>(best - logits[t].begin());
            double total = 0;
            for (const double x : logits[t]) total += std::exp(x - *best);
            if (id != file.config().blank_id && id != last) all.push_back({id, static_cast<int64_t>(t), 0, 0});
            if (id != file.config().blank_id) {
                ++all.back().duration;
                all.back().confidence = std::max(all.back().confidence, 1 / total);
            }
            last = id;
        }
        return all;
    }

    TemporaryFolder folder;
    std::vector<std::vector<float>> clips{random_sound(16000, 1), random_sound(5000, 2), random_sound(160, 3),
                                          random_sound(24000, 4), random_sound(40, 5)};
};

TEST_F(RecognizerTest, CtcGivesTheTokensOfFloat64OfOneClipAndOfABatch) {
    const ModelFile file = network(tiny_config(), 3, 0);
    for (const char* device : {"cpu", "reference"}) {
        Recognizer recognizer({device_of(device)}, file, DType::f32, Head::ctc);
        const std::vector<std::vector<Token>> together = run(recognizer, clips);
        size_t tokens = 0;
        for (size_t i = 0; i + 1 < clips.size(); ++i) {
            const std::vector<oracle::Said> want = collapsed(file, clips[i]);
            expect_same(together[i], want, "clip " + std::to_string(i) + " of a batch");
            expect_same(run(recognizer, {clips[i]})[0], want, "clip " + std::to_string(i));
            tokens += want.size();
        }
        EXPECT_GT(tokens, 10U);
        EXPECT_TRUE(together.back().empty()) << "a clip shorter than a frame says nothing";
    }
}

TEST_F(RecognizerTest, RnntGivesTheTokensOfFloat64HoweverMuchOrLittleIsSaid) {
    clips.pop_back();
    // From networks that say nothing but tokens, which only the most of a frame ends, to those that hardly speak.
    size_t least = SIZE_MAX;
    size_t most = 0;
    for (const float blank : {-20.0F, -1.0F, 0.5F, 1.5F, 3.0F, 30.0F}) {
        const size_t tokens = compare(network(tiny_transducer({}), 11, blank), "cpu", clips);
        least = std::min(least, tokens);
        most = std::max(most, tokens);
    }
    EXPECT_EQ(least, 0U);
    EXPECT_EQ(most, (13U + 4 + 1 + 19) * 3);
    static_cast<void>(compare(network(tiny_transducer({}), 12, 1), "reference", {clips[0], clips[1]}));
}

TEST_F(RecognizerTest, TdtGivesTheTokensAndDurationsOfFloat64) {
    clips.pop_back();
    size_t tokens = 0;
    for (const unsigned seed : {21U, 22U, 23U})
        for (const float blank : {-20.0F, 0.0F, 1.0F, 2.5F})
            tokens += compare(network(tiny_transducer({0, 1, 2, 3, 4}), seed, blank), "cpu", clips);
    EXPECT_GT(tokens, 100U);
    // Durations as long as the window that a step looks at, and longer.
    static_cast<void>(compare(network(tiny_transducer({1, 8, 9, 40}), 24, 1), "cpu", clips));
    static_cast<void>(compare(network(tiny_transducer({0, 2}), 25, 1), "reference", {clips[0], clips[1]}));
}

TEST_F(RecognizerTest, ManySizesAndAGrowingReachGiveWhatTheyGiveAlone) {
    const ModelFile file = network(tiny_transducer({0, 1, 2, 3, 4}), 21, 1);
    Recognizer kept({device_of("cpu")}, file, DType::f32, Head::transducer, Lengths::exact);
    for (const size_t samples : {3000U, 90000U, 3000U, 4000U, 5000U, 6000U, 7000U, 90000U, 160000U, 3000U}) {
        const std::vector<std::vector<float>> clip{random_sound(samples, 9)};
        Recognizer fresh({device_of("cpu")}, file, DType::f32, Head::transducer);
        const std::vector<Token> a = run(kept, clip)[0];
        const std::vector<Token> b = run(fresh, clip)[0];
        ASSERT_EQ(a.size(), b.size()) << samples;
        for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].id, b[i].id);
    }
    EXPECT_NE(kept.describe().find("encoder, 1 x 18 frames"), std::string::npos) << kept.describe();
}

TEST(CheckFinite, NamesTheFirstSampleThatIsNotWhereverItStands) {
    constexpr float kMost = std::numeric_limits<float>::max(), kLeast = std::numeric_limits<float>::denorm_min();
    std::vector<float> samples(200, 0.0F);
    samples[3] = kMost, samples[70] = -kMost, samples[71] = -0.0F, samples[199] = kLeast;
    for (const size_t n : {0, 1, 63, 64, 65, 128, 200}) EXPECT_NO_THROW(check_finite(std::span(samples).first(n)));
    for (const size_t at : {0, 63, 64, 127, 191, 192, 199})
        for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
            std::vector<float> some = samples;
            some[at] = some.back() = bad;
            try {
                check_finite(some, 1000);
                ADD_FAILURE() << "sample " << at << " was taken";
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), Code::invalid);
                EXPECT_NE(std::string(error.what()).find("sample " + std::to_string(1000 + at) + " "), std::string::npos)
                    << error.what();
            }
        }
}

TEST_F(RecognizerTest, RoundedLengthsAreFewAndWasteLittle) {
    EXPECT_EQ(rounded_frames(1, 64, 16), 64);
    EXPECT_EQ(rounded_frames(64, 64, 16), 64);
    EXPECT_EQ(rounded_frames(65, 64, 16), 128);
    EXPECT_EQ(rounded_frames(1024, 64, 16), 1024);
    EXPECT_EQ(rounded_frames(1025, 64, 16), 1088);
    EXPECT_EQ(rounded_frames(2049, 64, 16), 2176);
    EXPECT_EQ(rounded_frames(0, 32, 32), 32);
    EXPECT_EQ(rounded_frames(1025, 32, 32), 1056);
    EXPECT_EQ(rounded_frames(6000, 32, 32), 6016);
    for (const auto& [least, parts] : {std::pair<int64_t, int64_t>{64, 16}, {32, 32}}) {
        std::set<int64_t> of_half_a_minute;
        for (int64_t frames = 1; frames < 130000; ++frames) {
            const int64_t rounded = rounded_frames(frames, least, parts);
            ASSERT_GE(rounded, frames);
            ASSERT_LT(rounded - frames, std::max(least, frames / parts + 1)) << frames;
            ASSERT_EQ(rounded_frames(rounded, least, parts), rounded) << frames;
            if (frames <= 3000) of_half_a_minute.insert(rounded);
        }
        EXPECT_LT(of_half_a_minute.size(), 80U);
    }
}

// A service gets clips of any length: after each class of lengths was met once nothing is planned any more.
TEST_F(RecognizerTest, ClipsOfManyLengthsArePlannedOnceForEachClass) {
    const ModelFile file = network(tiny_transducer({0, 1, 2, 3, 4}), 21, 1);
    for (const char* device : {"cpu", "reference"}) {
        Recognizer recognizer({device_of(device)}, file, DType::f32, Head::ctc);
        const bool cpu = std::string(device) == "cpu";
        const size_t most = cpu ? 16000 * 10 : 16000 * 2;
        uint64_t made = 0;
        for (unsigned pass = 0; pass < 2; ++pass) {
            size_t clip_count = 0;
            // The longest first: a clip longer than all before makes the tables of positions anew, and all plans with them.
            for (size_t samples = most - 77 * pass; samples > 8000; samples -= 2003, ++clip_count)
                static_cast<void>(run(recognizer, {random_sound(samples, 1)}));
            EXPECT_GT(clip_count, cpu ? 70U : 11U);
            if (pass == 0) made = recognizer.sessions_made();
        }
        EXPECT_EQ(recognizer.sessions_made(), made) << device;
        EXPECT_EQ(recognizer.sessions_kept(), made) << device;
        EXPECT_LE(made, cpu ? 31U : 6U) << "of 32 frames each";
    }
}

// Clips of a batch end in either part, and a batch of too few frames is the first device's alone; where their number changes, so do the tables of positions.
TEST_F(RecognizerTest, PartsOfTheFramesOnSeveralDevicesGiveTheTokensOfFloat64) {
    const ModelFile file = network(tiny_transducer({0, 1, 2, 3, 4}), 21, 1);
    const std::vector<Device> cpus{device_of("cpu"), device_of("cpu"), device_of("cpu"), device_of("cpu")};
    const std::vector<std::vector<Device>> all{{cpus[0], device_of("reference")}, cpus};
    std::map<std::vector<float>, std::vector<oracle::Said>> want;
    for (const auto& clip : clips)
        if (clip.size() > 160) want[clip] = oracle::Transducer(file).run(encoded(file, clip));
    for (const std::vector<Device>& devices : all) {
        const auto parts = static_cast<uint32_t>(devices.size());
        Recognizer recognizer(devices, file, DType::f32, Head::transducer, Lengths::finely, false, {.frames = parts});
        const std::vector<std::vector<Token>> together = run(recognizer, clips);
        for (size_t i = 0; i < clips.size(); ++i) {
            if (!want.contains(clips[i])) continue;
            expect_same(together[i], want.at(clips[i]), "clip " + std::to_string(i) + " of a batch");
            expect_same(run(recognizer, {clips[i]})[0], want.at(clips[i]), "clip " + std::to_string(i));
        }
        std::set<std::string> with;
        for (const NetworkRuns& ran : recognizer.runs())
            if (ran.part == "encoder" && ran.runs != 0) with.insert(ran.device);
        EXPECT_EQ(with.size(), devices[1].info().id == "cpu:0" ? 1U : 2U);
    }
    EXPECT_FALSE(goes_in_parts(file.config().encoder, 24, 2)) << "three encoded frames";
    EXPECT_FALSE(goes_in_parts(file.config().encoder, 16, 2)) << "less than a convolution reads of a neighbour";
    EXPECT_TRUE(goes_in_parts(file.config().encoder, 32, 2));
    const parakeet::Places both{.rows = 2, .frames = 2};
    EXPECT_THROW(Recognizer(cpus, file, DType::f32, Head::transducer, Lengths::finely, false, both), Error);
    EXPECT_THROW(Recognizer({cpus[0]}, file, DType::f32, Head::transducer, Lengths::finely, false, {.frames = 2}), Error);
}

// Heads that are no multiple of the devices are all on one; feed forward has rows on all of them.
TEST_F(RecognizerTest, RowsOnMoreDevicesThanHeadsCanBeSharedAmongGiveTheTokensOfFloat64) {
    const ModelFile file = network(tiny_transducer({0, 1, 2, 3, 4}), 21, 1);
    const std::vector<Device> cpus{device_of("cpu"), device_of("cpu"), device_of("cpu"), device_of("cpu")};
    for (const uint32_t rows : {2U, 4U}) {
        Recognizer recognizer(cpus, file, DType::f32, Head::transducer, Lengths::finely, false, {.rows = rows});
        const std::vector<float> clip = random_sound(16000, 3);
        expect_same(run(recognizer, {clip})[0], oracle::Transducer(file).run(encoded(file, clip)),
                    std::to_string(rows) + " devices");
    }
}

// Batches whose frames are in parts have tables for their length, whole ones among them others: of each that comes again nothing is made anew.
TEST_F(RecognizerTest, BatchesOfLengthsThatComeAgainMakeNoTablesAndNoSessions) {
    const ModelFile file = network(tiny_transducer({0, 1, 2, 3, 4}), 21, 1);
    const std::vector<Device> cpus{device_of("cpu"), device_of("cpu")};
    Recognizer recognizer(cpus, file, DType::f32, Head::transducer, Lengths::exact, false, {.frames = 2});
    const auto tables = [&] {
        uint64_t runs = 0;
        for (const NetworkRuns& ran : recognizer.runs()) runs += ran.part == "positions" ? ran.runs : 0;
        return runs;
    };
    std::map<int64_t, std::vector<Token>> first;
    uint64_t made = 0, ran = 0;
    for (int round = 0; round < 3; ++round) {
        // Of 8, 16 and 12 encoded frames in two parts, and of 9, whole.
        for (const int64_t frames : {64, 128, 96, 72}) {
            const std::vector<std::vector<float>> clip{random_sound(static_cast<size_t>(frames) * 160, 9)};
            const std::vector<Token> tokens = run(recognizer, clip)[0];
            if (round == 0) first[frames] = tokens;
            ASSERT_EQ(tokens.size(), first[frames].size()) << frames;
            for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(tokens[i].id, first[frames][i].id) << frames;
        }
        if (round == 0) made = recognizer.sessions_made(), ran = tables();
    }
    EXPECT_EQ(recognizer.sessions_made(), made);
    EXPECT_EQ(tables(), ran) << "two for each length in parts, one for whole batches";
    EXPECT_EQ(ran, 3 * 2 + 1U);
}

TEST_F(RecognizerTest, PlansOfASmallerReachGoWhenItGrows) {
    const ModelFile file = network(tiny_config(), 3, 0);
    Recognizer recognizer({device_of("cpu")}, file, DType::f32, Head::ctc);
    for (unsigned i = 1; i < 5; ++i) static_cast<void>(run(recognizer, {random_sound(16000 * i, 1)}));
    EXPECT_EQ(recognizer.sessions_kept(), 4U);
    static_cast<void>(run(recognizer, {random_sound(16000 * 6, 1)}));
    EXPECT_EQ(recognizer.sessions_kept(), 1U);
    uint64_t runs = 0;
    for (const NetworkRuns& ran : recognizer.runs()) runs += ran.part == "encoder" ? ran.runs : 0;
    EXPECT_EQ(runs, 5U) << "what they ran still counts";
}

TEST_F(RecognizerTest, PlansAreKeptWithinABoundOfBytes) {
    const ModelFile file = network(tiny_config(), 3, 0);
    Recognizer recognizer({device_of("cpu")}, file, DType::f32, Head::ctc);
    // Some 5 MB each: what goes in is 64 KB a second.
    for (unsigned i = 24; i > 0; --i) static_cast<void>(run(recognizer, {std::vector<float>(16000 * (60 + 2 * i), 0.1F)}));
    EXPECT_GE(recognizer.sessions_made(), 20U);
    EXPECT_LE(recognizer.sessions_kept(), 17U);
    EXPECT_GE(recognizer.sessions_kept(), 6U);
    // However large, the last four are.
    const uint64_t made = recognizer.sessions_made();
    for (unsigned round = 0; round < 2; ++round)
        for (unsigned i = 4; i > 0; --i)
            static_cast<void>(run(recognizer, {std::vector<float>(16000 * (270 + 15 * i), 0.1F)}));
    EXPECT_EQ(recognizer.sessions_made(), made + 4);
    EXPECT_LE(recognizer.sessions_kept(), 4U);
}

TEST_F(RecognizerTest, RoundedLengthsGiveTheTokensOfExactOnesWithFewSessions) {
    const auto lengths_of = [](const std::vector<size_t>& samples) {
        std::vector<std::vector<float>> all;
        for (const size_t n : samples) all.push_back(random_sound(n, static_cast<unsigned>(n)));
        return all;
    };
    // A frame alone, one less and one more than is rounded to, edges of subsampling's convolutions, and parts of a hop behind the last frame.
    const std::vector<std::vector<float>> each =
        lengths_of({160, 319, 1280, 1440, 2719, 5000, 10079, 10080, 10240, 10399, 10400, 12000, 16001, 20479, 20480});
    for (const char* device : {"cpu", "reference"})
        for (const Head head : {Head::ctc, Head::transducer}) {
            const ModelFile file = network(tiny_transducer({0, 1, 2, 3, 4}), 21, 1);
            Recognizer exact({device_of(device)}, file, DType::f32, head, Lengths::exact);
            Recognizer rounded({device_of(device)}, file, DType::f32, head, Lengths::coarsely);
            size_t tokens = 0;
            const auto compare_with_exact = [&](const std::vector<std::vector<float>>& batch) {
                const std::vector<std::vector<Token>> got = run(rounded, batch);
                for (size_t i = 0; i < batch.size(); ++i) {
                    const std::vector<Token> want = run(exact, {batch[i]})[0];
                    const std::string what = std::string(device) + ", samples " + std::to_string(batch[i].size());
                    ASSERT_EQ(got[i].size(), want.size()) << what;
                    for (size_t t = 0; t < want.size(); ++t) {
                        EXPECT_EQ(got[i][t].id, want[t].id) << what;
                        EXPECT_EQ(got[i][t].frame, want[t].frame) << what;
                        EXPECT_EQ(got[i][t].duration, want[t].duration) << what;
                        EXPECT_NEAR(got[i][t].confidence, want[t].confidence, 1e-4) << what;
                    }
                    tokens += want.size();
                }
            };
            for (const auto& clip : each) compare_with_exact({clip});
            EXPECT_GT(tokens, 10U);
            // 64 frames and 128; the decoder's steps have room for either.
            const uint64_t decoder = head == Head::ctc ? 0 : 1;
            EXPECT_EQ(rounded.sessions_made(), 2 + decoder) << device;
            EXPECT_GT(exact.sessions_made(), 10U) << device;
            compare_with_exact({each[5], each[0], each[8]});
            compare_with_exact({each[3], each[2], each[6]});
            EXPECT_EQ(rounded.sessions_made(), 3 + 2 * decoder) << "batches of three of 64 frames";
        }
}

TEST_F(RecognizerTest, WhatCannotBeIsSaid) {
    const ModelFile ctc = network(tiny_config(), 3, 0);
    expect_error([&] { Recognizer({}, ctc, DType::f32, Head::ctc); }, Code::invalid, "no device");
    expect_error([&] { Recognizer({device_of("cpu")}, ctc, DType::i32, Head::ctc); }, Code::invalid, "f32 or f16");
    expect_error([&] { Recognizer({device_of("cpu")}, ctc, DType::f32, Head::transducer); }, Code::unsupported,
                 "no transducer");
    Recognizer recognizer({device_of("cpu")}, ctc, DType::f32, Head::ctc);
    std::vector<std::vector<float>> bad{random_sound(3000, 1)};
    bad[0][1234] = NAN;
    expect_error([&] { static_cast<void>(run(recognizer, bad)); }, Code::invalid, "sample 1234");
}

// Several devices that compute in the same way, each with a part of the encoder's layers.
TEST_F(RecognizerTest, LayersOnSeveralDevicesGiveTheTokensOfOneWithBatchesUnderWay) {
    clips.push_back(random_sound(9000, 6));
    const auto same = [](const std::vector<Token>& a, const std::vector<Token>& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Token& x, const Token& y) {
            return x.id == y.id && x.frame == y.frame && x.duration == y.duration && x.confidence == y.confidence;
        });
    };
    for (const Head head : {Head::ctc, Head::transducer}) {
        const ModelFile file =
            head == Head::ctc ? network(tiny_config(), 3, 0) : network(tiny_transducer({0, 1, 2, 3, 4}), 21, 1);
        Recognizer one({device_of("cpu")}, file, DType::f32, head);
        for (const size_t layers : {2U, 3U}) {
            Recognizer cut({device_of("cpu"), device_of("cpu"), device_of("cpu")}, file, DType::f32, head,
                           Lengths::by_device, false, {.layers = layers});
            std::deque<std::pair<size_t, Recognizer::Batch>> under_way;
            const auto finish = [&] {
                auto& [clip, batch] = under_way.front();
                EXPECT_TRUE(same(cut.finish(batch)[0], run(one, {clips[clip]})[0])) << "clip " << clip << ", " << layers;
                under_way.pop_front();
            };
            for (size_t i = 0; i < clips.size(); ++i) {
                const std::span<const float> clip = clips[i];
                under_way.emplace_back(i, cut.start(std::span(&clip, 1), nullptr));
                if (under_way.size() >= layers) finish();
            }
            while (!under_way.empty()) finish();
            EXPECT_TRUE(cut.notes().empty());
        }
    }
    const ModelFile file = network(tiny_config(), 3, 0);
    expect_error([&] { Recognizer({device_of("cpu")}, file, DType::f32, Head::ctc, Lengths::exact, false, {.layers = 2}); },
                 Code::invalid, "2 devices");
}

}  // namespace
}  // namespace backplane::parakeet
