#include "machine/read/nccl_links.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "machine/nominal.hpp"
#include "machine/read/text.hpp"
#include "machine/read/xml.hpp"

namespace peerlane::read {
namespace {

constexpr std::size_t most_far_ends = 10'000;  // 18 links of each of 512 devices are fewer

std::string_view attribute(const pugi::xml_node& node, const char* name) {
    return trimmed(node.attribute(name).value());
}

/// Classes of the far end: a GPU's, a switch's, or the bridge of a processor that has NVLink itself (0x068001).
bool is_switch_class(std::string_view tclass) {
    return tclass.substr(0, 6) == "0x0680" && tclass != "0x068001";
}
bool is_processor_class(std::string_view tclass) {
    return tclass == "0x068001";
}
bool is_gpu_class(std::string_view tclass) {
    return tclass.substr(0, 4) == "0x03" || tclass.substr(0, 4) == "0x12";
}

/// An address that the library writes when the driver does not name the far end.
bool is_nameless(std::string_view bus) {
    return bus.find(":ff:ff.") != std::string_view::npos || bus.empty();
}

}  // namespace

void FabricLinks::add(const std::vector<NcclGpu>& gpus) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        if (gpus[i].device.bus) {
            by_bus_.emplace(*gpus[i].device.bus, i);
        }
    }
    for (std::size_t from = 0; from < gpus.size(); ++from) {
        read_gpu(gpus, from);
    }
    mirror();
    compare_uplinks(gpus);
    for (auto const& [ends, joint] : direct_) {
        push(gpus[ends.first].graph_node, gpus[ends.second].graph_node, joint, gpus[ends.first]);
    }
    for (auto const& [ends, joint] : up_) {
        auto const node = switch_node("nvswitch:" + ends.second, ends.second);
        push(gpus[ends.first].graph_node, node, joint, gpus[ends.first]);
        push(node, gpus[ends.first].graph_node, joint, gpus[ends.first]);
    }
    for (auto const& [ends, joint] : host_) {
        push(gpus[ends.first].graph_node, ends.second, joint, gpus[ends.first]);
        push(ends.second, gpus[ends.first].graph_node, joint, gpus[ends.first]);
    }
}

void FabricLinks::read_gpu(const std::vector<NcclGpu>& gpus, std::size_t from) {
    std::optional<int> total;
    for (auto const& node : gpus[from].element.children()) {
        std::string_view const name = node.name();
        if (name != "nvlink" && name != "xgmi") {
            continue;
        }
        read_link(from, node, name == "xgmi" ? LinkKind::xgmi : LinkKind::nvlink);
        if (auto const count = small_number(attribute(node, "count")); count && name == "nvlink") {
            total = total.value_or(0) + *count;
        }
    }
    machine_.devices[from].nvlinks = total;
}

void FabricLinks::read_link(std::size_t from, const pugi::xml_node& node, LinkKind kind) {
    auto const target = attribute(node, "target");
    auto const bus = bus_address(target).value_or(std::string(target));
    auto const tclass = lower(attribute(node, "tclass"));
    auto const word = kind == LinkKind::xgmi ? "xGMI" : "NVLink";
    auto width = small_number(attribute(node, "count"));
    if (width && *width == 0) {
        return;
    }
    if (width && *width > 10'000) {
        refuse(source_, line(node), fmt::format("{} links between two devices", *width));
    }
    auto const sum = [&](Joint& joint) {
        joint.width = joint.width && width ? std::optional(*joint.width + *width) : std::nullopt;
        joint.kind = kind;
        joint.node = node;
    };
    auto const links = width ? fmt::format("{} {}{}", *width, word, *width == 1 ? "" : "s") : fmt::format("{}s", word);
    if (auto const found = by_bus_.find(bus); found != by_bus_.end()) {
        auto const to = found->second;
        if (to == from) {
            add_notice(
                machine_, source_, "unknown-link-target", line(node),
                fmt::format("self-link: device {} lists {} to itself, so their far end is not known", from, links));
        } else {
            sum(direct_[{from, to}]);
        }
        return;
    }
    if (is_processor_class(tclass)) {
        // The device's own host is the only processor that can be meant.
        auto const& numa = machine_.devices[from].numa;
        auto const host = numa ? machine_.graph.numa_node(*numa) : -1;
        if (host >= 0) {
            sum(host_[{from, host}]);
        }
        return;
    }
    if (is_gpu_class(tclass)) {
        add_notice(machine_, source_, "unknown-link-target", line(node),
                   fmt::format("device {} has {} to {}, a device that this file does not have", from, links, bus));
        return;
    }
    if (is_nameless(bus) || !is_switch_class(tclass)) {
        add_notice(machine_, source_, "unknown-link-target", line(node),
                   fmt::format("device {} has {} to {}: taken for a switch without a name", from, links,
                               bus.empty() ? "nowhere" : bus));
    }
    sum(up_[{from, bus.empty() ? "unknown" : bus}]);
    if (up_.size() > most_far_ends) {
        refuse(source_, line(node), fmt::format("more than {} far ends of links", most_far_ends));
    }
}

int FabricLinks::line(const pugi::xml_node& node) {
    return lines_.line(static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0)));
}

/// A cable has two ends: what only one of them lists is there in both directions.
void FabricLinks::mirror() {
    std::map<std::pair<std::size_t, std::size_t>, Joint> missing;
    for (auto const& [ends, joint] : direct_) {
        auto const back = direct_.find({ends.second, ends.first});
        if (back == direct_.end()) {
            missing[{ends.second, ends.first}] = joint;
            add_notice(machine_, source_, "asymmetric", line(joint.node),
                       fmt::format("device {} lists links to {}, which lists none back", ends.first, ends.second));
        } else if (ends.first < ends.second && back->second.width != joint.width) {
            auto const text = [](const Joint& j) {
                return j.width ? fmt::format("{}", *j.width) : std::string("an unknown number of");
            };
            add_notice(machine_, source_, "asymmetric", line(joint.node),
                       fmt::format("device {} lists {} links to {}, which lists {} back", ends.first, text(joint),
                                   ends.second, text(back->second)));
        }
    }
    direct_.insert(missing.begin(), missing.end());
}

/// Devices on one set of switches have equally many links to them; a file where they differ has lost a line, or a
/// device its links.
void FabricLinks::compare_uplinks(const std::vector<NcclGpu>& gpus) {
    std::vector<int> sums(gpus.size(), 0);
    for (auto const& [ends, joint] : up_) {
        if (!joint.width) {
            return;
        }
        sums[ends.first] += *joint.width;
    }
    auto const most = std::max_element(sums.begin(), sums.end());
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        if (sums[i] != *most && gpus[i].element) {
            add_notice(machine_, source_, "asymmetric", gpus[i].line,
                       fmt::format("device {} has {} links to switches, device {} has {}", i, sums[i],
                                   most - sums.begin(), *most));
        }
    }
}

void FabricLinks::push(int from, int to, const Joint& joint, const NcclGpu& gpu) {
    Link link{from, to, joint.kind, {}, joint.width, {}, {}};
    if (joint.kind == LinkKind::xgmi) {
        auto const rate = xgmi_link_gbs(gpu.device);
        if (rate && joint.width) {
            link.capacity_gbs = *rate * *joint.width;
        }
    } else if (auto const part = nvlink_part(gpu.device); part && part->links > 0) {
        link.generation = part->generation;
        if (joint.width) {
            link.capacity_gbs = part->link_gbs * *joint.width;
        }
    }
    machine_.graph.links.push_back(link);
}

int FabricLinks::switch_node(const std::string& name, const std::string& bus) {
    auto const found = machine_.graph.find(name);
    if (found >= 0) {
        return found;
    }
    int index = 0;
    for (auto const& node : machine_.graph.nodes) {
        index += node.kind == NodeKind::nvswitch ? 1 : 0;
    }
    machine_.graph.nodes.push_back({NodeKind::nvswitch, index, name, is_nameless(bus) ? "" : bus, -1});
    return static_cast<int>(machine_.graph.nodes.size()) - 1;
}

}  // namespace peerlane::read
