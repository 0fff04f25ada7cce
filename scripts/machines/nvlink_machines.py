"""Machines whose devices are joined by NVLink. Word "derived": our arithmetic on figures of the named source."""
from build import Machine, figure

H200_FACTS = "own measurement of two H200, 2026-11-30"
NVBANDWIDTH = "nvbandwidth 0.8 on the same pair, 2026-11-30"
READ = "read from public pages 2026-11"


def h200_pair():
    # 860 ns a dependent remote load, 149 local: the rest is two links out and two back.
    hop = 178e-9
    m = Machine("h200-pair", "Two H200 of a virtual machine, " + H200_FACTS + ". The guest sees no PCIe switch and no NVSwitch: one switch "
                "stands for those that the links lead to. Link latency derived from 860 ns remote and 149 ns local dependent load. "
                "Memory: eight channels of DDR5-4800, assumed.",
                "NVIDIA H200", 2, virtualized=True, compute_capability=90, memory_bytes=150754820096)
    m.numa(0, 0)
    for i, bus in enumerate(("0000:00:06.0", "0000:00:07.0")):
        m.device(i, m.host_bridge("numa:0", 307.2), 5, numa=0, bus=bus)
    m.nvswitches([18], 4, latency_s=hop)
    m.simulation = {
        "nvlink_efficiency": figure(0.83, "large pushed copy 396.7 of 478.1 GB/s; " + H200_FACTS, ["large copies"]),
        "peer_copy_gbs": figure(396.7, "copy engine, pushed, 1 GiB; " + H200_FACTS, ["large copies"]),
        "peer_pull_gbs": figure(395.6, "copy engine, pulled, 1 GiB; " + H200_FACTS, ["large copies"]),
        "pcie_efficiency": figure(0.881, "host to device alone, 55.5 of 63.02 GB/s; " + H200_FACTS, ["large copies"]),
        "to_device_gbs": figure(55.5, "host to device alone; " + H200_FACTS, ["large copies"]),
        "from_device_gbs": figure(55.3, "device to host alone; " + H200_FACTS, ["large copies"]),
        "pcie_duplex": figure(0.922, "51.0 GB/s out of a device while others go in, 55.3 alone; " + NVBANDWIDTH, ["nvbandwidth 0.8"]),
        "host_port_duplex": figure(0.909, "51.0 out and 49.9 in at once, of 55.5 each; " + NVBANDWIDTH, ["nvbandwidth 0.8"]),
        "host_memory_gbs": figure(163.0, "30.6 into each device while 51.0 come out of each; " + NVBANDWIDTH, ["nvbandwidth 0.8"]),
        "staged_by_driver_gbs": figure(37.2, "h100-8: P2P off, 36.3 to 38.1"),
        "pageable_gbs": figure(7.0, "copies from pageable memory; " + H200_FACTS, ["large copies"]),
        "pull_ramp_gbs": figure(203.0, "kernel pull with few requests under way (8 blocks); " + H200_FACTS, ["large copies"]),
        "local_gbs": figure(4416.0, "0.92 of the 4.8 TB/s of the vendor's data sheet; the part chosen on reads 4096 bytes apart", ["strides"]),
        "piece_overhead_bytes": figure(246, "512 bytes a page, 132 blocks: 250 of 370 GB/s; " + H200_FACTS, ["pages by kernel"]),
        "piece_s": figure(78e-9, "512 bytes a page, 32 blocks: 210 GB/s; " + H200_FACTS, ["pages by kernel"]),
        "copy_engines": figure(3, "device attribute; " + H200_FACTS),
        "multiprocessors": figure(132, "vendor's data sheet"),
    }
    return m


def dgx_1v():
    m = Machine("dgx-1v", "DGX-1 with 8 V100. NVLinks and switch pairs: UGache (SOSP'23) artifact, topology document, " + READ + "; the "
                "numbering is that machine's own. Sockets (0-3, 4-7), PCIe 3 x16 and four PLX switches: the vendor's description of "
                "DGX-1. Two QPI links of 9.6 GT/s and four channels of DDR4-2133 a socket.",
                "Tesla V100-SXM2", 8, compute_capability=70)
    for socket in (0, 1):
        m.numa(socket, socket)
    for group in range(4):
        host = m.host_bridge(f"numa:{group // 2}", 68.3)
        plx = m.bridge(f"plx{group}", host, 3)
        for i in (2 * group, 2 * group + 1):
            m.device(i, plx, 3, numa=group // 2)
    m.join("numa:0", "numa:1", "interconnect", width=2, capacity_gbs=38.4)
    mesh = {(0, 3): 2, (0, 6): 2, (0, 1): 1, (0, 2): 1, (1, 7): 2, (1, 2): 2, (1, 3): 1, (2, 3): 2, (2, 4): 1, (3, 5): 1,
            (4, 5): 2, (4, 7): 2, (4, 6): 1, (5, 6): 2, (5, 7): 1, (6, 7): 1}
    for (a, b), links in mesh.items():
        m.nvlink(f"gpu{a}", f"gpu{b}", 2, links)
    m.claims = {(a, b): False for a in range(8) for b in range(8) if a != b and (a, b) not in mesh and (b, a) not in mesh}
    m.simulation = {
        "nvlink_efficiency": figure(0.9375, "v100-partial-mesh: 48.34 GB/s over two links of 25.78, uni"),
        "staged_total_gbs": figure(11.56, "duplex matrix, P2P on, pairs without a link (staged)", ["bi on: staged"]),
        "staged_shared_uplink": figure(0.714, "rtx3090-no-p2p-8: 6.12 of 8.57 GB/s where both legs share an uplink"),
    }
    return m


def v100_partial_mesh():
    m = Machine("v100-partial-mesh", "4 V100 on one socket behind two PCIe switches; NVLink 0-1, 1-3, 2-3 two links, 0-2 one; the other "
                "two pairs have peer access over PCIe. public-code index file #18352655235, " + READ + ". PCIe 3 x16 is what V100 SXM2 "
                "has; six channels of DDR4-2666 assumed.", "Tesla V100-SXM2", 4, compute_capability=70)
    m.numa(0, 0)
    for group in range(2):
        switch = m.bridge(f"sw{group}", m.host_bridge("numa:0", 128.0), 3)
        for i in (2 * group, 2 * group + 1):
            m.device(i, switch, 3, numa=0)
    for a, b, links in ((0, 1, 2), (0, 2, 1), (1, 3, 2), (2, 3, 2)):
        m.nvlink(f"gpu{a}", f"gpu{b}", 2, links)
    m.simulation = {
        "nvlink_efficiency": figure(0.9398, "dgx-1v: 96.91 GB/s both ways over two links of 25.78"),
        "root_crossing_gbs": figure(9.79, "pairs 0-3 and 1-2 of the uni matrix, over PCIe", ["uni on write: pcie"]),
        "staged_by_driver_gbs": figure(11.05, "dgx-2: P2P-off matrix, pairs that share no uplink"),
        "host_port_duplex": figure(0.769, "dgx-2: mean 9.45 of 12.29 GB/s a direction where both legs share an uplink"),
    }
    return m


def dgx_2():
    m = Machine("dgx-2", "DGX-2: 16 V100 SXM3 on two boards of six NVSwitches, eight trunk links between opposite switches (vendor's "
                "description of DGX-2); PCIe tree and bus addresses as hwloc reports such a machine (open-mpi/hwloc test data), "
                + READ + ". Two UPI links of 10.4 GT/s, six channels of DDR4-2666 a socket.",
                "Tesla V100-SXM3-32GB", 16, compute_capability=70, memory_bytes=34359738368)
    roots = [(0, "2b", "2c", [("32", ("34", "36")), ("37", ("39", "3b"))]),
             (0, "4e", "4f", [("55", ("57", "59")), ("5a", ("5c", "5e"))]),
             (1, "ae", "af", [("b5", ("b7", "b9")), ("ba", ("bc", "be"))]),
             (1, "d7", "d8", [("de", ("e0", "e2")), ("e3", ("e5", "e7"))])]
    for socket in (0, 1):
        m.numa(socket, socket)
    i = 0
    for socket, root, top, leaves in roots:
        host = m.host_bridge(f"numa:{socket}", 128.0, f"0000:{root}:00.0")
        upper = m.bridge("", host, 3, bus=f"0000:{top}:00.0")
        for leaf, devices in leaves:
            lower = m.bridge("", upper, 3, bus=f"0000:{leaf}:00.0")
            for bus in devices:
                m.device(i, lower, 3, numa=socket, bus=f"0000:{bus}:00.0")
                i += 1
    m.join("numa:0", "numa:1", "interconnect", width=2, capacity_gbs=41.6)
    m.nvswitches([1] * 6, 2, range(8))
    m.nvswitches([1] * 6, 2, range(8, 16))
    for k in range(6):
        m.nvlink(f"nvswitch:{k}", f"nvswitch:{k + 6}", 2, 8)
    m.simulation = {
        "nvlink_efficiency": figure(0.9398, "dgx-1v: 96.91 GB/s both ways over two links of 25.78"),
        "nvlink_duplex": figure(0.938, "a100-pcie-pairs-4: 516.1 both ways, 275.3 one way"),
        "staged_by_driver_gbs": figure(11.05, "v100-partial-mesh: P2P-off matrix, pairs that share no uplink"),
        "host_port_duplex": figure(0.757, "v100-partial-mesh: 9.3 of 12.3 GB/s a direction, both ways through a root port"),
    }
    return m


def hopper_board(m, per_switch, latency_s=None):
    """Eight SXM devices, each with an own x16 port of its socket, four NVSwitches."""
    for socket in (0, 1):
        m.numa(socket, socket)
    for i in range(8):
        m.device(i, m.bridge(f"sw{i}", m.host_bridge(f"numa:{i // 4}", 307.2), 5), 5, numa=i // 4)
    m.join("numa:0", "numa:1", "interconnect", width=4, capacity_gbs=192.0)
    m.nvswitches(per_switch, 4, latency_s=latency_s)
    return m


def h100_8():
    m = Machine("h100-8", "HGX H100: 8 H100 SXM, 18 NVLink 4 links a device over four NVSwitches (5, 4, 4, 5). NVLink: "
                "stas00/ml-engineering and NVIDIA/nccl#1264, " + READ + ". PCIe 5 x16 a device through its own switch, eight channels of "
                "DDR5-4800 a socket and four UPI links of 16 GT/s: the common form of such servers, assumed.",
                "NVIDIA H100 80GB HBM3", 8, compute_capability=90, memory_bytes=85520809984)
    m.simulation = {
        "nvlink_efficiency": figure(0.787, "376 of 478.1 GB/s, the field of the uni matrix (two machines of one class)", ["uni on write"]),
        "nvlink_duplex": figure(0.988, "h200-pair: 784 both ways, 396.7 one way"),
    }
    return hopper_board(m, [5, 4, 4, 5])


H200_BOARD = ("Figures of a device and of its links are those of h200-pair, two of such devices: " + H200_FACTS + ". NOT measured on this many devices: NVSwitches "
              "and their links (5, 4, 4, 5) are those of h100-8, the same board; ")


def h200_figures():
    """What a device and its own links do, of h200-pair. What several devices share stays at the defaults: the pair's host memory (163 GB/s, reads and
    writes mixed in a guest) would have to be scaled, and nobody measured how."""
    of_pair = "h200-pair, "
    return {
        "nvlink_efficiency": figure(0.83, of_pair + "large pushed copy 396.7 of 478.1 GB/s"),
        "nvlink_duplex": figure(0.988, of_pair + "784 both ways, 396.7 one way"),
        "peer_copy_gbs": figure(396.7, of_pair + "copy engine, pushed, 1 GiB"),
        "peer_pull_gbs": figure(395.6, of_pair + "copy engine, pulled, 1 GiB"),
        "pcie_efficiency": figure(0.881, of_pair + "host to device alone, 55.5 of 63.02 GB/s"),
        "to_device_gbs": figure(55.5, of_pair + "host to device alone"),
        "from_device_gbs": figure(55.3, of_pair + "device to host alone"),
        "pcie_duplex": figure(0.922, of_pair + "51.0 GB/s out of a device while others go in, 55.3 alone"),
        "host_port_duplex": figure(0.909, of_pair + "51.0 out and 49.9 in at once, of 55.5 each"),
        "staged_by_driver_gbs": figure(37.2, "h100-8: P2P off, 36.3 to 38.1"),
        "pageable_gbs": figure(7.0, of_pair + "copies from pageable memory"),
        "pull_ramp_gbs": figure(203.0, of_pair + "kernel pull with few requests under way (8 blocks)"),
        "local_gbs": figure(4416.0, "0.92 of the 4.8 TB/s of the vendor's data sheet; the part chosen on reads of h200-pair 4096 bytes apart"),
        "piece_overhead_bytes": figure(246, of_pair + "512 bytes a page, 132 blocks: 250 of 370 GB/s"),
        "piece_s": figure(78e-9, of_pair + "512 bytes a page, 32 blocks: 210 GB/s"),
        "copy_engines": figure(3, "device attribute on h200-pair"),
        "multiprocessors": figure(132, "vendor's data sheet"),
    }


def h200_4():
    m = Machine("h200-4", "Four H200 in a virtual machine, as h200-pair with four devices. " + H200_BOARD + "that the guest sees one NUMA node with eight "
                "channels of DDR5-4800 and neither PCIe switch nor NVSwitch addresses is assumed.",
                "NVIDIA H200", 4, virtualized=True, compute_capability=90, memory_bytes=150754820096)
    m.numa(0, 0)
    for i in range(4):
        m.device(i, m.host_bridge("numa:0", 307.2), 5, numa=0, bus=f"0000:00:{i + 6:02x}.0")
    m.nvswitches([5, 4, 4, 5], 4, latency_s=178e-9)
    m.simulation = h200_figures()
    return m


def h200_8():
    m = Machine("h200-8", "HGX H200: 8 H200 SXM. " + H200_BOARD + "PCIe 5 x16 a device through its own switch, eight channels of DDR5-4800 a socket and "
                "four UPI links of 16 GT/s: the common form of such servers, assumed.",
                "NVIDIA H200", 8, compute_capability=90, memory_bytes=150754820096)
    m.simulation = h200_figures()
    return hopper_board(m, [5, 4, 4, 5], latency_s=178e-9)



def h800_8():
    m = Machine("h800-8", "8 H800 SXM, eight NVLink 4 links a device over four NVSwitches, PCIe 5 x16 a device. "
                "liguodongiot/llm-action, nvbandwidth note, " + READ + ". Switch for each device, memory (eight channels of DDR5-4800) and "
                "UPI: the common form of such servers, assumed.",
                "NVIDIA H800", 8, compute_capability=90, memory_bytes=85520809984)
    m.simulation = {
        "nvlink_efficiency": figure(0.83, "h200-pair: 396.7 of 478.1 GB/s"),
        "nvlink_duplex": figure(0.987, "h100-8: 742 both ways, 376 one way"),
        "pcie_efficiency": figure(0.881, "h200-pair: 55.5 of 63.02 GB/s, host to device alone"),
        "to_device_gbs": figure(55.5, "h200-pair, host to device alone"),
        "from_device_gbs": figure(55.3, "h200-pair, device to host alone"),
        "host_port_duplex": figure(0.788, "52.9 in under 34.5 out, of 55.5 each",
                                   ["host_to_device on: H2D under D2H", "device_to_host on: D2H under H2D"]),
        "to_host_share": figure(0.65, "34.5 out under 52.9 in", ["device_to_host on: D2H under H2D"]),
    }
    return hopper_board(m, [2, 2, 2, 2])


def a100_8():
    m = Machine("a100-8", "DGX A100: 8 A100 SXM, twelve NVLink 3 links a device over six NVSwitches, four PCIe 4 switches of two "
                "devices and two adapters each, two EPYC in NPS4 (devices on NUMA nodes 3, 3, 1, 1, 7, 7, 5, 5). The vendor's description "
                "of DGX A100 and the usual bus addresses of that machine, " + READ + ". Two channels of DDR4-3200 a NUMA node; three "
                "xGMI links of 16 lanes at 18 GT/s between the sockets, assumed.",
                "NVIDIA A100-SXM4-80GB", 8, compute_capability=80, memory_bytes=85899345920)
    buses = ("07", "0f", "47", "4e", "87", "90", "b7", "bd")
    for k in range(8):
        m.numa(k, k // 4)
    for socket in (0, 1):
        m.node("other", f"fabric:{socket}", socket, socket=socket)
        for k in range(4 * socket, 4 * socket + 4):
            m.join(f"numa:{k}", f"fabric:{socket}", "interconnect", capacity_gbs=102.4)
    m.join("fabric:0", "fabric:1", "interconnect", width=3, capacity_gbs=108.0)
    for group, numa in enumerate((3, 1, 7, 5)):
        switch = m.bridge(f"sw{group}", m.host_bridge(f"numa:{numa}", 51.2), 4)
        for i in (2 * group, 2 * group + 1):
            m.device(i, switch, 4, numa=numa, bus=f"0000:{buses[i]}:00.0")
            m.nic(f"mlx5_{i}", switch, 4)
    m.nvswitches([2] * 6, 3)
    m.simulation = {
        "nvlink_efficiency": figure(0.918, "a100-pcie-pairs-4: 275.3 of 300 GB/s over twelve links"),
    }
    return m


def a100_pcie_pairs_4():
    m = Machine("a100-pcie-pairs-4", "4 A100 80GB PCIe in a virtual machine, one PCI domain a device; bridges of 12 NVLinks on (0,1) and "
                "(2,3), no peer access across pairs. public-code index file #31334411137, " + READ + ". A NUMA node for each device as "
                "Azure's file for such machines has it (microsoft/azhpc-images); PCIe 4 x16 is what the part has; six DDR4-3200 channels "
                "for two nodes, assumed.",
                "NVIDIA A100 80GB PCIe", 4, virtualized=True, compute_capability=80, memory_bytes=85899345920)
    m.node("other", "fabric:0", 0)
    for i in range(4):
        m.numa(i, 0)
        m.join(f"numa:{i}", "fabric:0", "interconnect", capacity_gbs=102.4)
        m.device(i, m.host_bridge(f"numa:{i}", 51.2), 4, numa=i, bus=f"{i + 1:04x}:00:00.0")
    m.nvlink("gpu0", "gpu1", 3, 12)
    m.nvlink("gpu2", "gpu3", 3, 12)
    m.claims = {(a, b): False for a in range(4) for b in range(4) if a // 2 != b // 2}
    m.simulation = {
        "nvlink_efficiency": figure(0.918, "275.3 of 300 GB/s, the pairs of the uni matrix", ["uni on write: fabric"]),
        "nvlink_duplex": figure(0.931, "dgx-2: 267.5 to 274 both ways, 145.6 one way"),
        "staged_by_driver_gbs": figure(22.2, "rtx4090-6-p2p-hurts: P2P-off matrix, pairs that share no host bridge"),
        "staged_total_gbs": figure(28.5, "duplex matrix, staged pairs, 27.1 to 29.8", ["bi on: staged"]),
    }
    return m


def gb200_4():
    m = Machine("gb200-4", "GB200 node: 4 GPUs behind NVLink 5 switches, two Grace processors. stas00/ml-engineering; public-code index "
                "file #51884305790, " + READ + ". One switch stands for those of the rack. NVLink-C2C (225 GB/s a device and direction), "
                "LPDDR5X (512 GB/s a processor) and the link between processors: the vendor's data sheet, derived.",
                "NVIDIA GB200", 4, compute_capability=100, memory_bytes=198674743296)
    for socket in (0, 1):
        m.numa(socket, socket)
    for i in range(4):
        m.join(f"gpu{i}", m.host_bridge(f"numa:{i // 2}", 512.0), "interconnect", capacity_gbs=225.0)
        m.at(i, numa=i // 2)
    m.join("numa:0", "numa:1", "interconnect", capacity_gbs=300.0)
    m.nvswitches([18], 5)
    m.simulation = {
        "nvlink_efficiency": figure(0.787, "h100-8: 376 of 478.1 GB/s"),
    }
    return m


def aws_p4d():
    m = Machine("aws-p4d-24xl", "Amazon EC2 p4d.24xlarge: 8 A100 40GB, two devices and one adapter behind each of four PCIe switches, two "
                "sockets. Topology file of aws/aws-ofi-nccl, " + READ + " (it gives 8 GT/s x16 everywhere). Twelve NVLink 3 links a device "
                "over six NVSwitches: the vendor's HGX A100. Six channels of DDR4-2933 and two UPI links of 10.4 GT/s, assumed.",
                "NVIDIA A100-SXM4-40GB", 8, virtualized=True, compute_capability=80, memory_bytes=42949672960)
    for socket in (0, 1):
        m.numa(socket, socket)
    for group, bus in enumerate(("10", "20", "90", "a0")):
        numa = group // 2
        switch = m.bridge("", m.host_bridge(f"numa:{numa}", 140.8), 3, bus=f"ffff:ff:0{group + 1}.0")
        for k in (0, 1):
            m.device(2 * group + k, switch, 3, numa=numa, bus=f"0000:{bus}:1{'cd'[k]}.0")
        m.nic(f"rdmap{group}", switch, 3, bus=f"0000:{bus}:1b.0")
    m.join("numa:0", "numa:1", "interconnect", width=2, capacity_gbs=41.6)
    m.nvswitches([2] * 6, 3)
    m.simulation = {
        "nvlink_efficiency": figure(0.918, "a100-pcie-pairs-4: 275.3 of 300 GB/s over twelve links"),
    }
    return m


def azure_ndv5():
    m = Machine("azure-ndv5", "Azure ND H100 v5: 8 H100 80GB, a device and an InfiniBand adapter behind each of eight PCIe 5 switches, two "
                "sockets. Topology file of Azure/azhpc-images, " + READ + ". 18 NVLink 4 links a device over four NVSwitches: the vendor's "
                "HGX H100. Eight channels of DDR5-4800 and four UPI links of 16 GT/s, assumed.",
                "NVIDIA H100 80GB HBM3", 8, virtualized=True, compute_capability=90, memory_bytes=85520809984)
    for socket in (0, 1):
        m.numa(socket, socket)
    for i, domain in enumerate((0x01, 0x02, 0x03, 0x08, 0x09, 0x0a, 0x0b, 0x0c)):
        switch = m.bridge("", m.host_bridge(f"numa:{i // 4}", 307.2), 5, bus=f"ffff:ff:0{i + 1}.0")
        m.device(i, switch, 5, numa=i // 4, bus=f"{domain:04x}:00:00.0")
        m.nic(f"mlx5_ib{i}", switch, 5, bus=f"{0x101 + i:04x}:00:00.0")
    m.join("numa:0", "numa:1", "interconnect", width=4, capacity_gbs=192.0)
    m.nvswitches([5, 4, 4, 5], 4)
    m.simulation = {
        "nvlink_efficiency": figure(0.787, "hgx-h100: 376 of 478.1 GB/s, the field of the uni matrix"),
    }
    return m


ALL = (h200_pair, h200_4, h200_8, h100_8, h800_8, a100_8, dgx_1v, dgx_2, v100_partial_mesh, gb200_4, a100_pcie_pairs_4, aws_p4d, azure_ndv5)
