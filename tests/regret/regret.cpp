#include "regret/regret.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <peerlane/driver/owned.hpp>
#include <peerlane/measure.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/named.hpp>

namespace peerlane::regret {
namespace {

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double quantile(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

/// Carries choices out between two buffers and takes the time as an application would see it.
class Course {
  public:
    Course(Driver& driver, Ready ready, Place from, Place to, std::uint64_t bytes)
        : driver_(driver),
          mover_(driver, std::move(ready), options()),
          from_(driver, {from, bytes, kind(from)}),
          to_(driver, {to, bytes, kind(to)}),
          stream_(driver, from.is_device() ? from.index : to.index) {}

    double seconds(Choice choice, std::uint64_t bytes, int runs) {
        choice.bytes = bytes;
        mover_.prepare(choice);
        std::vector<double> took;
        for (int run = 0; run <= runs; ++run) {
            auto const start = driver_.now();
            mover_.carry_out(choice, to_.location(), from_.location(), stream_.view());
            driver_.synchronize(stream_.view());
            if (run > 0) {  // the first one makes what is missing
                took.push_back(driver_.now() - start);
            }
        }
        return median(took);
    }

  private:
    static MoverOptions options() {
        MoverOptions options;
        options.adapt = false;
        return options;
    }
    static MemoryKind kind(Place place) { return place.is_host() ? MemoryKind::pinned : MemoryKind::plain; }
    Driver& driver_;
    Mover mover_;
    Allocation from_, to_;
    Stream stream_;
};

std::vector<std::pair<Place, Place>> ends_of(const Machine& machine, const Questions& questions) {
    std::vector<std::pair<Place, Place>> ends;
    std::set<std::pair<PathClass, int>> met;
    for (auto const sorts : {true, false}) {
        for (auto const& pair : machine.pairs) {
            auto const one = std::pair(gpu(pair.accessor), gpu(pair.owner));
            if (ends.size() >= questions.pairs || std::find(ends.begin(), ends.end(), one) != ends.end() ||
                (sorts && !met.insert({pair.path, pair.nvlinks.value_or(0)}).second)) {
                continue;
            }
            ends.push_back(one);
        }
    }
    if (questions.host) {
        auto const near = [&](const Device& device) {
            return device.numa && machine.graph.numa_node(*device.numa) >= 0 ? host(*device.numa) : host();
        };
        ends.emplace_back(near(machine.devices.front()), gpu(0));
        ends.emplace_back(gpu(machine.devices.back().id), near(machine.devices.back()));
    }
    return ends;
}

}  // namespace

std::vector<std::uint64_t> sizes(double octaves_apart) {
    std::vector<std::uint64_t> all;
    for (double octave = 8; octave <= 32.001; octave += octaves_apart) {
        all.push_back(static_cast<std::uint64_t>(std::llround(std::exp2(octave))));
    }
    return all;
}

std::vector<Row> judge(const Trial& trial, const Questions& questions) {
    auto const driver = open_simulated(trial.machine, trial.options);
    MeasureOptions how;
    how.trust_claimed = true;
    how.quick = questions.quick;
    how.access = false;
    auto const machine = driver->machine();
    Ready ready{machine, {}, true, measure(*driver, how)};
    PlannerOptions options;
    options.trust_claimed = true;
    options.staging_bytes = MoverOptions{}.staging_bytes / 4;  // the largest of its rings
    Planner const planner(machine, {}, ready.profile, options);
    std::vector<Row> rows;
    for (auto const& [from, to] : ends_of(machine, questions)) {
        Course course(*driver, ready, from, to, questions.sizes.back());
        for (auto const bytes : questions.sizes) {
            auto const& chosen = planner.choose(from, to, bytes);
            if (chosen.routes.empty()) {
                continue;
            }
            Row row{trial.name, from, to, bytes, describe(chosen.routes), {}, 0, 0, 0};
            row.predicted_s = planner.predict(chosen.routes, bytes).value_or(0);
            row.achieved_s = course.seconds(chosen, bytes, questions.runs);
            row.best_s = row.achieved_s;
            row.best = row.chosen;
            auto const alternative = [&](const std::vector<Route>& routes) {
                Choice other;
                other.routes = routes;
                auto const took = course.seconds(other, bytes, questions.runs);
                if (questions.tell) {
                    questions.tell(describe(routes), planner.predict(routes, bytes).value_or(0), took);
                }
                if (took < row.best_s) {
                    row.best_s = took;
                    row.best = describe(routes);
                }
            };
            auto const explained = planner.explain(from, to, bytes);
            if (explained.routes != chosen.routes) {
                alternative(explained.routes);
            }
            for (auto const& rejected : explained.rejected) {
                if (rejected.predicted_s) {
                    alternative(rejected.routes);
                }
            }
            auto const split = planner.explain(from, to, bytes, RoutePolicy::split);
            if (split.routes.size() > 1 && split.routes != chosen.routes) {
                alternative(split.routes);
            }
            rows.push_back(std::move(row));
        }
    }
    return rows;
}

std::vector<Trial> shipped() {
    std::vector<Trial> trials;
    for (auto const& named : named_machines()) {
        trials.push_back({named.name, load_machine(named.name), {}});
    }
    return trials;
}

Summary summarize(const std::vector<Row>& rows) {
    std::vector<double> regrets, errors;
    for (auto const& row : rows) {
        regrets.push_back(row.regret());
        errors.push_back(std::abs(row.error()));
    }
    if (rows.empty()) {
        return {};
    }
    return {rows.size(),    median(regrets),        quantile(regrets, 0.99), quantile(regrets, 1),
            median(errors), quantile(errors, 0.95), quantile(errors, 1)};
}

}  // namespace peerlane::regret
