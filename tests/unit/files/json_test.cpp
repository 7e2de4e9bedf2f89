// base/json.hpp: what is read is what was written, and text of strangers does no harm.
#include "base/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace backplane::base {
namespace {

std::string why_not_read(const std::string& text) {
    try {
        static_cast<void>(Json::parse(text));
    } catch (const JsonError& error) {
        return error.what();
    }
    return {};
}

TEST(JsonValue, AListOfPairsThatBeginWithATextIsAnObjectAndAnyOtherAnArray) {
    const Json json{{"a", 1}, {"b", {1, 2}}, {"c", {{"d", nullptr}}}, {"e", {"f", "g", true}}, {"h", Json::object()}};
    EXPECT_EQ(json.dump(), R"({"a":1,"b":[1,2],"c":{"d":null},"e":["f","g",true],"h":{}})");
    EXPECT_EQ((Json{1, "a"}).dump(), R"([1,"a"])");
    EXPECT_EQ((Json{"a", 1}).dump(), R"(["a",1])");
    EXPECT_EQ((Json{{1, 2}, {"a", 2}}).dump(), R"([[1,2],["a",2]])");
    EXPECT_EQ(Json::array({{"a", 1}}).dump(), R"([["a",1]])");
    EXPECT_EQ(Json().dump(), "null");
    EXPECT_EQ(Json(std::vector<int64_t>{}).dump(), "[]");
}

TEST(JsonValue, MembersKeepTheOrderInWhichTheyWereFirstPutIn) {
    Json json;
    json["z"] = 1;
    json["a"] = "x";
    json["m"].push_back(2.5);
    json["z"] = 3;
    EXPECT_EQ(json.dump(), R"({"z":3,"a":"x","m":[2.5]})");
    json.update({{"a", false}, {"n", -1}});
    json.erase("m");
    EXPECT_EQ(json.dump(), R"({"z":3,"a":false,"n":-1})");
    EXPECT_EQ(json.dump(2), "{\n  \"z\": 3,\n  \"a\": false,\n  \"n\": -1\n}");
    EXPECT_EQ((Json{{"a", Json::array()}, {"b", {1, Json{{"c", 2}}}}}).dump(1),
              "{\n \"a\": [],\n \"b\": [\n  1,\n  {\n   \"c\": 2\n  }\n ]\n}");
}

TEST(JsonValue, NumbersAreReadAsTheyWereWritten) {
    for (const char* text : {"0", "-1", "18446744073709551615", "-9223372036854775808", "0.1", "1e+300", "5e-324", "-0.0",
                             "1.0", "123456789.125", "3.4028234663852886e+38"})
        EXPECT_EQ(Json::parse(text).dump(), text);
    EXPECT_EQ(Json::parse("1E2").dump(), "100.0");
    EXPECT_EQ(Json(std::nan("")).dump(), "null") << "JSON has no such number";
    EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
    EXPECT_NE(why_not_read("1e999"), "");
    // Beyond 64 bits a whole number is one with a fraction.
    EXPECT_FALSE(Json::parse("18446744073709551616").is_whole());
}

TEST(JsonValue, TextsKeepEveryCharacterAndBytesThatAreNoneAreRefusedOrReplaced) {
    const std::string all = "\" \\ / \b\f\n\r\t \x01\x1f\x7f gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80";
    EXPECT_EQ(Json::parse(Json(all).dump()).text(), all);
    EXPECT_EQ(Json(std::string("a\n\x01\"")).dump(), R"("a\n\u0001\"")");
    EXPECT_EQ(Json::parse(R"("\u00e9\ud83d\ude00")").text(), "\xc3\xa9\xf0\x9f\x98\x80");
    const Json bad{{"name",
                    "a\xff"
                    "b"}};
    EXPECT_THROW(static_cast<void>(bad.dump()), JsonError);
    EXPECT_EQ(bad.dump(-1, BadText::replace),
              "{\"name\":\"a\xef\xbf\xbd"
              "b\"}");
    for (const char* text : {"\"\xff\"", "\"a\nb\"", R"("\ud800")", R"("\x41")"}) EXPECT_NE(why_not_read(text), "") << text;
}

TEST(JsonValue, WhatIsNoJsonIsRefusedWithItsPlace) {
    for (const char* text : {"", " ", "{", "[1,]", "{\"a\":1,}", "{a:1}", "nul", "01", "+1", ".5", "1.", "1 2", "[1]]",
                             "// comment\n1", "\"a", "NaN", "{\"a\" 1}", "'a'"})
        EXPECT_NE(why_not_read(text).find("line "), std::string::npos) << text << ": " << why_not_read(text);
    EXPECT_EQ(why_not_read("[1,\n2,").find("parse error at line 2, column 3"), 0U) << why_not_read("[1,\n2,");
    EXPECT_EQ(why_not_read(" {\"a\" : [ true , null ] }\n"), "");
}

TEST(JsonValue, NestingIsBoundedAndAsDeepAsThatIsRead) {
    const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    EXPECT_EQ(Json::parse(nested(Json::kDeepest)).dump(), nested(Json::kDeepest));
    EXPECT_EQ(why_not_read(nested(Json::kDeepest + 1)), "it is nested deeper than 100 levels");
    EXPECT_NE(why_not_read(nested(1000000)), "");
    std::string objects;
    for (int i = 0; i < 1000000; ++i) objects += "{\"a\":";
    EXPECT_NE(why_not_read(objects), "");
}

TEST(JsonValue, OfTwoMembersOfOneNameTheLastCountsAndManyAreReadAsFastAsFew) {
    EXPECT_EQ(Json::parse(R"({"a":1,"b":2,"a":3,"c":4,"b":5,"a":6})").dump(), R"({"a":6,"b":5,"c":4})");
    std::string many = "{";
    for (int i = 0; i < 200000; ++i) many += "\"m" + std::to_string(i % 150000) + "\":" + std::to_string(i) + ",";
    const Json json = Json::parse(many + "\"last\":0}");
    EXPECT_EQ(json.size(), 150001U);
    EXPECT_EQ(json["m49999"], 199999);
    EXPECT_EQ(json["m50000"], 50000);
}

TEST(JsonValue, WhatIsTakenForSomethingElseIsAnError) {
    const Json json = Json::parse(R"({"text":"x","whole":300,"negative":-1,"half":0.5,"list":[1]})");
    EXPECT_THROW(static_cast<void>(json["none"]), JsonError);
    EXPECT_THROW(static_cast<void>(json["text"]["a"]), JsonError);
    EXPECT_THROW(static_cast<void>(json["list"][1]), JsonError);
    EXPECT_THROW(static_cast<void>(json["text"].get<int>()), JsonError);
    EXPECT_THROW(static_cast<void>(json["text"].get<bool>()), JsonError);
    EXPECT_THROW(static_cast<void>(json["negative"].get<unsigned>()), JsonError);
    EXPECT_THROW(static_cast<void>(json["half"].get<int>()), JsonError);
    EXPECT_THROW(static_cast<void>(json["whole"].text()), JsonError);
    EXPECT_THROW(static_cast<void>(Json(uint64_t{1} << 40).get<int>()), JsonError);
    EXPECT_THROW(static_cast<void>(Json(UINT64_MAX).get<int64_t>()), JsonError);
    EXPECT_THROW(Json(1).push_back(2), JsonError);
    EXPECT_THROW(Json("a")["b"] = 1, JsonError);
    EXPECT_EQ(json["whole"].get<double>(), 300.0);
    EXPECT_EQ(json["negative"].get<int64_t>(), -1);
    EXPECT_EQ(Json(INT64_MIN).get<int64_t>(), INT64_MIN);
    EXPECT_EQ(Json(UINT64_MAX).get<uint64_t>(), UINT64_MAX);
    EXPECT_EQ(json.value("none", 7).get<int>(), 7);
    EXPECT_EQ(json.value("text", "").text(), "x");
    EXPECT_EQ(json.find("none"), nullptr);
    EXPECT_EQ(Json(1).begin(), Json(1).end()) << "a number holds nothing";
}

TEST(JsonValue, ValuesAreComparedByWhatTheyAre) {
    EXPECT_EQ(Json(1), Json(1.0));
    EXPECT_EQ(Json(int64_t{5}), Json(5U));
    EXPECT_LT(Json(-1), Json(UINT64_MAX));
    EXPECT_GT(Json(0.5), 0);
    EXPECT_NE(Json(1), Json(true));
    EXPECT_NE(Json("1"), Json(1));
    EXPECT_FALSE(Json("b") > Json("a")) << "only numbers have an order";
    EXPECT_EQ((Json{{"a", 1}, {"b", {2}}}), Json::parse(R"({"b":[2],"a":1})"));
    EXPECT_NE((Json{{"a", 1}}), (Json{{"a", 1}, {"b", nullptr}}));
    EXPECT_NE((Json{1, 2}), (Json{2, 1}));
}

TEST(JsonValue, AValueMayBeMadeOfOnesThatItHolds) {
    Json json{{"a", {{"b", {1, 2}}}}};
    json = json["a"];
    EXPECT_EQ(json.dump(), R"({"b":[1,2]})");
    json = std::move(json["b"]);
    EXPECT_EQ(json.dump(), "[1,2]");
    json.push_back(json);
    EXPECT_EQ(json.dump(), "[1,2,[1,2]]");
    const Json moved = std::move(json);
    EXPECT_EQ(moved.size(), 3U);
}

}  // namespace
}  // namespace backplane::base
