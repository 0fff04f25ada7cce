#include <peerlane/measure.hpp>

#include <algorithm>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include <peerlane/error.hpp>

#include "measure/access_probe.hpp"
#include "measure/bench.hpp"
#include "measure/group_probe.hpp"
#include "measure/host_probe.hpp"
#include "measure/leg_probe.hpp"
#include "measure/plan_probe.hpp"
#include "measure/proven.hpp"
#include "plan/at_work.hpp"

namespace peerlane {
namespace {

using namespace measuring;

/// What one piece of work costs on a pair of H200, roughly and relative to each other: for the progress alone.
constexpr double peer_leg_weight = 1, host_leg_weight = 4, group_weight = 1, access_weight = 1.5, host_weight = 0.3,
                 warming_weight = 0.3, plan_weight = 1;

struct Work {
    std::string what;
    double weight = 1;
    std::function<void()> run;
};

class Measuring {
  public:
    Measuring(Driver& driver, const MeasureOptions& options)
        : options_(options),
          ground_(ground_of(options.machine != nullptr ? *options.machine : driver.machine(), options.devices,
                            options.nodes, options.verdicts, options.trust_claimed)),
          bench_(driver, std::min(options.most_bytes, options.quick ? quick_steps.last : full_steps.last),
                 options.stopped) {
        profile_.key = options.key;
        profile_.taken_at = options.taken_at;
        profile_.simulated = driver.simulated();
        profile_.quick = options.quick;
    }

    Profile result() {
        add_warming();
        add_legs();
        add_groups();
        add_plans();
        add_accesses();
        add_host_costs();
        auto const whole = std::accumulate(work_.begin(), work_.end(), 0.0,
                                           [](double sum, const Work& work) { return sum + work.weight; });
        double done = 0;
        for (auto const& work : work_) {
            tell(done / whole, work.what);
            if (!carry_out(work)) {
                profile_.complete = false;
                break;
            }
            done += work.weight;
        }
        if (profile_.complete) {
            tell(1, "done");
        }
        return std::move(profile_);
    }

  private:
    void tell(double part, const std::string& what) const {
        if (options_.progress) {
            options_.progress({part, what});
        }
    }

    /// False when nothing more can be measured.
    bool carry_out(const Work& work) {
        try {
            bench_.look();
            work.run();
            return true;
        } catch (const Stopped&) {
            profile_.notices.push_back(fmt::format("stopped at: {}", work.what));
        } catch (const Lost& lost) {
            profile_.notices.push_back(fmt::format("{}: {}", work.what, lost.what));
            bench_.abandon();
        } catch (const Error& error) {
            profile_.notices.push_back(fmt::format("{}: {}", work.what, error.what()));
            // What waits for ever in a stream comes out of the simulator as this code, and as Lost on real devices.
            auto const over = error.info().sticky || error.code() == code::launch_timeout;
            if (!over) {
                return true;
            }
            bench_.abandon();
        }
        return false;
    }

    /// Devices that were idle run slowly at first: their clocks rise under load.
    void add_warming() {
        auto const seconds = options_.quick ? 0.01 : 0.03;
        for (auto const device : ground_.devices) {
            work_.push_back({fmt::format("warming gpu{}", device), warming_weight, [this, device, seconds] {
                                 auto& driver = bench_.driver();
                                 auto const& memory = bench_.memory(gpu(device));
                                 auto const half = memory.bytes() / 2;
                                 auto const stream = bench_.stream(device);
                                 auto const start = driver.now();
                                 Leg const leg{gpu(device), gpu(device), Engine::kernel, gpu(device)};
                                 do {
                                     bench_.look();
                                     bench_.issue(leg, stream, memory.location(half), memory.location(), half);
                                     bench_.finish(stream, half);
                                 } while (driver.now() - start < seconds);
                             }});
        }
    }

    void add_legs() {
        legs_ = proven_legs(ground_, options_.quick);
        LegRules rules;
        if (options_.quick) {
            rules.stop = quick_rule;
            rules.steps = quick_steps;
        }
        for (auto const& leg : legs_) {
            auto const peers = leg.from.is_device() && leg.to.is_device();
            work_.push_back({describe(leg), peers ? peer_leg_weight : host_leg_weight, [this, leg, rules] {
                                 auto curve = measure_leg(bench_, leg, rules);
                                 if (!curve) {
                                     profile_.notices.push_back(fmt::format("{}: cannot be mapped", describe(leg)));
                                 } else if (!curve->curve.points.empty()) {
                                     profile_.legs.push_back(*std::move(curve));
                                 }
                             }});
        }
    }

    void add_groups() {
        if (!options_.loaded) {
            return;
        }
        constexpr std::size_t most_of_kind = 12, most_of_quick_kind = 2;
        auto const plans = plan_groups(ground_, legs_, options_.quick ? most_of_quick_kind : most_of_kind);
        auto const rules = options_.quick ? GroupRules{std::uint64_t{8} << 20, 1} : GroupRules{};
        groups_ = std::make_unique<GroupProbe>(bench_, profile_.legs, rules);
        for (auto const& plan : plans) {
            std::string moves;
            for (auto const& [from, to] : plan.moves) {
                moves += fmt::format("{}{} > {}", moves.empty() ? "" : ", ", to_string(from), to_string(to));
            }
            work_.push_back({fmt::format("{}: {}", plan.name, moves), group_weight, [this, plan] {
                                 if (auto group = groups_->measure(plan)) {
                                     profile_.loaded.push_back(*std::move(group));
                                 }
                             }});
        }
    }

    /// What the plans that come from all this would have at work at once. Each answer may change the plan, so the
    /// planner is asked again, a few times.
    void add_plans() {
        if (!options_.loaded) {
            return;
        }
        constexpr std::size_t most_of_ends = 56, most_of_quick_ends = 2;
        plans_ = std::make_unique<PlanProbe>(bench_, profile_.legs, options_.quick ? PlanRules{4e-3, 1} : PlanRules{});
        auto const ends = plan_ends(ground_, options_.quick ? most_of_quick_ends : most_of_ends);
        for (auto const& [from, to] : ends) {
            auto const what = fmt::format("plans {} > {}", to_string(from), to_string(to));
            work_.push_back({what, plan_weight, [this, from = from, to = to] { measure_plans(from, to); }});
        }
    }

    void measure_plans(Place from, Place to) {
        if (!at_work_) {
            at_work_ = std::make_unique<plan::AtWork>(
                ground_.machine, options_.verdicts != nullptr ? *options_.verdicts : nothing_proven_,
                options_.verdicts == nullptr, profile_);
        }
        auto const rounds = options_.quick ? 2 : 5;
        auto hopeful = options_.quick ? 1 : 2;
        std::vector<std::uint64_t> const sizes{std::uint64_t{512} << 20, std::uint64_t{16} << 20,
                                               std::uint64_t{2} << 20};
        for (int round = 0; round < rounds; ++round) {
            auto any = false;
            for (auto const& routes : at_work_->wanted(from, to, sizes, hopeful > 0)) {
                if (auto measured = plans_->measure(routes)) {
                    profile_.plans.push_back(*std::move(measured));
                    any = true;
                }
            }
            if (!any && hopeful == 0) {
                return;
            }
            hopeful = any ? std::max(hopeful - 1, 0) : 0;
        }
    }

    void add_accesses() {
        if (!options_.access) {
            return;
        }
        auto const rules = options_.quick ? AccessRules{quick_rule, quick_steps.last} : AccessRules{};
        for (auto const& plan : plan_accesses(ground_, options_.quick)) {
            auto const what = fmt::format("kernels of gpu{} reading {}", plan.accessor, to_string(plan.place));
            work_.push_back({what, access_weight, [this, plan, rules] {
                                 auto costs = measure_access(bench_, plan, rules);
                                 if (costs.load_s || !costs.touches.empty()) {
                                     profile_.access.push_back(std::move(costs));
                                 }
                             }});
        }
    }

    void add_host_costs() {
        if (!options_.host_costs) {
            return;
        }
        auto const device = ground_.devices.front();
        std::optional<int> peer;
        for (auto const& leg : legs_) {
            if (!peer && leg.issuer == gpu(device) && leg.from == leg.issuer && leg.to.is_device() &&
                leg.engine == Engine::copy) {
                peer = leg.to.index;
            }
        }
        auto const rule = options_.quick ? quick_rule : full_rule;
        work_.push_back({"calls of the host", host_weight, [this, device, peer, rule] {
                             profile_.host_costs = measure_host(bench_, device, peer, rule);
                         }});
    }

    const MeasureOptions& options_;
    Ground ground_;
    Bench bench_;
    Profile profile_;
    std::vector<Leg> legs_;
    std::unique_ptr<GroupProbe> groups_;
    std::unique_ptr<PlanProbe> plans_;
    Verdicts const nothing_proven_{};
    std::unique_ptr<plan::AtWork> at_work_;
    std::vector<Work> work_;
};

}  // namespace

Profile measure(Driver& driver, const MeasureOptions& options) {
    return Measuring(driver, options).result();
}

}  // namespace peerlane
