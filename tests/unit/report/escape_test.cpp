// Strings from outside in HTML and in JSON inside a script element.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/escape.hpp"

namespace peerlane::report {
namespace {

constexpr const char* lost = "\xEF\xBF\xBD";

TEST(Escape, NothingOfMarkupIsLeft) {
    EXPECT_EQ(escaped("<script>alert(\"1\")</script> & 'x'"),
              "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;");
    EXPECT_EQ(escaped(""), "");
    EXPECT_EQ(escaped("gr\xC3\xB6\xC3\x9F\x65r \xE2\x89\xA5 \xF0\x9F\x98\x80"),
              "gr\xC3\xB6\xC3\x9F\x65r \xE2\x89\xA5 \xF0\x9F\x98\x80");
}

TEST(Escape, WhatIsNoTextIsReplaced) {
    for (auto const* const bytes :
         {"\xFF", "\x80", "\xC0", "\x1B", "\x01", "\x7F", "\xC2\x9B", "\xE2\x80\xAE", "\xE2\x81\xA6"}) {
        EXPECT_EQ(escaped(bytes), lost) << testing::PrintToString(bytes);
    }
    EXPECT_EQ(escaped(std::string_view("\0", 1)), lost);
    EXPECT_EQ(escaped("\xC3("), std::string(lost) + "(") << "a character that is cut takes nothing with it";
    EXPECT_EQ(escaped("\xE2\x82"), std::string(lost) + lost);
    EXPECT_EQ(escaped("\xED\xA0\x80"), std::string(lost) + lost + lost) << "half a pair";
    EXPECT_EQ(escaped("\xC0\xBC"), std::string(lost) + lost) << "< in two bytes";
    EXPECT_EQ(escaped("a\tb\nc"), "a\tb\nc");
}

TEST(Escape, JsonCannotEndTheElementItStandsIn) {
    auto const all = std::string("</script><!-- \" \\ \n \t & \xE2\x80\xA8 gr\xC3\xBC\xC3\x9F");
    auto const text = json_string(all);
    EXPECT_EQ(text.find_first_of("<>&\n"), std::string::npos) << text;
    EXPECT_EQ(nlohmann::json::parse(text).get<std::string>(), all);
    EXPECT_EQ(nlohmann::json::parse(json_string("\xFF\x02")).get<std::string>(), std::string(lost) + lost);
}

}  // namespace
}  // namespace peerlane::report
