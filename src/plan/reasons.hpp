#pragma once
/// Why a lane or a split was taken, in words.

#include <string>
#include <vector>

#include "plan/decide.hpp"

namespace peerlane::plan {

struct ReasonContext {
    const std::vector<Lane>& lanes;
    const Load& load;
    bool trust_claimed = false;
};

Reason reason_of_lane(const ReasonContext& context, int lane, const Scored& scored);
Reason reason_of_split(const ReasonContext& context, const Decision& decision);
/// A line each; what is because of it indented by two blanks.
std::vector<std::string> lines_of(const std::vector<Reason>& reasons);

}  // namespace peerlane::plan
