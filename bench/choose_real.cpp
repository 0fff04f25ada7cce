// How good choices are on two devices that are there: they are measured, and for each size the mover copies by the plan
// that it chooses, beside raw pushed and pulled copies, kernels, staging and a split, all interleaved. Prints error of
// prediction and regret; rows have the predicted time.
//
//   choose_real [--simulated MACHINE] [OUT.json]
//
// On two H200 some 40 s, most of them for measuring and the sizes from 1 GiB on.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <peerlane/driver/owned.hpp>
#include <peerlane/measure.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/planner.hpp>
#include <peerlane/units.hpp>

#include "bench_main.hpp"
#include "kernels/copy.hpp"
#include "kernels/kernel.hpp"
#include "side_by_side_peers.hpp"

namespace {

using namespace peerlane;

constexpr std::uint64_t least = 256, most = 4_GiB;

int rounds_of(std::uint64_t bytes) {
    return bytes >= 64_MiB ? 3 : 9;
}

double quantile(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

class Pair {
  public:
    explicit Pair(Driver& driver)
        : driver_(driver),
          bytes_(room(driver)),
          from_(driver, {gpu(0), bytes_}),
          to_(driver, {gpu(1), bytes_}),
          streams_{Stream(driver, 0), Stream(driver, 1)},
          ready_{driver.machine(), {}, true, measured(driver)},
          mover_(driver, ready_, options()),
          planner_(ready_.machine, {}, ready_.profile, trusting()) {
        (void)driver.enable_access({0, 1});
        (void)driver.enable_access({1, 0});
#ifdef PEERLANE_BENCH_PEERS
        raw_ = driver.simulated() ? nullptr : bench::raw_cuda();
#endif
        for (auto const* const memory : {&from_, &to_}) {
            mover_.register_buffer(pointer_to(memory->address()), bytes_);
        }
    }

    [[nodiscard]] std::uint64_t bytes() const {
        return bytes_;
    }

    bench::Row row(std::uint64_t bytes, double& predicted_s) {
        auto const chosen = planner_.choose(gpu(0), gpu(1), bytes);
        predicted_s = planner_.predict(chosen.routes, bytes).value_or(0);
        std::vector<bench::Contender> peers{
            {"push", [=, this] { return raw(0, bytes); }},
            {"pull", [=, this] { return raw(1, bytes); }},
            {"push by kernel", [=, this] { return by_kernel(0, bytes); }},
            {"pull by kernel", [=, this] { return by_kernel(1, bytes); }},
        };
        for (auto const policy : {RoutePolicy::staged, RoutePolicy::split}) {
            auto other = planner_.explain(gpu(0), gpu(1), bytes, policy);
            if (!other.routes.empty() && other.routes != chosen.routes &&
                other.routes.front().legs.size() + other.routes.size() > 2) {
                mover_.prepare(other);
                peers.push_back(
                    {policy == RoutePolicy::staged ? "staged" : "split", [=, this] { return planned(other, bytes); }});
            }
        }
        mover_.prepare(chosen);
        auto const issuer = static_cast<std::size_t>(chosen.routes.front().legs.front().issuer.index);
        return bench::interleave(brief(chosen.routes), bytes, {"chosen", [=, this] { return ours(issuer, bytes); }},
                                 peers, rounds_of(bytes));
    }

  private:
    static std::uint64_t room(Driver& driver) {
        auto bytes = most;
        for (auto const device : {0, 1}) {
            while (bytes > 64_MiB && bytes * 2 > driver.capabilities(device).memory_bytes) {
                bytes /= 2;
            }
        }
        return bytes;
    }
    static Profile measured(Driver& driver) {
        MeasureOptions options;
        options.trust_claimed = true;
        options.devices = {0, 1};
        options.access = false;
        return measure(driver, options);
    }
    static MoverOptions options() {
        MoverOptions options;
        options.adapt = false;  // the plan is what is judged
        return options;
    }
    static PlannerOptions trusting() {
        PlannerOptions options;
        options.trust_claimed = true;
        options.staging_bytes = MoverOptions{}.staging_bytes / 4;  // the largest of its rings
        options.any_stream = true;  // as the raw copies, each of which is issued into its own device's stream
        return options;
    }
    /// One of a few in a row, the middle one by time: what other streams did before makes the first copy up to a
    /// microsecond slower, and users do not copy once.
    template <class Work>
    double timed(StreamView stream, Work&& work) {
        std::array<double, 5> seconds{};
        for (auto& one : seconds) {
            auto const start = driver_.now();
            work();
            driver_.synchronize(stream);
            one = driver_.now() - start;
        }
        std::sort(seconds.begin(), seconds.end());
        return seconds[seconds.size() / 2];
    }
    /// The runtime's own call, where there is one.
    double raw(std::size_t issuer, std::uint64_t bytes) {
        auto const stream = streams_[issuer].view();
        return timed(stream, [&] {
            if (raw_) {
                raw_->peer(to_.location(), from_.location(), bytes, stream);
            } else {
                driver_.copy(stream, {to_.location(), from_.location(), bytes, CopyApi::peer});
            }
        });
    }
    double by_kernel(std::size_t issuer, std::uint64_t bytes) {
        auto const stream = streams_[issuer].view();
        CopyArguments const arguments{to_.address(), from_.address(), bytes, 16};
        return timed(stream, [&] { driver_.launch(stream, copy_kernel, &arguments, {copy_ctas(bytes), 512}); });
    }
    /// As a user has it: the mover plans.
    double ours(std::size_t issuer, std::uint64_t bytes) {
        auto const stream = streams_[issuer].view();
        return timed(stream,
                     [&] { mover_.copy(pointer_to(to_.address()), pointer_to(from_.address()), bytes, stream); });
    }
    double planned(Choice choice, std::uint64_t bytes) {
        choice.bytes = bytes;
        auto const issuer = choice.routes.front().legs.front().issuer.index;
        auto const stream = streams_[static_cast<std::size_t>(issuer)].view();
        return timed(stream, [&] { mover_.carry_out(choice, to_.location(), from_.location(), stream); });
    }

    Driver& driver_;
    std::uint64_t bytes_;
    Allocation from_, to_;
    Stream streams_[2];
    Ready ready_;
    Mover mover_;
    Planner planner_;
    std::unique_ptr<bench::Raw> raw_;
};

bench::Report run(Driver& driver) {
    bench::Report report;
    report.driver = driver.description();
    report.machine = fmt::format("{} x {}", driver.device_count(),
                                 driver.machine().devices.front().model.value_or("unknown device"));
    Pair pair(driver);
    std::vector<double> errors, regrets;
    for (auto bytes = least; bytes <= pair.bytes(); bytes *= 2) {
        double predicted = 0;
        auto row = pair.row(bytes, predicted);
        row.predicted_us = predicted * 1e6;
        errors.push_back(std::abs(*row.predicted_us / row.ours.us - 1));
        regrets.push_back(std::max(1.0, 1 / row.ratio()));
        report.rows.push_back(std::move(row));
    }
    fmt::print(
        "error of prediction: median {:.1f} %, 95th percentile {:.1f} %\n"
        "regret against raw push, pull, kernels, staged and split: median {:.3f}, worst {:.3f}\n",
        quantile(errors, 0.5) * 100, quantile(errors, 0.95) * 100, quantile(regrets, 0.5), quantile(regrets, 1));
    return report;
}

}  // namespace

int main(int argc, char** argv) {
    return peerlane::bench::main_of("choose_real", argc, argv, run);
}
