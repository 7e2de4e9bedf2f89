// Files of each format, broken at random: each is read, or refused in one line that names it, in words that tell what is wrong with it.
#include <random>

#include "written_sounds.hpp"

namespace backplane {
namespace {

constexpr int kRounds = 60;

// One thing that happens to files: cut, bits turned, a field of the header that lies, a piece lost, put in or blank, another file's beginning.
std::string broken(std::string file, const std::string& other, std::mt19937& random) {
    const auto below = [&](size_t end) { return static_cast<size_t>(random()) % std::max<size_t>(1, end); };
    const auto noise = [&](size_t size) {
        std::string bytes(size, ' ');
        for (char& byte : bytes) byte = static_cast<char>(random());
        return bytes;
    };
    const size_t head = std::min<size_t>(96, file.size() - 4), at = below(file.size());
    switch (below(7)) {
        case 0: return file.substr(0, at);
        case 1:
            for (size_t i = below(6) + 1; i > 0; --i) file[below(head)] = static_cast<char>(random());
            return file;
        case 2:
            return file.replace(below(head), 4, below(2) == 0 ? noise(4) : std::string(4, below(2) == 0 ? '\0' : '\xFF'));
        case 3: return file.erase(at, below(500) + 1);
        case 4: return file.insert(at, noise(below(3000) + 1));
        case 5: return file.replace(at, std::min(file.size() - at, below(4000)), std::string(below(4000), '\0'));
        default: return file.replace(0, below(head), other.substr(0, below(head)));
    }
}

class Broken : public ::testing::TestWithParam<Kind> {
protected:
    const TemporaryFolder folder;
};
INSTANTIATE_TEST_SUITE_P(Formats, Broken, ::testing::ValuesIn(kKinds), name_of_kind);

TEST_P(Broken, IsReadOrRefusedInOneLineThatNamesTheFileAndWhatIsWrong) {
    const std::string file = written(GetParam(), folder / GetParam().name), other = written(kKinds[0], folder / "other.wav");
    if (file.empty()) GTEST_SKIP() << "this libsndfile does not write " << GetParam().name;
    std::mt19937 random(14);
    const std::filesystem::path path = folder / (std::string("broken-") + GetParam().name);
    int refused = 0;
    for (int round = 0; round < kRounds; ++round) {
        write_file(path, broken(file, other, random));
        try {
            read_all(path);
        } catch (const Error& error) {
            ++refused;
            const std::string text = error.what();
            EXPECT_TRUE(text.starts_with("cannot read")) << text;
            EXPECT_NE(text.find(path.filename().string()), std::string::npos) << text;
            for (const char* none : {"\n", "internal error", "unknown error", "does not exist", "Error :", ". behind"})
                EXPECT_EQ(text.find(none), std::string::npos) << round << ": " << text;
        }
    }
    EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace backplane
