#include "driver/sim/figures.hpp"

#include <gtest/gtest.h>
#include <peerlane/error.hpp>

namespace peerlane::sim {
namespace {

Figures read(const std::string& simulation) {
    return read_figures(R"({"schema": "peerlane.machine/1", "simulation": )" + simulation + "}", "m.json");
}

std::string refusal(const std::string& simulation) {
    try {
        (void)read(simulation);
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

TEST(SimFigures, AValueIsANumberOrHasItsSource) {
    EXPECT_EQ(read(R"({"crossing_gbs": 39})").crossing_gbs, 39.0);
    EXPECT_EQ(
        read(R"({"crossing_gbs": {"value": 39, "source": "s", "fitted": true, "fitted_on": ["uni on"]}})").crossing_gbs,
        39.0);
    EXPECT_EQ(read("{}").crossing_gbs, std::nullopt);
}

TEST(SimFigures, RulesOfInterferenceKeepTheirOrderAndConditions) {
    auto const rules = read(R"({"interference": [{"kind": "write", "devices": 2, "ports": 2, "port_gbs": 2.7},
                                {"kind": "read", "flows": 5, "busy_ports": 3, "both_ways": true, "port_gbs": 7}]})")
                           .interference.value();
    ASSERT_EQ(rules.size(), 2);
    EXPECT_TRUE(rules[0].write && rules[0].devices == 2 && rules[0].ports == 2 && rules[0].flows == 1 &&
                !rules[0].both_ways);
    EXPECT_TRUE(!rules[1].write && rules[1].flows == 5 && rules[1].busy_ports == 3 && rules[1].both_ways);
    EXPECT_EQ(rules[1].port_gbs, 7.0);
}

TEST(SimFigures, WhatCannotBeIsRefusedByName) {
    for (auto const* bad :
         {R"({"crossing_gb": 3})", R"({"interference": 3})", R"({"interference": [{"kind": "write"}]})",
          R"({"interference": [{"kind": "push", "port_gbs": 3}]})",
          R"({"interference": [{"kind": "read", "port_gbs": 0}]})",
          R"({"interference": [{"kind": "read", "port_gbs": 3, "both_ways": 1}]})",
          R"({"interference": [{"kind": "read", "port_gbs": 3, "flows": "many"}]})", R"({"pcie_duplex": 0})",
          R"({"crossing_gbs": -1})", R"({"staged_total_gbs": "fast"})"}) {
        EXPECT_EQ(refusal(bad).rfind("m.json", 0), 0U) << bad << ": " << refusal(bad);
    }
}

}  // namespace
}  // namespace peerlane::sim
