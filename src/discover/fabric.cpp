/// NVLink and xGMI as nodes and links of the graph.

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "discover/assemble.hpp"
#include "machine/nominal.hpp"

namespace peerlane {
namespace {

/// Links of one device to one far end, taken together.
struct Bundle {
    int links = 0;
    std::optional<int> generation;
    double gbs = 0;  ///< of all of them
    bool rated = true;

    void add(const NvmlLink& link, double link_gbs) { add(Bundle{1, link.generation, link_gbs, link_gbs > 0}); }
    void add(const Bundle& other) {
        links += other.links;
        generation = other.generation ? other.generation : generation;
        gbs += other.gbs;
        rated = rated && other.rated;
    }
};

void connect(Graph& graph, int from, int to, const Bundle& bundle) {
    graph.links.push_back({from, to, LinkKind::nvlink, bundle.generation, bundle.links,
                           bundle.rated ? std::optional(bundle.gbs) : std::nullopt, std::nullopt});
}

// The nodes of the devices come first in the graph: a device's id is its node.

/// Which devices meet in one fabric: union of sets.
class Meeting {
  public:
    explicit Meeting(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
    std::size_t of(std::size_t one) const {
        while (parent_[one] != one) {
            one = parent_[one];
        }
        return one;
    }
    void join(std::size_t a, std::size_t b) {
        auto const x = of(a);
        auto const y = of(b);
        parent_[std::max(x, y)] = std::min(x, y);  // the lowest device names the set
    }

  private:
    std::vector<std::size_t> parent_;
};

class FabricBuilder {
  public:
    FabricBuilder(const HostFacts& host, const std::vector<Found>& devices, Machine& machine)
        : host_(host), devices_(devices), machine_(machine), switches_(devices.size()), direct_(devices.size()) {
        for (std::size_t id = 0; id < devices.size(); ++id) {
            id_of_[devices[id].bus] = static_cast<int>(id);
        }
    }

    void sort_links() {
        for (std::size_t id = 0; id < devices_.size(); ++id) {
            if (devices_[id].managed == nullptr) {
                continue;
            }
            auto const part = nvlink_part(machine_.devices[id]);
            auto const usual = part ? part->link_gbs : 0;
            for (auto const& link : devices_[id].managed->links) {
                if (link.active) {
                    sort_link(id, link, link.gbs.value_or(usual));
                }
            }
        }
    }

    void add_switches() {
        Meeting meeting(devices_.size());
        std::map<std::string, std::size_t> first_at;
        for (std::size_t id = 0; id < devices_.size(); ++id) {
            for (auto const& [bus, bundle] : switches_[id]) {
                auto const [found, fresh] = first_at.emplace(bus, id);
                if (!fresh) {
                    meeting.join(id, found->second);
                }
            }
        }
        // Switches of two boards may be joined behind the devices' backs; then the driver offers the link between them.
        for (auto const& pair : machine_.pairs) {
            auto const a = static_cast<std::size_t>(pair.accessor);
            auto const b = static_cast<std::size_t>(pair.owner);
            if (pair.claims.nvlink == "OK" && !switches_[a].empty() && !switches_[b].empty()) {
                meeting.join(a, b);
            }
        }
        std::map<std::size_t, int> node_of;
        std::map<std::size_t, std::set<std::string>> addresses;
        for (std::size_t id = 0; id < devices_.size(); ++id) {
            if (switches_[id].empty()) {
                continue;
            }
            Bundle all;
            for (auto const& [bus, bundle] : switches_[id]) {
                all.add(bundle);
                addresses[meeting.of(id)].insert(bus);
            }
            auto const known = node_of.find(meeting.of(id));
            auto const node = known != node_of.end() ? known->second : add_switch();
            node_of[meeting.of(id)] = node;
            connect(machine_.graph, static_cast<int>(id), node, all);
            connect(machine_.graph, node, static_cast<int>(id), all);
        }
        for (auto const& [set, buses] : addresses) {
            name_switch(node_of[set], buses);
        }
    }

    void add_direct() {
        for (std::size_t id = 0; id < devices_.size(); ++id) {
            for (auto const& [far, bundle] : direct_[id]) {
                connect(machine_.graph, static_cast<int>(id), far, bundle);
            }
        }
    }

    void add_xgmi() {
        for (auto const& link : host_.xgmi) {
            auto const from = id_of_.find(link.from);
            auto const to = id_of_.find(link.to);
            if (from != id_of_.end() && to != id_of_.end()) {
                machine_.graph.links.push_back(
                    {from->second, to->second, LinkKind::xgmi, std::nullopt, std::nullopt, link.gbs, std::nullopt});
            }
        }
    }

  private:
    bool is_switch(const NvmlLink& link, std::size_t id) const {
        if (link.remote == NvmlLink::Remote::nvswitch) {
            return true;
        }
        auto const* const function = host_.function(link.remote_bus);
        if (function != nullptr && function->class_code) {
            return *function->class_code >> 8U == 0x0680;  // "other bridge": how an NVSwitch shows itself
        }
        // A far end without an address is a switch that a guest cannot see; a device outside this guest would be no use
        // to anybody, and then the driver offers no link.
        return link.remote == NvmlLink::Remote::unknown || offers_links(id);
    }

    bool offers_links(std::size_t id) const {
        return std::any_of(machine_.pairs.begin(), machine_.pairs.end(), [&](const Pair& pair) {
            return pair.accessor == static_cast<int>(id) && pair.claims.nvlink == "OK";
        });
    }

    void sort_link(std::size_t id, const NvmlLink& link, double rate) {
        auto const peer = id_of_.find(link.remote_bus);
        if (peer != id_of_.end()) {
            direct_[id][peer->second].add(link, rate);
        } else if (link.remote == NvmlLink::Remote::cpu) {
            auto const numa = machine_.devices[id].numa;
            auto const node = numa ? machine_.graph.numa_node(*numa) : -1;
            if (node >= 0) {
                direct_[id][node].add(link, rate);
            }
        } else if (is_switch(link, id)) {
            switches_[id][link.remote_bus].add(link, rate);
        } else {
            direct_[id][outsider(link.remote_bus)].add(link, rate);
        }
    }

    /// A far end that is none of this machine's devices.
    int outsider(const std::string& bus) {
        auto const name = "remote:" + (bus.empty() ? std::string("unknown") : bus);
        auto const known = machine_.graph.find(name);
        if (known >= 0) {
            return known;
        }
        machine_.graph.nodes.push_back({NodeKind::other, outsiders_++, name, bus, -1});
        machine_.notices.push_back({"unknown-link-target", "", 0,
                                    (bus.empty() ? std::string("a far end without an address") : bus) +
                                        " is linked to a device, but is none of this machine's devices"});
        return static_cast<int>(machine_.graph.nodes.size()) - 1;
    }

    int add_switch() {
        machine_.graph.nodes.push_back(
            {NodeKind::nvswitch, switch_count_, fmt::format("nvswitch:{}", switch_count_), "", -1});
        ++switch_count_;
        return static_cast<int>(machine_.graph.nodes.size()) - 1;
    }

    void name_switch(int node, const std::set<std::string>& buses) {
        auto const& only = *buses.begin();
        if (buses.size() == 1 && !only.empty()) {
            machine_.graph.nodes[static_cast<std::size_t>(node)].bus = only;
        }
        if (buses.count("") != 0) {
            machine_.notices.push_back(
                {"unknown-link-target", "", 0, "NVLinks lead to a switch that this system does not show"});
        }
    }

    const HostFacts& host_;
    const std::vector<Found>& devices_;
    Machine& machine_;
    std::vector<std::map<std::string, Bundle>> switches_;  ///< of each device, by bus address of the switch
    std::vector<std::map<int, Bundle>> direct_;            ///< of each device, by node of the far end
    std::map<std::string, int> id_of_;
    int switch_count_ = 0;
    int outsiders_ = 0;
};

}  // namespace

void add_fabric(const HostFacts& host, const std::vector<Found>& devices, Machine& machine) {
    FabricBuilder fabric(host, devices, machine);
    fabric.sort_links();
    fabric.add_direct();
    fabric.add_switches();
    fabric.add_xgmi();
}

}  // namespace peerlane
