#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <peerlane/error.hpp>

#include "prove/busy.hpp"
#include "prove/ladder.hpp"

namespace peerlane::prove {
namespace {

/// A driver and what works on it, closed in the right order.
struct Session {
    explicit Session(std::unique_ptr<Driver> opened) : driver(std::move(opened)), prober(*driver) {}
    std::unique_ptr<Driver> driver;
    Prober prober;
};

class InProcessHost final : public ProbeHost {
  public:
    explicit InProcessHost(InProcessOptions options) : options_(std::move(options)) {}

    std::vector<ProbeOutcome> run(const std::vector<ProbeStep>& steps, double seconds_per_step, const OnBegin& begin,
                                  const OnEnd& end) override {
        std::vector<ProbeOutcome> outcomes;
        for (auto const& step : steps) {
            auto forbidden = options_.veto ? options_.veto(step) : std::string();
            forbidden = forbidden.empty() ? busy_.reason(step) : forbidden;
            if (!forbidden.empty()) {
                outcomes.push_back({step, {.result = Result::skipped, .reason = forbidden}});
            } else {
                if (begin) {
                    begin(step);
                }
                outcomes.push_back({step, run_one(step, limits_of(step, outcomes, seconds_per_step))});
                if (outcomes.back().result.result == Result::hang) {
                    busy_.look_after(step, [&](const ProbeStep& idle) { return run_one(idle, {}); });
                }
            }
            if (end) {
                end(outcomes.back());
            }
        }
        session_.reset();
        return outcomes;
    }

  private:
    CheckResult run_one(const ProbeStep& step, const Limits& limits) {
        try {
            open();
        } catch (const Error& error) {
            if (!opened_once_) {
                throw;
            }
            CheckResult result;
            result.reason = fmt::format("no fresh prober: {}", error.what());
            return result;
        }
        if (step.kind == ProbeStep::Kind::idle && options_.freezes && options_.freezes(step)) {
            return {.result = Result::hang};
        }
        auto result = session_->prober.run(step, limits);
        result.frozen = result.result == Result::hang && options_.freezes && options_.freezes(step);
        if (!session_->prober.usable()) {
            session_.reset();
        }
        return result;
    }

    void open() {
        if (!session_) {
            session_.emplace(options_.open());
            opened_once_ = true;
        }
    }

    InProcessOptions options_;
    std::optional<Session> session_;
    bool opened_once_ = false;
    Busy busy_;
};

}  // namespace

std::function<bool(const ProbeStep&)> freezes_of(std::vector<Fault> faults) {
    return [faults = std::move(faults)](const ProbeStep& step) {
        if (step.kind == ProbeStep::Kind::idle) {
            return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
                return fault.what == Fault::What::wedge && (fault.a == Fault::any || fault.a == step.owner);
            });
        }
        if (step.kind != ProbeStep::Kind::check && step.kind != ProbeStep::Kind::control) {
            return false;
        }
        auto const word = step.kind == ProbeStep::Kind::control ? to_string(Fault::What::host) : to_string(step.check);
        return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
            auto const concerned = [&](std::uint64_t bytes) { return fault.concerns_size(bytes); };
            return fault.effect == Fault::Effect::freeze && std::string_view(to_string(fault.what)) == word &&
                   fault.concerns(step.accessor, step.owner) &&
                   (step.sizes.empty() || std::any_of(step.sizes.begin(), step.sizes.end(), concerned));
        });
    };
}

std::unique_ptr<ProbeHost> in_process_host(InProcessOptions options) {
    return std::make_unique<InProcessHost>(std::move(options));
}

}  // namespace peerlane::prove
