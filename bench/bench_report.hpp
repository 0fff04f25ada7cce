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
    std::optional<double> simulated_us{};  ///< of the same on a simulated machine
};

struct Row {
    std::string name;
    std::uint64_t bytes = 0;
    Timing ours;
    std::vector<Peer> peers;
    std::optional<double> predicted_us{};  ///< of ours, where something foretold it
    std::optional<double> simulated_us{};  ///< of ours on a simulated machine
    std::string plan{};                    ///< what ours did, in few words; may be empty
    /// Ours to the best peer, by rate.
    [[nodiscard]] double ratio() const;
};

struct LeftOut {
    std::string name, reason;
};

/// What a run has to show.
struct Goal {
    std::string name;
    double wanted = 0;
    double got = 0;
    bool at_most = false;
    [[nodiscard]] bool met() const { return at_most ? got <= wanted : got >= wanted; }
};

/// From which number of helpers on one more adds little; empty: each of them added.
struct Knee {
    std::string name;
    std::optional<int> seen{}, predicted{}, simulated{};
};

struct Report {
    std::string machine, driver, command;
    std::vector<Row> rows;
    // Keys of the document only where there is something to say.
    std::optional<bool> simulated{};
    std::string twin{};  ///< the machine that stood in for this one in simulated times
    std::vector<LeftOut> left_out{};
    std::vector<Goal> goals{};
    std::vector<Knee> knees{};
    /// The date is that of the call.
    [[nodiscard]] std::string json() const;
    [[nodiscard]] std::string table() const;
};

/// One way of doing the same work; returns seconds of one run.
struct Contender {
    std::string name;
    std::function<double()> run;
};

/// Runs all of them `rounds` times after one warm-up of each, every round in another order (the same in every run):
/// what ran before costs the next one up to a microsecond, and no contender has the same one before it each time.
Row interleave(std::string name, std::uint64_t bytes, const Contender& ours, const std::vector<Contender>& peers,
               int rounds);

}  // namespace peerlane::bench
