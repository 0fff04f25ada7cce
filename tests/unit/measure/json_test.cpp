// peerlane.profile/1: written, read back, and what is refused, with its line.

#include <algorithm>

#include <gtest/gtest.h>

#include <peerlane/error.hpp>
#include <peerlane/profile.hpp>

#include "measure/json_lines.hpp"

namespace peerlane {
namespace {

/// Every member set, and every optional both ways.
Profile full() {
    Profile profile;
    profile.key = "abc";
    profile.taken_at = "2026-11-30T09:00:00Z";
    profile.simulated = true;
    profile.complete = false;
    profile.quick = true;
    profile.legs = {
        {{gpu(0), gpu(1), Engine::copy, gpu(0)},
         Basis::measured,
         {{{256, 1e-5, 0.01}, {1024, 1.1e-5, -1}}},
         {{{256, 3e-6, 0}}}},
        {{host(1), gpu(1), Engine::kernel, gpu(1)}, Basis::nominal, {{{1 << 30, 1.0 / 3, 0.5}}}, {}},
        {{gpu(1), host(), Engine::copy, gpu(1)}, Basis::assumed, {{{256, 2e-5, -1}}}, {}},
    };
    profile.loaded = {{"duplex", 1 << 25, {{profile.legs[0].leg, 390.5, 380.25}, {profile.legs[1].leg, 50, 49.5}}}};
    profile.plans = {{{{{profile.legs[0].leg}, 1 << 27, 380}, {{profile.legs[2].leg}, 1 << 22, 50, 1 << 19, 40.5}}}};
    AccessCosts costs;
    costs.accessor = 1;
    costs.place = gpu(0);
    costs.load_s = 8.6e-7;
    costs.dependent_fetch_add_s = 8.4e-7;
    costs.reads = {{4, 4, 359}, {4, 128, 35.2}, {16, 16, 370}};
    costs.touches = {{65536, 1e-6, 0.1}, {1 << 20, 4e-6, -1}};
    profile.access = {costs, {0, host(0)}};
    profile.host_costs.copy_call_s = 2.7e-6;
    profile.host_costs.event_s = 5e-7;
    profile.notices = {"gpu0 > gpu1: \"why\""};
    return profile;
}

TEST(ProfileJson, IsReadBackAsItWasWritten) {
    EXPECT_EQ(read_profile_json(profile_json(full()), "p"), full());
    EXPECT_EQ(read_profile_json(profile_json({}), "p"), Profile{});
}

TEST(ProfileJson, WhatIsNotKnownIsNull) {
    auto const text = profile_json(full());
    EXPECT_NE(text.find("\"spread\": null"), std::string::npos);
    EXPECT_NE(text.find("\"line_s\": null"), std::string::npos);
    EXPECT_EQ(text.find(": -"), std::string::npos);
    EXPECT_EQ(text.find("{\n \"schema\": \"peerlane.profile/1\""), 0U);
}

/// What reading the document says once `old` is replaced; the line of the replacement.
struct Refused {
    std::string what;
    int line = 0, changed_line = 0;
};
Refused refused(const std::string& old, const std::string& fresh) {
    auto text = profile_json(full());
    auto const at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    text.replace(at, old.size(), fresh);
    auto const line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
    try {
        read_profile_json(text, "dir/p.json");
    } catch (const InputError& error) {
        EXPECT_EQ(error.file(), "dir/p.json");
        return {error.reason(), error.line(), line};
    }
    ADD_FAILURE() << fresh << " was taken";
    return {};
}

TEST(ProfileJson, RefusesWhatIsNoProfileAndSaysWhere) {
    struct Case {
        const char *old, *fresh, *reason;
    };
    for (auto const& [old, fresh, reason] : std::initializer_list<Case>{
             {"peerlane.profile/1", "peerlane.profile/9", "schema: \"peerlane.profile/9\" is not peerlane.profile/1"},
             {"\"complete\": false", "\"complete\": 0", "complete: is number, not true or false"},
             {"\"seconds\": 1e-05", "\"seconds\": 0", "legs[0].curve[0].seconds: is 0, not above 0"},
             {"\"seconds\": 1e-05", "\"seconds\": -1e-5", "legs[0].curve[0].seconds: is -1e-05, not above 0"},
             {"\"seconds\": 1e-05", "\"seconds\": \"1\"", "legs[0].curve[0].seconds: is string, not a number"},
             {"\"spread\": 0.01", "\"spread\": -0.5",
              "legs[0].curve[0].spread: is below 0; a spread that is not known is null"},
             {"\"bytes\": 1024", "\"bytes\": 256", "legs[0].curve[1].bytes: is 256 behind 256: sizes ascend"},
             {"\"bytes\": 1024", "\"bytes\": 8.5",
              "legs[0].curve[1].bytes: is 8.5, not a whole number from 1 to 18446744073709551615"},
             {"\"to\": \"gpu1\"", "\"to\": \"gpu0\"", "legs[0]: leads from gpu0 to itself"},
             {"\"to\": \"gpu1\"", "\"to\": \"disk\"",
              "legs[0].to: \"disk\" is no place; places are gpu0, host, host:1"},
             {"\"issuer\": \"gpu0\"", "\"issuer\": \"host\"", "legs[0].issuer: \"host\" is no device"},
             {"\"engine\": \"copy\"", "\"engine\": \"dma\"", "legs[0].engine: \"dma\" is none of copy, kernel"},
             {"\"basis\": \"measured\"", "\"basis\": \"guessed\"",
              "legs[0].basis: \"guessed\" is none of measured, nominal, assumed"},
             {"\"alone_gbs\": 390.5", "\"alone_gbs\": 0", "loaded[0].legs[0].alone_gbs: is 0, not above 0"},
             {"\"alone_gbs\": 390.5", "\"alone_gbs\": 1e400", "is not JSON that can be held"},
             {"\"load_s\": 8.6e-07", "\"load_s\": 0.0", "access[0].load_s: is 0.0, not above 0"},
             {"\"stride\": 128", "\"stride\": 4", "access[0].reads[1]: reads ascend by width, then stride"},
             {"\"stride\": 128", "\"stride\": 2", "access[0].reads[1].stride: is 2, below the width of 4"},
             {"\"copy_call_s\": 2.7e-06", "\"copy_call_s\": -1", "host_costs.copy_call_s: is -1, not above 0"},
             {"\"accessor\": \"gpu1\"", "\"accessor\": \"host:0\"", "access[0].accessor: \"host:0\" is no device"},
             {"\"small_bytes\": 524288", "\"small_bytes\": 4194304",
              "plans[0].routes[1].small_bytes: is 4194304, not a whole number from 1 to 4194303"},
             {"\"gbs\": 50.0,", "\"gbs\": 0,", "plans[0].routes[1].gbs: is 0, not above 0"},
             {"\"loaded\": [", "\"loaded\": 5, \"was\": [", "loaded: is number, not an array"},
             {"\"access\"", "\"acess\"", "document: \"access\" is missing"},
         }) {
        auto const seen = refused(old, fresh);
        EXPECT_EQ(seen.what, reason) << fresh;
        auto const whole_value = std::string(reason).find("[0]: ") != std::string::npos ||
                                 std::string(reason).find("[1]: ") != std::string::npos ||
                                 std::string(reason).find("document: ") == 0 || seen.line == 0;
        EXPECT_TRUE(whole_value ? seen.line <= seen.changed_line : seen.line == seen.changed_line)
            << fresh << ": line " << seen.line;
    }
}

TEST(ProfileJson, BrokenTextIsRefusedAtItsLine) {
    for (auto const& [text, line] :
         std::vector<std::pair<std::string, int>>{{"", 1},
                                                  {"{\n\"schema\": \"peerlane.profile/1\",\n oops}", 3},
                                                  {"{\"a\": 1", 1},
                                                  {std::string(1000, '['), 1}}) {
        try {
            read_profile_json(text, "p");
            ADD_FAILURE() << text;
        } catch (const InputError& error) {
            EXPECT_EQ(error.reason(), "is not JSON");
            EXPECT_EQ(error.line(), line) << text;
        }
    }
    EXPECT_THROW(read_profile_json("[]", "p"), InputError);
    EXPECT_THROW(read_profile_json("null", "p"), InputError);
    auto twice = full();
    twice.legs.push_back(twice.legs[0]);
    EXPECT_THROW(read_profile_json(profile_json(twice), "p"), InputError);
}

TEST(JsonLines, FindsValuesAndWhatShouldHoldThem) {
    using measuring::JsonStep;
    using measuring::line_of;
    std::string const text =
        "{\n \"a\": [1,\n  {\"b\\\"c\": \"]}\",\n   \"d\": [[], {}, -1e5,\n    true]}],\n \"e\":\n  null}\n";
    auto const line = [&](std::vector<JsonStep> path) { return line_of(text, path); };
    EXPECT_EQ(line({}), 1);
    EXPECT_EQ(line({"a"}), 2);
    EXPECT_EQ(line({"a", std::size_t{1}}), 3);
    EXPECT_EQ(line({"a", std::size_t{1}, "d"}), 4);
    EXPECT_EQ(line({"a", std::size_t{1}, "d", std::size_t{3}}), 5);
    EXPECT_EQ(line({"e"}), 7);
    EXPECT_EQ(line({"f"}), 1) << "of what should hold it";
    EXPECT_EQ(line({"a", std::size_t{7}}), 2);
    EXPECT_EQ(line({"a", "x"}), 2);
}

TEST(Profile, FindsLegsAndAccesses) {
    auto const profile = full();
    EXPECT_EQ(profile.leg({host(1), gpu(1), Engine::kernel, gpu(1)}), &profile.legs[1]);
    EXPECT_EQ(profile.leg({host(1), gpu(1), Engine::copy, gpu(1)}), nullptr);
    EXPECT_EQ(profile.access_of(0, host(0)), &profile.access[1]);
    EXPECT_EQ(profile.access_of(0, gpu(1)), nullptr);
}

}  // namespace
}  // namespace peerlane
