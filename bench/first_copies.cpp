// Direct and staged copies of one pair against the runtime's own calls, in one interleaved run. Nothing is enabled
// until the staged rows are done, so that the runtime's peer copy is the one it stages itself.
//
//   first_copies [--simulated MACHINE.json] [OUT.json]

#include <string>

#include <fmt/format.h>
#include <peerlane/driver/owned.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/units.hpp>

#include "bench_main.hpp"

namespace {

using namespace peerlane;

constexpr int rounds = 9;

/// Seconds of one piece of work in a stream, from submission to seen completion.
template <class Work>
double timed(Driver& driver, StreamView stream, Work&& work) {
    auto const start = driver.now();
    work();
    driver.synchronize(stream);
    return driver.now() - start;
}

bench::Report run(Driver& driver) {
    bench::Report report;
    report.driver = driver.description();
    auto const& first = driver.machine().devices.front();
    report.machine = fmt::format("{} x {}", driver.device_count(), first.model.value_or("unknown device"));
    constexpr auto most = 1_GiB;
    Allocation const from(driver, {gpu(0), most});
    Allocation const to(driver, {gpu(1), most});
    Stream const source(driver, 0);
    Stream const destination(driver, 1);
    Mover mover(driver, {driver.machine(), {}, true});
    auto const raw = [&](const Stream& stream, std::uint64_t bytes) {
        return timed(driver, stream.view(), [&] {
            driver.copy(stream.view(), {to.location(), from.location(), bytes, CopyApi::peer});
        });
    };
    auto const ours = [&](std::uint64_t bytes, RoutePolicy policy) {
        auto const choice = choose(driver.machine(), gpu(0), gpu(1), bytes, {policy, nullptr, true});
        mover.prepare(choice);
        return bench::Contender{"ours", [&, choice] {
                                    return timed(driver, source.view(), [&] {
                                        mover.carry_out(choice, to.location(), from.location(), source.view());
                                    });
                                }};
    };
    for (auto const bytes : {16_MiB, 64_MiB, 256_MiB, 1_GiB}) {
        report.rows.push_back(bench::interleave("staged, nothing enabled", bytes, ours(bytes, RoutePolicy::staged),
                                                {{"unmapped peer copy", [&] { return raw(source, bytes); }}}, rounds));
    }
    // The same with chunk and buffers by hand, so that the planner's choice can be judged.
    for (auto const chunk : {2_MiB, 4_MiB, 8_MiB, 16_MiB, 32_MiB}) {
        for (auto const buffers : {2, 4}) {
            auto choice = choose(driver.machine(), gpu(0), gpu(1), most, {RoutePolicy::staged, nullptr, true});
            choice.routes[0].chunk = chunk;
            choice.routes[0].buffers = buffers;
            mover.prepare(choice);
            auto const staged = [&] {
                return timed(driver, source.view(),
                             [&] { mover.carry_out(choice, to.location(), from.location(), source.view()); });
            };
            report.rows.push_back(bench::interleave(fmt::format("staged, {} x {}", buffers, size_word(chunk)), most,
                                                    {"ours", staged},
                                                    {{"unmapped peer copy", [&] { return raw(source, most); }}}, 5));
        }
    }
    for (auto const bytes : {4_KiB, 64_KiB, 1_MiB, 16_MiB, 256_MiB, 1_GiB}) {
        report.rows.push_back(bench::interleave(
            "direct", bytes, ours(bytes, RoutePolicy::direct),
            {{"raw push", [&] { return raw(source, bytes); }}, {"raw pull", [&] { return raw(destination, bytes); }}},
            rounds));
    }
    return report;
}

}  // namespace

int main(int argc, char** argv) {
    return bench::main_of("first_copies", argc, argv, run);
}
