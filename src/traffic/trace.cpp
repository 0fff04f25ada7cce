// Chrome's trace event format. Times are microseconds there.

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <peerlane/simulation.hpp>
#include <peerlane/units.hpp>

#include "traffic/text.hpp"

namespace peerlane {
namespace {

using traffic::quoted;

constexpr int devices_process = 1, links_process = 2;

class Writer {
  public:
    template <class... Args>
    void event(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), "{}\n", first_ ? "" : ",");
        first_ = false;
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    }
    std::string finish(const std::string& machine) {
        return fmt::format(
            "{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"machine\": {}, \"simulated\": "
            "\"true\"}},\n\"traceEvents\": [{}\n]}}\n",
            quoted(machine), fmt::to_string(out_));
    }

  private:
    fmt::memory_buffer out_{};
    bool first_ = true;
};

/// Slices of one track must not overlap: flows of a device that do so stand on lanes of their own below each other.
class Lanes {
  public:
    std::size_t lane_for(double begin, double end) {
        for (std::size_t lane = 0; lane < free_at_.size(); ++lane) {
            if (free_at_[lane] <= begin) {
                free_at_[lane] = end;
                return lane;
            }
        }
        free_at_.push_back(end);
        return free_at_.size() - 1;
    }

  private:
    std::vector<double> free_at_{};
};

double us(double seconds) {
    return seconds * 1e6;
}

}  // namespace

std::string simulation_trace(const Simulation& simulation) {
    Writer writer;
    writer.event(
        "{{\"ph\": \"M\", \"name\": \"process_name\", \"ts\": 0, \"pid\": {}, \"tid\": 0, \"args\": {{\"name\": \"sent "
        "by each device "
        "({})\"}}}}",
        devices_process, to_string(simulation.strategy));
    writer.event(
        "{{\"ph\": \"M\", \"name\": \"process_name\", \"ts\": 0, \"pid\": {}, \"tid\": 0, \"args\": {{\"name\": "
        "\"links, GB/s\"}}}}",
        links_process);

    std::vector<const FlowResult*> ended;
    for (auto const& flow : simulation.flows) {
        if (flow.end_s && flow.began_s) {
            ended.push_back(&flow);
        }
    }
    std::stable_sort(ended.begin(), ended.end(),
                     [](const FlowResult* a, const FlowResult* b) { return *a->began_s < *b->began_s; });
    std::map<Place, Lanes> lanes;
    std::map<std::pair<Place, std::size_t>, std::vector<const FlowResult*>> tracks;  // devices first, then the host
    for (auto const* flow : ended) {
        tracks[{flow->flow.src, lanes[flow->flow.src].lane_for(*flow->began_s, *flow->end_s)}].push_back(flow);
    }
    int track = 0;
    for (auto const& [key, flows] : tracks) {
        ++track;
        auto const name =
            key.second == 0 ? to_string(key.first) : fmt::format("{} ({})", to_string(key.first), key.second + 1);
        writer.event(
            "{{\"ph\": \"M\", \"name\": \"thread_name\", \"ts\": 0, \"pid\": {}, \"tid\": {}, \"args\": {{\"name\": "
            "{}}}}}",
            devices_process, track, quoted(name));
        writer.event(
            "{{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"ts\": 0, \"pid\": {}, \"tid\": {}, \"args\": "
            "{{\"sort_index\": {}}}}}",
            devices_process, track, track);
        for (auto const* result : flows) {
            writer.event(
                "{{\"ph\": \"X\", \"cat\": \"flow\", \"name\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {}, "
                "\"dur\": {}, \"args\": {{\"bytes\": {}, \"gbs\": {}, \"submitted_us\": {}}}}}",
                quoted(fmt::format("{} > {}", to_string(result->flow.src), to_string(result->flow.dst))),
                devices_process, track, us(*result->began_s), us(*result->end_s - *result->began_s), result->flow.bytes,
                result->gbs().value_or(0), us(result->start_s));
        }
    }
    for (auto const& sample : simulation.loads) {
        writer.event("{{\"ph\": \"C\", \"name\": {}, \"pid\": {}, \"tid\": 0, \"ts\": {}, \"args\": {{\"GB/s\": {}}}}}",
                     quoted(simulation.links[static_cast<std::size_t>(sample.link)].name), links_process,
                     us(sample.time_s), sample.gbs);
    }
    return writer.finish(simulation.machine);
}

}  // namespace peerlane
