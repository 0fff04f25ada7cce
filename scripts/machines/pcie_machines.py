"""Machines whose devices meet over PCIe or xGMI."""
from build import Machine, figure, interference
from nvlink_machines import READ

# pex890xx: 128-byte remote reads take 0.72 us inside a switch and 1.31 across sockets. A local load of 149 ns (h200-pair) leaves
# 571 ns for the four crossings of device links inside a switch, and 590 more for all else on the way across and back.
DEVICE_LINK_S = 143e-9
BETWEEN_SOCKETS_S = 295e-9


def rtx4090_8():
    m = Machine("rtx4090-8-dual-epyc", "8 RTX 4090, two EPYC sockets, PCIe 4 x16 root port a device, patched driver that allows peer access; "
                "a NUMA node for each device. public-code index file #41849773201, " + READ + ". Two channels of DDR4-3200 a NUMA node and "
                "three xGMI links of 16 lanes at 18 GT/s between the sockets: the common form of such servers, assumed.",
                "NVIDIA GeForce RTX 4090", 8, compute_capability=89, memory_bytes=25757220864)
    for k in range(8):
        m.numa(k, k // 4)
    for socket in (0, 1):
        m.node("other", f"fabric:{socket}", socket, socket=socket)
        for k in range(4 * socket, 4 * socket + 4):
            m.join(f"numa:{k}", f"fabric:{socket}", "interconnect", capacity_gbs=102.4)
    m.join("fabric:0", "fabric:1", "interconnect", width=3, capacity_gbs=108.0)
    for i, bus in enumerate(("01", "25", "41", "61", "81", "a1", "c1", "e1")):
        m.device(i, m.host_bridge(f"numa:{i}", 51.2), 4, numa=i, bus=f"0000:{bus}:00.0")
    m.simulation = {
        "pcie_efficiency": figure(0.836, "a6000-6: 26.34 of 31.51 GB/s inside a socket"),
        "pcie_duplex": figure(0.947, "switchtec-flat-8: 50.59 GB/s a direction both ways, 53.4 one way"),
        "crossing_gbs": figure(22.15, "a6000-6: pairs of different sockets"),
        "staged_total_gbs": figure(19.5, "P2P-off matrix, one way", ["uni off"]),
    }
    return m


def rtx4090_6():
    m = Machine("rtx4090-6-p2p-hurts", "6 RTX 4090 whose direct path loses to the host: (0,1) and (3,4) share a host bridge, all others are SYS. "
                "NVIDIA/nccl#814, matrices and topology table, " + READ + ". A NUMA node for each host bridge, PCIe 4 x16 and two channels "
                "of DDR4-3200 a node: derived from SYS between all others.",
                "NVIDIA GeForce RTX 4090", 6, compute_capability=89, memory_bytes=25757220864)
    m.node("other", "fabric:0", 0)
    for node, devices in enumerate(((0, 1), (2,), (3, 4), (5,))):
        m.numa(node, 0)
        m.join(f"numa:{node}", "fabric:0", "interconnect", capacity_gbs=102.4)
        host = m.host_bridge(f"numa:{node}", 51.2)
        for i in devices:
            m.device(i, host, 4, numa=node)
    m.simulation = {
        "peer_copy_gbs": figure(10.0, "P2P-on matrix, writes, mean of all rows", ["uni on write"]),
        "staged_by_driver_gbs": figure(21.6, "a100-pcie-pairs-4: P2P-off matrix"),
    }
    return m


def a6000_6():
    m = Machine("a6000-6", "6 RTX A6000, two sockets of three, PCIe 4 x16 root port a device, no bridges. NVIDIA/nvbandwidth#50, " + READ +
                ". Eight channels of DDR4-3200 a socket and three xGMI links of 16 lanes at 16 GT/s, assumed.",
                "NVIDIA RTX A6000", 6, compute_capability=86, memory_bytes=51527024640)
    for socket in (0, 1):
        m.numa(socket, socket)
    for i in range(6):
        m.device(i, m.host_bridge(f"numa:{i // 3}", 204.8), 4, numa=i // 3)
    m.join("numa:0", "numa:1", "interconnect", width=3, capacity_gbs=96.0)
    m.simulation = {
        "pcie_efficiency": figure(0.82, "rtx4090-8-dual-epyc: 25.8 of 31.51 GB/s inside a socket"),
        "crossing_gbs": figure(21.95, "rtx4090-8-dual-epyc: pairs of different sockets"),
    }
    return m


def rtx3090_8():
    m = Machine("rtx3090-no-p2p-8", "8 RTX 3090, PCIe 3, the driver refuses peer access; two groups of four that share one uplink each. "
                "NVIDIA/nccl#1127, " + READ + ". A switch with one x16 uplink for each group and a socket for each: derived from the staged "
                "matrix. Six channels of DDR4-2666, two UPI links of 10.4 GT/s, assumed.",
                "NVIDIA GeForce RTX 3090", 8, compute_capability=86, memory_bytes=25769803776)
    for socket in (0, 1):
        m.numa(socket, socket)
        switch = m.bridge(f"sw{socket}", m.host_bridge(f"numa:{socket}", 128.0), 3)
        for i in range(4 * socket, 4 * socket + 4):
            m.device(i, switch, 3, numa=socket)
    m.join("numa:0", "numa:1", "interconnect", width=2, capacity_gbs=41.6)
    m.claimed = False
    m.simulation = {
        "gpu_direct": figure(False, "the driver refuses peer access on this part"),
        "staged_total_gbs": figure(8.57, "duplex, P2P off, across groups", ["bi off: across groups"]),
        "staged_shared_uplink": figure(0.732, "dgx-1v: 8.46 of 11.55 GB/s where both legs share an uplink"),
    }
    return m


PRO_6000 = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
WRX90 = "Threadripper PRO, one socket, eight channels of DDR5-5600"


def switchtec_flat_8():
    m = Machine("switchtec-flat-8", "8 RTX PRO 6000, " + WRX90 + ", two Microchip Switchtec switches of four devices, each with one x16 "
                "uplink to the processor. voipmonitor/rtx6kpro hardware/wrx90-cpayne-2switch-flat.md, " + READ + ". Latency of device links "
                "derived from 0.72 us a remote read inside a switch (pex890xx, same part).",
                PRO_6000, 8, compute_capability=120, memory_bytes=102641958912)
    m.numa(0, 0)
    for group in range(2):
        switch = m.bridge(f"sw{group}", m.host_bridge("numa:0", 358.4), 5)
        for i in range(4 * group, 4 * group + 4):
            m.device(i, switch, 5, numa=0, latency_s=DEVICE_LINK_S)
    m.simulation = {
        "pcie_efficiency": figure(0.849, "pex890xx: 53.5 of 63.02 GB/s inside a switch, same part"),
        "pcie_duplex": figure(0.9456, "50.59 GB/s a flow with every port full both ways", ["flows: i to i+1 mod 8, all at once, rig 1"]),
        "busy_port_efficiency": figure(0.735, "12 flows inside a switch", ["flows: all-to-all inside one switch: 12 flows, rig 1"]),
    }
    return m


def switchtec_root_leaf_8():
    m = Machine("switchtec-root-leaf-8", "8 RTX PRO 6000, " + WRX90 + ", Microchip Switchtec: leaves (0,1) (2,3) under root switch 0, (4,5) "
                "(6,7) under root switch 1, roots joined by the switches' fabric and not by the processor. voipmonitor/rtx6kpro "
                "hardware/wrx90-cpayne-microchip-switches.md, " + READ + ". Derived: a leaf has two ports to its own root (runs at distance 2) "
                "and one, shared by its devices, towards the other root; the node cross stands for where those ports meet.",
                PRO_6000, 8, compute_capability=120, memory_bytes=102641958912)
    m.numa(0, 0)
    roots = [m.bridge(f"root{k}", m.host_bridge("numa:0", 358.4), 5) for k in range(2)]
    leaves = [m.bridge(f"leaf{k}", roots[k // 2], 5, 32) for k in range(4)]
    for i in range(8):
        bus = ("25", "26", "2a", "2b", "45", "46", "49", "4a")[i]
        m.device(i, leaves[i // 2], 5, numa=0, bus=f"0000:{bus}:00.0", latency_s=DEVICE_LINK_S)
    m.node("other", "cross", 0)
    for leaf in leaves:
        m.pcie(leaf, "cross", 5)
    m.paths = {(a, b): "NODE" for a in range(8) for b in range(8) if a // 4 != b // 4}
    m.simulation = {
        "pcie_efficiency": figure(0.849, "pex890xx: 53.5 of 63.02 GB/s inside a switch, same part"),
        "pcie_duplex": figure(0.947, "switchtec-flat-8: 50.59 GB/s a direction both ways, 53.4 one way"),
    }
    return m


def pex890xx_8():
    m = Machine("pex890xx-8", "8 RTX PRO 6000, two sockets, two Broadcom PEX890xx chips, each split into two virtual switches of two "
                "devices with an own x16 uplink; the two of a chip are joined at full link rate. voipmonitor/rtx6kpro "
                "hardware/asus-esc8000a-e13p-broadcom-switches.md, " + READ + ". Latencies derived from remote reads of 0.72 us inside a "
                "switch and 1.31 across sockets (all of the difference is put on the link between the sockets). Twelve channels of DDR5-6000 "
                "a socket and four xGMI links of 16 lanes at 32 GT/s, assumed.",
                PRO_6000, 8, compute_capability=120, memory_bytes=102641958912)
    for socket in (0, 1):
        m.numa(socket, socket)
    for k in range(4):
        switch = m.bridge(f"vs{k}", m.host_bridge(f"numa:{k // 2}", 576.0), 5)
        for i in (2 * k, 2 * k + 1):
            m.device(i, switch, 5, numa=k // 2, latency_s=DEVICE_LINK_S)
    # Inside a chip two flows, one for each device, pass at full rate: two ports' worth.
    m.pcie("bridge:vs0", "bridge:vs1", 5, 32)
    m.pcie("bridge:vs2", "bridge:vs3", 5, 32)
    m.join("numa:0", "numa:1", "interconnect", width=4, capacity_gbs=256.0, latency_s=BETWEEN_SOCKETS_S)
    m.paths = {(a, b): "NODE" for a in range(8) for b in range(8) if a // 4 == b // 4 and a // 2 != b // 2}
    m.simulation = {
        "pcie_efficiency": figure(0.847, "switchtec-flat: 53.4 of 63.02 GB/s inside a switch, same part"),
        "pcie_duplex": figure(0.947, "switchtec-flat-8: 50.59 GB/s a direction both ways, 53.4 one way"),
        "crossing_gbs": figure(38.9, "between the sockets, mean a flow of one (37.7) and of two by different uplinks (40.1)",
                               ["flows: 1 flow across chips", "flows: 2 flows across chips, different uplinks"]),
        "busy_port_efficiency": figure(0.756, "12 flows inside a chip", ["flows: all-to-all of the 4 devices of a chip: 12 flows"]),
        "interference": [
            interference("write", 20.5, "uplinks that carry several writes out and some in", ["flows: 8 flows across chips, one to one, both ways"],
                         flows=2, both_ways=True),
            interference("write", 2.7, "two devices of one uplink write to two root ports",
                         ["flows: 2 flows across chips, same source uplink, two target root ports"], devices=2, ports=2),
            interference("write", 3.7, "the same with more writes", ["flows: 16 flows across chips, all of A to all of B"],
                         flows=5, devices=2, ports=2),
            interference("write", 7.0, "all to all", ["flows: p2pmark dense score, 8 devices (all pairs)"],
                         flows=5, devices=2, ports=2, both_ways=True),
            interference("read", 22.4, "reads through two uplinks", ["flows: 2 flows across chips, different uplinks, read"], busy_ports=2),
            interference("read", 4.5, "reads of several devices through two uplinks", ["flows: 16 flows across chips, all of A to all of B, read"],
                         flows=5, devices=2, ports=2, busy_ports=2),
            interference("read", 7.7, "all to all", ["flows: all-to-all of 8 devices: 56 flows, read"],
                         flows=5, devices=2, ports=2, busy_ports=2, both_ways=True),
        ],
    }
    return m


def mi250x_8():
    m = Machine("mi250x-8", "LUMI-G node: 4 MI250X packages, 8 dies, xGMI links as published; one EPYC of four NUMA nodes, each die joined to "
                "it by one Infinity Fabric link. Thesis benchmarks, public-code index file #62365873768, " + READ + "; NUMA nodes and the "
                "link of a die to the processor (36 GB/s a direction): LUMI's documentation. xGMI 50 GB/s a link: the vendor's data sheet. "
                "Pairs without a link are routed over other dies. Two channels of DDR4-3200 a NUMA node.",
                "AMD Instinct MI250X", 8, memory_bytes=68702699520)
    m.node("other", "fabric:0", 0, socket=0)
    for k in range(4):
        m.numa(k, 0)
        m.join(f"numa:{k}", "fabric:0", "interconnect", capacity_gbs=102.4)
    for i in range(8):
        numa = (3, 1, 0, 2)[i // 2]
        m.join(f"gpu{i}", m.host_bridge(f"numa:{numa}", 51.2), "interconnect", capacity_gbs=36.0)
        m.at(i, numa=numa)
    mesh = {(0, 1): 4, (0, 2): 1, (0, 6): 2, (1, 3): 1, (1, 5): 1, (2, 3): 4, (2, 4): 2, (3, 7): 1, (4, 5): 4, (4, 6): 1, (5, 7): 1, (6, 7): 4}
    for (a, b), links in mesh.items():
        m.join(f"gpu{a}", f"gpu{b}", "xgmi", width=links, capacity_gbs=50.0 * links)
    m.paths = {(a, b): "XGMI" for a in range(8) for b in range(8) if a != b}
    m.simulation = {
        "xgmi_efficiency": figure(0.758, "mi300x-8: 48.5 of 64 GB/s a link"),
        "xgmi_routed_efficiency": figure(0.922, "pairs without a link, 69.9 GB/s", ["uni on: links 0"]),
        "xgmi_duplex": figure(0.942, "278 both ways of 147.6 one way over four links", ["bi on"]),
    }
    return m


def mi300x_8():
    m = Machine("mi300x-8", "8 MI300X, xGMI full mesh, one link a pair. AMD acceptance test guide, public-code index file #22192641432, " +
                READ + "; the mesh is the usual wiring. xGMI 64 GB/s a link and PCIe 5 x16: the vendor's data sheet. Two sockets, twelve "
                "channels of DDR5-4800 each, four xGMI links of 16 lanes at 32 GT/s between them: the common form of such servers, assumed.",
                "AMD Instinct MI300X", 8, memory_bytes=206158430208)
    for socket in (0, 1):
        m.numa(socket, socket)
    for i in range(8):
        m.device(i, m.bridge(f"sw{i}", m.host_bridge(f"numa:{i // 4}", 460.8), 5), 5, numa=i // 4)
    m.join("numa:0", "numa:1", "interconnect", width=4, capacity_gbs=256.0)
    for a in range(8):
        for b in range(a + 1, 8):
            m.join(f"gpu{a}", f"gpu{b}", "xgmi", width=1, capacity_gbs=64.0)
    m.simulation = {
        "xgmi_efficiency": figure(0.764, "mi250x-8: mean of the twelve pairs that links join, 0.738 to 0.78"),
    }
    return m


ALL = (rtx4090_8, rtx4090_6, a6000_6, rtx3090_8, switchtec_flat_8, switchtec_root_leaf_8, pex890xx_8, mi250x_8, mi300x_8)
