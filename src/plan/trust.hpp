#pragma once
/// Which legs and routes may be used: only proven ones, unless the driver's word is to be taken.

#include <string>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/plan.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane::plan {

struct Trust {
    std::string refusal{};  ///< why not; empty when it may be used
    bool proven = false;    ///< a proof stands behind that
};

/// Of a leg between two devices, by the check that serves it. Legs from and to the host need no mapping.
Trust trust_of(const Machine& machine, const Verdicts& verdicts, bool trust_claimed, const Leg& leg);
/// Of all legs, and of a route through the host the control arm.
Trust trust_of(const Machine& machine, const Verdicts& verdicts, bool trust_claimed, const std::vector<Leg>& legs);
/// "0 writes 1 by copy engine".
std::string access_words(const Leg& leg);

}  // namespace peerlane::plan
