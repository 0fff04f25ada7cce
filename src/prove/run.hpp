#pragma once
/// What a check has while it runs, and what several checks ask alike. For the files of the ladder only.

#include <string>

#include <peerlane/probe_host.hpp>

#include "prove/bench.hpp"
#include "prove/ladder.hpp"

namespace peerlane::prove {

/// What a step needs while it runs; `result` grows with each size.
struct Run {
    Bench& bench;
    const ProbeStep& step;
    Limits limits;
    CheckResult& result;
    Partners& partners;
};

CheckResult answer(Result result, std::string reason = {});
/// "mapping device 1 for device 0 was refused: ...".
std::string refusal(const ProbeStep& step, const MappingOutcome& outcome);
std::string no_claim(const ProbeStep& step);
bool claimed(const Run& run);
/// Whether kernels of the accessor may be sent into the owner's memory; where not, the result says why.
bool kernels_may_reach(Run& run);
/// Whether copies of the pair go direct: where either direction is mapped. With neither the driver stages the bytes,
/// and that proves nothing; the result then says so.
bool copies_go_direct(Run& run);

/// As many rounds as fit into that time when one takes `one_s`, at least 1, at most `most`: a path may take
/// milliseconds for what another does in less than one microsecond.
std::uint32_t rounds_within(double seconds, double one_s, std::uint32_t most);

/// The checks. Each may throw TimeUp, NotTried and Error.
void check_claim(Run& run);
void check_map(Run& run);
void check_push(Run& run);
void check_pull(Run& run);
void check_store(Run& run);
void check_load(Run& run);
void check_atomic(Run& run);
void check_flag(Run& run);
void check_control(Run& run);
/// The other mappings of a pair, for the check `map` to keep: pool and virtual memory, granted, and
/// memory of another process, imported.
void check_ways(Run& run);
/// Of the ways: the owner's memory exported by the partner, as a legacy handle and as a descriptor. Others than Error
/// and NotTried are kept in the result.
MappingWay import_legacy_way(Run& run);
MappingWay import_virtual_way(Run& run);
void check_group(Run& run);
/// All owners of one accessor mapped at the same time, one way "together" for each pair of the step.
void check_places(Run& run);
/// One launch on the step's device, and its end.
void check_idle(Run& run);

}  // namespace peerlane::prove
