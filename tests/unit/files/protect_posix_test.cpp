#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.hpp"
#include "folder.hpp"
#include "support/system.hpp"

namespace backplane::base::testing {
namespace {

namespace fs = std::filesystem;

TEST(Protecting, WhatIsSaidCanBeTypedWhateverTheNameIs) {
    const Folder folder;
    for (const char* name : {"plain-1.so", "with a space", "it's", "$(touch gone)", "a;b&c|d", "*", "\"", "back\\slash"}) {
        const fs::path file = folder.add(name, "x");
        test::let_others_write(file);
        ASSERT_TRUE(status_of(file).others_may_write) << file;
        EXPECT_EQ(std::system(how_to_protect(file).c_str()), 0) << how_to_protect(file);
        EXPECT_FALSE(status_of(file).others_may_write) << how_to_protect(file);
    }
    EXPECT_EQ(how_to_protect("/opt/app/lib_1.so"), "chmod o-w /opt/app/lib_1.so");
}

}  // namespace
}  // namespace backplane::base::testing
