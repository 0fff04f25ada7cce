#pragma once
/// What many_devices runs, part by part: each case one way of ours beside the plain calls that do the same work.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench_report.hpp"
#include "many_rig.hpp"
#include "nccl.hpp"

namespace peerlane::bench {

/// One way of doing the work of a case, on any rig of as many devices; returns seconds.
struct Way {
    std::string name;
    std::function<double(Rig&)> run;
    bool simulated = true;  ///< the simulator can play it
};

struct Case {
    std::string name;
    std::uint64_t bytes = 0;  ///< of all its jobs
    Way ours;
    std::vector<Way> peers;
    std::vector<Job> jobs{};                ///< what has to have arrived afterwards
    std::function<void(Rig&)> prepare{};    ///< mappings, buffers, lists: nothing of it is timed
    std::function<double(Rig&)> predict{};  ///< seconds of ours, by the planner of the rig
    std::string plan{};                     ///< in few words
};

/// Cases that have `seconds` of the devices' time together; what is not over by then is left out, and named.
struct Part {
    std::string name;
    double seconds = 0;
    bool mapped = true;  ///< every pair is enabled before; else none is
    std::vector<Case> cases{};
    std::vector<LeftOut> left_out{};
    std::function<void(Part&)> fill{};  ///< makes the cases once it is their turn
};

struct CaseOptions {
    bool small = false;  ///< less memory and fewer pages, for machines that are only simulated
    /// Starts NCCL, which maps devices into each other; nullptr, with the reason, where it is not there.
    std::function<NcclGroup*(std::string& why)> nccl{};
};

/// Every part of a machine like that of `rig`, whose planner decides the ways. Budgets add up to about 400 s.
std::vector<Part> many_parts(Rig& rig, const CaseOptions& options);

/// The parts by themselves.
Part staged_pairs(Rig& rig);
Part direct_pairs(Rig& rig);
Part relays(Rig& rig);
Part splits(Rig& rig);
Part host_with_helpers(Rig& rig);
Part patterns(Rig& rig, const CaseOptions& options);

/// Of `out` and `in` of each device for all of these.
std::uint64_t bytes_a_device(int devices);

/// "host>0" with `helpers` devices taking a share each, and the other way round: the names of host_with_helpers.
std::string helped_name(bool from_host, int helpers);

/// The mover's way, between the two places of the job.
Way carried_out(const Choice& choice, const Job& job);
/// One call of the runtime, issued by the source (by the destination, from the host).
Way runtime_copy(const std::string& name, const Job& job);
std::string pair_name(int from, int to);

}  // namespace peerlane::bench
