#include "bench_report.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <numeric>
#include <random>

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

nlohmann::ordered_json of(const std::optional<int>& number) {
    return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

void add_rest(const Report& report, nlohmann::ordered_json& document) {
    if (report.simulated) {
        document["simulated"] = *report.simulated;
    }
    if (!report.twin.empty()) {
        document["twin"] = report.twin;
    }
    for (auto const& one : report.left_out) {
        document["left_out"].push_back({{"case", one.name}, {"reason", one.reason}});
    }
    for (auto const& knee : report.knees) {
        document["knees"].push_back({{"case", knee.name},
                                     {"helpers", of(knee.seen)},
                                     {"predicted_helpers", of(knee.predicted)},
                                     {"simulated_helpers", of(knee.simulated)}});
    }
    for (auto const& goal : report.goals) {
        document["goals"].push_back({{"goal", goal.name},
                                     {"wanted", goal.wanted},
                                     {"at_most", goal.at_most},
                                     {"got", goal.got},
                                     {"met", goal.met()}});
    }
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
            if (peer.simulated_us) {
                entry["simulated_us"] = *peer.simulated_us;
            }
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
        if (row.simulated_us) {
            list.back()["simulated_us"] = *row.simulated_us;
        }
        if (!row.plan.empty()) {
            list.back()["plan"] = row.plan;
        }
    }
    nlohmann::ordered_json document{
        {"schema", "peerlane.bench/1"}, {"machine", machine},     {"driver", driver}, {"date", today()},
        {"command", command},           {"rows", std::move(list)}};
    add_rest(*this, document);
    return document.dump(2) + "\n";
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
        auto const foretold = [&](const char* word, const std::optional<double>& us) {
            return us ? fmt::format("  {} {:.1f} us ({:+.1f} %)", word, *us, (*us / row.ours.us - 1) * 100) : "";
        };
        text += foretold("predicted", row.predicted_us) + foretold("simulated", row.simulated_us);
        text += row.plan.empty() ? "\n" : fmt::format("  [{}]\n", row.plan);
    }
    for (auto const& one : left_out) {
        text += fmt::format("left out: {}: {}\n", one.name, one.reason);
    }
    auto const helpers = [](const std::optional<int>& number) {
        return number ? fmt::format("{}", *number) : std::string("none");
    };
    for (auto const& knee : knees) {
        text += fmt::format("knee of {}: after helper {} (predicted {}{})\n", knee.name, helpers(knee.seen),
                            helpers(knee.predicted),
                            twin.empty() ? "" : fmt::format(", simulated {}", helpers(knee.simulated)));
    }
    for (auto const& goal : goals) {
        text += fmt::format("{:<70} {} {:>7.3f}, got {:>7.3f}  {}\n", goal.name, goal.at_most ? "at most" : "at least",
                            goal.wanted, goal.got, goal.met() ? "met" : "MISSED");
    }
    return text;
}

Row interleave(std::string name, std::uint64_t bytes, const Contender& ours, const std::vector<Contender>& peers,
               int rounds) {
    std::vector<std::size_t> order(peers.size() + 1);  // 0: ours
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::vector<double>> seconds(order.size());
    std::mt19937 shuffled(1);
    for (int round = -1; round < rounds; ++round) {
        for (auto const one : order) {
            auto const took = one == 0 ? ours.run() : peers[one - 1].run();
            if (round >= 0) {
                seconds[one].push_back(took);
            }
        }
        std::shuffle(order.begin(), order.end(), shuffled);
    }
    Row row{std::move(name), bytes, timing_of(seconds[0], bytes), {}};
    for (std::size_t p = 0; p < peers.size(); ++p) {
        row.peers.push_back({peers[p].name, timing_of(seconds[p + 1], bytes)});
    }
    return row;
}

}  // namespace peerlane::bench
