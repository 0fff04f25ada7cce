// Planner::choose is a lookup: nanoseconds and allocations of a call, over random sizes and pairs. Reads a clock, runs
// no device.
//
//   choose [MACHINE] [OUT.json]

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <peerlane/named.hpp>
#include <peerlane/planner.hpp>

#include "bench_report.hpp"

namespace {

std::size_t allocations = 0;

}  // namespace

void* operator new(std::size_t bytes) {
    ++allocations;
    if (auto* const memory = std::malloc(bytes)) {
        return memory;
    }
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

int main(int argc, char** argv) {
    using namespace peerlane;
    using Clock = std::chrono::steady_clock;
    std::string const name = argc > 1 ? argv[1] : "dgx-1v";
    auto const machine = load_machine(name).machine();
    PlannerOptions options;
    options.trust_claimed = true;
    auto const made = Clock::now();
    Planner const planner(machine, {}, nominal_profile(machine), options);
    struct Question {
        Place from, to;
        std::uint64_t bytes;
    };
    std::vector<Question> questions;
    std::uint64_t random = 1;
    auto const devices = static_cast<std::uint64_t>(std::min<std::size_t>(machine.devices.size(), 4));
    for (int i = 0; i < 1000; ++i) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        auto const a = (random >> 33) % devices;
        auto const b = (a + 1 + (random >> 40) % (devices - 1)) % devices;
        questions.push_back({gpu(static_cast<int>(a)), gpu(static_cast<int>(b)), (random >> 8) >> (24 + random % 24)});
    }
    for (auto const& question : questions) {
        (void)planner.choose(question.from, question.to, question.bytes);
    }
    auto const prepared = std::chrono::duration<double>(Clock::now() - made).count();
    constexpr int rounds = 401;
    std::vector<double> took;
    took.reserve(rounds);
    double sum = 0;
    auto const before = allocations;
    for (int round = 0; round < rounds; ++round) {
        auto const start = Clock::now();
        for (auto const& question : questions) {
            sum += planner.choose(question.from, question.to, question.bytes).predicted_s;
        }
        took.push_back(std::chrono::duration<double>(Clock::now() - start).count() /
                       static_cast<double>(questions.size()));
    }
    auto const allocated = allocations - before;
    std::sort(took.begin(), took.end());
    auto const median = took[rounds / 2] * 1e9;
    fmt::print(
        "{}: choose {:.1f} ns median, {:.1f} best, {:.1f} 95th percentile; {} allocations in {} calls; "
        "{} tables made in {:.3f} s (checksum {:.3g})\n",
        name, median, took.front() * 1e9, took[rounds * 95 / 100] * 1e9, allocated, rounds * questions.size(),
        devices * (devices - 1), prepared, sum);
    if (argc > 2) {
        bench::Report report;
        report.machine = name;
        report.driver = "none: a lookup";
        report.command = fmt::format("choose {}", name);
        bench::Row row{"Planner::choose, calls", 1, {}, {}};
        row.ours = {0, median / 1e3, (took[rounds * 3 / 4] - took[rounds / 4]) * 1e9 / median};
        report.rows.push_back(row);
        std::ofstream(argv[2]) << report.json();
    }
    return median < 100 && allocated == 0 ? 0 : 1;
}
