// One small copy: a courier against a plain copy, a graph, a kernel that stores to the peer, and NCCL, in one
// interleaved run; many messages from several threads, every byte compared; flags that go back and forth; what it costs
// others. Prints what must hold as PASS or FAIL.
//
//   messages [--simulated MACHINE] [--quick] [OUT.json]

#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <peerlane/courier.hpp>
#include <peerlane/driver/owned.hpp>
#include <peerlane/units.hpp>

#include "bench_main.hpp"
#include "kernels/copy.hpp"
#include "kernels/kernel.hpp"
#include "kernels/post.hpp"
#include "kernels/token.hpp"
#include "messages_load.hpp"
#include "nccl.hpp"
#ifdef PEERLANE_BENCH_PEERS
#include "pages_peers.hpp"
#endif

namespace {

using namespace peerlane;

bool quick = false;

/// Times of one way of sending.
class Times {
  public:
    void add(double seconds) { all_.push_back(seconds); }
    [[nodiscard]] double quantile(double q) {
        std::sort(all_.begin(), all_.end());
        return all_[static_cast<std::size_t>(q * static_cast<double>(all_.size() - 1))];
    }
    [[nodiscard]] double mean() const {
        double sum = 0;
        for (auto const one : all_) {
            sum += one;
        }
        return sum / static_cast<double>(all_.size());
    }
    [[nodiscard]] bench::Timing timing(std::uint64_t bytes) { return of(quantile(0.5), bytes, spread()); }
    [[nodiscard]] static bench::Timing of(double seconds, std::uint64_t bytes, double spread = 0) {
        return {static_cast<double>(bytes) / seconds / 1e9, seconds * 1e6, spread};
    }
    [[nodiscard]] std::size_t count() const { return all_.size(); }

  private:
    [[nodiscard]] double spread() { return (quantile(0.75) - quantile(0.25)) / quantile(0.5); }
    std::vector<double> all_;
};

class Bench {
  public:
    explicit Bench(Driver& driver)
        : driver_(driver),
          from_(driver, {gpu(0), room}),
          to_(driver, {gpu(1), room}),
          source_(driver, 0),
          destination_(driver, 1),
          ready_{driver.machine(), {}, true},
          courier_(driver, ready_, 0) {
        driver.enable_access({0, 1});
        driver.enable_access({1, 0});
        driver.fill(source_.view(), from_.location(), 1, room);
        driver.synchronize(source_.view());
        if (!driver.simulated()) {
            std::string reason;
            nccl_ = bench::NcclGroup::open(2, reason);
            fmt::print("{}\n", nccl_ ? fmt::format("NCCL {}", nccl_->version()) : "without NCCL: " + reason);
        }
    }

    bench::Report run() {
        bench::Report report;
        report.driver = driver_.description();
        report.machine = fmt::format("{} x {}", driver_.device_count(),
                                     driver_.machine().devices.front().model.value_or("unknown device"));
        for (auto const bytes : {std::uint64_t{64}, 4_KiB, 16_KiB, 64_KiB, 256_KiB}) {
            latency(report, bytes, {}, "message");
        }
        {
            CourierOptions options;
            options.strict = true;
            Courier other(driver_, ready_, 0, options);
            std::swap(courier_, other);
            for (auto const bytes : {std::uint64_t{64}, 16_KiB, 64_KiB}) {
                latency(report, bytes, {}, "message, with a fence behind its order");
            }
            std::swap(courier_, other);
        }
        with_flag(report);
        checked_post(report);
        from_stream(report);
        from_kernel(report);
        ping_pong(report);
        random_load(report);
        compute_beside(report);
        for (auto const& line : shown_) {
            fmt::print("{}\n", line);
        }
        return report;
    }

  private:
    static constexpr std::uint64_t room = 1 * MiB;

    void show(bool holds, const std::string& what) {
        shown_.push_back(fmt::format("{} {}", holds ? "PASS" : "FAIL", what));
        fmt::print("{}\n", shown_.back());
        std::fflush(stdout);
    }
    template <class Work>
    double timed(Work&& work) {
        auto const start = driver_.now();
        work();
        return driver_.now() - start;
    }

    void latency(bench::Report& report, std::uint64_t bytes, const MessageOptions& options, const std::string& name) {
        auto channel = courier_.channel(pointer_to(to_.address()), room, pointer_to(from_.address()), room);
        auto const message = [&] {
            if (!channel.post(0, 0, bytes, options).wait(1)) {
                throw std::runtime_error("a message was not done within a second");
            }
        };
        struct Other {
            std::string name;
            std::function<void()> run;
            Times times{};
        };
        std::vector<Other> others;
        others.push_back({"copy and synchronise", [&] {
                              driver_.copy(source_.view(), {to_.location(), from_.location(), bytes, CopyApi::peer});
                              driver_.synchronize(source_.view());
                          }});
        driver_.begin_capture(source_.view());
        driver_.copy(source_.view(), {to_.location(), from_.location(), bytes, CopyApi::automatic});
        auto const graph = driver_.end_capture(source_.view());
        others.push_back({"graph", [&] {
                              driver_.launch_graph(graph, source_.view());
                              driver_.synchronize(source_.view());
                          }});
        others.push_back({"kernel that stores", [&] {
                              CopyArguments const copy{to_.address(), from_.address(), bytes, 16};
                              driver_.launch(source_.view(), copy_kernel, &copy);
                              driver_.synchronize(source_.view());
                          }});
        if (nccl_) {
            others.push_back({"NCCL send and receive", [&] {
                                  nccl_->send({{0, 1, from_.address(), to_.address(), bytes}},
                                              {source_.view(), destination_.view()});
                                  driver_.synchronize(source_.view());
                                  driver_.synchronize(destination_.view());
                              }});
        }
        Times ours;
        auto const residences = courier_.counters().residences;
        auto const rounds = quick ? 4 : 100;
        for (int round = -1; round < rounds; ++round) {  // the first one warms up
            for (int i = 0; i < 1000; ++i) {
                auto const seconds = timed(message);
                if (round >= 0) {
                    ours.add(seconds);
                }
            }
            for (auto& other : others) {
                for (int i = 0; i < 50; ++i) {
                    auto const seconds = timed(other.run);
                    if (round >= 0) {
                        other.times.add(seconds);
                    }
                }
            }
        }
        driver_.destroy_graph(graph);
        auto const p50 = ours.quantile(0.5), p99 = ours.quantile(0.99);
        fmt::print(
            "{} of {}: p50 {:.2f} us, p99 {:.2f} us, mean {:.2f} us with {} launches of the courier in {} "
            "messages, longest {:.1f} us\n",
            name, size_word(bytes), p50 * 1e6, p99 * 1e6, ours.mean() * 1e6,
            courier_.counters().residences - residences, ours.count(), ours.quantile(1) * 1e6);
        bench::Row row{name, bytes, ours.timing(bytes), {}};
        for (auto& other : others) {
            row.peers.push_back({other.name, other.times.timing(bytes)});
        }
        report.rows.push_back(row);
        report.rows.push_back({name + ", p99", bytes, Times::of(p99, bytes), {}});
        report.rows.push_back({name + ", mean with restarts", bytes, Times::of(ours.mean(), bytes), {}});
        if (name == "message" && bytes <= 64 * KiB) {
            auto const most = bytes <= 16 * KiB ? 4.2e-6 : 5.8e-6;
            show(p50 <= most,
                 fmt::format("p50 at {}: {:.2f} us, at most {:.1f}", size_word(bytes), p50 * 1e6, most * 1e6));
            show(p99 <= 2 * p50,
                 fmt::format("p99 at {}: {:.2f} us, at most twice the p50", size_word(bytes), p99 * 1e6));
        }
    }

    void with_flag(bench::Report& report) {
        Allocation const flag(driver_, {gpu(1), 64});
        for (auto const bytes : {std::uint64_t{64}, 64_KiB}) {
            latency(report, bytes, {flag.location(), 1}, "message with a flag");
        }
    }

    /// The post that looks its ranges up.
    void checked_post(bench::Report& report) {
        Times ours, posts;
        for (int i = 0; i < (quick ? 1000 : 20000); ++i) {
            auto const start = driver_.now();
            auto const message = courier_.post(pointer_to(to_.address()), pointer_to(from_.address()), 4096);
            posts.add(driver_.now() - start);
            if (!message.wait(1)) {
                throw std::runtime_error("a message was not done within a second");
            }
            ours.add(driver_.now() - start);
        }
        report.rows.push_back({"message, ranges looked up at each post", 4096, ours.timing(4096), {}});
        report.rows.push_back({"host time of that post", 0, posts.timing(0), {}});
    }

    void from_stream(bench::Report& report) {
        Times ours, copies;
        for (int i = 0; i < (quick ? 500 : 5000); ++i) {
            ours.add(timed([&] {
                auto const message =
                    courier_.post(source_.view(), pointer_to(to_.address()), pointer_to(from_.address()), 4096);
                if (!message.wait(1)) {
                    throw std::runtime_error("a stream's message was not done within a second");
                }
            }));
            copies.add(timed([&] {
                driver_.copy(source_.view(), {to_.location(), from_.location(), 4096, CopyApi::peer});
                driver_.synchronize(source_.view());
            }));
        }
        driver_.synchronize(source_.view());
        report.rows.push_back(
            {"message posted from a stream", 4096, ours.timing(4096), {{"copy and synchronise", copies.timing(4096)}}});
    }

    /// A kernel of the courier's device posts one message after the other and waits for each.
    void from_kernel(bench::Report& report) {
        Allocation const result(driver_, {host(), 64, MemoryKind::pinned});
        (void)courier_.channel(pointer_to(to_.address()), room, pointer_to(from_.address()), room);
        Event const begin(driver_, 0, true), end(driver_, 0, true);
        for (auto const bytes : {64U, 4096U}) {
            Times ours;
            for (int i = 0; i < 21; ++i) {
                courier_.start();
                PostArguments const arguments{address_of(courier_.device_ring()),
                                              to_.address(),
                                              from_.address(),
                                              Address::null,
                                              result.address(),
                                              bytes,
                                              250,
                                              1,
                                              0.1};
                driver_.record(begin.view(), source_.view());
                driver_.launch(source_.view(), post_kernel, &arguments, {1, 1});
                driver_.record(end.view(), source_.view());
                while (!driver_.query(end.view())) {
                    courier_.start();
                }
                PostOutcome outcome;
                driver_.read_host(result.address(), &outcome, sizeof outcome);
                if (outcome.met != 250) {
                    show(false, fmt::format("messages of a kernel: {} of 250", outcome.met));
                    return;
                }
                ours.add(driver_.elapsed(begin.view(), end.view()) / 250);
            }
            report.rows.push_back({"message posted by a kernel, done seen by it", bytes, ours.timing(bytes), {}});
        }
    }

    /// Two resident kernels, each waiting in its own memory for what the other stores there.
    void ping_pong(bench::Report& report) {
        driver_.synchronize_device(0);
        // A line of memory is near its reader or far from it, which makes 4 %: flags in several lines.
        constexpr std::uint64_t lines = 16, apart = 256;
        Allocation const here(driver_, {gpu(0), lines * apart}), there(driver_, {gpu(1), lines * apart}),
            seen(driver_, {host(), 128, MemoryKind::pinned});
        driver_.fill(source_.view(), here.location(), 0, here.bytes());
        driver_.fill(destination_.view(), there.location(), 0, there.bytes());
        driver_.synchronize(source_.view());
        driver_.synchronize(destination_.view());
        Event const begin(driver_, 0, true), end(driver_, 0, true);
        Times ours;
        std::uint32_t first = 1;
        auto const rounds = quick ? 1000U : 10000U;
        for (std::uint64_t i = 0; i < lines; ++i) {
            auto const at = here.address() + i * apart, over_there = there.address() + i * apart;
            TokenArguments const second{over_there, at, seen.address(), first, rounds, 0, 2.0};
            TokenArguments const starter{at, over_there, seen.address() + 64, first, rounds, 1, 2.0};
            driver_.launch(destination_.view(), token_kernel, &second, {1, 1});
            driver_.record(begin.view(), source_.view());
            driver_.launch(source_.view(), token_kernel, &starter, {1, 1});
            driver_.record(end.view(), source_.view());
            driver_.synchronize(source_.view());
            driver_.synchronize(destination_.view());
            TokenOutcome outcome;
            driver_.read_host(seen.address() + 64, &outcome, sizeof outcome);
            if (outcome.met != rounds) {
                show(false, fmt::format("ping-pong of flags: {} of {} rounds", outcome.met, rounds));
                return;
            }
            ours.add(driver_.elapsed(begin.view(), end.view()) / rounds);
            first += rounds;
        }
        report.rows.push_back({"ping-pong of flags, a round trip", 0, ours.timing(0), {}});
        show(ours.quantile(0.5) <= 2.6e-6,
             fmt::format("ping-pong of flags: {:.2f} us a round trip, at most 2.6", ours.quantile(0.5) * 1e6));
    }

    void random_load(bench::Report& report) {
        auto const count = quick ? std::uint64_t{20000} : std::uint64_t{1000000};
        auto const load = bench::carry_random(driver_, courier_, count, 4, 64 * KiB);
        auto const each = load.seconds / static_cast<double>(load.messages);
        fmt::print(
            "{} messages from 4 threads in {:.1f} s with {} launches of the courier; slowest {:.0f} us; {} times "
            "synchronised, middle {:.2f} ms{}{}\n",
            load.messages, load.seconds, load.residences, load.slowest_s * 1e6, load.synchronised,
            load.middle_sync_s * 1e3, load.failed.empty() ? "" : "; FAILED: ", load.failed);
        report.rows.push_back(
            {"random messages of 4 threads, comparing included", 32 * KiB, Times::of(each, 32 * KiB), {}});
        show(
            load.failed.empty() && load.messages == count / 4 * 4 && load.wrong_bytes == 0,
            fmt::format("{} messages of up to 64 KiB from 4 threads: {} wrong bytes", load.messages, load.wrong_bytes));
        show(load.stalled == 0 && load.slowest_s < 0.1,
             fmt::format("no stall: {} waits not met, slowest message {:.0f} us", load.stalled, load.slowest_s * 1e6));
        if (!driver_.simulated()) {
            auto const bound = CourierOptions{}.stay_s;
            report.rows.push_back({"device synchronised meanwhile, longest", 0, Times::of(load.longest_sync_s, 0), {}});
            show(load.synchronised > 10 && load.longest_sync_s <= bound * 1.1,
                 fmt::format("synchronising the device meanwhile: longest of {} {:.2f} ms, at most {:.1f}",
                             load.synchronised, load.longest_sync_s * 1e3, bound * 1.1e3));
        }
    }

    void compute_beside([[maybe_unused]] bench::Report& report) {
#ifdef PEERLANE_BENCH_PEERS
        if (driver_.simulated()) {
            return;
        }
        auto const ctas = static_cast<unsigned>(driver_.capabilities(0).multiprocessors) * 8 * 24;
        Allocation const scratch(driver_, {gpu(0), std::uint64_t{ctas} * 256 * 4});
        Stream const other(driver_, 0);
        auto const compute = [&] {
            bench::compute(other.view(), scratch.address(), 8000, ctas);
            driver_.synchronize(other.view());
        };
        auto channel = courier_.channel(pointer_to(to_.address()), room, pointer_to(from_.address()), room);
        Times alone, beside, messages;
        compute();
        for (int i = 0; i < 25; ++i) {
            driver_.synchronize_device(0);
            alone.add(timed(compute));
            std::atomic<bool> over{false};
            std::thread poster([&] {
                while (!over) {
                    messages.add(timed([&] { (void)channel.post(0, 0, 4096).wait(1); }));
                }
            });
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            beside.add(timed(compute));
            over = true;
            poster.join();
        }
        auto const slower = beside.quantile(0.5) / alone.quantile(0.5) - 1;
        fmt::print("messages beside compute: p50 {:.2f} us, p99 {:.2f} us, longest {:.0f} us\n",
                   messages.quantile(0.5) * 1e6, messages.quantile(0.99) * 1e6, messages.quantile(1) * 1e6);
        report.rows.push_back({"compute beside messages (as 1 MiB)",
                               1 * MiB,
                               beside.timing(1 * MiB),
                               {{"compute alone", alone.timing(1 * MiB)}}});
        report.rows.push_back({"message beside compute", 4096, messages.timing(4096), {}});
        show(slower < 0.02, fmt::format("compute of {:.1f} ms beside messages: slower by {:.2f} %, less than 2",
                                        alone.quantile(0.5) * 1e3, slower * 100));
#endif
    }

    Driver& driver_;
    Allocation from_, to_;
    Stream source_, destination_;
    Ready ready_;
    Courier courier_;
    std::unique_ptr<bench::NcclGroup> nccl_;
    std::vector<std::string> shown_;
};

}  // namespace

int main(int argc, char** argv) {
    std::vector<char*> rest;
    for (int i = 0; i < argc; ++i) {
        if (std::strcmp(argv[i], "--quick") == 0) {
            quick = true;
        } else {
            rest.push_back(argv[i]);
        }
    }
    return bench::main_of("messages", static_cast<int>(rest.size()), rest.data(),
                          [](Driver& driver) { return Bench(driver).run(); });
}
