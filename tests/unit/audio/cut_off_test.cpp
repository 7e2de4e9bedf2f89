// Files of each format, whole and cut at many places: a file that is cut off is never taken for a shorter one.
#include "formats/audio/lengths.hpp"
#include "written_sounds.hpp"

namespace backplane {
namespace {

class CutOff : public ::testing::TestWithParam<Kind> {
protected:
    std::string whole() const { return written(GetParam(), folder / GetParam().name); }
    const TemporaryFolder folder;
};
INSTANTIATE_TEST_SUITE_P(Formats, CutOff, ::testing::ValuesIn(kKinds), name_of_kind);

TEST_P(CutOff, AWholeFileIsReadAndNoCutOneIsTakenForAShorterOne) {
    const std::string file = whole();
    if (file.empty()) GTEST_SKIP() << "this libsndfile does not write " << GetParam().name;
    EXPECT_NEAR(static_cast<double>(read_all(folder / GetParam().name)), 16000.0 * kSeconds, 100);
    std::vector<size_t> cuts;
    for (size_t i = 1; i < 40; ++i) cuts.push_back(file.size() * i / 40);
    // At the ends of Ogg's pages, where all that is there is right; and of the last bytes, which are not much of the sound.
    for (size_t page = file.find("OggS", 1); page != std::string::npos; page = file.find("OggS", page + 1))
        cuts.push_back(page);
    for (size_t i = 1; i < 6; ++i) cuts.push_back(file.size() - i * i * 8);
    for (const size_t cut : cuts) {
        const std::filesystem::path path = folder / (std::string("cut-") + GetParam().name);
        write_file(path, file.substr(0, cut));
        try {
            const size_t samples = read_all(path);
            ADD_FAILURE() << cut << " of " << file.size() << " bytes gave " << samples << " samples and no error";
        } catch (const Error& error) {
            EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find(path.filename().string()), std::string::npos) << error.what();
        }
    }
}

// Somebody records over it, or the disk behind a network goes away. Of Ogg nobody can tell: the last page's number is as much too high as the first one's.
TEST_P(CutOff, OneThatIsCutWhileItIsReadIsNotTakenForAShorterOne) {
    const std::string file = whole();
    if (file.empty()) GTEST_SKIP() << "this libsndfile does not write " << GetParam().name;
    const std::filesystem::path path = folder / GetParam().name;
    if ((GetParam().format & SF_FORMAT_TYPEMASK) == SF_FORMAT_OGG) GTEST_SKIP() << "Ogg";
    const auto reader = AudioReader::open(path);
    std::vector<float> all(16000 * (kSeconds + 1));
    ASSERT_EQ(reader->read(std::span(all).first(1000)), 1000U);
    std::filesystem::resize_file(path, file.size() / 2);
    EXPECT_THROW(static_cast<void>(reader->read(all)), Error);
}

TEST(Mp3Length, IsReadBehindTagsAndOfNothingElse) {
    std::string frame("\xFF\xFB\x90\x64", 4);  // MPEG-1 layer III, 128 kbit/s, 44.1 kHz, joint stereo, no CRC
    frame += std::string(32, '\0') + "Xing" + std::string("\0\0\0\3\0\0\0\7\0\0\1\0", 12) + std::string(100, 'x');
    const auto length = [](const std::string& bytes) { return formats::mp3_length(std::as_bytes(std::span(bytes))); };
    ASSERT_TRUE(length(frame));
    EXPECT_EQ(length(frame)->said, 256U);
    EXPECT_EQ(length(frame)->there, frame.size());
    const std::string tag = std::string("ID3\4\0\0\0\0\1\2", 10) + std::string(130, 't');
    ASSERT_TRUE(length(tag + frame));
    EXPECT_EQ(length(tag + frame)->there, frame.size());
    for (size_t cut = 0; cut < 52; ++cut) EXPECT_FALSE(length(frame.substr(0, cut))) << cut;
    EXPECT_FALSE(length("RIFF" + frame));
    std::string frames_only = frame;
    frames_only[4 + 32 + 7] = 1;
    EXPECT_FALSE(length(frames_only)) << "it says how many frames there are, not how many bytes";
}

}  // namespace
}  // namespace backplane
