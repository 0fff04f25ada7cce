// Copies at once on the pair: four of unequal size, as bench/concurrent.cpp runs them on devices
// (bench/results/2026-11-30-h200-pair-concurrent.json), and the host copies of nvbandwidth 0.8.
#include <utility>

#include <fmt/format.h>
#include <peerlane/units.hpp>

#include "pair_runs.hpp"
#include "pair_tables.hpp"

namespace peerlane::validation {

Table pair_table(const std::string& title) {
    Table result;
    result.machine = "h200-pair";
    result.title = title;
    result.source = "own measurement of two H200, 2026-11-30";
    result.median_bound = 0.05;
    result.worst_bound = 0.15;
    return result;
}

void add(Table& into, const std::string& name, double theirs, std::function<double(Driver&)> play, bool fitted) {
    Cell cell;
    cell.name = name;
    cell.low = cell.high = theirs;
    cell.play = std::move(play);
    cell.fitted = fitted;
    into.cells.push_back(std::move(cell));
}

namespace {

Transfer sized(Place from, Place to, int issuer, std::uint64_t bytes) {
    Transfer transfer{from, to, issuer};
    transfer.bytes = bytes;
    return transfer;
}

Table unequal() {
    struct Set {
        const char* name;
        std::vector<std::pair<Transfer, double>> copies;  ///< and their GB/s, from the common start to their own end
    };
    auto const g0 = gpu(0), g1 = gpu(1);
    const std::vector<Set> sets{
        {"both ways and the host",
         {{sized(g0, g1, 0, 1_GiB), 391.3},
          {sized(g1, g0, 1, 600_MiB), 385.1},
          {sized(host(), g0, 0, 160_MiB), 54.0},
          {sized(g1, host(), 1, 96_MiB), 54.2}}},
        {"two each way",
         {{sized(g0, g1, 0, 1_GiB), 390.4},
          {sized(g0, g1, 0, 384_MiB), 106.9},
          {sized(g1, g0, 1, 768_MiB), 385.6},
          {sized(g1, g0, 1, 128_MiB), 55.2}}},
        {"four one way",
         {{sized(g0, g1, 0, 1_GiB), 395.6},
          {sized(g0, g1, 0, 512_MiB), 132.0},
          {sized(g0, g1, 1, 256_MiB), 56.5},
          {sized(g0, g1, 1, 128_MiB), 26.4}}},
        {"the host both ways",
         {{sized(host(), g0, 0, 512_MiB), 47.4},
          {sized(g0, host(), 0, 256_MiB), 51.4},
          {sized(host(), g1, 1, 384_MiB), 45.8},
          {sized(g1, host(), 1, 128_MiB), 50.1}}},
        {"a pull, then a push",
         {{sized(g0, g1, 1, 512_MiB), 393.3}, {sized(g0, g1, 0, 256_MiB), 112.3}, {sized(g0, g1, 1, 128_MiB), 78.5}}},
        {"one device both ways", {{sized(g0, g1, 0, 512_MiB), 391.4}, {sized(g1, g0, 0, 384_MiB), 386.9}}},
        {"one device, both ways and the host",
         {{sized(g0, g1, 0, 1_GiB), 393.4},
          {sized(g1, g0, 0, 600_MiB), 388.6},
          {sized(host(), g0, 0, 96_MiB), 51.0},
          {sized(g0, host(), 0, 96_MiB), 50.2}}},
    };
    auto result = pair_table("unequal copies at once, each from the common start to its own end");
    result.worst_bound = 0.05;
    for (auto const& set : sets) {
        std::vector<Transfer> all;
        for (auto const& [copy, gbs] : set.copies) {
            all.push_back(copy);
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto const& copy = all[i];
            add(result,
                fmt::format("{}: {} to {}, {}, issued by {}", set.name, to_string(copy.from), to_string(copy.to),
                            size_word(copy.bytes), copy.issuer),
                set.copies[i].second, [all, i](Driver& d) { return rates_from_start(d, all)[i]; });
        }
    }
    return result;
}

/// The middle of both devices. What runs beside the timed copy is longer. What requests of pulls take of the way back
/// was read off the row marked so.
Table nvbandwidth() {
    auto result = pair_table("nvbandwidth 0.8: copies alone and under others");
    result.source = "nvbandwidth 0.8 on the same pair, 2026-11-30";
    auto const in = [](int d, std::uint64_t bytes = 256_MiB) { return sized(host(), gpu(d), d, bytes); };
    auto const out = [](int d, std::uint64_t bytes = 256_MiB) { return sized(gpu(d), host(), d, bytes); };
    auto const row = [&](const char* name, double theirs, std::vector<Transfer> transfers, bool fitted = false) {
        add(
            result, name, theirs, [transfers = std::move(transfers)](Driver& d) { return first_rate(d, transfers); },
            fitted);
    };
    row("into a device under out of it", 49.87, {in(0), out(0, 1_GiB)}, true);
    row("out of a device under into it", 51.02, {out(0), in(0, 1_GiB)}, true);
    row("into both", 54.54, {in(0), in(1)});
    row("out of both", 55.21, {out(0), out(1)});
    row("into both under out of both", 30.55, {in(0), in(1), out(0, 1_GiB), out(1, 1_GiB)}, true);
    row("out of both under into both", 50.97, {out(0), out(1), in(0, 1_GiB), in(1, 1_GiB)});
    row("pushed under pushed the other way", 391.7, {push(0, 1), push(1, 0)});
    row("pulled under pulled the other way", 389.3, {pull(0, 1), pull(1, 0)}, true);
    row("pushed by a kernel", 370.0, {push(0, 1, true)});
    row("pulled by a kernel", 376.1, {pull(0, 1, true)});
    row("pushed by kernels both ways", 365.7, {push(0, 1, true), push(1, 0, true)});
    row("pulled by kernels both ways", 338.5, {pull(0, 1, true), pull(1, 0, true)});
    return result;
}

}  // namespace

std::vector<Table> concurrent_tables() {
    return {unequal(), nvbandwidth()};
}

}  // namespace peerlane::validation
