#pragma once
/// What a prober and its host say to each other: one JSON object a line.

#include <string>
#include <string_view>

#include <peerlane/probe_host.hpp>

#include "prove/ladder.hpp"

namespace peerlane::prove::wire {

struct Request {
    ProbeStep step;
    Limits limits;  ///< the prober's own, below the host's
    friend bool operator==(const Request&, const Request&) = default;
};

struct Reply {
    enum class Kind : std::uint8_t {
        ready,    ///< devices are open; `text` describes them
        begun,    ///< the step was read and runs now
        done,     ///< `result` holds; `usable` false: the prober ends now
        refused,  ///< the devices could not be opened: `code` and `text` say why
        other,    ///< not ours (a library that prints); `text` is the line
    };
    Kind kind = Kind::other;
    CheckResult result{};
    bool usable = true;
    int code = 0;
    std::string text{};
    friend bool operator==(const Reply&, const Reply&) = default;
};

/// Without the end of line, and without one inside.
std::string write(const Request& request);
std::string write(const Reply& reply);
/// Throws InputError named "step" for what is no request.
Request read_request(std::string_view line);
/// A step, and what came of it, as objects of a record.
std::string write(const ProbeStep& step);
std::string write(const ProbeOutcome& outcome);
/// Throw InputError that names `file` for what is none.
ProbeStep read_step(std::string_view json, const std::string& file);
ProbeOutcome read_outcome(std::string_view json, const std::string& file);
/// Never throws.
Reply read_reply(std::string_view line);

}  // namespace peerlane::prove::wire
