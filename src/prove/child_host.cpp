#include <algorithm>
#include <optional>

#include <unistd.h>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "prove/busy.hpp"
#include "prove/child_process.hpp"
#include "prove/wire.hpp"

namespace peerlane::prove {
namespace {

CheckResult answer(Result result, std::string reason) {
    CheckResult check;
    check.result = result;
    check.reason = std::move(reason);
    return check;
}

class ChildHost final : public ProbeHost {
  public:
    explicit ChildHost(ChildOptions options) : options_(std::move(options)) {}

    std::vector<ProbeOutcome> run(const std::vector<ProbeStep>& steps, double seconds_per_step, const OnBegin& begin,
                                  const OnEnd& end) override {
        std::vector<ProbeOutcome> outcomes;
        for (auto const& step : steps) {
            auto forbidden = options_.veto ? options_.veto(step) : std::string();
            forbidden = forbidden.empty() ? busy_.reason(step) : forbidden;
            if (!forbidden.empty()) {
                outcomes.push_back({step, answer(Result::skipped, forbidden)});
                if (end) {
                    end(outcomes.back());
                }
                continue;
            }
            auto const not_started = start(!started_once_);
            if (begin) {  // before the step reaches the prober: what is written then survives whatever the step does
                begin(step);
            }
            outcomes.push_back(
                {step, not_started ? answer(Result::skipped, *not_started)
                                   : run_one(step, limits_of(step, outcomes, seconds_per_step), seconds_per_step)});
            if (outcomes.back().result.result == Result::hang) {
                busy_.look_after(step, [&](const ProbeStep& idle) { return run_idle(idle, seconds_per_step); });
            }
            if (end) {
                end(outcomes.back());
            }
        }
        stop();
        return outcomes;
    }

  private:
    /// Makes sure that a prober is ready. Throws Error when it is the first; a later one that does not start gives the
    /// reason.
    std::optional<std::string> start(bool first) {
        if (child_) {
            return std::nullopt;
        }
        try {
            start_child();
            started_once_ = true;
            return std::nullopt;
        } catch (const Error& error) {
            child_.reset();
            if (first) {
                throw;
            }
            return fmt::format("no fresh prober: {}", error.what());
        }
    }

    void start_child() {
        auto arguments = options_.arguments;
        arguments.insert(arguments.end(), {"--parent", std::to_string(::getpid())});
        child_.emplace(options_.helper, arguments, options_.send_signal);
        auto const deadline = after(options_.start_seconds);
        for (;;) {
            auto const line = child_->read_line(deadline);
            if (line.kind == ChildProcess::Line::Kind::late) {
                child_->end(options_.end_seconds);
                throw Error({code::unknown, options_.helper, -1, -1,
                             fmt::format("its devices were not open after {}", seconds_text(options_.start_seconds))});
            }
            if (line.kind == ChildProcess::Line::Kind::closed) {
                child_->end(options_.end_seconds);
                throw Error({code::unknown, options_.helper, -1, -1, died()});
            }
            auto const reply = wire::read_reply(line.text);
            if (reply.kind == wire::Reply::Kind::ready) {
                return;
            }
            if (reply.kind == wire::Reply::Kind::refused) {
                child_->end(options_.end_seconds);
                throw Error({reply.code, options_.helper, -1, -1, reply.text});
            }
        }
    }

    CheckResult run_idle(const ProbeStep& step, double seconds_per_step) {
        if (auto const not_started = start(false)) {
            return answer(Result::skipped, *not_started);
        }
        return run_one(step, {}, seconds_per_step);
    }

    CheckResult run_one(const ProbeStep& step, const Limits& limits, double seconds_per_step) {
        auto const deadline = after(seconds_per_step);
        child_->write_line(wire::write(wire::Request{step, limits}));  // when it is gone already, reading tells
        for (;;) {
            auto const line = child_->read_line(options_.stopped ? std::min(deadline, after(0.1)) : deadline);
            if (line.kind == ChildProcess::Line::Kind::late && options_.stopped) {
                if (options_.stopped()) {
                    auto result = answer(Result::skipped, "stopped while it ran");
                    result.frozen = !child_->end(options_.end_seconds);
                    child_.reset();
                    return result;
                }
                if (Clock::now() < deadline) {
                    continue;
                }
            }
            if (line.kind == ChildProcess::Line::Kind::late) {
                auto result = answer(
                    Result::hang, fmt::format("the prober did not answer within {}", seconds_text(seconds_per_step)));
                result.frozen = !child_->end(options_.end_seconds);
                add_complaint(result);
                child_.reset();
                return result;
            }
            if (line.kind == ChildProcess::Line::Kind::closed) {
                return crashed();
            }
            auto reply = wire::read_reply(line.text);
            if (reply.kind != wire::Reply::Kind::done) {
                continue;
            }
            if (!reply.usable) {  // it ends by itself, unless work on a device holds it
                auto const ended = child_->reap(options_.end_seconds) || child_->end(options_.end_seconds);
                reply.result.frozen = reply.result.frozen || (!ended && reply.result.result == Result::hang);
                add_complaint(reply.result);
                child_.reset();
            }
            return reply.result;
        }
    }

    CheckResult crashed() {
        auto const frozen = !child_->reap(options_.end_seconds) && !child_->end(options_.end_seconds);
        auto result = frozen ? answer(Result::hang, "the prober closed its output and cannot be ended")
                             : answer(Result::error, died());
        result.frozen = frozen;
        if (!frozen) {
            result.code = code::unknown;
        }
        child_.reset();
        return result;
    }

    /// How it ended, and what it said of it.
    std::string died() {
        auto text = fmt::format("the prober {}", child_->ending());
        if (auto const said = child_->complaint(); !said.empty()) {
            text += ": " + said;
        }
        return text;
    }

    void add_complaint(CheckResult& result) {
        if (auto const said = child_->complaint(); !said.empty()) {
            result.reason += fmt::format("{}the prober said: {}", result.reason.empty() ? "" : "; ", said);
        }
    }

    void stop() {
        if (child_) {
            child_->close_input();
            if (!child_->reap(options_.end_seconds)) {
                child_->end(options_.end_seconds);
            }
            child_.reset();
        }
    }

    ChildOptions options_;
    std::optional<ChildProcess> child_;
    bool started_once_ = false;
    Busy busy_;
};

}  // namespace

std::unique_ptr<ProbeHost> child_host(ChildOptions options) {
    return std::make_unique<ChildHost>(std::move(options));
}

}  // namespace peerlane::prove
