// The drawing of the machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pugixml.hpp>

#include <peerlane/named.hpp>

#include "report/parts.hpp"
#include "verdicts.hpp"

namespace peerlane::report {
namespace {

using report_tests::all_right;
using testing::HasSubstr;
using testing::Not;

TEST(Picture, OfEveryNamedMachineIsSoundAndShowsEveryDeviceOnce) {
    for (auto const& named : named_machines()) {
        SCOPED_TRACE(named.name);
        auto const machine = load_machine(named.name).machine();
        auto const text = picture(machine, all_right(machine));
        pugi::xml_document document;
        auto const parsed = document.load_string(text.c_str());
        ASSERT_TRUE(parsed) << parsed.description() << " at " << parsed.offset;
        EXPECT_EQ(document.select_nodes("//g[contains(@class,'node device')]").size(), machine.devices.size());
        double width = 0, height = 0;
        ASSERT_EQ(std::sscanf(document.child("svg").attribute("viewBox").value(), "0 0 %lf %lf", &width, &height), 2);
        EXPECT_EQ(width, 360) << "a phone's";
        for (auto const& found : document.select_nodes("//rect")) {
            auto const at = [&](const char* name) { return found.node().attribute(name).as_double(-1); };
            EXPECT_GE(at("x"), 0);
            EXPECT_GE(at("y"), 0);
            EXPECT_GT(at("width"), 0);
            EXPECT_GT(at("height"), 0);
            EXPECT_LE(at("x") + at("width"), width);
            EXPECT_LE(at("y") + at("height"), height);
        }
    }
}

TEST(Picture, TroubleIsSeenWhereItIs) {
    auto const machine = load_machine("h100-8").machine();
    auto verdicts = all_right(machine);
    EXPECT_THAT(picture(machine, verdicts), Not(HasSubstr("trouble")));
    (*verdicts.pair(2, 5))[Check::push].result = Result::wrong;
    judge(verdicts);
    auto const text = picture(machine, verdicts);
    EXPECT_THAT(text, HasSubstr("arc trouble s-bad"));
    EXPECT_THAT(text, HasSubstr("2&gt;5 bad 300.0 GB/s, 5&gt;2 ok 300.0 GB/s"));
}

TEST(Picture, ACableHasTheColourOfItsWorseDirection) {
    auto const machine = load_machine("dgx-1v").machine();
    auto verdicts = all_right(machine);
    (*verdicts.pair(0, 1))[Check::load].result = Result::wrong;
    judge(verdicts);
    auto const text = picture(machine, verdicts);
    EXPECT_THAT(text, testing::ContainsRegex("class=\"arc s-bad\"[^>]*><title>gpu0 - gpu1: NVLink"));
    EXPECT_THAT(text, testing::ContainsRegex("class=\"arc s-ok\"[^>]*><title>gpu0 - gpu2: NVLink"));
}

TEST(Picture, LongNamesAreCutAndToldInFull) {
    EXPECT_EQ(shortened("abcdef", 6), "abcdef");
    EXPECT_EQ(shortened("abcdefg", 6), "abcde…");
    EXPECT_EQ(shortened("äöüäöü", 4), "äöü…");
    EXPECT_EQ(shortened("", 3), "");
}

}  // namespace
}  // namespace peerlane::report
