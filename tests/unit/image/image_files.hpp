// What the tests of images share: a folder that goes away, whole files, and errors as values.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "backplane/image.hpp"

namespace backplane::test {

using Bytes = std::vector<uint8_t>;

class Folder {
public:
    Folder() {
        static std::atomic<int> count{0};
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        std::string name =
            std::string("backplane-") + test->test_suite_name() + '-' + test->name() + '-' + std::to_string(count++);
        for (char& c : name) c = c == '/' ? '-' : c;
        path_ = std::filesystem::temp_directory_path() / name;
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    std::filesystem::path put(const std::string& name, const Bytes& bytes) const {
        std::ofstream out(path_ / name, std::ios::binary);
        out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return path_ / name;
    }
    std::filesystem::path put(const std::string& name, const std::string& text) const {
        return put(name, Bytes(text.begin(), text.end()));
    }
    [[nodiscard]] std::size_t count() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
    }

private:
    std::filesystem::path path_;
};

inline Bytes bytes_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Picture {
    ImageInfo info;
    Bytes pixels;
};

inline Picture read_picture(const std::filesystem::path& path) {
    const auto reader = ImageReader::open(path);
    Picture picture{reader->info(), {}};
    picture.pixels.resize(std::size_t{picture.info.width} * picture.info.height * picture.info.channels);
    reader->read(picture.pixels);
    return picture;
}

inline void write_picture(const std::filesystem::path& path, const ImageInfo& info, const Bytes& pixels,
                          const ImageWriteOptions& options = {}) {
    const auto writer = ImageWriter::create(path, info, options);
    writer->write(pixels);
    writer->finish();
}

// The Error that `action` throws; a test failure when it throws none.
template <class Action>
Error error_of(const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        EXPECT_FALSE(text.empty());
        return error;
    }
    ADD_FAILURE() << "no error was thrown";
    return {Code::ok, ""};
}

inline void expect_words(const Error& error, std::initializer_list<const char*> words) {
    for (const char* word : words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << word << " in: " << error.what();
}

// A picture without symmetry, the same each time.
inline Bytes pattern(std::size_t size, uint32_t seed = 1) {
    Bytes bytes(size);
    uint32_t state = seed * 2654435761U + 12345;
    for (uint8_t& byte : bytes) {
        state = state * 1664525U + 1013904223U;
        byte = static_cast<uint8_t>(state >> 24);
    }
    return bytes;
}

}  // namespace backplane::test
