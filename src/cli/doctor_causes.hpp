#pragma once
/// What was read of the machine, and what it says about the verdicts.

#include <string>
#include <vector>

#include <peerlane/facts.hpp>
#include <peerlane/record.hpp>
#include <peerlane/verdict_cache.hpp>

#include "cli/doctor.hpp"

namespace peerlane::cli {

/// Of this machine as it was discovered; of a simulated one the facts of a machine in which nothing is wrong, and what
/// the faults say. Throws UsageError for a fact that is none.
Facts facts_of(const Target& target, const Globals& globals);

/// Devices of the machine that other processes use, ascending.
std::vector<int> devices_of_others(const Machine& machine, const Facts& facts);

/// Two looks at a device whose prober was ended, some seconds apart. Empty: nothing can be told.
std::vector<DeviceActivity> look_at(const Target& target, const Globals& globals, const Facts& facts, int device);
/// What shows that it is busy with nothing of its own to do; empty when it is not.
std::string busy_evidence(const std::vector<DeviceActivity>& looks);

/// What was learned of the run itself.
struct RunStory {
    std::vector<RecordedStep> interrupted{};
    std::string record{};  ///< the file that told of them
    std::vector<DeviceActivity> looks{};
    std::optional<CacheKey> stored{};  ///< of verdicts that were not used because of it
    CacheKey now{};
    std::vector<std::string> contradicted{};  ///< by the canary
};
void tell(Facts& facts, const RunStory& story);

/// Judges, rates of disturbed devices left out, and finds the causes.
void add_causes(Examination& examination, const Facts& facts, const RunStory& story);

/// Documents without what names people and machines.
std::string scrubbed(const Machine& machine);
std::string scrubbed(const Facts& facts);

}  // namespace peerlane::cli
