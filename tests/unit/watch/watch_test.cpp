// Metrics and exit conventions, from verdicts that are written down.

#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peerlane/diagnose.hpp>
#include <peerlane/named.hpp>
#include <peerlane/watch.hpp>

namespace peerlane {
namespace {

using testing::HasSubstr;
using testing::Not;

Verdicts verdicts_of(const Machine& machine) {
    Verdicts verdicts;
    for (auto const& pair : machine.pairs) {
        PairVerdict verdict{pair.accessor, pair.owner};
        for (auto const check : all_checks) {
            verdict[check].result = Result::ok;
        }
        verdict[Check::push].gbs = 396;
        verdicts.pairs.push_back(verdict);
        verdicts.control.push_back({pair.accessor, pair.owner, {Result::ok}});
        verdicts.control.back().staged.gbs = 52.5;
    }
    judge(verdicts);
    return verdicts;
}

TEST(Prometheus, SaysWhatWasFoundInBaseUnits) {
    auto machine = load_machine("h200-pair").machine();
    machine.devices[1].uuid = "GPU-1\"x\\";
    auto verdicts = verdicts_of(machine);
    (*verdicts.pair(1, 0))[Check::store].result = Result::hang;
    judge(verdicts);
    verdicts.findings.push_back({"claim-broken", Finding::Severity::error, {{1, 0}}, {}, ""});
    Facts facts;
    facts.run.errors_before = {{"0000:00:06.0", 3, 0, std::nullopt}};
    auto const text = prometheus_text({"0.1.0", 1796000000.5, 1.25, false}, machine, verdicts, facts);
    for (auto const* const line :
         {"peerlane_build_info{version=\"0.1.0\"} 1\n", "peerlane_last_run_timestamp_seconds 1796000000.5\n",
          "peerlane_status{status=\"broken\"} 1\n", "peerlane_status{status=\"healthy\"} 0\n",
          "# TYPE peerlane_pcie_errors_total counter\n",
          "peerlane_pcie_errors_total{bus=\"0000:00:06.0\",kind=\"correctable\"} 3\n",
          "peerlane_findings{code=\"claim-broken\",severity=\"error\"} 1\n", "uuid=\"GPU-1\\\"x\\\\\"",
          "peerlane_route_direct_bytes_per_second{source=\"0\",source_bus=\"0000:00:06.0\",source_uuid=\"\","
          "destination="
          "\"1\",destination_bus=\"0000:00:07.0\",destination_uuid=\"GPU-1\\\"x\\\\\"} 396000000000\n"}) {
        EXPECT_THAT(text, HasSubstr(line));
    }
    EXPECT_THAT(text, Not(HasSubstr("kind=\"fatal\""))) << "unknown is left out, never 0";
}

TEST(Prometheus, EveryLineIsOfTheFormatAndEveryMetricIsNamedOnce) {
    auto const machine = load_machine("dgx-1v").machine();
    auto const facts = healthy_facts(machine);
    auto const text = prometheus_text({"0.1.0", 1, std::nullopt, true}, machine, verdicts_of(machine), facts);
    std::regex const sample(R"re(peerlane_[a-z_]+(\{([a-z_]+="([^"\\]|\\.)*",?)+\})? -?[0-9.e+]+)re");
    std::istringstream lines(text);
    std::set<std::string> named;
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("# TYPE ", 0) == 0) {
            EXPECT_TRUE(named.insert(line).second) << line;
        } else if (line.rfind("# HELP ", 0) != 0) {
            EXPECT_TRUE(std::regex_match(line, sample)) << line;
        }
    }
    EXPECT_GT(named.size(), 8U);
}

TEST(Counters, WhatMovedBetweenTheTwoLooks) {
    auto const machine = load_machine("h200-pair").machine();
    RunFacts run;
    EXPECT_TRUE(counter_lines(machine, run).empty());
    run.counters_before = {{"0000:00:06.0", 5, 0, 1, 0, 0, 41, 1980, 3201}, {"0000:00:07.0"}};
    run.counters_after = {{"0000:00:06.0", 8, 0, 1, 2, std::nullopt, 63, 1755, 3201}, {"0000:00:07.0"}};
    run.errors_before = {{"0000:00:06.0", 1, 0, std::nullopt}, {"0000:00:01.0", 7, 7, 0}};
    run.errors_after = {{"0000:00:06.0", 4, 0, std::nullopt}, {"0000:00:01.0", 0, 7, 0}};
    EXPECT_THAT(
        counter_lines(machine, run),
        testing::ElementsAre("gpu0 0000:00:06.0: NVLink replays +3, recoveries +0, CRC errors +0, ECC corrected +2, "
                             "41 to 63 C, SM 1980 to 1755 MHz",
                             "PCI Express, 2 functions: correctable reset, 4 now, nonfatal +0, fatal +0"));
    Facts facts;
    facts.run = run;
    auto const text = prometheus_text({"0.1.0", 1, std::nullopt, true}, machine, verdicts_of(machine), facts);
    EXPECT_THAT(text, HasSubstr("bus=\"0000:00:06.0\",uuid=\"\",kind=\"replay\"} 8\n"));
    EXPECT_THAT(text, HasSubstr("clock=\"sm\"} 1755000000\n"));
}

TEST(ExitConventions, EachStatusInEachConvention) {
    using enum ExitConvention;
    EXPECT_EQ(exit_status_of(nagios, Status::healthy), 0);
    EXPECT_EQ(exit_status_of(nagios, Status::degraded), 1);
    EXPECT_EQ(exit_status_of(nagios, Status::broken), 2);
    EXPECT_EQ(exit_status_of(nagios, Status::inconclusive), 3);
    EXPECT_EQ(exit_status_of(nagios, std::nullopt), 3);
    EXPECT_EQ(exit_status_of(npd, Status::healthy), 0);
    EXPECT_EQ(exit_status_of(npd, Status::degraded), 1);
    EXPECT_EQ(exit_status_of(npd, Status::broken), 1);
    EXPECT_EQ(exit_status_of(npd, std::nullopt), 2);
    EXPECT_EQ(parse_exit_convention("nagios"), nagios);
    EXPECT_FALSE(parse_exit_convention("icinga"));
}

TEST(ExitConventions, OneLineThatItsReaderTakes) {
    EXPECT_EQ(watch_line(ExitConvention::nagios, Status::degraded, "1 pair\nslow | cut"),
              "PEERLANE WARNING - 1 pair slow   cut\n");
    EXPECT_EQ(watch_line(ExitConvention::npd, Status::broken, std::string(100, 'x')).size(), 81U);
    EXPECT_EQ(watch_line(ExitConvention::own, Status::healthy, "fine"), "fine\n");
}

}  // namespace
}  // namespace peerlane
