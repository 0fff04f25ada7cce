#include "machine/read/grammar.hpp"

#include <fmt/format.h>

#include "machine/nominal.hpp"
#include "machine/paths.hpp"
#include "machine/read/grammar_spec.hpp"

namespace peerlane::read {
namespace {

/// Item `index` of `items` belongs to this one of `groups`: neighbours together, sizes as even as they can be.
int group_of(int index, int items, int groups) {
    return static_cast<int>(static_cast<long long>(index) * groups / items);
}

/// GB/s of one link: as written, else by the model; 0 when unknown.
double link_rate(const GrammarFabric& fabric, const Device& device) {
    if (fabric.link_gbs) {
        return *fabric.link_gbs;
    }
    if (fabric.xgmi) {
        return xgmi_link_gbs(device).value_or(0);
    }
    auto const part = nvlink_part(device);
    return part ? part->link_gbs : 0;
}

class GrammarBuilder {
  public:
    explicit GrammarBuilder(const GrammarSpec& spec) : spec_(spec) {}
    Machine build();

  private:
    int node(NodeKind kind, int index, std::string name, int socket = -1);
    void link(int a, int b, Link link);
    void pcie(int a, int b, const PcieLink& link);
    void add_host();
    void add_devices();
    void add_fabric();

    const GrammarSpec& spec_;
    Machine machine_;
    std::vector<int> hosts_, host_numa_;
};

int GrammarBuilder::node(NodeKind kind, int index, std::string name, int socket) {
    machine_.graph.nodes.push_back(
        {.kind = kind, .index = index, .name = std::move(name), .bus = {}, .socket = socket});
    return static_cast<int>(machine_.graph.nodes.size()) - 1;
}

void GrammarBuilder::link(int a, int b, Link link) {
    link.from = a;
    link.to = b;
    machine_.graph.links.push_back(link);
    std::swap(link.from, link.to);
    machine_.graph.links.push_back(link);
}

void GrammarBuilder::pcie(int a, int b, const PcieLink& l) {
    link(a, b,
         {.kind = LinkKind::pcie,
          .generation = l.generation,
          .width = l.width,
          .capacity_gbs = pcie_gbs(l.generation, l.width),
          .latency_s = {}});
}

void GrammarBuilder::add_host() {
    std::vector<int> numas;
    for (int numa = 0; numa < spec_.numas; ++numa) {
        numas.push_back(
            node(NodeKind::numa, numa, fmt::format("numa:{}", numa), group_of(numa, spec_.numas, spec_.sockets)));
    }
    for (std::size_t a = 0; a < numas.size(); ++a) {
        for (std::size_t b = a + 1; b < numas.size(); ++b) {
            link(numas[a], numas[b], {.kind = LinkKind::interconnect});
        }
    }
    for (int host = 0; host < spec_.hosts; ++host) {
        auto const numa = group_of(host, spec_.hosts, spec_.numas);
        hosts_.push_back(node(NodeKind::host_bridge, host, fmt::format("host:{}", host),
                              group_of(numa, spec_.numas, spec_.sockets)));
        host_numa_.push_back(numa);
        link(hosts_.back(), numas[static_cast<std::size_t>(numa)], {.kind = LinkKind::memory});
    }
}

void GrammarBuilder::add_devices() {
    std::vector<int> switches, switch_host;
    for (int i = 0; i < spec_.switches; ++i) {
        auto const host = group_of(i, spec_.switches, spec_.hosts);
        switches.push_back(node(NodeKind::pci_bridge, i, fmt::format("switch:{}", i)));
        switch_host.push_back(host);
        pcie(switches.back(), hosts_[static_cast<std::size_t>(host)], spec_.uplink);
    }
    for (int id = 0; id < spec_.gpus; ++id) {
        auto const group = group_of(id, spec_.gpus, spec_.switches > 0 ? spec_.switches : spec_.hosts);
        auto const host = spec_.switches > 0 ? switch_host[static_cast<std::size_t>(group)] : group;
        auto const above =
            spec_.switches > 0 ? switches[static_cast<std::size_t>(group)] : hosts_[static_cast<std::size_t>(group)];
        Device device;
        device.id = id;
        device.model = spec_.model;
        device.numa = host_numa_[static_cast<std::size_t>(host)];
        device.pcie_generation = spec_.link.generation;
        device.pcie_width = spec_.link.width;
        machine_.devices.push_back(device);
        pcie(node(NodeKind::device, id, fmt::format("gpu{}", id)), above, spec_.link);
    }
}

void GrammarBuilder::add_fabric() {
    auto const& fabric = spec_.fabric;
    if (fabric.shape == GrammarFabric::Shape::none) {
        return;
    }
    auto const rate = link_rate(fabric, machine_.devices.front());
    auto const join = [&](int a, int b, int links) {
        link(a, b,
             {.kind = fabric.xgmi ? LinkKind::xgmi : LinkKind::nvlink,
              .generation = {},
              .width = links,
              .capacity_gbs = rate > 0 ? std::optional(rate * links) : std::nullopt,
              .latency_s = {}});
    };
    if (fabric.shape == GrammarFabric::Shape::center) {
        auto const center = node(NodeKind::nvswitch, 0, "nvswitch:0");
        for (auto const& device : machine_.devices) {
            join(machine_.graph.device_node(device.id), center, fabric.links);
        }
    }
    std::vector<int> total(machine_.devices.size(), fabric.shape == GrammarFabric::Shape::center ? fabric.links : 0);
    for (auto const& edge : fabric_edges(spec_)) {
        join(machine_.graph.device_node(edge.a), machine_.graph.device_node(edge.b), edge.links);
        total[static_cast<std::size_t>(edge.a)] += edge.links;
        total[static_cast<std::size_t>(edge.b)] += edge.links;
    }
    for (auto& device : machine_.devices) {
        if (!fabric.xgmi) {
            device.nvlinks = total[static_cast<std::size_t>(device.id)];
            device.nvlink_gbs = fabric.link_gbs;
        }
    }
}

Machine GrammarBuilder::build() {
    machine_.origin.kind = "grammar";
    machine_.origin.name = print_grammar(spec_);
    add_host();
    add_devices();
    add_fabric();
    complete_pairs(machine_);
    classify_from_graph(machine_);
    for (auto& pair : machine_.pairs) {
        pair.claim = spec_.peer_access;
    }
    return std::move(machine_);
}

}  // namespace

bool is_grammar(std::string_view text) {
    return text.substr(0, 4) == "sim:";
}

Machine read_grammar(std::string_view text) {
    return GrammarBuilder(parse_grammar(text)).build();
}

std::string canonical_grammar(std::string_view text) {
    return print_grammar(parse_grammar(text));
}

}  // namespace peerlane::read
