// Copies of unequal size at once, on two devices and on the simulated machine of the same kind: what the simulator
// foretells of each against what happens.
//
//   concurrent MACHINE [OUT.json]        MACHINE: what the devices are simulated as, h200-pair

#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <peerlane/driver/owned.hpp>
#include <peerlane/named.hpp>
#include <peerlane/open.hpp>
#include <peerlane/units.hpp>

#include "bench_report.hpp"

namespace {

using namespace peerlane;

constexpr int rounds = 9;

struct Flow {
    Place from, to;
    int issuer;
    std::uint64_t bytes;
};
struct Set {
    const char* name;
    std::vector<Flow> flows;
};

const std::vector<Set>& sets() {
    static const std::vector<Set> all{
        {"both ways and the host",
         {{gpu(0), gpu(1), 0, 1 * GiB},
          {gpu(1), gpu(0), 1, 600 * MiB},
          {host(), gpu(0), 0, 160 * MiB},
          {gpu(1), host(), 1, 96 * MiB}}},
        {"two each way",
         {{gpu(0), gpu(1), 0, 1 * GiB},
          {gpu(0), gpu(1), 0, 384 * MiB},
          {gpu(1), gpu(0), 1, 768 * MiB},
          {gpu(1), gpu(0), 1, 128 * MiB}}},
        {"four one way",
         {{gpu(0), gpu(1), 0, 1 * GiB},
          {gpu(0), gpu(1), 0, 512 * MiB},
          {gpu(0), gpu(1), 1, 256 * MiB},
          {gpu(0), gpu(1), 1, 128 * MiB}}},
        {"the host both ways",
         {{host(), gpu(0), 0, 512 * MiB},
          {gpu(0), host(), 0, 256 * MiB},
          {host(), gpu(1), 1, 384 * MiB},
          {gpu(1), host(), 1, 128 * MiB}}},
        // What the sets above leave open: whether a push waits for a pull of the same direction that came first, and
        // whether one device can push and pull at once.
        {"a pull, then a push",
         {{gpu(0), gpu(1), 1, 512 * MiB}, {gpu(0), gpu(1), 0, 256 * MiB}, {gpu(0), gpu(1), 1, 128 * MiB}}},
        {"one device both ways", {{gpu(0), gpu(1), 0, 512 * MiB}, {gpu(1), gpu(0), 0, 384 * MiB}}},
        {"one device, both ways and the host",
         {{gpu(0), gpu(1), 0, 1 * GiB},
          {gpu(1), gpu(0), 0, 600 * MiB},
          {host(), gpu(0), 0, 96 * MiB},
          {gpu(0), host(), 0, 96 * MiB}}},
    };
    return all;
}

/// One set on one driver; memory is made once.
class Rig {
  public:
    Rig(Driver& driver, const Set& set) : driver_(driver), set_(set) {
        for (auto const& flow : set.flows) {
            auto const kind = [](Place place) { return place.is_host() ? MemoryKind::pinned : MemoryKind::plain; };
            memory_.emplace_back(driver, AllocationRequest{flow.from, flow.bytes, kind(flow.from)});
            memory_.emplace_back(driver, AllocationRequest{flow.to, flow.bytes, kind(flow.to)});
            streams_.emplace_back(driver, flow.issuer);
            done_.emplace_back(driver, flow.issuer);
        }
    }
    /// Seconds from the first submission until each is seen done.
    std::vector<double> run() {
        driver_.synchronize_device(0);
        driver_.synchronize_device(1);
        std::vector<double> seconds(set_.flows.size(), 0);
        auto const start = driver_.now();
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            auto const& flow = set_.flows[i];
            auto const peers = flow.from.is_device() && flow.to.is_device();
            driver_.copy(streams_[i].view(), {memory_[2 * i + 1].location(), memory_[2 * i].location(), flow.bytes,
                                              peers ? CopyApi::peer : CopyApi::automatic});
            driver_.record(done_[i].view(), streams_[i].view());
        }
        for (std::size_t left = seconds.size(); left > 0;) {
            for (std::size_t i = 0; i < seconds.size(); ++i) {
                if (seconds[i] == 0 && driver_.query(done_[i].view())) {
                    seconds[i] = driver_.now() - start;
                    --left;
                }
            }
        }
        return seconds;
    }

  private:
    Driver& driver_;
    const Set& set_;
    std::vector<Allocation> memory_;
    std::vector<Stream> streams_;
    std::vector<Event> done_;
};

void enable(Driver& driver) {
    driver.enable_access({0, 1});
    driver.enable_access({1, 0});
}

void measure(bench::Report& report, Driver& real, Driver& simulated) {
    for (auto const& set : sets()) {
        Rig devices(real, set), foretold(simulated, set);
        std::vector<std::vector<double>> seen(set.flows.size()), told(set.flows.size());
        (void)devices.run();
        (void)foretold.run();
        for (int round = 0; round < rounds; ++round) {
            auto const a = devices.run(), b = foretold.run();
            for (std::size_t i = 0; i < a.size(); ++i) {
                seen[i].push_back(a[i]);
                told[i].push_back(b[i]);
            }
        }
        for (std::size_t i = 0; i < set.flows.size(); ++i) {
            std::size_t at = 0, peer_at = 0;
            auto const& flow = set.flows[i];
            report.rows.push_back(bench::interleave(
                fmt::format("{}: {}>{} by {}", set.name, to_string(flow.from), to_string(flow.to), flow.issuer),
                flow.bytes, {"devices", [&] { return seen[i][at++ % rounds]; }},
                {{"simulated", [&] { return told[i][peer_at++ % rounds]; }}}, rounds));
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2 || argc > 3) {
            std::fputs("usage: concurrent MACHINE [OUT.json]\n", stderr);
            return 64;
        }
        auto const real = open_cuda();
        auto const simulated = open_simulated(load_machine(argv[1]));
        if (real->device_count() < 2 || simulated->device_count() < 2) {
            throw std::runtime_error("two devices are needed");
        }
        enable(*real);
        enable(*simulated);
        bench::Report report;
        report.driver = real->description();
        report.machine = fmt::format("{} x {}", real->device_count(),
                                     real->machine().devices.front().model.value_or("unknown device"));
        report.command = fmt::format("concurrent {}", argv[1]);
        measure(report, *real, *simulated);
        std::fputs(report.table().c_str(), stdout);
        if (argc == 3 && !(std::ofstream(argv[2]) << report.json())) {
            throw std::runtime_error(fmt::format("cannot write {}", argv[2]));
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "concurrent: %s\n", error.what());
        return 1;
    }
}
