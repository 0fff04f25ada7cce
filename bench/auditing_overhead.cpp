// What watching costs: the same calls on a simulated pair with and without the audit, per event that the audit sees.
// The simulator does the same work in both, so the difference is the audit's.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sys/resource.h>

#include <peerlane/auditing.hpp>
#include <peerlane/driver/owned.hpp>
#include <peerlane/named.hpp>
#include <peerlane/units.hpp>

namespace {

using namespace peerlane;

constexpr int rounds = 200'000;

/// Copies there and back between two streams that wait for each other, now and then looked at by the host.
void work(Driver& driver) {
    driver.enable_access({0, 1});
    Allocation const a(driver, {gpu(0), 64_KiB}), b(driver, {gpu(1), 64_KiB});
    Stream const s0(driver, 0), s1(driver, 1);
    Event const there(driver, 0), back(driver, 1);
    for (int round = 0; round < rounds; ++round) {
        driver.copy(s0.view(), {b.location(), a.location(), 4096, CopyApi::peer});
        driver.record(there.view(), s0.view());
        driver.wait(s1.view(), there.view());
        driver.copy(s1.view(), {a.location(), b.location(), 4096, CopyApi::peer});
        driver.record(back.view(), s1.view());
        driver.wait(s0.view(), back.view());
        if (round % 64 == 63) {
            driver.synchronize(back.view());
        }
    }
    driver.synchronize(s0.view());
    driver.synchronize(s1.view());
}

template <class Call>
double seconds(Call&& call) {
    auto const start = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main() {
    auto const machine = load_machine("h200-pair");
    std::vector<double> plain, watched;
    std::uint64_t events = 0;
    for (int i = 0; i < 3; ++i) {
        auto const bare = open_simulated(machine);
        plain.push_back(seconds([&] { work(*bare); }));
        auto const inner = open_simulated(machine);
        auto const audited = make_auditing(*inner);
        watched.push_back(seconds([&] { work(*audited); }));
        auto const report = audited->finish();
        events = report.events;
        if (report.status() != 0) {
            std::printf("the program is clean, yet: %s", to_table(report).c_str());
            return 1;
        }
    }
    auto const best_plain = *std::min_element(plain.begin(), plain.end());
    auto const best_watched = *std::min_element(watched.begin(), watched.end());
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%.0f ns an event (%llu events; %.2f s without, %.2f s with), at most %ld MiB\n",
                (best_watched - best_plain) / static_cast<double>(events) * 1e9,
                static_cast<unsigned long long>(events), best_plain, best_watched, usage.ru_maxrss / 1024);
}
