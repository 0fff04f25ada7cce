#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <peerlane/named.hpp>
#include <peerlane/traffic.hpp>

namespace peerlane {
namespace {

const Machine& eight() {
    static auto const machine = load_machine("dgx-1v").machine();
    return machine;
}

std::vector<int> all_of(const Machine& machine) {
    std::vector<int> devices;
    for (auto const& device : machine.devices) {
        devices.push_back(device.id);
    }
    return devices;
}

/// "0>1 1>2": what the pattern sends, in its order.
std::string sent(const char* pattern, const std::vector<int>& devices) {
    std::string text;
    for (auto const& flow : pattern_flows(pattern, eight(), devices, {.bytes = 1})) {
        auto const word = [](Place place) {
            return place.is_device() ? std::to_string(place.index) : to_string(place);
        };
        text += (text.empty() ? "" : " ") + word(flow.src) + ">" + word(flow.dst);
    }
    return text;
}

std::string refusal(const char* pattern, const std::vector<int>& devices) {
    try {
        (void)pattern_flows(pattern, eight(), devices, {.bytes = 1});
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

TEST(Pattern, SendsWhatItsNameSays) {
    EXPECT_EQ(sent("pair:2:5", all_of(eight())), "2>5");
    EXPECT_EQ(sent("pair:gpu2:gpu5", all_of(eight())), "2>5");
    EXPECT_EQ(sent("one-to-all:1", {0, 1, 2}), "1>0 1>2");
    EXPECT_EQ(sent("all-to-one:1", {0, 1, 2}), "0>1 2>1");
    EXPECT_EQ(sent("shift:1", {0, 1, 2}), "0>1 1>2 2>0");
    EXPECT_EQ(sent("shift:-1", {0, 1, 2}), "0>2 1>0 2>1");
    EXPECT_EQ(sent("shift:4", {0, 1, 2}), "0>1 1>2 2>0");
    EXPECT_EQ(sent("ring", {3, 5}), "3>5 5>3");
    EXPECT_EQ(sent("halo", {3, 5}), "3>5 5>3");
    EXPECT_EQ(sent("halo", {0, 1, 2}), "0>1 1>2 2>0 0>2 1>0 2>1");
    EXPECT_EQ(sent("all-to-all", {0, 1, 2}), "0>1 1>2 2>0 0>2 1>0 2>1");
    EXPECT_EQ(sent("host-to-all", {0, 7}), "host>0 host>7");
    EXPECT_EQ(sent("all-to-host", {0, 7}), "0>host 7>host");
}

TEST(Pattern, PairTakesPlacesOfTheHost) {
    EXPECT_EQ(sent("pair:host:0", {0, 1}), "host>0");
    EXPECT_EQ(sent("pair:host:1:0", {0, 1}), "host:1>0");
    EXPECT_EQ(sent("pair:0:host:1", {0, 1}), "0>host:1");
    EXPECT_EQ(sent("one-to-all:host", {0, 1}), "host>0 host>1");
    EXPECT_EQ(sent("all-to-one:host:1", {0, 1}), "0>host:1 1>host:1");
}

TEST(Pattern, APermutationSendsAndReceivesOnceAndNeverToItself) {
    for (int seed = 0; seed < 200; ++seed) {
        std::multiset<int> from, to;
        for (auto const& flow :
             pattern_flows("permutation:" + std::to_string(seed), eight(), all_of(eight()), {.bytes = 1})) {
            EXPECT_NE(flow.src, flow.dst) << "seed " << seed;
            from.insert(flow.src.index);
            to.insert(flow.dst.index);
        }
        EXPECT_EQ(from, (std::multiset<int>{0, 1, 2, 3, 4, 5, 6, 7})) << "seed " << seed;
        EXPECT_EQ(to, from) << "seed " << seed;
    }
    EXPECT_EQ(sent("permutation:3", all_of(eight())), sent("permutation:3", all_of(eight())));
    EXPECT_NE(sent("permutation:3", all_of(eight())), sent("permutation:4", all_of(eight())));
    EXPECT_EQ(sent("permutation:9", {0, 1}), "0>1 1>0");
}

TEST(Pattern, RandomFlowsJoinEveryPairOfDevicesAboutAsOften) {
    std::map<std::pair<int, int>, int> count;
    for (auto const& flow : pattern_flows("random:12000,5", eight(), {0, 2, 4, 6}, {.bytes = 1})) {
        ++count[{flow.src.index, flow.dst.index}];
    }
    EXPECT_EQ(count.size(), 12U);
    for (auto const& [pair, times] : count) {
        EXPECT_NE(pair.first, pair.second);
        EXPECT_NEAR(times, 1000, 200) << pair.first << ">" << pair.second;
    }
}

TEST(Pattern, StepsAndPhases) {
    auto const flows = pattern_flows("shift:1", eight(), {0, 1, 2}, {.bytes = 64, .step_s = 0.5, .phases = 2});
    ASSERT_EQ(flows.size(), 6U);
    EXPECT_EQ(flows[2], (Flow{gpu(2), gpu(0), 64, 1.0, 0}));
    EXPECT_EQ(flows[3], (Flow{gpu(0), gpu(1), 64, 0.0, 1}));
}

TEST(Pattern, RefusesWithTheReason) {
    auto const three = std::vector<int>{0, 1, 2};
    EXPECT_NE(refusal("all2all", three).find("no such pattern; there are: pair:A:B"), std::string::npos);
    EXPECT_NE(refusal("", three).find("no such pattern"), std::string::npos);
    EXPECT_NE(refusal("shift", three).find("missing behind"), std::string::npos);
    EXPECT_NE(refusal("shift:", three).find("missing behind"), std::string::npos);
    EXPECT_NE(refusal("shift:x", three).find("\"x\" is no distance"), std::string::npos);
    EXPECT_NE(refusal("shift:3", three).find("moves nothing"), std::string::npos);
    EXPECT_NE(refusal("ring:2", three).find("nothing belongs behind"), std::string::npos);
    EXPECT_NE(refusal("pair:0:9", three).find("no gpu9: it has 8 devices"), std::string::npos);
    EXPECT_NE(refusal("pair:0:5", three).find("gpu5 is left out by -i"), std::string::npos);
    EXPECT_NE(refusal("pair:0:0", three).find("the same"), std::string::npos);
    EXPECT_NE(refusal("pair:0", three).find("two places"), std::string::npos);
    EXPECT_NE(refusal("pair:host:0:host:1", three).find("no device takes part"), std::string::npos);
    EXPECT_NE(refusal("pair:host:9:0", three).find("no host:9"), std::string::npos);
    EXPECT_NE(refusal("one-to-all:cpu", three).find("\"cpu\" is no place"), std::string::npos);
    EXPECT_NE(refusal("permutation:-1", three).find("no seed"), std::string::npos);
    EXPECT_NE(refusal("random:0,1", three).find("a number of flows"), std::string::npos);
    EXPECT_NE(refusal("random:7", three).find("a number of flows"), std::string::npos);
    EXPECT_NE(refusal("all-to-all", {4}).find("it needs 2 devices"), std::string::npos);
    EXPECT_NE(refusal("one-to-all:4", {4}).find("moves nothing"), std::string::npos);
}

}  // namespace
}  // namespace peerlane
