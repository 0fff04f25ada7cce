#include <algorithm>

#include <gtest/gtest.h>
#include <peerlane/error.hpp>
#include <peerlane/named.hpp>
#include <peerlane/simulation.hpp>
#include <peerlane/traffic.hpp>

namespace peerlane {
namespace {

std::vector<Flow> read(const std::string& text) {
    static auto const machine = load_machine("h200-pair").machine();
    return read_flows_csv(text, "t.csv", machine, {0, 1});
}

std::string refusal(const std::string& text) {
    try {
        (void)read(text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(FlowsCsv, ReadsPlacesSizesAndTimes) {
    auto const flows = read("src,dst,bytes,start\n0,1,4096,0\ngpu1, gpu0 ,1MiB,2ms\n\n# later\nhost,1,1kB,0.5\n");
    ASSERT_EQ(flows.size(), 3U);
    EXPECT_EQ(flows[0], (Flow{gpu(0), gpu(1), 4096, 0, 0}));
    EXPECT_EQ(flows[1], (Flow{gpu(1), gpu(0), 1048576, 0.002, 0}));
    EXPECT_EQ(flows[2], (Flow{host(), gpu(1), 1000, 0.5, 0}));
}

TEST(FlowsCsv, NamesGiveTheOrderOfTheColumns) {
    EXPECT_EQ(read("bytes,dst,src\n64,1,0\n"), (std::vector<Flow>{{gpu(0), gpu(1), 64, 0, 0}}));
    EXPECT_EQ(read("0,1,64\n"), (std::vector<Flow>{{gpu(0), gpu(1), 64, 0, 0}})) << "no names, no start";
    EXPECT_EQ(read("0,1,64,\n"), (std::vector<Flow>{{gpu(0), gpu(1), 64, 0, 0}})) << "an empty start is 0";
}

TEST(FlowsCsv, WhatSpreadsheetsWrite) {
    EXPECT_EQ(read("\xef\xbb\xbf\"src\",\"dst\",\"bytes\"\r\n\"0\",\"1\",\"64\"\r\n"),
              (std::vector<Flow>{{gpu(0), gpu(1), 64, 0, 0}}));
}

TEST(FlowsCsv, ListsOfPages) {
    EXPECT_EQ(read("src,dst,bytes,page\n0,1,64KiB,4KiB\n0,1,65,\n0,1,65,0\n"),
              (std::vector<Flow>{{gpu(0), gpu(1), 65536, 0, 0, 4096}, {gpu(0), gpu(1), 65}, {gpu(0), gpu(1), 65}}));
    EXPECT_EQ(refusal("src,dst,bytes,page\n0,1,64KiB,100\n"),
              "t.csv:2: bytes \"64KiB\" is no whole number of pages of 100");
    EXPECT_EQ(refusal("src,dst,bytes,page\n0,1,64KiB,big\n"),
              "t.csv:2: page \"big\" is no size; sizes are 4096, 64KiB; empty or 0: in one piece");
    auto const machine = load_machine("h200-pair");
    std::vector<Flow> const flows{{gpu(0), gpu(1), 65536, 0, 0, 4096}, {gpu(1), host(), 65}};
    EXPECT_EQ(read(simulation_csv({simulate(machine, flows)})), flows);
}

TEST(FlowsCsv, ReadsWhatSimulationsPrint) {
    auto const machine = load_machine("h200-pair");
    std::vector<Flow> const flows{{gpu(0), gpu(1), 4096, 0}, {gpu(1), host(), 1 << 20, 2.5e-5}, {host(), gpu(0), 7, 0}};
    std::vector<Simulation> simulations{simulate(machine, flows, {.strategy = Strategy::peerlane})};
    auto const one = simulation_csv(simulations);
    EXPECT_EQ(one.substr(0, one.find('\n')), "src,dst,bytes,start_s,end_s,gbs");
    EXPECT_EQ(read(one), flows);
    simulations.push_back(simulate(machine, flows));
    auto const two = simulation_csv(simulations);
    EXPECT_EQ(two.substr(0, two.find('\n')), "src,dst,bytes,start_s,end_s,gbs,strategy");
    EXPECT_EQ(std::count(two.begin(), two.end(), '\n'), 7);
    EXPECT_EQ(read(two), flows) << "the rows of the second strategy are the same flows again";
    simulations = {simulate(machine, flows, {.faults = {parse_fault("push:0:1=hang")}})};
    EXPECT_EQ(simulation_csv(simulations).find("\n0,1,4096,0,,\n"), one.find('\n')) << "no end: empty cells";
    EXPECT_EQ(read(simulation_csv(simulations)), flows);
}

TEST(FlowsCsv, RefusesWithTheLine) {
    EXPECT_EQ(refusal("0,1,64\n0,2,64\n"), "t.csv:2: dst: the machine has no gpu2: it has 2 devices, numbered from 0");
    EXPECT_EQ(refusal("\n\n0,x,64\n"), "t.csv:3: dst: \"x\" is no place; places are 0, gpu0, host, host:1");
    EXPECT_EQ(refusal("0,1,lots\n"), "t.csv:1: bytes \"lots\" is no size above 0; sizes are 4096, 64MiB, 1GB");
    EXPECT_EQ(refusal("0,1,0\n"), "t.csv:1: bytes \"0\" is no size above 0; sizes are 4096, 64MiB, 1GB");
    EXPECT_EQ(refusal("0,1,-5\n"), "t.csv:1: bytes \"-5\" is no size above 0; sizes are 4096, 64MiB, 1GB");
    EXPECT_EQ(refusal("0,1,64,soon\n"), "t.csv:1: start \"soon\" is no time; times are seconds (0.001) or 1ms, 20us");
    EXPECT_EQ(refusal("0,1,64,-1\n"), "t.csv:1: start \"-1\" is no time; times are seconds (0.001) or 1ms, 20us");
    EXPECT_EQ(refusal("0,1\n"), "t.csv:1: 2 cells where src,dst,bytes,start belong (start may be left out)");
    EXPECT_EQ(refusal("src,dst,bytes\n0,1,64,0\n"),
              "t.csv:2: 4 cells where src,dst,bytes,start belong (3 by the first line)");
    EXPECT_EQ(refusal("src,dst,size\n"),
              "t.csv:1: there is no column \"size\"; the columns are src, dst, bytes, start, page");
    EXPECT_EQ(refusal("src,dst,start\n"), "t.csv:1: the column \"bytes\" is missing");
    EXPECT_EQ(refusal("src,src,bytes\n"), "t.csv:1: the column \"src\" stands here twice");
    EXPECT_EQ(refusal("1,1,64\n"), "t.csv:1: src and dst are both gpu1: nothing to move");
    EXPECT_EQ(refusal("host,host:0,64\n").substr(0, 8), "t.csv:1:");
    EXPECT_EQ(refusal("\"0,1,64\n"), "t.csv:1: a quote is not closed: \"0,1,64");
    EXPECT_EQ(refusal("\"0,1,64\",1\n"), "t.csv:1: 2 cells where src,dst,bytes,start belong (start may be left out)");
    EXPECT_EQ(refusal("\"0\"1,1,64\n"), "t.csv:1: 1 stands behind the quotes of a cell");
    EXPECT_EQ(refusal("0,1,64,0,0\n"), "t.csv:1: 5 cells where src,dst,bytes,start belong (start may be left out)");
    EXPECT_EQ(refusal("0,1,64,\r\n0,1,nan,\r\n"),
              "t.csv:2: bytes \"nan\" is no size above 0; sizes are 4096, 64MiB, 1GB");
    for (auto const* word : {"nan", "NaN", "inf", "-inf", "1e999", "-1ms", "1 2"}) {
        EXPECT_EQ(refusal(std::string("0,1,64,0\n0,1,64,") + word + "\n"),
                  std::string("t.csv:2: start \"") + word + "\" is no time; times are seconds (0.001) or 1ms, 20us");
    }
    for (auto const* word : {"inf", "-1", "1.5", "64QiB", "99999999999999999999", "99999999TiB", "", "0x40"}) {
        EXPECT_EQ(refusal(std::string("0,1,") + word + "\n"),
                  std::string("t.csv:1: bytes \"") + word + "\" is no size above 0; sizes are 4096, 64MiB, 1GB");
    }
    EXPECT_EQ(refusal(",1,64\n"), "t.csv:1: src: \"\" is no place; places are 0, gpu0, host, host:1");
    EXPECT_EQ(refusal("host:9,1,64\n"), "t.csv:1: src: the machine has no host:9: no such NUMA node is known");
    EXPECT_EQ(refusal("start,start_s,src,dst,bytes\n"), "t.csv:1: the column \"start_s\" stands here twice");
    EXPECT_EQ(refusal("src,dst,bytes,gbs,gbs\n"), "t.csv:1: the column \"gbs\" stands here twice");
    EXPECT_EQ(refusal("\xef\xbb\xbf"), "t.csv: there is no flow in it; a line is src,dst,bytes,start as 0,1,64MiB,0");
    EXPECT_EQ(refusal("# nothing\r\n\r\n").substr(0, 26), "t.csv: there is no flow in");
    EXPECT_EQ(refusal(""), "t.csv: there is no flow in it; a line is src,dst,bytes,start as 0,1,64MiB,0");
    EXPECT_EQ(refusal("src,dst,bytes\n").substr(0, 26), "t.csv: there is no flow in");
    EXPECT_EQ(refusal(std::string("\0\x01\x02", 3)).substr(0, 8), "t.csv:1:");
}

}  // namespace
}  // namespace peerlane
