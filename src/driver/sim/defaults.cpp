#include "driver/sim/defaults.hpp"

namespace peerlane::sim {
namespace {

/// DMA copies of one direction: 3 from staged copies of V100 machines, 4 from RTX 4090 and A6000, 5 from RTX PRO 6000
/// behind three kinds of switches and from host copies of H200.
double pcie_by_generation(int generation) {
    return generation <= 3 ? 0.78 : generation == 4 ? 0.83 : 0.87;
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

double link_efficiency(const Figures& figures, const Link& link) {
    switch (link.kind) {
        case LinkKind::pcie:
            return figures.pcie_efficiency.value_or(pcie_by_generation(link.generation.value_or(usual_pcie)));
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
            return figures.pcie_duplex;
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
    // 3: 18.6 GB/s both ways of a V100 root port; 5: H800, 52.8 in under 34.4 out of 55.2 alone.
    return figures.host_port_duplex.value_or(generation <= 3 ? 0.76 : 0.79);
}

std::optional<double> crossing_gbs(const Figures& figures, int generation, double nominal_gbs, bool other_socket) {
    if (other_socket) {
        // 3: taken as between root ports; 4: RTX 4090 and A6000; 5: RTX PRO 6000.
        return figures.crossing_gbs.value_or(nominal_gbs * (generation == 4 ? 0.70 : 0.62));
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

}  // namespace peerlane::sim
