// What a split gives by share and chunk: the direct copy beside a lane through the host, and host memory reached by two
// links, each against the one way alone, interleaved. Says which plan would be best where; the mover's planner has to
// find it by itself (side_by_side).
//
//   splits [--simulated MACHINE] [OUT.json]

#include <string>
#include <vector>

#include <fmt/format.h>
#include <peerlane/driver/owned.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/units.hpp>

#include "bench_main.hpp"

namespace {

using namespace peerlane;

constexpr int rounds = 7;

class Bench {
  public:
    explicit Bench(Driver& driver)
        : driver_(driver),
          near_(driver, {gpu(0), room}),
          far_(driver, {gpu(1), room}),
          pinned_(driver, {host(), room, MemoryKind::pinned}),
          stream_(driver, 0),
          mover_(driver, {driver.machine(), {}, true}) {
        driver.enable_access({0, 1});
        driver.enable_access({1, 0});
    }

    bench::Report run() {
        bench::Report report;
        report.driver = driver_.description();
        report.machine = fmt::format("{} x {}", driver_.device_count(),
                                     driver_.machine().devices.front().model.value_or("unknown device"));
        Leg const push{gpu(0), gpu(1), Engine::copy, gpu(0)};
        Leg const out{gpu(0), host(), Engine::copy, gpu(0)}, in{host(), gpu(1), Engine::copy, gpu(1)};
        for (auto const bytes : {64 * MiB, 256 * MiB, 1 * GiB}) {
            std::vector<bench::Contender> ways;
            for (auto const chunk : {bytes / 64, bytes / 128}) {
                for (auto const share : {0.04, 0.06, 0.08, 0.10, 0.11}) {
                    Choice split;
                    split.bytes = bytes;
                    split.routes = {{1 - share, {push}, 0, 0}, {share, {out, in}, chunk, 4}};
                    ways.push_back(
                        way(fmt::format("{:.0f} % in {}", share * 100, size_word(chunk)), split, far_, near_));
                }
            }
            Choice lane;
            lane.bytes = bytes / 10;
            lane.routes = {{1.0, {out, in}, bytes / 128, 4}};
            ways.push_back(way("a tenth through the host alone", lane, far_, near_));
            add(report, "device to device", bytes, push, far_, near_, ways);
        }
        for (auto const bytes : {256 * MiB, 1 * GiB}) {
            for (auto const from_host : {false, true}) {
                std::vector<bench::Contender> ways;
                for (auto const& [word, crossing] : crossings(from_host)) {
                    for (auto const chunk : {4 * MiB, 16 * MiB}) {
                        for (auto const share : {0.46, 0.5}) {
                            Choice split;
                            split.bytes = bytes;
                            auto const direct = from_host ? Leg{host(), gpu(0), Engine::copy, gpu(0)} : out;
                            Leg const outer = from_host ? in : Leg{gpu(1), host(), Engine::copy, gpu(1)};
                            std::vector<Leg> helped{crossing, outer};
                            if (from_host) {
                                std::swap(helped[0], helped[1]);
                            }
                            split.routes = {{1 - share, {direct}, 0, 0}, {share, helped, chunk, 4}};
                            ways.push_back(way(fmt::format("{:.0f} % {} in {}", share * 100, word, size_word(chunk)),
                                               split, from_host ? near_ : pinned_, from_host ? pinned_ : near_));
                        }
                    }
                }
                auto const direct = from_host ? Leg{host(), gpu(0), Engine::copy, gpu(0)} : out;
                add(report, from_host ? "host to device" : "device to host", bytes, direct, from_host ? near_ : pinned_,
                    from_host ? pinned_ : near_, ways);
            }
        }
        return report;
    }

  private:
    static constexpr std::uint64_t room = 1 * GiB;

    static std::vector<std::pair<std::string, Leg>> crossings(bool from_host) {
        std::vector<std::pair<std::string, Leg>> all;
        auto const from = from_host ? gpu(1) : gpu(0), to = from_host ? gpu(0) : gpu(1);
        for (auto const engine : {Engine::copy, Engine::kernel}) {
            for (auto const issuer : {from, to}) {
                all.emplace_back(fmt::format("{}{}", issuer == from ? "pushed" : "pulled",
                                             engine == Engine::kernel ? " by kernel" : ""),
                                 Leg{from, to, engine, issuer});
            }
        }
        return all;
    }
    double timed(const Choice& choice, const Allocation& to, const Allocation& from) {
        auto const start = driver_.now();
        mover_.carry_out(choice, to.location(), from.location(), stream_.view());
        driver_.synchronize(stream_.view());
        return driver_.now() - start;
    }
    bench::Contender way(std::string name, const Choice& choice, const Allocation& to, const Allocation& from) {
        mover_.prepare(choice);
        return {std::move(name), [this, choice, &to, &from] { return timed(choice, to, from); }};
    }
    /// The one way alone is "ours": the ratio then says what the best split costs or gains.
    void add(bench::Report& report, const std::string& name, std::uint64_t bytes, const Leg& alone,
             const Allocation& to, const Allocation& from, const std::vector<bench::Contender>& ways) {
        Choice one;
        one.bytes = bytes;
        one.routes = {{1.0, {alone}, 0, 0}};
        report.rows.push_back(bench::interleave(name + ", one way", bytes,
                                                {"one way", [&] { return timed(one, to, from); }}, ways, rounds));
    }

    Driver& driver_;
    Allocation near_, far_, pinned_;
    Stream stream_;
    Mover mover_;
};

}  // namespace

int main(int argc, char** argv) {
    return peerlane::bench::main_of("splits", argc, argv, [](peerlane::Driver& driver) { return Bench(driver).run(); });
}
