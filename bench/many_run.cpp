#include "many_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

namespace peerlane::bench {
namespace {

constexpr int least_rounds = 3;
/// Shares of a split settle, and buffers are made.
constexpr int settling = 3;
/// A helper that adds less than that part of what a link gives is one too many.
constexpr double worth_a_link = 0.5;

const Row* row_of(const Report& report, const std::string& name) {
    auto const found =
        std::find_if(report.rows.begin(), report.rows.end(), [&](const Row& row) { return row.name == name; });
    return found == report.rows.end() ? nullptr : &*found;
}

/// The number of helpers after which one more adds little; empty: all that there are add.
template <class Rate>
std::optional<int> knee_of(const Report& report, bool from_host, Rate&& rate) {
    auto const* const alone = row_of(report, helped_name(from_host, 0));
    auto before = alone == nullptr ? std::nullopt : rate(*alone);
    if (!before) {
        return std::nullopt;
    }
    auto const link = *before;
    for (int helpers = 1;; ++helpers) {
        auto const* const row = row_of(report, helped_name(from_host, helpers));
        auto const now = row == nullptr ? std::nullopt : rate(*row);
        if (!now) {
            return std::nullopt;
        }
        if (*now < *before + worth_a_link * link) {
            return helpers - 1;
        }
        before = now;
    }
}

std::optional<double> gbs_of(const Row& row, const std::optional<double>& us) {
    return us && *us > 0 ? std::optional(static_cast<double>(row.bytes) / *us / 1e3) : std::nullopt;
}

void add_knees(Report& report) {
    for (auto const from_host : {true, false}) {
        if (row_of(report, helped_name(from_host, 1)) == nullptr) {
            continue;
        }
        Knee knee{from_host ? "host>0" : "0>host"};
        knee.seen = knee_of(report, from_host, [](const Row& row) { return std::optional(row.ours.gbs); });
        knee.predicted = knee_of(report, from_host, [](const Row& row) { return gbs_of(row, row.predicted_us); });
        knee.simulated = knee_of(report, from_host, [](const Row& row) { return gbs_of(row, row.simulated_us); });
        report.knees.push_back(std::move(knee));
    }
}

}  // namespace

void conclude(Report& report) {
    add_knees(report);
    auto const want = [&](const std::string& name, double wanted, const std::string& against) {
        auto const* const row = row_of(report, name);
        for (auto const& peer : row == nullptr ? std::vector<Peer>{} : row->peers) {
            if (peer.name == against) {
                report.goals.push_back(
                    {fmt::format("{}, against {}", name, against), wanted, row->ours.gbs / peer.timing.gbs});
            }
        }
    };
    want(helped_name(true, 1), 1.8, "one link");
    want(helped_name(true, 3), 3.3, "one link");
    auto worst = 0.0;
    for (auto const& row : report.rows) {
        if (row.name.rfind("host>0, ", 0) == 0 && row.predicted_us) {
            worst = std::max(worst, std::abs(*row.predicted_us / row.ours.us - 1));
        }
        if (row.name.rfind("copy ", 0) == 0 && row.name.find("as planned") != std::string::npos) {
            report.goals.push_back(
                {fmt::format("{}, {}, against the direct copy", row.name, size_word(row.bytes)), 0.99, row.ratio()});
        }
    }
    if (worst > 0) {
        report.goals.push_back({"host>0, greatest error of prediction", 0.10, worst, true});
    }
    // Beginning and ending in order of a stream is what the others do not; of two devices no order is a wrong one.
    auto const* const exchanged = row_of(report, "all to all, large copies");
    auto const two = exchanged != nullptr &&
                     std::none_of(exchanged->peers.begin(), exchanged->peers.end(),
                                  [](const Peer& peer) { return peer.name == "simultaneous copies in rounds"; });
    want("all to all, large copies", two ? 0.98 : 1.0, "simultaneous copies");
    want("all to all, large copies", 0.98, "simultaneous copies in rounds");
    want("all to all, large copies", 1.0, "NCCL");
}

Report Run::result(std::vector<Part> parts) {
    Report report;
    double all = 0;
    for (auto const& part : parts) {
        all += part.seconds;
    }
    auto until_s = rig_.driver().now();
    auto mapped = false;
    for (auto& part : parts) {
        if (part.mapped && !mapped) {
            rig_.enable_all();
            if (twin_ != nullptr) {
                twin_->enable_all();
            }
            mapped = true;
        }
        // What earlier parts did not need is there for the later ones.
        until_s += part.seconds * options_.seconds / all;
        carry_out(part, until_s, report);
    }
    conclude(report);
    return report;
}

void Run::carry_out(Part& part, double until_s, Report& report) {
    auto const start = rig_.driver().now();
    if (part.fill) {
        part.fill(part);
    }
    std::printf("%s: %zu cases, %.0f s\n", part.name.c_str(), part.cases.size(), until_s - start);
    std::fflush(stdout);
    report.left_out.insert(report.left_out.end(), part.left_out.begin(), part.left_out.end());
    for (auto const& one : part.cases) {
        try {
            carry_out(one, until_s, report);
        } catch (const Error& error) {
            report.left_out.push_back({one.name, error.what()});
            if (error.info().sticky) {
                throw;
            }
        } catch (const std::exception& error) {
            report.left_out.push_back({one.name, error.what()});
        }
    }
    std::printf("  took %.1f s\n", rig_.driver().now() - start);
    std::fflush(stdout);
}

void Run::carry_out(const Case& one, double until_s, Report& report) {
    auto const late = [&] { return fmt::format("the time of its part was over ({})", size_word(one.bytes)); };
    if (rig_.driver().now() >= until_s) {
        report.left_out.push_back({one.name, late()});
        return;
    }
    if (one.prepare) {
        one.prepare(rig_);
    }
    rig_.poison(one.jobs);
    (void)one.ours.run(rig_);
    if (auto const wrong = rig_.wrong(one.jobs); wrong > 0) {
        wrong_ += wrong;
        report.left_out.push_back({one.name, fmt::format("WRONG BYTES in {} of {}", wrong, one.jobs.size())});
        return;
    }
    for (int i = 1; i < settling; ++i) {
        (void)one.ours.run(rig_);
    }
    auto const before = rig_.driver().now();
    (void)one.ours.run(rig_);
    for (auto const& peer : one.peers) {
        (void)peer.run(rig_);
    }
    // One round more warms up; a twin takes about as long as a round, by rule of thumb.
    auto const round_s = rig_.driver().now() - before;
    auto const fit = static_cast<int>((until_s - rig_.driver().now()) / std::max(round_s, 1e-6)) - 1;
    if (fit < least_rounds) {
        report.left_out.push_back({one.name, late()});
        return;
    }
    auto const contender = [&](const Way& way) { return Contender{way.name, [this, &way] { return way.run(rig_); }}; };
    std::vector<Contender> peers;
    for (auto const& peer : one.peers) {
        peers.push_back(contender(peer));
    }
    auto row = interleave(one.name, one.bytes, contender(one.ours), peers, std::min(options_.rounds, fit));
    row.plan = one.plan;
    if (auto const seconds = one.predict ? one.predict(rig_) : 0; seconds > 0) {
        row.predicted_us = seconds * 1e6;
    }
    if (twin_ != nullptr) {
        add_simulated(one, row);
    }
    report.rows.push_back(std::move(row));
}

void Run::add_simulated(const Case& one, Row& row) {
    if (one.prepare) {
        one.prepare(*twin_);
    }
    auto const seconds_of = [&](const Way& way) {
        (void)way.run(*twin_);
        return way.run(*twin_) * 1e6;
    };
    row.simulated_us = seconds_of(one.ours);
    for (std::size_t i = 0; i < one.peers.size(); ++i) {
        if (one.peers[i].simulated) {
            row.peers[i].simulated_us = seconds_of(one.peers[i]);
        }
    }
}

}  // namespace peerlane::bench
