// What text from outside becomes before it is printed (base/visible_text.hpp).
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "base/visible_text.hpp"

namespace backplane::base {
namespace {

TEST(VisibleText, IsAsItWasWhereNothingInItActs) {
    for (const std::string& text : {std::string(), std::string("photo of a caf\xc3\xa9.png"),
                                    std::string("\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x99\x82"), std::string("a\\b \"c\" 'd'")})
        EXPECT_EQ(visible(text), text);
}

TEST(VisibleText, EveryControlCharacterIsWrittenOut) {
    for (int c = 0; c < 0x20; ++c) {
        const std::string shown = visible("a" + std::string(1, static_cast<char>(c)) + "b");
        EXPECT_EQ(shown.find(static_cast<char>(c)), std::string::npos) << c;
        EXPECT_EQ(shown.substr(0, 2), "a\\") << c;
        EXPECT_EQ(shown.back(), 'b') << c;
    }
    EXPECT_EQ(visible("\033]0;owned\a\033[2J\n\x7f"), "\\x1b]0;owned\\x07\\x1b[2J\\n\\x7f");
    for (int c = 0x80; c < 0xa0; ++c) {  // C1, as UTF-8 and as a byte
        const std::string byte(1, static_cast<char>(c));
        EXPECT_EQ(visible("\xc2" + byte).find("\\u00"), 0U) << c;
        EXPECT_EQ(visible(byte).find("\\x"), 0U) << c;
    }
}

TEST(VisibleText, WhatTurnsTheDirectionOrEndsALineIsWrittenOut) {
    for (const auto& [bytes, shown] :
         std::initializer_list<std::pair<const char*, const char*>>{{"\xe2\x80\xae", "\\u202e"},
                                                                    {"\xe2\x80\xaa", "\\u202a"},
                                                                    {"\xe2\x81\xa6", "\\u2066"},
                                                                    {"\xe2\x80\xa8", "\\u2028"},
                                                                    {"\xe2\x80\x8f", "\\u200f"}})
        EXPECT_EQ(visible(std::string("x") + bytes + "y"), std::string("x") + shown + "y");
}

// Cut short, too long for what it says, a surrogate, beyond the last character.
TEST(VisibleText, BytesThatAreNoUtf8AreWrittenOutOneByOne) {
    for (const char* bad : {"\xff", "\xc3", "\xe2\x80", "\xf0\x9f\x99", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                            "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"}) {
        const std::string shown = visible("a" + std::string(bad) + "b");
        EXPECT_TRUE(is_utf8(shown)) << shown;
        EXPECT_FALSE(is_utf8(bad));
        EXPECT_EQ(shown.size(), 2 + 4 * std::string(bad).size()) << shown;
        EXPECT_EQ(shown.front(), 'a');
        EXPECT_EQ(shown.back(), 'b');
    }
}

TEST(VisibleText, JsonKeepsTheBytesOfWhatItCannotHold) {
    Json json{{"name", "a\xff"}, {"plain", "b"}};
    carry_bytes(json);
    EXPECT_EQ(json["name_bytes"].get<std::string>(), "61ff");
    EXPECT_FALSE(json.contains("plain_bytes"));
    const std::string dumped = visible_json(Json{{"title", "\xc2\x9bx\xe2\x80\xae"}}.dump(-1, BadText::replace));
    EXPECT_NE(dumped.find("\\u009bx\\u202e"), std::string::npos) << dumped;
    EXPECT_EQ(Json::parse(dumped)["title"].get<std::string>(), "\xc2\x9bx\xe2\x80\xae");
}

}  // namespace
}  // namespace backplane::base
