#pragma once
/// The ways of a machine as the sharing model sees them: which directed links and shared limits each transfer takes.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/machine.hpp>

#include "driver/sim/figures.hpp"

namespace peerlane::sim {

/// The direct way of one directed pair.
struct PeerWay {
    std::vector<int> links;         ///< of the network; empty: there is no such way
    std::vector<int> write_limits;  ///< what writes share beyond the links
    std::vector<int> requests;      ///< links of the way back, where requests of reads travel
    double share = 1.0;             ///< of the transfer that each link carries: 1/2 where two ways are taken at once
    double limit = 0;               ///< bytes/s of one transfer
    int port_out = -1;              ///< host bridge where it leaves towards another one; -1: it crosses none
    int port_in = -1;
    bool over_pcie = false;
    bool switched = false;  ///< through a switch of the fabric, which every other device is behind too
};

/// Rates in bytes/s. The links of the graph come first, then limits that several of them share.
struct Network {
    std::vector<double> capacity;
    std::vector<int> local;                  ///< link of each device's own memory
    std::vector<std::vector<PeerWay>> peer;  ///< [source][destination]
    std::vector<std::vector<int>> to_host;   ///< [device]: links to the nearest NUMA node's memory
    std::vector<std::vector<int>> from_host;
    std::vector<double> staged_to, staged_from;  ///< [device]: most of one copy that the driver stages
    std::vector<int> numa;                       ///< [device]: NUMA node of that way
    std::map<int, int> numa_memory;              ///< NUMA node -> link of its memory
    std::optional<int> host_duplex;              ///< limit that all host legs share
    std::optional<int> staged_total;             ///< limit that all copies staged by the driver share
    std::vector<int> staged_here;                ///< [device], where there is none for all: of those from and to it
    std::map<std::pair<int, int>, std::vector<int>> to_numa, from_numa;  ///< {device, NUMA node}
    std::vector<int> twin;                    ///< [link of the graph]: other direction of the same PCIe cable; -1: none
    std::vector<double> duplex;               ///< [link of the graph]: part that is left of it while its twin is in use
    std::vector<int> pcie_out, pcie_in;       ///< [device]: links of its PCIe port; -1: none
    std::map<int, int> writes_out, reads_in;  ///< host bridge -> limit that interference rules set
    std::map<int, std::string> limit_names;   ///< of those beyond the links of the graph, for people

    /// Narrowest of these, bytes/s; infinity for none.
    [[nodiscard]] double narrowest(const std::vector<int>& links) const;
};

/// The graph must be complete: every device has a way to host memory (std::invalid_argument otherwise).
Network make_network(const Machine& machine, const Figures& figures);

}  // namespace peerlane::sim
