#pragma once
/// Causes: what the facts of a machine say about the verdicts of its pairs. Pure.

#include <span>
#include <string_view>
#include <vector>

#include <peerlane/facts.hpp>
#include <peerlane/machine.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

/// Findings with evidence, pairs and cure; errors first, then what explains most pairs that are not right. Nothing is
/// concluded from what was not read. `verdicts` may be empty: then only what the facts alone tell is found; its own
/// `findings` are not looked at.
std::vector<Finding> diagnose(const Machine& machine, const Facts& facts, const Verdicts& verdicts);

/// A code that diagnose can give.
struct FindingCode {
    std::string_view code;
    Finding::Severity severity;
    std::string_view says;  ///< a few words
};
/// All of them, in the order of docs/findings/.
std::span<const FindingCode> finding_codes();

}  // namespace peerlane
