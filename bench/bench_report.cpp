#include "bench_report.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <peerlane/units.hpp>

namespace peerlane::bench {
namespace {

double quantile(const std::vector<double>& sorted, double q) {
    auto const at = q * static_cast<double>(sorted.size() - 1);
    auto const below = static_cast<std::size_t>(at);
    auto const above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Timing timing_of(std::vector<double> seconds, std::uint64_t bytes) {
    std::sort(seconds.begin(), seconds.end());
    auto const median = quantile(seconds, 0.5);
    return {static_cast<double>(bytes) / median / 1e9, median * 1e6,
            (quantile(seconds, 0.75) - quantile(seconds, 0.25)) / median};
}

std::string today() {
    auto const now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

nlohmann::ordered_json of(const Timing& timing) {
    return {{"gbs", timing.gbs}, {"us", timing.us}, {"spread", timing.spread}};
}

}  // namespace

double Row::ratio() const {
    double best = 0;
    for (auto const& peer : peers) {
        best = std::max(best, peer.timing.gbs);
    }
    return best > 0 ? ours.gbs / best : 0;
}

std::string Report::json() const {
    auto list = nlohmann::ordered_json::array();
    for (auto const& row : rows) {
        auto peers = nlohmann::ordered_json::array();
        for (auto const& peer : row.peers) {
            auto entry = nlohmann::ordered_json{{"name", peer.name}};
            entry.update(of(peer.timing));
            peers.push_back(std::move(entry));
        }
        list.push_back({{"case", row.name},
                        {"bytes", row.bytes},
                        {"ours", of(row.ours)},
                        {"peers", std::move(peers)},
                        {"ratio", row.ratio()}});
        if (row.predicted_us) {
            list.back()["predicted_us"] = *row.predicted_us;
        }
    }
    return nlohmann::ordered_json{
               {"schema", "peerlane.bench/1"}, {"machine", machine},     {"driver", driver}, {"date", today()},
               {"command", command},           {"rows", std::move(list)}}
               .dump(2) +
           "\n";
}

std::string Report::table() const {
    auto text = fmt::format("{}\n{}\n{:<48} {:>9} {:>11} {:>11} {:>8}   peers, GB/s\n", machine, driver, "case", "size",
                            "ours us", "ours GB/s", "ratio");
    for (auto const& row : rows) {
        text += fmt::format("{:<48} {:>9} {:>11.1f} {:>11.1f} {:>8.3f}  ", row.name, size_word(row.bytes), row.ours.us,
                            row.ours.gbs, row.ratio());
        for (auto const& peer : row.peers) {
            text += fmt::format(" {} {:.1f}", peer.name, peer.timing.gbs);
        }
        text += row.predicted_us ? fmt::format("  predicted {:.1f} us ({:+.1f} %)", *row.predicted_us,
                                               (*row.predicted_us / row.ours.us - 1) * 100)
                                 : "";
        text += "\n";
    }
    return text;
}

Row interleave(std::string name, std::uint64_t bytes, const Contender& ours, const std::vector<Contender>& peers,
               int rounds) {
    std::vector<double> mine;
    std::vector<std::vector<double>> theirs(peers.size());
    for (int round = -1; round < rounds; ++round) {
        auto const seconds = ours.run();
        if (round >= 0) {
            mine.push_back(seconds);
        }
        for (std::size_t p = 0; p < peers.size(); ++p) {
            auto const other = peers[p].run();
            if (round >= 0) {
                theirs[p].push_back(other);
            }
        }
    }
    Row row{std::move(name), bytes, timing_of(mine, bytes), {}};
    for (std::size_t p = 0; p < peers.size(); ++p) {
        row.peers.push_back({peers[p].name, timing_of(theirs[p], bytes)});
    }
    return row;
}

}  // namespace peerlane::bench
