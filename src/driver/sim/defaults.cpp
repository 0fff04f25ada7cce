#include "driver/sim/defaults.hpp"

#include <algorithm>
#include <set>

#include "machine/nominal.hpp"

namespace peerlane::sim {
namespace {

/// DMA copies of one direction. 3: staged copies of V100 machines. 4: RTX 4090 and A6000 at root ports (26.3 of 31.5
/// GB/s); A100 behind a switch (24.8: NVIDIA/nvbandwidth#53, #11). 5: at root ports the middle of H200 (0.881) and
/// RTX PRO 6000 (57.2 of 63.0: voipmonitor/rtx6kpro, epyc9124-direct-attach); behind switches that of RTX PRO 6000 on
/// several rigs (53.4 to 56.3, same repository) and of host copies of H800.
double pcie_by_generation(int generation, bool switched) {
    if (generation <= 3) {
        return 0.78;
    }
    if (generation == 4) {
        return switched ? 0.79 : 0.83;
    }
    return switched ? 0.87 : 0.895;
}

/// 50.6 of 53.4 GB/s behind Switchtec; at root ports RTX 4090 50.2 both ways of 25.8, RTX PRO 6000 112.3 of 57.2.
double pcie_duplex_by_end(bool switched) {
    return switched ? 0.95 : 0.975;
}

/// V100 with and without NVSwitch; A100; the middle of H100 (0.787) and H200 and H800 (0.83); GB200 as H100.
double nvlink_by_generation(int generation) {
    return generation <= 2 ? 0.94 : generation == 3 ? 0.918 : generation == 4 ? 0.808 : 0.787;
}

/// V100 point to point; DGX-2's switches and A100; H100 and H200.
double nvlink_duplex_by_generation(int generation, bool switched) {
    return generation >= 4 ? 0.987 : generation == 3 || switched ? 0.935 : 0.997;
}

constexpr int usual_pcie = 4;
constexpr int usual_nvlink = 4;

}  // namespace

double link_efficiency(const Figures& figures, const Link& link, bool switched) {
    switch (link.kind) {
        case LinkKind::pcie:
            return figures.pcie_efficiency.value_or(pcie_by_generation(link.generation.value_or(usual_pcie), switched));
        case LinkKind::nvlink:
            return figures.nvlink_efficiency.value_or(nvlink_by_generation(link.generation.value_or(usual_nvlink)));
        case LinkKind::xgmi:
            return figures.xgmi_efficiency;
        case LinkKind::interconnect:
            return figures.interconnect_efficiency;
        case LinkKind::memory:
        case LinkKind::network:
            break;
    }
    return 1.0;
}

double link_duplex(const Figures& figures, const Link& link, bool switched) {
    switch (link.kind) {
        case LinkKind::pcie:
            return figures.pcie_duplex.value_or(pcie_duplex_by_end(switched));
        case LinkKind::nvlink:
            return figures.nvlink_duplex.value_or(
                nvlink_duplex_by_generation(link.generation.value_or(usual_nvlink), switched));
        case LinkKind::xgmi:
            return figures.xgmi_duplex;
        default:
            return 1.0;
    }
}

double host_port_duplex(const Figures& figures, int generation) {
    // 3: 18.6 GB/s both ways of a V100 root port. 4: A100, 24 out and 11 to 13 in of 24.8 alone (NVIDIA/nvbandwidth#53,
    // #11). 5: H200, 51.0 out and 49.9 in of 55.4; 101.3 of 113 (NVIDIA/cuda-samples#357).
    return figures.host_port_duplex.value_or(generation <= 3 ? 0.76 : generation == 4 ? 0.71 : 0.90);
}

std::optional<double> crossing_gbs(const Figures& figures, const Link& uplink, bool switched, bool other_socket) {
    auto const generation = uplink.generation.value_or(usual_pcie);
    auto const nominal_gbs = assumed_gbs(uplink);
    if (other_socket) {
        // 3: taken as between root ports. 4: RTX 4090 and A6000. 5: RTX PRO 6000, at root ports 42 to 44.4 GB/s
        // (voipmonitor/rtx6kpro, epyc9124-direct-attach), behind switches 37.7 to 40.1.
        return figures.crossing_gbs.value_or(nominal_gbs * (generation == 4                ? 0.70
                                                            : generation >= 5 && !switched ? 0.685
                                                                                           : 0.62));
    }
    if (figures.root_crossing_gbs) {
        return figures.root_crossing_gbs;
    }
    if (generation <= 3) {
        return nominal_gbs * 0.62;  // V100: 9.8 of 15.75
    }
    return std::nullopt;
}

double staged_part(int generation) {
    // 3: V100, 11.0 of 15.75; 4: RTX 4090 and A100, 21.6 to 22.2 of 31.5; 5: H100 and H200, 37.3 of 63.
    return generation <= 3 ? 0.70 : generation == 4 ? 0.695 : 0.592;
}

namespace {

bool several_sockets(const Graph& graph) {
    std::set<int> sockets;
    for (auto const& node : graph.nodes) {
        if (node.kind == NodeKind::numa && node.socket >= 0) {
            sockets.insert(node.socket);
        }
    }
    return sockets.size() > 1;
}

}  // namespace

double staged_duplex(const Figures& figures, const Graph& graph, int generation) {
    if (figures.staged_duplex) {
        return *figures.staged_duplex;
    }
    // Two sockets: 20.8 both ways of 19.5 (8 RTX 4090), 11.56 of 11.05 (DGX-1), between any two devices: what the
    // driver stages in seems to lie on one socket. One: 31.4 of 22.3 (RTX 6000 Ada), 30.9 of 22.1 (RTX 4090), 27 to 30
    // of 21.6 (A100); in generation 3 (8.66 of 6.34, RTX 4090; 18.7 of 11.0, V100) ports alone limit them so much.
    return several_sockets(graph) ? 1.06 : generation <= 3 ? 2.0 : 1.39;
}

std::vector<InterferenceFigure> interference(const Graph& graph) {
    // Switches on generation 5 root ports of two sockets: writes of two devices of one switch to several ports of the
    // other socket collapse, and reads through several ports hinder each other (pex890xx-8, the only published machine
    // of that kind). On one socket they reach a quarter to all of the link, by processor and firmware (rtx6kpro:
    // collapse-report, asrockrack-genoad24, wrx90-8gpu-2vs), so nothing is assumed there.
    auto const kind = [&](int node) { return graph.nodes[static_cast<std::size_t>(node)].kind; };
    auto nominal = 0.0;
    for (auto const& link : graph.links) {
        if (link.kind == LinkKind::pcie && link.generation.value_or(usual_pcie) >= 5 &&
            kind(link.from) == NodeKind::pci_bridge && kind(link.to) == NodeKind::host_bridge) {
            nominal = std::max(nominal, assumed_gbs(link));
        }
    }
    if (nominal == 0 || !several_sockets(graph)) {
        return {};
    }
    auto const rule = [&](bool write, int flows, int devices, int ports, int busy, bool both, double part) {
        return InterferenceFigure{write, flows, devices, ports, busy, both, part * nominal};
    };
    return {rule(true, 2, 1, 1, 1, true, 0.325),   rule(true, 1, 2, 2, 1, false, 0.043),
            rule(true, 5, 2, 2, 1, false, 0.059),  rule(true, 5, 2, 2, 1, true, 0.111),
            rule(false, 1, 1, 1, 2, false, 0.355), rule(false, 5, 2, 2, 2, false, 0.071),
            rule(false, 5, 2, 2, 2, true, 0.122)};
}

}  // namespace peerlane::sim
