// MP3 files: what they are known by, and that the library that reads them writes nothing of its own to the error stream.
#include <unistd.h>

#include <cstdio>
#include <random>

#include "formats/audio/lengths.hpp"
#include "formats/audio/sound_source.hpp"
#include "written_sounds.hpp"

namespace backplane {
namespace {

constexpr Kind kMp3{"a.mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 16000, 1};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// What is written to the descriptor of the error stream while this runs.
template <class Work>
std::string written_to_errors(const std::filesystem::path& scratch, const Work& work) {
    std::FILE* const file = std::fopen(scratch.string().c_str(), "w");
    std::fflush(stderr);
    const int before = ::dup(STDERR_FILENO);
    ::dup2(::fileno(file), STDERR_FILENO);
    work();
    std::fflush(stderr);
    ::dup2(before, STDERR_FILENO);
    ::close(before);
    std::fclose(file);
    std::ifstream in(scratch, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Mpeg, IsKnownByItsFirstFrameBehindTags) {
    const std::string frame("\xFF\xFB\x90\x64", 4);
    const std::string tag = std::string("ID3\4\0\0\0\0\1\2", 10) + std::string(130, 't');
    for (const std::string& file : {frame, tag + frame, tag + tag + frame}) EXPECT_TRUE(formats::is_mpeg(bytes_of(file)));
    for (const std::string& file : {frame.substr(0, 3), tag, tag + "fLaC", std::string("RIFF") + frame, std::string("ID3"),
                                    std::string("\xFF\xEB\x90\x64", 4), std::string("\xFF\xF9\x90\x64", 4),
                                    std::string("\xFF\xFB\xF0\x64", 4), std::string("\xFF\xFB\x9C\x64", 4)})
        EXPECT_FALSE(formats::is_mpeg(bytes_of(file)));
    EXPECT_TRUE(formats::may_be_mpeg(bytes_of(tag.substr(0, 4))));
    EXPECT_FALSE(formats::may_be_mpeg(bytes_of("fLaC")));
}

TEST(Mpeg, HasTheSamplesThatLibsndfileHas) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "a.mp3";
    const std::string file = written(kMp3, path);
    if (file.empty()) GTEST_SKIP() << "this libsndfile does not write MP3";
    const auto source = formats::open_mpeg(path, bytes_of(file));
    ASSERT_NE(source, nullptr) << "libsndfile has MP3, and so there is libmpg123";
    SF_INFO info{};
    SNDFILE* const other = sf_open(path.string().c_str(), SFM_READ, &info);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(source->about().rate, info.samplerate);
    EXPECT_EQ(source->about().channels, info.channels);
    EXPECT_EQ(source->about().frames, static_cast<uint64_t>(info.frames));
    std::vector<float> ours(4000), theirs(4000);
    for (sf_count_t got = 1; got > 0;) {
        got = sf_readf_float(other, theirs.data(), 4000);
        ASSERT_EQ(source->read(ours), got);
        EXPECT_EQ(source->problem(), "");
        EXPECT_TRUE(std::equal(ours.begin(), ours.begin() + got, theirs.begin()));
    }
    sf_close(other);
}

TEST(Mpeg, OfNamesThatLieSoundsAreReadAndTheRestIsRefusedInOneLine) {
    const TemporaryFolder folder;
    written(kKinds[0], folder / "wav.mp3");
    write_file(folder / "text.MP3", "this is no sound at all\n");
    write_file(folder / "zeros.mp3", std::string(100000, '\0'));
    const std::string said = written_to_errors(folder / "errors.txt", [&] {
        EXPECT_GT(read_all(folder / "wav.mp3"), 0U);
        for (const char* const name : {"text.MP3", "zeros.mp3"}) {
            std::string text;
            try {
                read_all(folder / name);
            } catch (const Error& error) {
                text = error.what();
            }
            EXPECT_TRUE(text.starts_with("cannot read the sound in")) << name << ": " << text;
            EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        }
    });
    EXPECT_EQ(said, "");
}

TEST(Mpeg, DamageIsNotToldOnTheErrorStreamByTheLibraryItself) {
    const TemporaryFolder folder;
    const std::string file = written(kMp3, folder / "a.mp3");
    if (file.empty()) GTEST_SKIP() << "this libsndfile does not write MP3";
    std::mt19937 random(5);
    int refused = 0;
    const std::string said = written_to_errors(folder / "errors.txt", [&] {
        for (int round = 0; round < 60; ++round) {
            std::string broken = file;
            const size_t at = 500 + random() % (broken.size() - 1000);
            if (round % 3 == 0) broken.erase(at, random() % 500);
            if (round % 3 == 1) broken.insert(at, std::string(random() % 3000, '\x55'));
            if (round % 3 == 2)
                for (size_t i = 0; i < 400; ++i) broken[at + i] = static_cast<char>(random());
            write_file(folder / "broken.mp3", broken);
            try {
                read_all(folder / "broken.mp3");
            } catch (const Error&) {
                ++refused;
            }
        }
    });
    EXPECT_EQ(said, "");
    EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace backplane
