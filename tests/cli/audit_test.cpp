// peerlane audit as a user runs it: exit statuses, texts, both forms.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/ran.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const char* const opening =
    "{\"op\":\"machine\",\"devices\":2}\n"
    "{\"op\":\"stream\",\"stream\":\"s0\",\"device\":0,\"kind\":\"nonblocking\"}\n"
    "{\"op\":\"alloc\",\"memory\":\"a\",\"place\":\"gpu0\",\"bytes\":4096,\"kind\":\"plain\"}\n"
    "{\"op\":\"alloc\",\"memory\":\"b\",\"place\":\"gpu1\",\"bytes\":4096,\"kind\":\"plain\"}\n";
const char* const copied =
    "{\"op\":\"copy\",\"stream\":\"s0\",\"dst\":\"b\",\"dst_offset\":0,\"src\":\"a\",\"src_offset\":0,\"bytes\":4096,"
    "\"api\":\"peer\"}\n"
    "{\"op\":\"sync\",\"stream\":\"s0\"}\n";
const char* const launched =
    "{\"op\":\"launch\",\"stream\":\"s0\",\"name\":\"k\",\"ctas\":1,\"resident\":264,\"steps\":[{\"write\":\"b\","
    "\"offset\":0,\"bytes\":4096}]}\n";

TEST(CliAudit, CleanWarningAndErrorEndWith0And1And2) {
    Folder const folder;
    auto const enabled = std::string("{\"op\":\"enable\",\"accessor\":0,\"owner\":1,\"result\":\"ok\"}\n");
    auto const clean = peerlane({"audit", folder.file("clean", opening + enabled + copied)});
    EXPECT_EQ(clean.status, 0) << clean.out << clean.err;
    auto const warned = peerlane({"audit", folder.file("warned", std::string(opening) + copied)});
    EXPECT_EQ(warned.status, 1);
    EXPECT_THAT(warned.out, HasSubstr("copy-staged-by-driver"));
    auto const wrong = peerlane({"audit", folder.file("wrong", std::string(opening) + launched)});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_THAT(wrong.out, HasSubstr("unmapped-access"));
    EXPECT_EQ(wrong.err, "");
}

TEST(CliAudit, TheDocumentNamesSchemaCodeAndLine) {
    Folder const folder;
    auto const saved = folder.file("saved");
    auto const ran =
        peerlane({"--format", "json", "--save", saved, "audit", folder.file("t", std::string(opening) + launched)});
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.out, HasSubstr("\"schema\": \"peerlane.audit/1\""));
    EXPECT_THAT(ran.out, HasSubstr("\"code\": \"unmapped-access\""));
    EXPECT_THAT(ran.out, HasSubstr("\"line\": 5"));
    EXPECT_EQ(text_of(saved), ran.out);
}

TEST(CliAudit, StandardInputIsRead) {
    How how;
    how.input = std::string(opening) + launched;
    EXPECT_EQ(peerlane({"audit", "-"}, how).status, 2);
}

TEST(CliAudit, BadInputEndsWithItsStatusAndNamesTheLine) {
    Folder const folder;
    auto const unreadable = [&](const std::string& text, const std::string& says) {
        auto const path = folder.file("bad", text);
        auto const ran = peerlane({"audit", path});
        EXPECT_EQ(ran.status, 65) << text;
        EXPECT_THAT(ran.err, StartsWith(path)) << text;
        EXPECT_THAT(ran.err, HasSubstr(says)) << text;
        EXPECT_EQ(ran.out, "");
    };
    unreadable("", "empty");
    unreadable(std::string(opening) + "{\"op\":\"frobnicate\"}\n", ":5: ");
    unreadable(std::string(opening) + "{\"op\":\"sync\",\"stream\":\"nobody\"}\n", ":5: ");
    unreadable(std::string(opening) + "not json\n", ":5: ");
    unreadable(std::string("\xff\xd8\xff\xe0\0\x10JFIF", 10), ":1: ");
    EXPECT_EQ(peerlane({"audit", folder.file("missing")}).status, 66);
    EXPECT_EQ(peerlane({"audit", folder.path()}).status, 65);
    EXPECT_EQ(peerlane({"audit"}).status, 64);
    EXPECT_EQ(peerlane({"--machine", "h200-pair", "audit", folder.file("t", opening)}).status, 64);
}

}  // namespace
}  // namespace peerlane::cli_tests
