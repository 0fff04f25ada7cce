#pragma once
/// Transfers as people's benchmarks make them, over any driver: never through a formula.

#include <memory>
#include <vector>

#include <peerlane/driver.hpp>
#include <peerlane/named.hpp>

namespace peerlane::validation {

struct Transfer {
    Place from, to;
    int issuer = 0;
    bool kernel = false;  ///< threads instead of a copy engine
    std::uint64_t bytes = 1ULL << 30;
};

/// A simulated machine with access enabled for every pair that claims it, or for none.
std::unique_ptr<Driver> open_for(const SimulatedMachine& machine, bool access);

/// All start at the same moment; seconds until each is done. More copies of one device than it has copy engines are
/// made by kernels, so that none of them waits in a queue.
std::vector<double> play(Driver& driver, std::vector<Transfer> transfers);

/// Ways to tell one number of it, GB/s.
double first_rate(Driver& driver, const std::vector<Transfer>& transfers);
double sum_of_rates(Driver& driver, const std::vector<Transfer>& transfers);
double mean_rate(Driver& driver, const std::vector<Transfer>& transfers);
double bytes_over_makespan(Driver& driver, const std::vector<Transfer>& transfers);

/// a to b, pushed by a or pulled by b.
Transfer push(int a, int b, bool kernel = false);
Transfer pull(int a, int b, bool kernel = false);

}  // namespace peerlane::validation
