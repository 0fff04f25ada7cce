#pragma once
/// What every benchmark hands in: rows of ours against peers measured in the same interleaved run (`peerlane.bench/1`).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace peerlane::bench {

struct Timing {
    double gbs = 0;     ///< of the median
    double us = 0;      ///< median
    double spread = 0;  ///< (third quartile - first) / median
};

struct Peer {
    std::string name;
    Timing timing;
};

struct Row {
    std::string name;
    std::uint64_t bytes = 0;
    Timing ours;
    std::vector<Peer> peers;
    std::optional<double> predicted_us{};  ///< of ours, where something foretold it
    /// Ours to the best peer, by rate.
    [[nodiscard]] double ratio() const;
};

struct Report {
    std::string machine, driver, command;
    std::vector<Row> rows;
    /// The date is that of the call.
    [[nodiscard]] std::string json() const;
    [[nodiscard]] std::string table() const;
};

/// One way of doing the same work; returns seconds of one run.
struct Contender {
    std::string name;
    std::function<double()> run;
};

/// Runs ours, peer, peer, ours, peer ... `rounds` times after one warm-up of each.
Row interleave(std::string name, std::uint64_t bytes, const Contender& ours, const std::vector<Contender>& peers,
               int rounds);

}  // namespace peerlane::bench
