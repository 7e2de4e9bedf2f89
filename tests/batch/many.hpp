// Folders of small pictures whose results can be told, and the command line on them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "e2e/cli/program.hpp"
#include "support/driver_file.hpp"

namespace backplane::batch_tests {

using base::Json;
using e2e::Outcome;
using e2e::Place;
namespace fs = std::filesystem;

// A network that doubles pictures by repeating pixels, a folder "in" of pictures of many sizes, and an empty one "out".
class Many {
public:
    explicit Many(size_t files, uint32_t seed = 1, uint32_t least = 8) {
        place_.model();
        fs::create_directory(place_.at("in"));
        fs::create_directory(place_.at("out"));
        std::mt19937 random(seed);
        for (size_t i = 0; i < files; ++i) {
            const std::string name = "p" + std::to_string(i) + ".png";
            sizes_[name] = {least + random() % 40, least + random() % 40};
            place_.picture("in/" + name, sizes_[name].first, sizes_[name].second);
        }
    }

    [[nodiscard]] const Place& place() const { return place_; }
    [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& more = {}) const {
        std::vector<std::string> arguments{"upscale", place_.at("in"),        "--output",  place_.at("out"),
                                           "--model", place_.at("tiny.gguf"), "--no-cache"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    // The sentence why a test on lavapipe and PoCL is skipped here; empty: both are there.
    [[nodiscard]] std::string lacks_drivers() const {
        for (const std::string backend : {"vulkan", "opencl"})
            if (e2e::run(place_, {"devices", "--json", "--device", backend + ":0"}, environment()).exit_code != 0)
                return "no device of " + backend + ": lavapipe (mesa-vulkan-drivers) and PoCL (pocl-opencl-icd) are needed";
        return {};
    }
    // Nothing of this user's, and drivers that any machine can have.
    [[nodiscard]] std::vector<std::string> environment(std::vector<std::string> first = {}) const {
        for (const std::string& line :
             {"BACKPLANE_STATE_DIR=" + place_.at("state"), "HOME=" + place_.at("home"),
              "XDG_CACHE_HOME=" + place_.at("home/.cache"), std::string("POCL_CACHE_DIR=") + BP_TEST_POCL_CACHE,
              std::string("MESA_SHADER_CACHE_DISABLE=true"), "VK_DRIVER_FILES=" + test::driver_file("vulkan"),
              "OCL_ICD_VENDORS=" + test::driver_file("opencl")})
            first.push_back(line);
        return first;
    }

    // Lines about files that were done, by the file's name, over all journals.
    [[nodiscard]] std::map<std::string, size_t> recorded() const {
        std::map<std::string, size_t> lines;
        for (const auto& entry : fs::directory_iterator(place_.at("out"))) {
            if (entry.path().extension() != ".jsonl") continue;
            std::istringstream text(e2e::content(entry.path()));
            for (std::string line; std::getline(text, line);) {
                const Json record = Json::parse(line);
                if (record.contains("key") && !record.contains("error"))
                    ++lines[fs::path(record["file"].get<std::string>()).filename().string()];
            }
        }
        return lines;
    }

    // Each picture is there once, right, recorded once, and nothing else is.
    void expect_each_once(size_t journals = 1) const {
        const auto lines = recorded();
        EXPECT_EQ(lines.size(), sizes_.size());
        for (const auto& [name, size] : sizes_) {
            EXPECT_EQ(lines.contains(name) ? lines.at(name) : 0, 1U) << name;
            ImageInfo info;
            const std::vector<uint8_t> out = e2e::read_image(place_.at("out/" + name), info);
            ASSERT_EQ(info.width, 2 * size.first) << name;
            ASSERT_EQ(info.height, 2 * size.second) << name;
            const std::vector<uint8_t> in = Place::pixels(size.first, size.second, 3);
            size_t wrong = 0;
            for (uint32_t y = 0; y < info.height; ++y)
                for (uint32_t x = 0; x < info.width; ++x)
                    for (uint32_t c = 0; c < 3; ++c)
                        wrong +=
                            out[(size_t{y} * info.width + x) * 3 + c] != in[(size_t{y / 2} * size.first + x / 2) * 3 + c];
            EXPECT_EQ(wrong, 0U) << name;
        }
        EXPECT_EQ(static_cast<size_t>(std::distance(fs::directory_iterator(place_.at("out")), {})), sizes_.size() + journals)
            << "pictures and journals, and nothing that was half written";
    }

private:
    Place place_;
    std::map<std::string, std::pair<uint32_t, uint32_t>> sizes_;
};

// Objects of --json, one behind the other.
inline std::vector<Json> objects(const std::string& text) {
    std::vector<Json> all;
    size_t start = 0;
    for (size_t end = text.find("\n}\n"); end != std::string::npos; end = text.find("\n}\n", start)) {
        all.push_back(Json::parse(text.substr(start, end + 2 - start)));
        start = end + 3;
    }
    return all;
}

}  // namespace backplane::batch_tests
