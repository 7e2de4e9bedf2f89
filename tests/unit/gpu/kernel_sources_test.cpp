// Kernels say ops, types and parameters by name: the numbers are made from the headers of the ABI, the positions from one record.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "backplane/module.h"
#include "backplane/ops.h"
#include "common/gpu/kernel_words.hpp"

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> kernel_files() {
    std::vector<fs::path> files;
    for (const char* folder : {"backends/vulkan/shaders", "backends/opencl/kernels", "backends/common/gpu/kernels"})
        for (const auto& entry : fs::directory_iterator(fs::path(BP_TEST_SOURCE_DIR) / folder))
            files.push_back(entry.path());
    return files;
}

// "file: line" of each line that matches.
std::vector<std::string> lines_with(const std::regex& what) {
    std::vector<std::string> found;
    for (const fs::path& file : kernel_files()) {
        std::ifstream in(file);
        for (std::string line; std::getline(in, line);)
            if (std::regex_search(line, what)) found.push_back(file.filename().string() + ": " + line);
    }
    return found;
}

TEST(KernelSources, NameOpsTypesAndStepsOfTheEpilogue) {
    EXPECT_GT(kernel_files().size(), 30U);
    EXPECT_EQ(lines_with(std::regex(R"((\bcase [0-9]+u?:)|(\b(OP|from|to|kind) == [0-9]))")), std::vector<std::string>{});
}

TEST(KernelSources, NameTheirParameters) {
    EXPECT_EQ(lines_with(std::regex(R"(^[^/]*\bPF?\([0-9])")), std::vector<std::string>{});
}

TEST(KernelSources, AreOneFileForAllApis) {
    std::set<std::string> shared;
    std::set<std::string> own;
    for (const fs::path& file : kernel_files()) {
        const std::string name = file.stem().string();
        if (file.extension() == ".kernel") shared.insert(name);
        const bool is_own = file.extension() == ".comp" || text_of(file).find("\nENTRY bp_") != std::string::npos;
        if (is_own) own.insert(name);
    }
    EXPECT_EQ(own, (std::set<std::string>{"attention_workgroup", "matmul_workgroup"}));  // on what Vulkan alone has
    for (const char* name : {"cast", "unary", "binary", "reduce", "softmax", "norm", "copy", "scatter", "matmul", "matvec",
                             "conv", "conv_patch", "conv_direct", "conv_matrix", "conv_matrix_filters", "matmul_matrix"})
        EXPECT_EQ(shared.count(name), 1U) << name;
    for (const std::string& name : own) EXPECT_EQ(shared.count(name), 0U) << name << " is written once and again";
}

// Compilers of 2023 do not know what these need: the module carries what a younger one made, as long as that is of the same text.
TEST(KernelSources, CompiledBeforeAreOfTheseSources) {
    const fs::path made(BP_TEST_SHADERS);
    if (!fs::exists(made / "copy_1.inc")) GTEST_SKIP() << "the vulkan backend is not built here";
    for (const char* name : {"attention_workgroup_f16.inc", "matmul_workgroup_f16.inc"})
        EXPECT_GT(fs::file_size(made / name), 10000U)
            << name
            << " is left out: its source or what it includes has changed; run scripts/compile-workgroup-shaders.sh GLSLANG";
}

TEST(KernelSources, GetTheNumbersOfTheAbi) {
    std::map<std::string, uint32_t> numbers;
    const std::string text = text_of(BP_TEST_KERNEL_IDS);
    const std::regex row(R"(#define (BP_[A-Za-z0-9_]+) ([0-9]+)u)");
    for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at)
        numbers[(*at)[1]] = static_cast<uint32_t>(std::stoul((*at)[2]));
    size_t ops = 0;
#define BP_TEST_ROW(id, identifier, name)                   \
    EXPECT_EQ(numbers["BP_OP_" #identifier], uint32_t{id}); \
    ++ops;
    BP_OPS(BP_TEST_ROW)
#undef BP_TEST_ROW
    EXPECT_EQ(numbers["BP_F32"], uint32_t{BP_F32});
    EXPECT_EQ(numbers["BP_BOOL"], uint32_t{BP_BOOL});
    EXPECT_EQ(numbers["BP_Q8_K"], uint32_t{BP_Q8_K});
    EXPECT_EQ(numbers.size(), ops + BP_Q8_K);
}

TEST(KernelParameters, AreTheWordsOfTheirRecord) {
    backplane::gpu::ConvParameters conv{};
    conv.outputs = 7;
    conv.pad_left = 9;
    conv.blocks = 11;
    const std::vector<uint32_t> words = backplane::gpu::words_of(conv);
    ASSERT_EQ(words.size(), size_t{CONV_EPILOGUE});
    EXPECT_EQ(words.front(), 7U);
    EXPECT_EQ(words[12], 9U);
    EXPECT_EQ(words.back(), 11U);
}

}  // namespace
