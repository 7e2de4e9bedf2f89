#include "every.hpp"
#include "image_files.hpp"
#include "made_png.hpp"

namespace backplane::test {
namespace {

// What a reader owes: 8 bits, RGB or RGBA, computed from the samples without libpng.
Bytes expected(const PngKind& kind, const std::vector<uint16_t>& samples) {
    Bytes out;
    const uint32_t most = (1U << kind.bits) - 1;
    const auto rounded = [&](uint16_t value) { return static_cast<uint8_t>((uint32_t{value} * 255 + most / 2) / most); };
    const auto channels = static_cast<std::size_t>(channels_of(kind.colour));
    for (std::size_t i = 0; i < samples.size(); i += channels) {
        if (kind.colour == 3) {
            const auto& colour = kind.palette[samples[i]];
            out.insert(out.end(), colour.begin(), colour.end());
            if (!kind.palette_alpha.empty())
                out.push_back(samples[i] < kind.palette_alpha.size() ? kind.palette_alpha[samples[i]] : 255);
            continue;
        }
        const bool grey = channels <= 2;
        bool clear = kind.clear.has_value();
        for (std::size_t c = 0; c < 3; ++c) {
            const uint16_t value = samples[i + (grey ? 0 : c)];
            out.push_back(rounded(value));
            clear = clear && value == *kind.clear;
        }
        if (kind.clear) out.push_back(clear ? 0 : 255);
        if (channels % 2 == 0) out.push_back(rounded(samples[i + channels - 1]));
    }
    return out;
}

std::vector<PngKind> all_kinds() {
    std::vector<PngKind> kinds;
    for (const bool interlaced : {false, true}) {
        for (const auto& [width, height] : {std::pair<uint32_t, uint32_t>{13, 11}, {1, 1}, {1, 9}, {9, 1}}) {
            const auto add = [&, w = width, h = height](int colour, int bits) -> PngKind& {
                PngKind kind;
                kind.width = w, kind.height = h, kind.bits = bits, kind.colour = colour, kind.interlaced = interlaced;
                kinds.push_back(kind);
                return kinds.back();
            };
            for (const int bits : {1, 2, 4, 8, 16}) {
                add(0, bits);
                add(0, bits).clear = static_cast<uint16_t>((1U << bits) - 1);
            }
            for (const int bits : {8, 16}) {
                add(2, bits);
                add(2, bits).clear = 0;
                add(4, bits);
                add(6, bits);
            }
            for (const int bits : {1, 2, 4, 8}) {
                for (const bool transparent : {false, true}) {
                    PngKind& kind = add(3, bits);
                    for (int i = 0; i < 1 << bits; ++i) {
                        kind.palette.push_back(
                            {static_cast<uint8_t>(i * 7), static_cast<uint8_t>(255 - i), static_cast<uint8_t>(i * i)});
                    }
                    if (transparent) kind.palette_alpha = {0, 77};
                }
            }
        }
    }
    return kinds;
}

std::string describe(const PngKind& kind) {
    return "colour " + std::to_string(kind.colour) + ", " + std::to_string(kind.bits) + " bits, " +
           std::to_string(kind.width) + " x " + std::to_string(kind.height) + (kind.interlaced ? ", interlaced" : "") +
           (kind.clear ? ", transparent value" : "") + (kind.palette_alpha.empty() ? "" : ", transparent palette");
}

TEST(Png, EveryKindBecomesRgbOrRgbaOf8Bits) {
    const Folder folder;
    for (const PngKind& kind : all_kinds()) {
        const std::vector<uint16_t> samples = samples_for(kind);
        const Picture picture = read_picture(folder.put("a.png", make_png(kind, samples)));
        const Bytes want = expected(kind, samples);
        EXPECT_EQ(picture.info.width, kind.width);
        EXPECT_EQ(picture.info.height, kind.height);
        EXPECT_EQ(picture.info.channels, want.size() / kind.width / kind.height) << describe(kind);
        EXPECT_EQ(picture.pixels, want) << describe(kind);
    }
}

TEST(Png, RowsReadInAnyPortionsAreTheSame) {
    const Folder folder;
    for (const bool interlaced : {false, true}) {
        PngKind kind;
        kind.width = 7, kind.height = 23, kind.interlaced = interlaced;
        const auto path = folder.put("a.png", make_png(kind, samples_for(kind)));
        const Bytes whole = read_picture(path).pixels;
        for (const std::size_t portion : {1, 2, 5, 22}) {
            const auto reader = ImageReader::open(path);
            Bytes pixels(whole.size());
            for (std::size_t y = 0; y < 23; y += portion) {
                reader->read(std::span(pixels).subspan(y * 21, std::min(portion, 23 - y) * 21));
            }
            EXPECT_EQ(pixels, whole);
        }
    }
}

TEST(Png, AFileCutAnywhereIsCorruptAndTheErrorSaysSo) {
    const Folder folder;
    for (const bool interlaced : {false, true}) {
        PngKind kind;
        kind.width = 9, kind.height = 8, kind.interlaced = interlaced, kind.profile = make_profile("RGB ");
        const Bytes file = make_png(kind, samples_for(kind));
        for (std::size_t size = 8; size < file.size(); size += kEvery) {
            const auto path = folder.put("a.png", Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)));
            const Error error = error_of([&] { read_picture(path); });
            EXPECT_EQ(error.code(), Code::corrupt) << size << " of " << file.size();
            expect_words(error, {"a.png", "cut off"});
        }
    }
}

TEST(Png, AnyChangedByteGivesAPictureOrAnErrorAndPrintsNothing) {
    const Folder folder;
    ::testing::internal::CaptureStderr();
    for (const bool interlaced : {false, true}) {
        PngKind kind;
        kind.width = 6, kind.height = 5, kind.interlaced = interlaced, kind.profile = make_profile("RGB ");
        const Bytes file = make_png(kind, samples_for(kind));
        int refused = 0;
        for (std::size_t at = 0; at < file.size(); at += kEvery) {
            for (const uint8_t flip : {0x01, 0x80, 0xff}) {
                Bytes changed = file;
                changed[at] ^= flip;
                try {
                    read_picture(folder.put("a.png", changed));
                } catch (const Error&) {
                    ++refused;
                }
            }
        }
        EXPECT_GT(refused, 100 / static_cast<int>(kEvery));
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Png, MoreRowsThanThereAreIsInvalidAndSaysHowManyAreLeft) {
    const Folder folder;
    const PngKind kind;
    const auto reader = ImageReader::open(folder.put("a.png", make_png(kind, samples_for(kind))));
    Bytes rows(std::size_t{kind.width} * 3 * 5);
    expect_words(error_of([&] { reader->read(rows); }), {"5 rows", "4 of 4"});
    reader->read(std::span(rows).first(rows.size() / 5 * 4));
    const Error error = error_of([&] { reader->read(std::span(rows).first(rows.size() / 5)); });
    EXPECT_EQ(error.code(), Code::invalid);
    expect_words(error, {"0 of 4"});
}

TEST(Png, PartsOfARowAreInvalid) {
    const Folder folder;
    const PngKind kind;
    const auto reader = ImageReader::open(folder.put("a.png", make_png(kind, samples_for(kind))));
    Bytes part(7);
    EXPECT_EQ(error_of([&] { reader->read(part); }).code(), Code::invalid);
}

TEST(Png, AProfileOfRgbIsCarriedAndOneOfAnotherSpaceIsNot) {
    const Folder folder;
    PngKind kind;
    kind.profile = make_profile("RGB ");
    EXPECT_EQ(read_picture(folder.put("a.png", make_png(kind, samples_for(kind)))).info.profile, kind.profile);
    kind.colour = 0;
    kind.profile = make_profile("GRAY");
    EXPECT_TRUE(read_picture(folder.put("a.png", make_png(kind, samples_for(kind)))).info.profile.empty());
}

}  // namespace
}  // namespace backplane::test
