#pragma once
/// What may be measured: legs and accesses that were proven, and groups of legs worth running at the same time. Pure.

#include <string>
#include <utility>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/plan.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane::measuring {

/// What the choice of legs depends on.
struct Ground {
    const Machine& machine;
    std::vector<int> devices;  ///< ascending
    std::vector<Place> hosts;  ///< one a NUMA node; `host` alone where no node is known
    const Verdicts* verdicts = nullptr;
    bool trust_claimed = false;

    /// A check of accessor:owner is right, or believed.
    [[nodiscard]] bool right(Check check, int accessor, int owner) const;
    /// Copies between the device and the host are right: nothing that went that way was seen to be wrong.
    [[nodiscard]] bool host_right(int device, bool to_host) const;
    /// The place of host memory nearest to the device.
    [[nodiscard]] Place near(int device) const;
};

/// NUMA nodes of the host, ascending; not those that are a device's memory.
std::vector<int> host_nodes(const Machine& machine);

/// Throws std::invalid_argument for a device or node that the machine does not have. Empty lists: all.
Ground ground_of(const Machine& machine, std::vector<int> devices, const std::vector<int>& nodes,
                 const Verdicts* verdicts, bool trust_claimed);

/// Between devices: copy engine pushed, pulled, kernel pushed, pulled; then of each device to and from each host place,
/// copy engine, then kernel. `quick` leaves the kernels' host legs out.
std::vector<Leg> proven_legs(const Ground& ground, bool quick);

/// Data from one place to another, by whatever leg is best.
using Move = std::pair<Place, Place>;

struct GroupPlan {
    std::string name;
    std::vector<Move> moves;
};

/// Between what places plans are looked at: each directed pair of devices, and each device and the host near it; at
/// most `most` of either, of each sort one before the second of any.
std::vector<Move> plan_ends(const Ground& ground, std::size_t most);

/// Groups of moves that have a leg among `legs`. Of each kind that pairs or triples of devices have, at most
/// `most_of_kind`: pairs that are joined alike stand for each other, so one of each sort comes before the second of
/// any.
std::vector<GroupPlan> plan_groups(const Ground& ground, const std::vector<Leg>& legs, std::size_t most_of_kind);

/// A kernel of the accessor reading memory at the place.
struct AccessPlan {
    int accessor = 0;
    Place place;
    bool atomics = false;
    bool whole = true;  ///< else only what differs between pairs that are joined alike
};
std::vector<AccessPlan> plan_accesses(const Ground& ground, bool quick);

}  // namespace peerlane::measuring
