// peerlane.verdicts/1 and the lines between a prober and its host.
#include <gtest/gtest.h>

#include <peerlane/error.hpp>

#include "make.hpp"
#include "prove/wire.hpp"

namespace peerlane {
namespace {

Verdicts of_everything() {
    auto verdicts = test::healthy_pair();
    auto& pair = *verdicts.pair(0, 1);
    pair[Check::push] = test::wrong(WrongKind::mirror);
    pair[Check::pull] = {Result::error};
    pair[Check::pull].code = 700;
    pair[Check::pull].reason = "a \"quoted\" reason\nof two lines";
    pair[Check::store] = {Result::hang};
    pair[Check::store].frozen = true;
    pair[Check::store].at_bytes = 4096;
    pair[Check::load] = {Result::no};
    judge(verdicts);
    verdicts.groups.push_back({{{0, 1}, {1, 0}}, Result::ok, 390.5});
    verdicts.findings.push_back({"claim-broken", Finding::Severity::error, {{0, 1}}, {"0:1 push wrong"}, "staged"});
    verdicts.seed = 18446744073709551615ULL;
    return verdicts;
}

TEST(VerdictsJson, RoundTrip) {
    auto const verdicts = of_everything();
    EXPECT_EQ(read_verdicts(write_verdicts(verdicts), "v.json"), verdicts);
    EXPECT_EQ(read_verdicts(write_verdicts(verdicts, -1), "v.json"), verdicts);
    EXPECT_EQ(read_verdicts(write_verdicts({}), "v.json"), Verdicts{});
}

TEST(VerdictsJson, KeysOfTheDesign) {
    auto const text = write_verdicts(of_everything(), -1);
    EXPECT_EQ(text.rfind(R"({"schema":"peerlane.verdicts/1","simulated":true,"status":"broken",)", 0), 0u) << text;
    for (auto const* part :
         {R"({"accessor":0,"owner":1,"checks":{"claim":{"result":"ok"},"map":{"result":"ok"},"push":{"result":"wrong",)"
          R"("kind":"mirror","first_bad_offset":0,"bad_bytes":4077,"at_bytes":4096)",
          R"("pull":{"result":"error","code":700)", R"("store":{"result":"hang","at_bytes":4096,"frozen":true})",
          R"("atomic":{"result":"skipped"},"flag":{"result":"skipped"}})",
          R"({"src":0,"dst":1,"use":"direct","engine":"copy","issuer":1,"direct_gbs":396.0,"staged_gbs":37.0})",
          R"("groups":[{"pairs":[{"accessor":0,"owner":1},{"accessor":1,"owner":0}],"result":"ok","gbs":390.5}])",
          R"("findings":[{"code":"claim-broken","severity":"error","pairs":[{"accessor":0,"owner":1}],"evidence":)"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
    }
}

TEST(VerdictsJson, ARouteThatIsNotDirectHasNoEngineAndNoIssuer) {
    auto verdicts = test::healthy_pair();
    for (auto& pair : verdicts.pairs) {
        test::deny(pair);
    }
    judge(verdicts);
    auto const text = write_verdicts(verdicts, -1);
    EXPECT_NE(text.find(R"("use":"staged","engine":null,"issuer":null,"direct_gbs":null,"staged_gbs":37.0)"),
              std::string::npos)
        << text;
    EXPECT_EQ(read_verdicts(text, "v.json"), verdicts);
}

TEST(VerdictsJson, UnknownKeysAreNoMatterAndOrderNeither) {
    auto verdicts = test::healthy_pair();
    judge(verdicts);
    auto text = write_verdicts(verdicts, -1);
    text.insert(1, R"("hello":[1,{"a":2}],)");
    EXPECT_EQ(read_verdicts(text, "v.json"), verdicts);
    auto swapped = verdicts;
    std::swap(swapped.pairs[0], swapped.pairs[1]);
    std::swap(swapped.routes[0], swapped.routes[1]);
    EXPECT_EQ(read_verdicts(write_verdicts(swapped), "v.json"), verdicts);
}

std::string refusal(const std::string& text) {
    try {
        read_verdicts(text, "bad.json");
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(VerdictsJson, RefusesWithFileAndPlace) {
    EXPECT_EQ(refusal("{\n\"schema\": \n}"), "bad.json:3: no JSON");
    EXPECT_EQ(refusal(""), "bad.json:1: no JSON");
    EXPECT_EQ(refusal("[]"), "bad.json: document: must be an object");
    EXPECT_EQ(refusal("{}"), "bad.json: document: misses \"schema\"");
    EXPECT_EQ(refusal(R"({"schema":"peerlane.plan/1"})"), "bad.json: schema: must be peerlane.verdicts/1");
    auto const swap = [](const std::string& from, const std::string& to) {
        auto text = write_verdicts(of_everything(), -1);
        text.replace(text.find(from), from.size(), to);
        return refusal(text);
    };
    EXPECT_EQ(swap(R"("status":"broken")", R"("status":"fine")"),
              "bad.json: status: \"fine\" is none of healthy, degraded, broken, inconclusive");
    EXPECT_EQ(swap(R"("accessor":0)", R"("accessor":-1)"), "bad.json: pairs[0].accessor: must be a device");
    EXPECT_EQ(swap(R"("accessor":0)", R"("accessor":1e99)"), "bad.json: pairs[0].accessor: must be a whole number");
    EXPECT_EQ(swap(R"("bad_bytes":4077)", R"("bad_bytes":-4077)"),
              "bad.json: pairs[0].checks.push.bad_bytes: must be a whole number of at least 0");
    EXPECT_EQ(swap(R"("kind":"mirror")", R"("kind":3)"), "bad.json: pairs[0].checks.push.kind: must be a text");
    EXPECT_EQ(swap(R"("issuer":1)", R"("issuer":null)"), "bad.json: routes[0].issuer: must be a whole number");
}

TEST(Wire, RequestsAndRepliesRoundTripOnOneLine) {
    using namespace prove;
    wire::Request const request{{ProbeStep::Kind::check, Check::load, 3, 12, {8, 4096}, 99}, {0.25, false}};
    wire::Request const control{{ProbeStep::Kind::control, Check::claim, 1, 0, {8}, 1}};
    for (auto const& sent : {request, control}) {
        auto const line = wire::write(sent);
        EXPECT_EQ(line.find('\n'), std::string::npos);
        EXPECT_EQ(wire::read_request(line), sent);
    }
    wire::Reply done{wire::Reply::Kind::done, of_everything().pairs[0][Check::pull], false};
    for (auto const& sent :
         {wire::Reply{wire::Reply::Kind::ready, {}, true, 0, "two devices"}, wire::Reply{wire::Reply::Kind::begun},
          done, wire::Reply{wire::Reply::Kind::refused, {}, true, 100, "no device"}}) {
        auto const line = wire::write(sent);
        EXPECT_EQ(line.find('\n'), std::string::npos);
        EXPECT_EQ(wire::read_reply(line), sent);
    }
}

TEST(Wire, WhatIsNotOursIsNoise) {
    using namespace prove;
    for (auto const* line : {"", "hello", "{\"done\":3}", "[1]", "{\"done\":{\"result\":\"fine\"},\"usable\":true}"}) {
        EXPECT_EQ(wire::read_reply(line), (wire::Reply{wire::Reply::Kind::other, {}, true, 0, line}));
        EXPECT_THROW(wire::read_request(line), InputError);
    }
}

}  // namespace
}  // namespace peerlane
