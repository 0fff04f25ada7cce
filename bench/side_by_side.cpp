// The mover beside what people write by hand, in one process and one interleaved run: ours, peer, peer, ours, ... The
// document is peerlane.bench/1; below the table stands what issue and docs ask for, case by case.
//
//   side_by_side [--simulated MACHINE] [OUT.json]
//
// Order matters: what needs devices that do not see each other comes first, for access is never taken back.

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <peerlane/driver/owned.hpp>
#include <peerlane/measure.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/units.hpp>

#include "bench_main.hpp"
#include "kernels/copy.hpp"
#include "kernels/kernel.hpp"
#include "side_by_side_peers.hpp"

namespace {

using namespace peerlane;
using bench::Contender;
using bench::Raw;

constexpr int large_rounds = 21, small_rounds = 301;
constexpr int calls_in_a_row = 200;
/// Copies before a case is timed: shares settle in them.
constexpr int warm_copies = 40;

/// The driver stands in for the runtime where there is none.
class RawSimulated final : public Raw {
  public:
    explicit RawSimulated(Driver& driver) : driver_(driver) {}
    void on(int) override {}
    void peer(Location to, Location from, std::uint64_t bytes, StreamView stream) override {
        driver_.copy(stream, {to, from, bytes, CopyApi::peer});
    }
    void plain(Location to, Location from, std::uint64_t bytes, StreamView stream) override {
        driver_.copy(stream, {to, from, bytes, CopyApi::automatic});
    }
    void kernel(Location to, Location from, std::uint64_t bytes, StreamView stream) override {
        CopyArguments const arguments{to.address, from.address, bytes, 16};
        driver_.launch(stream, copy_kernel, &arguments);
    }
    Address foreign(int device, std::uint64_t bytes) override { return driver_.allocate({gpu(device), bytes}); }
    void wait(StreamView stream) override { driver_.synchronize(stream); }
    double now() override { return driver_.now(); }
    std::string nccl_missing() override { return "simulated"; }
    void nccl(Location, Location, std::uint64_t, StreamView, StreamView) override {}

  private:
    Driver& driver_;
};

struct Goal {
    std::string name;
    double wanted = 0;
    double got = 0;
    bool at_most = false;
};

class SideBySide {
  public:
    explicit SideBySide(Driver& driver)
        : driver_(driver),
#ifdef PEERLANE_BENCH_PEERS
          raw_(driver.simulated() ? std::make_unique<RawSimulated>(driver) : bench::raw_cuda()),
#else
          raw_(std::make_unique<RawSimulated>(driver)),
#endif
          from_(driver, {gpu(0), 2_GiB}),
          to_(driver, {gpu(1), 2_GiB}),
          host_a_(driver, {host(), 1_GiB, MemoryKind::pinned}),
          host_b_(driver, {host(), 1_GiB, MemoryKind::pinned}),
          source_(driver, 0),
          destination_(driver, 1) {
        raw_->on(0);
    }

    bench::Report run() {
        report_.driver = driver_.description();
        auto const& first = driver_.machine().devices.front();
        report_.machine = fmt::format("{} x {}", driver_.device_count(), first.model.value_or("unknown device"));
        measure();
        unmapped();
        enable();
        auto const missing = raw_->nccl_missing();
        nccl_ = missing.empty();
        std::printf("NCCL: %s\n", nccl_ ? "found" : missing.c_str());
        large();
        waited();
        in_a_row();
        host_time();
        to_and_from_host();
        both_loading();
        for (auto const& finding : mover_->findings()) {
            std::printf("finding %s: %s\n", finding.code.c_str(), finding.evidence.front().c_str());
        }
        return report_;
    }

    void print_goals() const {
        std::printf("\n%-64s %9s %9s\n", "must show", "wanted", "got");
        for (auto const& goal : goals_) {
            auto const met = goal.at_most ? goal.got <= goal.wanted : goal.got >= goal.wanted;
            std::printf("%-64s %9.3f %9.3f  %s\n", goal.name.c_str(), goal.wanted, goal.got, met ? "met" : "MISSED");
        }
    }

  private:
    void measure() {
        MeasureOptions options;
        options.trust_claimed = true;
        options.access = false;
        auto const start = raw_->now();
        auto profile = peerlane::measure(driver_, options);
        std::printf("measured %zu legs in %.1f s\n", profile.legs.size(), raw_->now() - start);
        mover_.emplace(driver_, Ready{driver_.machine(), {}, true, std::move(profile)});
        for (auto const bytes : {1_MiB, 64_MiB, 1_GiB}) {
            auto const choice = mover_->choose(gpu(0), gpu(1), bytes);
            std::printf("plan of %s:", size_text(bytes).c_str());
            for (auto const& route : choice.routes) {
                std::printf(" [%.1f %% %s]", route.share * 100, describe(route).c_str());
            }
            std::printf(" predicted %.1f GB/s\n", choice.predicted_gbs);
        }
    }

    void enable() {
        static_cast<void>(driver_.enable_access({0, 1}));
        static_cast<void>(driver_.enable_access({1, 0}));
        for (auto const* const memory : {&from_, &to_, &host_a_, &host_b_}) {
            mover_->register_buffer(pointer_to(memory->address()), memory->bytes());
        }
    }

    template <class Work>
    double timed(StreamView stream, Work&& work) {
        auto const start = raw_->now();
        work();
        raw_->wait(stream);
        return raw_->now() - start;
    }

    void copy(Location to, Location from, std::uint64_t bytes, StreamView stream) {
        mover_->copy(pointer_to(to.address), pointer_to(from.address), bytes, stream);
    }

    Contender ours(Location to, Location from, std::uint64_t bytes, StreamView stream) {
        return {"ours", [=, this] { return timed(stream, [&] { copy(to, from, bytes, stream); }); }};
    }
    Contender peer(std::string name, std::uint64_t bytes, StreamView stream) {
        return {std::move(name), [=, this] {
                    return timed(stream, [&] { raw_->peer(to_.location(), from_.location(), bytes, stream); });
                }};
    }
    Contender kernel(std::string name, std::uint64_t bytes, StreamView stream) {
        return {std::move(name), [=, this] {
                    raw_->on(stream.device);
                    auto const seconds =
                        timed(stream, [&] { raw_->kernel(to_.location(), from_.location(), bytes, stream); });
                    raw_->on(0);
                    return seconds;
                }};
    }
    Contender nccl(std::uint64_t bytes) {
        return {"NCCL", [=, this] {
                    auto const start = raw_->now();
                    raw_->nccl(to_.location(), from_.location(), bytes, source_.view(), destination_.view());
                    return raw_->now() - start;
                }};
    }
    Contender plain(std::string name, Location to, Location from, std::uint64_t bytes, StreamView stream) {
        return {std::move(name), [=, this] { return timed(stream, [&] { raw_->plain(to, from, bytes, stream); }); }};
    }

    const bench::Row& add(std::string name, std::uint64_t bytes, const Contender& mine,
                          const std::vector<Contender>& peers, int rounds) {
        for (int i = 0; i < warm_copies && rounds <= large_rounds; ++i) {
            static_cast<void>(mine.run());
        }
        report_.rows.push_back(bench::interleave(std::move(name), bytes, mine, peers, rounds));
        return report_.rows.back();
    }
    static double rate_of(const bench::Row& row, const std::string& peer) {
        auto const found =
            std::find_if(row.peers.begin(), row.peers.end(), [&](const bench::Peer& p) { return p.name == peer; });
        return found == row.peers.end() ? 0 : found->timing.gbs;
    }
    void want(const bench::Row& row, const std::string& peer, double ratio) {
        goals_.push_back({fmt::format("{}, {}, against {}", row.name, size_word(row.bytes), peer), ratio,
                          row.ours.gbs / rate_of(row, peer)});
    }

    /// Nothing is enabled yet: a mover that may not map, against the runtime.
    void unmapped() {
        std::map<std::uint64_t, double> const wanted{{64_MiB, 1.22}, {128_MiB, 1.28}, {256_MiB, 1.33}, {1_GiB, 1.38}};
        for (auto const bytes : {16_MiB, 64_MiB, 128_MiB, 256_MiB, 1_GiB}) {
            PlanOptions options;
            options.policy = RoutePolicy::staged;
            options.trust_claimed = true;
            auto const profile = mover_->ready().profile;
            options.profile = &profile;
            auto const choice = choose(driver_.machine(), gpu(0), gpu(1), bytes, options);
            mover_->prepare(choice);
            Contender const mine{"ours", [&] {
                                     return timed(source_.view(), [&] {
                                         mover_->carry_out(choice, to_.location(), from_.location(), source_.view());
                                     });
                                 }};
            Contender const two_steps{"two steps", [&] {
                                          return timed(destination_.view(), [&] {
                                              raw_->plain(host_a_.location(), from_.location(), bytes, source_.view());
                                              raw_->wait(source_.view());
                                              raw_->plain(to_.location(), host_a_.location(), bytes,
                                                          destination_.view());
                                          });
                                      }};
            auto const& row = add("nothing mapped", bytes, mine,
                                  {peer("unmapped peer copy", bytes, source_.view()), two_steps}, large_rounds);
            if (auto const goal = wanted.find(bytes); goal != wanted.end()) {
                want(row, "unmapped peer copy", goal->second);
            }
            if (bytes == 1_GiB) {
                auto const ours_gbs = row.ours.gbs;
                auto const& legs =
                    add("one leg of it", bytes,
                        plain("device to host", host_a_.location(), from_.location(), bytes, source_.view()),
                        {plain("host to device", to_.location(), host_a_.location(), bytes, destination_.view())},
                        large_rounds);
                goals_.push_back({"nothing mapped, 1GiB, against the slower of its legs", 0.95,
                                  ours_gbs / std::min(legs.ours.gbs, rate_of(legs, "host to device"))});
            }
        }
    }

    void large() {
        std::map<std::uint64_t, double> const wanted{{1_MiB, 0.98},  {4_MiB, 0.98},   {16_MiB, 0.98},  {32_MiB, 0.98},
                                                     {64_MiB, 1.04}, {128_MiB, 1.04}, {256_MiB, 1.07}, {512_MiB, 1.07},
                                                     {1_GiB, 1.10},  {2_GiB, 1.10}};
        for (auto const& [bytes, goal] : wanted) {
            std::vector<Contender> peers{peer("raw push", bytes, source_.view()),
                                         peer("raw pull", bytes, destination_.view()),
                                         kernel("kernel push", bytes, source_.view())};
            if (nccl_) {
                peers.push_back(nccl(bytes));
            }
            auto const& row = add("peer copy", bytes, ours(to_.location(), from_.location(), bytes, source_.view()),
                                  peers, bytes <= 16_MiB ? small_rounds : large_rounds);
            want(row, "raw push", goal);
        }
        for (auto const bytes : {64_MiB, 1_GiB}) {  // asked for in a stream of the destination
            add("peer copy, stream of the destination", bytes,
                ours(to_.location(), from_.location(), bytes, destination_.view()),
                {peer("raw push", bytes, source_.view()), peer("raw pull", bytes, destination_.view())}, large_rounds);
        }
    }

    void waited() {
        for (std::uint64_t bytes = 256; bytes <= 512_KiB; bytes *= 4) {
            for (auto const pushed : {true, false}) {
                auto const stream = pushed ? source_.view() : destination_.view();
                auto const* const by = pushed ? "push" : "pull";
                std::vector<Contender> peers{peer(fmt::format("raw {}", by), bytes, stream),
                                             kernel(fmt::format("kernel {}", by), bytes, stream)};
                if (nccl_) {
                    peers.push_back(nccl(bytes));
                }
                raw_->on(stream.device);
                auto const& row =
                    add(fmt::format("small, waited for, stream of {}", pushed ? "the source" : "the destination"),
                        bytes, ours(to_.location(), from_.location(), bytes, stream), peers, small_rounds);
                goals_.push_back(
                    {fmt::format("{}, {}, against the best", row.name, size_word(row.bytes)), 0.97, row.ratio()});
            }
        }
        raw_->on(0);
    }

    void in_a_row() {
        for (std::uint64_t bytes = 256; bytes <= 1_MiB; bytes *= 4) {
            auto const many = [=, this](auto&& call) {
                return [=, this] {
                    return timed(source_.view(), [&] {
                        for (int i = 0; i < calls_in_a_row; ++i) {
                            call();
                        }
                    });
                };
            };
            auto const& row =
                add("small, back to back", bytes * calls_in_a_row,
                    {"ours", many([=, this] { copy(to_.location(), from_.location(), bytes, source_.view()); })},
                    {{"raw push",
                      many([=, this] { raw_->peer(to_.location(), from_.location(), bytes, source_.view()); })}},
                    large_rounds);
            goals_.push_back({fmt::format("small, back to back, {} each, against raw push", size_word(bytes)), 0.90,
                              row.ours.gbs / rate_of(row, "raw push")});
        }
    }

    /// Of the calls alone: what they submitted is waited for outside.
    void host_time() {
        constexpr std::uint64_t bytes = 4_KiB;
        auto const calls = [=, this](auto&& call) {
            return [=, this] {
                auto const start = raw_->now();
                for (int i = 0; i < calls_in_a_row; ++i) {
                    call();
                }
                auto const seconds = (raw_->now() - start) / calls_in_a_row;
                raw_->wait(source_.view());
                return seconds;
            };
        };
        Location const foreign_from{gpu(0), raw_->foreign(0, bytes)}, foreign_to{gpu(1), raw_->foreign(1, bytes)};
        Contender const raw{"raw call",
                            calls([=, this] { raw_->peer(to_.location(), from_.location(), bytes, source_.view()); })};
        auto const& registered =
            add("host time of a call, registered", bytes,
                {"ours", calls([=, this] { copy(to_.location(), from_.location(), bytes, source_.view()); })}, {raw},
                large_rounds);
        goals_.push_back({"host time of a call beyond raw, registered, us", 0.3,
                          registered.ours.us - registered.peers[0].timing.us, true});
        auto const& foreign =
            add("host time of a call, not registered", bytes,
                {"ours", calls([&] { copy(foreign_to, foreign_from, bytes, source_.view()); })}, {raw}, large_rounds);
        goals_.push_back({"host time of a call beyond raw, not registered, us", 0.8,
                          foreign.ours.us - foreign.peers[0].timing.us, true});
    }

    void to_and_from_host() {
        std::map<std::uint64_t, double> const wanted{{256_MiB, 1.80}, {1_GiB, 1.90}};
        for (auto const bytes : {16_MiB, 64_MiB, 256_MiB, 1_GiB}) {
            for (auto const in : {true, false}) {
                auto const to = in ? from_.location() : host_a_.location();
                auto const from = in ? host_a_.location() : from_.location();
                auto const& row =
                    add(in ? "host to device" : "device to host", bytes, ours(to, from, bytes, source_.view()),
                        {plain("one link", to, from, bytes, source_.view())}, large_rounds);
                if (auto const goal = wanted.find(bytes); goal != wanted.end()) {
                    want(row, "one link", goal->second);
                }
            }
        }
    }

    void both_loading() {
        constexpr auto bytes = 1_GiB;
        auto const both = [=, this](auto&& load) {
            return [=, this] {
                auto const start = raw_->now();
                load(from_.location(), host_a_.location(), source_.view());
                load(to_.location(), host_b_.location(), destination_.view());
                raw_->wait(source_.view());
                raw_->wait(destination_.view());
                return raw_->now() - start;
            };
        };
        auto const& row = add(
            "both devices loading from the host", 2 * bytes,
            {"ours", both([=, this](Location to, Location from, StreamView s) { copy(to, from, bytes, s); })},
            {{"raw", both([=, this](Location to, Location from, StreamView s) { raw_->plain(to, from, bytes, s); })}},
            large_rounds);
        auto const together = row.ours.gbs;
        auto const& alone =
            add("one device loading, raw", bytes,
                plain("device 0", from_.location(), host_a_.location(), bytes, source_.view()),
                {plain("device 1", to_.location(), host_b_.location(), bytes, destination_.view())}, large_rounds);
        goals_.push_back({"both devices loading, against both links alone", 0.98,
                          together / (alone.ours.gbs + rate_of(alone, "device 1"))});
    }

    Driver& driver_;
    std::unique_ptr<Raw> raw_;
    Allocation from_, to_, host_a_, host_b_;
    Stream source_, destination_;
    std::optional<Mover> mover_;
    bool nccl_ = false;
    bench::Report report_;
    std::vector<Goal> goals_;
};

}  // namespace

int main(int argc, char** argv) {
    return bench::main_of("side_by_side", argc, argv, [&](Driver& driver) {
        SideBySide run(driver);
        auto report = run.run();
        run.print_goals();
        return report;
    });
}
