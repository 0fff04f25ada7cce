#include "measure/host_probe.hpp"

#include <functional>

#include <peerlane/error.hpp>

#include "kernels/chase.hpp"
#include "kernels/kernel.hpp"
#include "measure/statistics.hpp"

namespace peerlane::measuring {
namespace {

constexpr std::uint64_t small = 256;
/// Calls after one another in one sample: the clock itself costs 20 to 50 ns.
constexpr int calls_a_sample = 8;

class HostProbe {
  public:
    HostProbe(Bench& bench, int device, std::optional<int> peer, const StopRule& rule)
        : bench_(bench), driver_(bench.driver()), device_(device), rule_(rule), stream_(bench.stream(device)) {
        auto const& memory = bench.memory(gpu(device));
        from_ = memory.location();
        to_ = memory.location(small);
        if (peer && (bench.map(device, *peer) || bench.map(*peer, device))) {
            to_ = bench.memory(gpu(*peer)).location();
        }
    }

    HostCosts result() {
        HostCosts costs;
        auto const peers = to_.place != from_.place;
        costs.copy_call_s = call([&] {
            driver_.copy(stream_, {to_, from_, small, peers ? CopyApi::peer : CopyApi::automatic});
        });
        costs.launch_call_s = call([&] {
            ChaseArguments const a{from_.address, small, 4, 1};
            driver_.launch(stream_, chase_kernel, &a);
        });
        costs.graph_launch_call_s = graph_launch();
        bench_.finish(stream_, small);
        costs.synchronize_idle_s = call([&] { driver_.synchronize(stream_); });
        costs.query_s = call([&] { static_cast<void>(driver_.query(stream_)); });
        costs.provenance_s = call([&] { static_cast<void>(driver_.provenance(from_.address)); });
        costs.event_s = call([&] { driver_.record(bench_.timer(device_, 0), stream_); });
        bench_.finish(stream_, small);
        return costs;
    }

  private:
    /// The stream is empty before each sample, so that no call waits for room in the queue.
    std::optional<double> call(const std::function<void()>& made) {
        try {
            made();
            auto const samples = bench_.sampled(rule_, [&] {
                bench_.finish(stream_, small);
                driver_.synchronize(stream_);
                auto const start = driver_.now();
                for (int i = 0; i < calls_a_sample; ++i) {
                    made();
                }
                return (driver_.now() - start) / calls_a_sample;
            });
            auto const median = summarize(samples).median;
            return median > 0 ? std::optional(median) : std::nullopt;
        } catch (const Error& error) {
            if (error.info().sticky) {
                throw;
            }
            return std::nullopt;
        }
    }

    std::optional<double> graph_launch() {
        try {
            driver_.begin_capture(stream_);
            driver_.copy(stream_, {bench_.memory(gpu(device_)).location(small), from_, small, CopyApi::automatic});
            auto const graph = driver_.end_capture(stream_);
            auto const cost = call([&] { driver_.launch_graph(graph, stream_); });
            bench_.finish(stream_, small);
            driver_.destroy_graph(graph);
            return cost;
        } catch (const Error& error) {
            if (error.info().sticky) {
                throw;
            }
            return std::nullopt;
        }
    }

    Bench& bench_;
    Driver& driver_;
    int device_;
    StopRule rule_;
    StreamView stream_;
    Location from_, to_;
};

}  // namespace

HostCosts measure_host(Bench& bench, int device, std::optional<int> peer, const StopRule& rule) {
    return HostProbe(bench, device, peer, rule).result();
}

}  // namespace peerlane::measuring
