#include "machine/synthesize.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "machine/nominal.hpp"

namespace peerlane {
namespace {

/// Sets of things that belong together.
class Groups {
  public:
    explicit Groups(int n) : parent_(static_cast<std::size_t>(n)) { std::iota(parent_.begin(), parent_.end(), 0); }
    int of(int item) {
        while (parent_[at(item)] != item) {
            item = parent_[at(item)] = parent_[at(parent_[at(item)])];
        }
        return item;
    }
    /// The lowest member names the group.
    void join(int a, int b) {
        auto const low = std::min(of(a), of(b));
        auto const high = std::max(of(a), of(b));
        parent_[at(high)] = low;
    }

  private:
    static std::size_t at(int item) { return static_cast<std::size_t>(item); }
    std::vector<int> parent_;
};

bool is_pcie(PathClass path) {
    return path >= PathClass::sys && path <= PathClass::pix;
}

class Synthesis {
  public:
    explicit Synthesis(const Machine& machine)
        : machine_(machine),
          n_(static_cast<int>(machine.devices.size())),
          items_(n_ + static_cast<int>(machine.nics.size())) {}

    Graph build() {
        auto pix = grouped(PathClass::pix), pxb = grouped(PathClass::pxb), phb = grouped(PathClass::phb),
             node = grouped(PathClass::node);
        place_hosts(phb, node);
        for (int item = 0; item < items_; ++item) {
            place(item, pix, pxb, phb);
        }
        join_numas();
        add_fabric();
        return std::move(graph_);
    }

  private:
    [[nodiscard]] PathClass path(int a, int b) const {
        if (a > b) {
            std::swap(a, b);
        }
        if (a >= n_) {
            return PathClass::unknown;
        }
        if (b >= n_) {
            auto const& paths = machine_.nics[static_cast<std::size_t>(b - n_)].paths;
            return static_cast<std::size_t>(a) < paths.size() ? paths[static_cast<std::size_t>(a)] : PathClass::unknown;
        }
        auto const* const pair = machine_.pair(a, b);
        return pair == nullptr ? PathClass::unknown : pair->path;
    }

    /// Items joined by a PCIe way at least as near as `least`. Two devices beside the same NIC are as near as the
    /// farther of the two ways.
    Groups grouped(PathClass least) const {
        Groups groups(items_);
        for (int a = 0; a < n_; ++a) {
            for (int b = a + 1; b < items_; ++b) {
                if (is_pcie(path(a, b)) && path(a, b) >= least && !contradicted(a, b, least)) {
                    groups.join(a, b);
                }
            }
        }
        return groups;
    }

    /// A NIC must not pull two devices together that the matrix itself, or their NUMA numbers, hold apart.
    [[nodiscard]] bool contradicted(int device, int nic, PathClass least) const {
        if (nic < n_) {
            return false;
        }
        auto const numa = [&](int id) { return machine_.devices[static_cast<std::size_t>(id)].numa; };
        for (int other = 0; other < device; ++other) {
            bool const same_nic = is_pcie(path(other, nic)) && path(other, nic) >= least;
            if (least == PathClass::node && same_nic && numa(device) && numa(other) && numa(device) != numa(other)) {
                return true;
            }
            auto const direct = path(device, other);
            if (other != device && is_pcie(direct) && direct < least && is_pcie(path(other, nic)) &&
                path(other, nic) >= least && other < device) {
                return true;
            }
        }
        return false;
    }

    int add(NodeKind kind, int index, std::string name, std::string bus = {}) {
        graph_.nodes.push_back({kind, index, std::move(name), std::move(bus), -1});
        return static_cast<int>(graph_.nodes.size()) - 1;
    }

    void cable(int a, int b, LinkKind kind, const Link& like = {}) {
        for (auto const& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
            graph_.links.push_back({from, to, kind, like.generation, like.width, like.capacity_gbs, {}});
        }
    }

    /// One NUMA node for each set of host bridges that NODE joins, with the number its devices tell, if that is still
    /// free.
    void place_hosts(Groups& phb, Groups& node) {
        std::map<int, int> numa_of_group;
        std::set<int> used;
        for (auto const& device : machine_.devices) {
            used.insert(device.numa.value_or(-1));
        }
        std::map<int, int> by_number;
        for (int item = 0; item < items_; ++item) {
            auto const group = node.of(item);
            if (numa_of_group.count(group) != 0) {
                continue;
            }
            auto const number = told_numa(node, group);
            int chosen = -1;
            if (number && by_number.count(*number) != 0 && !apart(node, group, by_number[*number])) {
                chosen = numa_of_group[by_number[*number]];
            } else if (number && by_number.count(*number) == 0) {
                by_number[*number] = group;
                chosen = add(NodeKind::numa, *number, fmt::format("numa:{}", *number));
            } else if (auto const first = first_beside(node, group, numa_of_group); !number && first >= 0) {
                chosen = numa_of_group[first];
            } else {
                auto const free = free_number(used);
                by_number[free] = group;
                chosen = add(NodeKind::numa, free, fmt::format("numa:{}", free));
            }
            numa_of_group[group] = chosen;
        }
        for (int item = 0; item < items_; ++item) {
            auto const group = phb.of(item);
            if (hosts_.count(group) == 0) {
                auto const index = static_cast<int>(hosts_.size());
                hosts_[group] = add(NodeKind::host_bridge, index, fmt::format("host:{}", index));
                cable(hosts_[group], numa_of_group[node.of(item)], LinkKind::memory);
            }
        }
    }

    std::optional<int> told_numa(Groups& node, int group) const {
        for (int device = 0; device < n_; ++device) {
            if (node.of(device) == group && machine_.devices[static_cast<std::size_t>(device)].numa) {
                return machine_.devices[static_cast<std::size_t>(device)].numa;
            }
        }
        return std::nullopt;
    }

    /// Some device of one set is SYS from some device of the other.
    bool apart(Groups& node, int one, int two) const {
        for (int a = 0; a < items_; ++a) {
            for (int b = 0; b < items_; ++b) {
                if (a != b && node.of(a) == one && node.of(b) == two && path(a, b) == PathClass::sys) {
                    return true;
                }
            }
        }
        return false;
    }

    /// A set placed before whose place is not ruled out for this one, which tells no number; -1 when there is none.
    int first_beside(Groups& node, int group, const std::map<int, int>& placed) const {
        for (auto const& [other, numa] : placed) {
            static_cast<void>(numa);
            if (!apart(node, group, other)) {
                return other;
            }
        }
        return -1;
    }

    static int free_number(std::set<int>& used) {
        int number = 0;
        while (!used.insert(number).second) {
            ++number;
        }
        return number;
    }

    void place(int item, Groups& pix, Groups& pxb, Groups& phb) {
        int parent = hosts_[phb.of(item)];
        auto const members = [&](Groups& groups) {
            int count = 0;
            for (int other = 0; other < items_; ++other) {
                count += groups.of(other) == groups.of(item) ? 1 : 0;
            }
            return count;
        };
        bool const nested = members(pxb) > members(pix);
        if (nested) {
            parent = bridge(upper_, pxb.of(item), parent);
        }
        if (nested || members(pix) > 1) {
            parent = bridge(lower_, pix.of(item), parent);
        }
        if (item >= n_) {
            auto const& nic = machine_.nics[static_cast<std::size_t>(item - n_)];
            auto const name = graph_.find(nic.name) < 0 ? nic.name : fmt::format("nic:{}", item - n_);
            cable(add(NodeKind::nic, item - n_, name, nic.bus.value_or("")), parent, LinkKind::pcie);
            return;
        }
        auto const& device = machine_.devices[static_cast<std::size_t>(item)];
        Link like;
        like.generation = device.pcie_generation;
        like.width = device.pcie_width;
        like.capacity_gbs = pcie_gbs(like.generation, like.width);
        if (!like.capacity_gbs) {
            like.capacity_gbs = widest_pair(item);
        }
        cable(add(NodeKind::device, item, fmt::format("gpu{}", item), device.bus.value_or("")), parent, LinkKind::pcie,
              like);
    }

    int bridge(std::map<int, int>& made, int group, int parent) {
        auto const found = made.find(group);
        if (found != made.end()) {
            return found->second;
        }
        auto const index = bridges_++;
        auto const node = add(NodeKind::pci_bridge, index, fmt::format("bridge:{}", index));
        cable(node, parent, LinkKind::pcie);
        made[group] = node;
        return node;
    }

    /// The best nominal rate of the device's PCIe pairs: its own link is at least that wide.
    [[nodiscard]] std::optional<double> widest_pair(int device) const {
        std::optional<double> best;
        for (int other = 0; other < n_; ++other) {
            for (auto const* pair : {machine_.pair(device, other), machine_.pair(other, device)}) {
                if (pair != nullptr && is_pcie(pair->path) && pair->nominal_gbs) {
                    best = std::max(best.value_or(0), *pair->nominal_gbs);
                }
            }
        }
        return best;
    }

    void join_numas() {
        std::vector<int> numas;
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            if (graph_.nodes[i].kind == NodeKind::numa) {
                for (auto const other : numas) {
                    cable(other, static_cast<int>(i), LinkKind::interconnect);
                }
                numas.push_back(static_cast<int>(i));
            }
        }
    }

    void add_fabric() {
        Groups islands(n_);
        for (auto const& pair : machine_.pairs) {
            if (pair.path == PathClass::nv) {
                islands.join(pair.accessor, pair.owner);
            }
        }
        int switches = 0;
        for (int first = 0; first < n_; ++first) {
            if (islands.of(first) != first) {
                continue;
            }
            std::vector<int> members;
            for (int device = 0; device < n_; ++device) {
                if (islands.of(device) == first) {
                    members.push_back(device);
                }
            }
            if (members.size() > 1 && needs_switch(members)) {
                auto const index = switches++;
                auto const node = add(NodeKind::nvswitch, index, fmt::format("nvswitch:{}", index));
                for (auto const device : members) {
                    auto const other = device == members[0] ? members[1] : members[0];
                    auto const& pair = *machine_.pair(device, other);
                    cable(graph_.device_node(device), node, LinkKind::nvlink, fabric_link(pair));
                }
            }
        }
        for (auto const& pair : machine_.pairs) {
            bool const direct =
                pair.path == PathClass::xgmi || (pair.path == PathClass::nv && switched_.count(pair.accessor) == 0);
            if (direct) {
                auto link = fabric_link(pair);
                link.from = graph_.device_node(pair.accessor);
                link.to = graph_.device_node(pair.owner);
                link.kind = pair.path == PathClass::xgmi ? LinkKind::xgmi : LinkKind::nvlink;
                graph_.links.push_back(link);
            }
        }
    }

    /// All joined to all alike, by more links than the device has (or than any device has, 18).
    bool needs_switch(const std::vector<int>& members) {
        auto const& sample = *machine_.pair(members[0], members[1]);
        int sum = 0;
        for (auto const a : members) {
            for (auto const b : members) {
                if (a == b) {
                    continue;
                }
                auto const& pair = *machine_.pair(a, b);
                if (pair.path != PathClass::nv || pair.nvlinks != sample.nvlinks) {
                    return false;
                }
                sum += a == members[0] ? pair.nvlinks.value_or(1) : 0;
            }
        }
        auto const& device = machine_.devices[static_cast<std::size_t>(members[0])];
        auto const part = nvlink_part(device);
        auto const limit = device.nvlinks ? *device.nvlinks : part && part->links > 0 ? part->links : 18;
        if (sum <= limit && (sample.nvlinks || members.size() == 2)) {
            return false;
        }
        switched_.insert(members.begin(), members.end());
        return true;
    }

    [[nodiscard]] Link fabric_link(const Pair& pair) const {
        Link link;
        link.width = pair.nvlinks;
        link.capacity_gbs = pair.nominal_gbs ? pair.nominal_gbs : nominal_gbs(machine_, pair);
        if (auto const part = nvlink_part(machine_.devices[static_cast<std::size_t>(pair.accessor)]);
            part && part->links > 0 && pair.path == PathClass::nv) {
            link.generation = part->generation;
        }
        return link;
    }

    const Machine& machine_;
    int n_, items_;
    Graph graph_;
    std::map<int, int> hosts_, upper_, lower_;
    std::set<int> switched_;
    int bridges_ = 0;
};

}  // namespace

Graph synthesize_graph(const Machine& machine) {
    return machine.graph.empty() ? Synthesis(machine).build() : machine.graph;
}

}  // namespace peerlane
