#pragma once
/// Which copies run. A copy engine does one copy at a time, in order of readiness, and the driver gives each kind of
/// work an engine of its own: into the host's memory, out of it, to and from peers. So copies of one kind queue in a
/// lane, and a device runs no more of them at once than it has engines.
///
/// Sources: NVIDIA's answer to "Three concurrent cudaMemcpyAsync(HtoD) calls still serialized on H100/H20"
/// (forums.developer.nvidia.com, 365145: engines belong to directions, H2D, D2H, P2P); the assignment of engines to
/// peers in NVIDIA's open kernel modules (kernel_ce_gv100.c: behind a switch one engine for all peers, otherwise one
/// for each peer while there are any left); two H200 (bench/results, concurrent copies): copies of one direction of one
/// pair come one after the other even where different devices issue them, an engine that has the link keeps it while it
/// has more of that direction, and one device pushes and pulls at once at full rate.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace peerlane::sim {

class Lanes {
  public:
    using Copy = std::uint64_t;  ///< the caller's id; never 0
    using Lane = std::uint32_t;  ///< 0: none
    using Taken = std::array<Lane, 2>;
    /// The device attribute says what is promised: two H200, which say 3, ran four copies at once (bench/results).
    static constexpr int beyond_attribute = 1;

    Lanes(std::size_t devices, int engines);

    [[nodiscard]] Lane to_host(int device) const { return lane(0, device, 0); }
    [[nodiscard]] Lane from_host(int device) const { return lane(1, device, 0); }
    [[nodiscard]] Lane local(int device) const { return lane(2, device, 0); }
    /// The engine with which `device` pushes to that peer, or pulls from it; `switched`: the same for every peer.
    [[nodiscard]] Lane peers(int device, int peer, bool switched, bool pulls) const {
        return lane(pulls ? 5 : 3, device, switched ? device : peer);
    }
    /// All that copy engines move from one device to another, whoever issues it.
    [[nodiscard]] Lane pair(int source, int destination) const { return lane(4, source, destination); }

    /// Queues a copy that became ready now. True when it may run at once.
    bool join(Copy copy, int device, Taken lanes);
    /// A running copy ended. Adds those that may run now, in order of readiness.
    void leave(Copy copy, std::vector<Copy>& next);
    void clear();

  private:
    struct Ticket {
        int device = 0;
        Taken lanes{};
        int behind = 0;  ///< lanes in which another one is before it
    };

    [[nodiscard]] Lane lane(std::size_t kind, int a, int b) const {
        return static_cast<Lane>(1 + (kind * devices_ + static_cast<std::size_t>(a)) * devices_ +
                                 static_cast<std::size_t>(b));
    }
    bool take_engine(Copy copy, int device);
    /// The next one of the engine that just ended comes first where it waits for nothing else.
    void keep_with(std::deque<Copy>& queue, int device);

    std::size_t devices_;
    int engines_;
    std::vector<int> free_;                    ///< engines of each device
    std::vector<std::deque<Copy>> no_engine_;  ///< first in their lanes, but all engines of the device are busy
    std::unordered_map<Lane, std::deque<Copy>> queues_;  ///< the first one runs, or is first in this lane
    std::unordered_map<Copy, Ticket> tickets_;
};

}  // namespace peerlane::sim
