#pragma once
/// How good choices are: a machine is measured through its driver, plans come from that profile, and the chosen plan
/// and every fixed alternative are carried out. Used by a test and by the benchmark.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <peerlane/driver.hpp>
#include <peerlane/planner.hpp>
#include <peerlane/simulated.hpp>

namespace peerlane::regret {

struct Row {
    std::string machine{};
    Place from, to;
    std::uint64_t bytes = 0;
    std::string chosen{}, best{};  ///< what was chosen, and the fastest of all
    double predicted_s = 0, achieved_s = 0, best_s = 0;
    [[nodiscard]] double regret() const { return achieved_s / best_s; }
    [[nodiscard]] double error() const { return predicted_s / achieved_s - 1; }  ///< signed
};

struct Trial {
    std::string name{};
    SimulatedMachine machine;
    SimOptions options{};
};

struct Questions {
    std::vector<std::uint64_t> sizes{};
    std::size_t pairs = 2;  ///< of devices, of different sorts first
    bool host = true;       ///< from and to the host too
    int runs = 3;           ///< of which the median is taken
    bool quick = false;     ///< measuring
    /// Told of everything that was carried out: what, predicted and achieved seconds.
    std::function<void(const std::string& what, double predicted_s, double achieved_s)> tell{};
};

/// 256 B to 4 GiB, `per_octave` of 1 or less: every 1 / per_octave octaves.
std::vector<std::uint64_t> sizes(double octaves_apart);

/// All rows of one machine.
std::vector<Row> judge(const Trial& trial, const Questions& questions);

/// Named machines as they are, without what the model does not know.
std::vector<Trial> shipped();
/// A random machine with effects that the model does not know; equal seeds give equal ones.
Trial random_trial(std::uint64_t seed);

struct Summary {
    std::size_t rows = 0;
    double regret_median = 0, regret_p99 = 0, regret_worst = 0;
    double error_median = 0, error_p95 = 0, error_worst = 0;  ///< of |predicted - achieved| / achieved
};
Summary summarize(const std::vector<Row>& rows);

}  // namespace peerlane::regret
