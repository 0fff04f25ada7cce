/// The simulator as a driver under test, on small machines built here: a pair as in the H200 facts (NVSwitch, one PCIe
/// 5 link each, one NUMA node), and ten such devices.

#include <peerlane/fault.hpp>
#include <peerlane/simulated.hpp>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {
namespace {

void join(Graph& graph, int a, int b, LinkKind kind, int generation, int width, double capacity_gbs) {
    graph.links.push_back({a, b, kind, generation, width, capacity_gbs, {}});
    graph.links.push_back({b, a, kind, generation, width, capacity_gbs, {}});
}

Machine switched_machine(int devices) {
    constexpr int links_per_device = 18, bridge = 0, numa = 1, fabric = 2;
    constexpr double nvlink_gbs = 478, pcie5_x16_gbs = 63, memory_gbs = 300;
    Machine machine;
    machine.origin.kind = "test";
    auto& graph = machine.graph;
    graph.nodes = {{NodeKind::host_bridge, 0, "host:0", "", 0},
                   {NodeKind::numa, 0, "numa:0", "", 0},
                   {NodeKind::nvswitch, 0, "nvswitch:0"}};
    join(graph, bridge, numa, LinkKind::memory, 0, 0, memory_gbs);
    for (int id = 0; id < devices; ++id) {
        Device device;
        device.id = id;
        device.model = "NVIDIA H200";
        device.bus = "0000:0" + std::to_string(id) + ":00.0";
        device.numa = 0;
        device.memory_bytes = 4 * GiB;
        device.pcie_generation = 5;
        device.pcie_width = 16;
        device.nvlinks = links_per_device;
        machine.devices.push_back(device);
        auto const node = static_cast<int>(graph.nodes.size());
        graph.nodes.push_back({NodeKind::device, id, "gpu" + std::to_string(id), *device.bus});
        join(graph, node, bridge, LinkKind::pcie, 5, 16, pcie5_x16_gbs);
        join(graph, node, fabric, LinkKind::nvlink, 4, links_per_device, nvlink_gbs);
    }
    complete_pairs(machine);
    for (auto& pair : machine.pairs) {
        pair.path = PathClass::nv;
        pair.nvlinks = links_per_device;
        pair.nominal_gbs = nvlink_gbs;
        pair.claim = true;
    }
    return machine;
}

Opened open_working(Rig rig, SimProgress progress) {
    SimOptions options;
    options.progress = progress;
    switch (rig) {
        case Rig::pair:
            break;
        case Rig::eight_slots:
            options.faults = {parse_fault("map:any:any=limit8")};
            break;
        case Rig::refused_mapping:
            options.faults = {parse_fault("map:0:1=error205")};
            break;
    }
    return {open_simulated(SimulatedMachine(switched_machine(rig == Rig::eight_slots ? 10 : 2)), options), ""};
}

Opened open_simulated_rig(Rig rig) {
    return open_working(rig, SimProgress::when_waited);
}
/// Devices work while the host goes on, as real ones do.
Opened open_passing_rig(Rig rig) {
    return open_working(rig, SimProgress::as_time_passes);
}

}  // namespace

PEERLANE_CONFORMS(Simulated, Backend{"pair", open_simulated_rig}, Backend{"as_time_passes", open_passing_rig});

}  // namespace peerlane::conformance
