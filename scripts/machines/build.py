"""Builds one machine document (peerlane.machine/1): devices, graph, pairs and the figures of its simulation.

Rates are GB/s = 1e9 bytes/s of one direction, nominal: raw signalling less line coding. Every cable is two directed links.
Path classes follow the rules of src/machine/paths.hpp; a machine that prints other words names them in `paths`.
"""
import json

PCIE_GTS = {3: 8.0, 4: 16.0, 5: 32.0}
NVLINK_GBS = {1: 20.0, 2: 25.78125, 3: 25.0, 4: 26.5625, 5: 53.125}


def pcie_gbs(generation, width):
    return round(PCIE_GTS[generation] * 128 / 130 / 8 * width, 4)


def figure(value, source, fitted_on=()):
    """`fitted_on`: tables (as docs/validation.md calls them) of the machine itself that the value was chosen to match."""
    entry = {"value": value, "source": source, "fitted": bool(fitted_on)}
    if fitted_on:
        entry["fitted_on"] = list(fitted_on)
    return entry


def interference(kind, port_gbs, source, fitted_on, **condition):
    return {"kind": kind, "port_gbs": port_gbs, **condition, "source": source, "fitted": True, "fitted_on": list(fitted_on)}


class Machine:
    def __init__(self, name, source, model, count, virtualized=False, **device_facts):
        self.name, self.source, self.virtualized = name, source, virtualized
        self.devices = [{"id": i, "model": model, "bus": None, "uuid": None, "numa": None, **device_facts} for i in range(count)]
        self.nodes, self.links, self.nics = [], [], []
        self.paths, self.claims = {}, {}  # {(accessor, owner): word or bool} where not from the graph
        self.claimed = True  # of every other pair; None: not known
        self.simulation = {}
        for i in range(count):
            self.node("device", f"gpu{i}", i)

    def node(self, kind, name, index, bus="", socket=-1):
        node = {"kind": kind, "index": index, "name": name}
        if bus:
            node["bus"] = bus
        if socket >= 0:
            node["socket"] = socket
        self.nodes.append(node)
        return name

    def count(self, kind):
        return sum(1 for node in self.nodes if node["kind"] == kind)

    def numa(self, index, socket):
        return self.node("numa", f"numa:{index}", index, socket=socket)

    def host_bridge(self, numa, gbs, bus=""):
        """A root complex (or root port) of a NUMA node; `gbs` is what joins it to the node's memory."""
        index = self.count("host_bridge")
        socket = next(n["socket"] for n in self.nodes if n["name"] == numa)
        name = self.node("host_bridge", f"host:{index}", index, bus, socket)
        self.join(name, numa, "memory", capacity_gbs=gbs)
        return name

    def bridge(self, label, above=None, generation=None, width=16, bus=""):
        name = self.node("pci_bridge", f"bridge:{bus or label}", self.count("pci_bridge"), bus)
        if above:
            self.pcie(name, above, generation, width)
        return name

    def join(self, a, b, kind, **facts):
        for start, end in ((a, b), (b, a)):
            self.links.append({"from": start, "to": end, "kind": kind, **facts})

    def pcie(self, a, b, generation, width=16, **facts):
        self.join(a, b, "pcie", generation=generation, width=width, capacity_gbs=pcie_gbs(generation, width), **facts)

    def nvlink(self, a, b, generation, links, **facts):
        self.join(a, b, "nvlink", generation=generation, width=links, capacity_gbs=NVLINK_GBS[generation] * links, **facts)

    def device(self, i, above, generation, width=16, numa=None, bus=None, **facts):
        self.pcie(f"gpu{i}", above, generation, width, **facts)
        self.devices[i].update(pcie_generation=generation, pcie_width=width)
        self.at(i, numa, bus)

    def at(self, i, numa=None, bus=None):
        if numa is not None:
            self.devices[i]["numa"] = numa
        if bus:
            self.devices[i]["bus"] = bus
            next(n for n in self.nodes if n["name"] == f"gpu{i}")["bus"] = bus

    def nic(self, name, above, generation, width=16, bus=None):
        self.node("nic", name, self.count("nic"), bus or "")
        self.pcie(name, above, generation, width)
        self.nics.append({"name": name, "bus": bus})

    def nvswitches(self, per_switch, generation, devices=None, latency_s=None):
        """Every device to every switch, per_switch[k] links to switch k."""
        facts = {"latency_s": latency_s} if latency_s else {}
        for links in per_switch:
            switch = self.node("nvswitch", f"nvswitch:{self.count('nvswitch')}", self.count("nvswitch"))
            for i in devices if devices is not None else range(len(self.devices)):
                self.nvlink(f"gpu{i}", switch, generation, links, **facts)

    # Path classes and nominal rates of pairs, from the graph.

    def kind(self, name):
        return next(n["kind"] for n in self.nodes if n["name"] == name)

    def way(self, a, b):
        passable = {"pci_bridge", "host_bridge", "numa", "other"}
        by, queue = {a: None}, [a]
        for here in queue:
            if here != a and self.kind(here) not in passable:
                continue
            for link in self.links:
                if link["from"] == here and link["kind"] not in ("nvlink", "xgmi") and link["to"] not in by:
                    by[link["to"]] = link
                    queue.append(link["to"])
        way = []
        here = b
        while here in by and here != a:
            way.append(by[here])
            here = by[here]["from"]
        return way[::-1]

    def host_class(self, a, b):
        way = self.way(a, b)
        if not way:
            return "UNKNOWN"
        kinds = [self.kind(link["to"]) for link in way[:-1]]
        if "numa" in kinds:
            return "SYS" if kinds.count("numa") > 1 else "NODE"
        if "host_bridge" in kinds:
            return "NODE" if kinds.count("host_bridge") > 1 else "PHB"
        return "PXB" if kinds.count("pci_bridge") > 1 else "PIX"

    def fabric(self, a, b):
        """(kind, links, GB/s), direct and through the island of switches; None when not joined."""
        total = {}

        def add(kind, links, gbs):
            before = total.get(kind, (0, 0.0))
            total[kind] = (before[0] + links, before[1] + gbs)

        def to_switches(start):
            found = [l for l in self.links if l["from"] == start and l["kind"] == "nvlink" and self.kind(l["to"]) == "nvswitch"]
            return sum(l["width"] for l in found), sum(l["capacity_gbs"] for l in found)

        for link in self.links:
            if link["from"] == a and link["to"] == b and link["kind"] in ("nvlink", "xgmi"):
                add(link["kind"], link["width"], link["capacity_gbs"])
        one, two = to_switches(a), to_switches(b)
        if one[0] and two[0]:
            add("nvlink", min(one[0], two[0]), min(one[1], two[1]))
        return next(((kind, *sums) for kind, sums in total.items()), None)

    def pair(self, a, b):
        fabric = self.fabric(f"gpu{a}", f"gpu{b}")
        path, links, gbs = None, None, None
        if fabric:
            path, links, gbs = ("NV" if fabric[0] == "nvlink" else "XGMI"), fabric[1], fabric[2]
        else:
            path = self.host_class(f"gpu{a}", f"gpu{b}")
            capacities = [l["capacity_gbs"] for l in self.way(f"gpu{a}", f"gpu{b}") if l["kind"] == "pcie"]
            gbs = min(capacities) if capacities else None
        return {"accessor": a, "owner": b, "path": self.paths.get((a, b), path), "nvlinks": links, "nominal_gbs": gbs,
                "claim": self.claims.get((a, b), self.claimed), "measured": {}}

    def write(self, folder):
        n = len(self.devices)
        for i, device in enumerate(self.devices):
            links = sum(l["width"] for l in self.links if l["from"] == f"gpu{i}" and l["kind"] == "nvlink")
            if links:
                device["nvlinks"] = links
        for nic in self.nics:
            nic["paths"] = [self.host_class(f"gpu{i}", nic["name"]) for i in range(n)]
        origin = {"kind": "named", "files": [], "virtualized": self.virtualized, "name": self.name, "source": self.source}
        sections = [("schema", json.dumps("peerlane.machine/1")), ("origin", json.dumps(origin)),
                    ("devices", lines(self.devices)),
                    ("pairs", lines([self.pair(a, b) for a in range(n) for b in range(n) if a != b])),
                    ("host", "[]"), ("nics", lines(self.nics)),
                    ("graph", "{\n    \"nodes\": " + lines(self.nodes, "    ") + ",\n    \"links\": " + lines(self.links, "    ") + "\n  }"),
                    ("notices", "[]"), ("simulation", figures(self.simulation))]
        text = "{\n" + ",\n".join(f"  \"{key}\": {value}" for key, value in sections) + "\n}\n"
        with open(f"{folder}/{self.name}.json", "w", encoding="utf-8") as file:
            file.write(text)


def lines(items, indent="  "):
    if not items:
        return "[]"
    return "[\n" + ",\n".join(f"{indent}  {json.dumps(item)}" for item in items) + f"\n{indent}]"


def figures(simulation):
    if not simulation:
        return "{}"
    def text(value):
        return lines(value, "    ") if isinstance(value, list) else json.dumps(value)

    return "{\n" + ",\n".join(f"    \"{key}\": {text(value)}" for key, value in simulation.items()) + "\n  }"
