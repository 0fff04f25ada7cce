// bench/many_devices on simulated machines: what its document holds, and what no machine may show. Virtual time: no
// test depends on how long anything takes.

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::json;

struct Ran {
    int status = -1;
    std::string out;
    Json document;
};

Ran run(const std::string& arguments, bool document = true) {
    auto const path =
        (std::filesystem::temp_directory_path() / ("many-devices-" + std::to_string(::getpid()))).string();
    auto const command =
        std::string(PEERLANE_MANY_DEVICES) + " " + arguments + (document ? " " + path : std::string()) + " 2>&1";
    Ran ran;
    auto* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) {
        return ran;
    }
    std::array<char, 4096> some{};
    for (std::size_t got = 0; (got = std::fread(some.data(), 1, some.size(), pipe)) > 0;) {
        ran.out.append(some.data(), got);
    }
    auto const status = ::pclose(pipe);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (document && std::filesystem::exists(path)) {
        std::ifstream file(path);
        ran.document = Json::parse(file, nullptr, false);
        std::filesystem::remove(path);
    }
    return ran;
}

/// Rows by name; of one name the largest.
std::map<std::string, Json> rows_of(const Json& document) {
    std::map<std::string, Json> rows;
    for (auto const& row : document.at("rows")) {
        auto& known = rows[row.at("case")];
        if (known.is_null() || known.at("bytes") < row.at("bytes")) {
            known = row;
        }
    }
    return rows;
}

double gbs_of(const Json& row, const std::string& peer) {
    for (auto const& one : row.at("peers")) {
        if (one.at("name") == peer) {
            return one.at("gbs");
        }
    }
    return 0;
}

void expect_document(const Json& document, int devices) {
    EXPECT_EQ(document.at("schema"), "peerlane.bench/1");
    EXPECT_EQ(document.at("simulated"), true);
    for (auto const* key : {"machine", "driver", "date", "command"}) {
        EXPECT_FALSE(document.at(key).get<std::string>().empty()) << key;
    }
    std::set<std::pair<std::string, std::uint64_t>> names;
    for (auto const& row : document.at("rows")) {
        auto const name = row.at("case").get<std::string>();
        EXPECT_TRUE(names.emplace(name, row.at("bytes")).second) << name << " stands twice";
        double best = 0;
        for (auto const& peer : row.at("peers")) {
            EXPECT_GT(peer.at("us"), 0.0) << name;
            EXPECT_GE(peer.at("spread"), 0.0) << name;
            best = std::max(best, peer.at("gbs").get<double>());
        }
        EXPECT_GT(best, 0) << name;
        EXPECT_NEAR(row.at("ratio"), row.at("ours").at("gbs").get<double>() / best, 1e-9) << name;
        EXPECT_NEAR(row.at("ours").at("gbs").get<double>() * row.at("ours").at("us").get<double>() * 1e3,
                    row.at("bytes").get<double>(), row.at("bytes").get<double>() * 1e-9)
            << name;
        EXPECT_GT(row.at("predicted_us"), 0.0) << name;
    }
    auto const rows = rows_of(document);
    for (int a = 0; a < devices; ++a) {
        for (int b = 0; b < devices; ++b) {
            auto const pair = std::to_string(a) + ">" + std::to_string(b);
            EXPECT_EQ(rows.count("staged " + pair), a == b ? 0U : 1U) << pair;
            EXPECT_EQ(rows.count("direct " + pair), a == b ? 0U : 1U) << pair;
        }
    }
    for (int helpers = 0; helpers < devices; ++helpers) {
        EXPECT_EQ(rows.count("host>0, " + std::to_string(helpers) + (helpers == 1 ? " helper" : " helpers")), 1U);
    }
    for (auto const& one : document.at("left_out")) {
        EXPECT_FALSE(one.at("case").get<std::string>().empty());
        EXPECT_FALSE(one.at("reason").get<std::string>().empty());
    }
}

/// What holds on every machine whose devices a fabric joins.
void expect_figures(const Json& document) {
    for (auto const& row : document.at("rows")) {
        auto const name = row.at("case").get<std::string>();
        if (name.rfind("copy ", 0) == 0 && name.find("as planned") != std::string::npos) {
            EXPECT_GE(row.at("ratio"), 0.99) << name << ": a split below the direct copy";
        }
        if (name.rfind("staged ", 0) == 0) {
            EXPECT_GE(row.at("ratio"), 1.2) << name;
        }
        if (name.rfind("direct ", 0) == 0) {
            EXPECT_GE(row.at("ratio"), 0.98) << name;
        }
    }
    for (auto const& goal : document.at("goals")) {
        EXPECT_EQ(goal.at("met"), true) << goal.dump();
    }
}

TEST(ManyDevices, OfTwo) {
    auto const ran = run("--machine h200-pair --small --rounds 3");
    ASSERT_EQ(ran.status, 0) << ran.out;
    expect_document(ran.document, 2);
    expect_figures(ran.document);
    std::map<std::string, std::string> left_out;
    for (auto const& one : ran.document.at("left_out")) {
        left_out[one.at("case")] = one.at("reason");
    }
    for (auto const* name : {"relay", "one to all", "all to one"}) {
        EXPECT_EQ(left_out[name], "needs 3 devices") << name;
    }
    EXPECT_EQ(left_out["all to all, large copies, NCCL"], "simulated");
}

TEST(ManyDevices, OfEight) {
    auto const ran = run("--machine h200-8 --small --rounds 3 --full");
    ASSERT_EQ(ran.status, 0) << ran.out;
    expect_document(ran.document, 8);
    expect_figures(ran.document);
    auto const rows = rows_of(ran.document);
    EXPECT_GE(rows.at("host>0, 1 helper").at("ratio"), 1.8);
    EXPECT_GE(rows.at("host>0, 3 helpers").at("ratio"), 3.3);
    EXPECT_GE(rows.at("host>0, as planned").at("ratio"), 4);
    EXPECT_EQ(rows.count("relay 0>1 over 2+3+4+5+6+7"), 1U);
    auto const& all = rows.at("all to all, large copies");
    EXPECT_GE(all.at("ours").at("gbs").get<double>() / gbs_of(all, "simultaneous copies"), 1);
    EXPECT_GE(all.at("ours").at("gbs").get<double>() / gbs_of(all, "simultaneous copies in rounds"), 0.98);
    // The memory of one node gives what four and a half links take.
    for (auto const& knee : ran.document.at("knees")) {
        EXPECT_GE(knee.at("helpers"), 3);
        EXPECT_LE(knee.at("helpers"), 4);
        EXPECT_NEAR(knee.at("helpers").get<double>(), knee.at("predicted_helpers").get<double>(), 1);
    }
    EXPECT_EQ(ran.document.at("knees").size(), 2U);
}

TEST(ManyDevices, WhatTheTimeIsTooShortForIsNamed) {
    auto const whole = run("--machine h200-pair --small --rounds 3");
    auto const ran = run("--machine h200-pair --small --rounds 3 --seconds 0.2");
    ASSERT_EQ(ran.status, 0) << ran.out;
    auto const count = [](const Json& document, const char* key) { return document.at(key).size(); };
    EXPECT_LT(count(ran.document, "rows"), count(whole.document, "rows"));
    EXPECT_EQ(count(ran.document, "rows") + count(ran.document, "left_out"),
              count(whole.document, "rows") + count(whole.document, "left_out"));
    EXPECT_NE(ran.document.dump().find("the time of its part was over"), std::string::npos);
}

TEST(ManyDevices, SaysWhatItCannotDo) {
    EXPECT_EQ(run("--frobnicate", false).status, 64);
    EXPECT_EQ(run("--machine h200-pair --seconds nothing", false).status, 64);
    EXPECT_EQ(run("--machine h200-pair --topology topo.json", false).status, 64);
    EXPECT_EQ(run("--machine no-such-machine", false).status, 66);
    EXPECT_EQ(run("--machine sim:gpu=1", false).status, 3);
    EXPECT_EQ(run("--machine h200-pair --small --rounds 3 --seconds 0.01 /no/such/folder/out.json", false).status, 70);
}

}  // namespace
