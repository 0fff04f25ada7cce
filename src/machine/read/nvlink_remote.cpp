#include "machine/read/nvlink_remote.hpp"

#include <map>

#include <fmt/format.h>

#include "machine/paths.hpp"
#include "machine/read/gpu_line.hpp"

namespace peerlane::read {
namespace {

constexpr int most_links = 256;
constexpr int links_of_a_gpu = 18;  // the most of any part so far (NVLink 4 and 5)

struct RemoteLine {
    int link = 0;
    std::string bus;  ///< as printed when it is no address
    std::optional<int> remote_link;
};

/// "Link 0: Remote Device 00000000:07:00.0: Link 46"
std::optional<RemoteLine> remote_line(std::string_view text) {
    text = trimmed(text);
    auto const at = text.find(": Remote Device ");
    if (text.substr(0, 5) != "Link " || at == std::string_view::npos) {
        return std::nullopt;
    }
    auto const number = small_number(trimmed(text.substr(5, at - 5)));
    if (!number) {
        return std::nullopt;
    }
    RemoteLine remote;
    remote.link = *number;
    auto rest = trimmed(text.substr(at + 16));
    if (auto const link = rest.rfind(": Link "); link != std::string_view::npos) {
        remote.remote_link = small_number(trimmed(rest.substr(link + 7)));
        rest = trimmed(rest.substr(0, link));
    }
    remote.bus = bus_address(rest).value_or(as_utf8(rest.substr(0, 64)));
    return remote;
}

struct Target {
    int links = 0;
    int highest_link = 0;
    int line = 0;
    std::map<int, int> by_device;
};

bool unknown_address(const std::string& bus) {
    return bus.rfind("ffff", 0) == 0;
}

/// Adds one node a far end and both directions of the links to it.
void add_targets(const Source& source, const std::map<std::string, Target>& targets, Machine& machine) {
    for (auto const& device : machine.devices) {
        machine.graph.nodes.push_back(
            {.kind = NodeKind::device, .index = device.id, .name = fmt::format("gpu{}", device.id)});
    }
    int switches = 0;
    for (auto const& [bus, target] : targets) {
        Node node;
        bool const is_switch =
            unknown_address(bus) || target.links > links_of_a_gpu || target.highest_link >= links_of_a_gpu;
        node.kind = is_switch ? NodeKind::nvswitch : NodeKind::other;
        node.index = is_switch ? switches++ : -1;
        node.name = is_switch ? fmt::format("nvswitch:{}", node.index) : "remote:" + bus;
        node.bus = unknown_address(bus) ? "" : bus;
        auto const index = static_cast<int>(machine.graph.nodes.size());
        machine.graph.nodes.push_back(node);
        for (auto const& [device, count] : target.by_device) {
            for (auto const& ends : {std::pair(device, index), std::pair(index, device)}) {
                machine.graph.links.push_back(
                    {.from = ends.first, .to = ends.second, .kind = LinkKind::nvlink, .width = count});
            }
        }
        if (unknown_address(bus) || !is_switch) {
            add_notice(machine, source, "unknown-link-target", target.line,
                       is_switch ? "the far end of these links has no address: a switch that this system does not show"
                                 : bus + " has no name in this list: a device or a switch");
        }
    }
}

}  // namespace

bool recognizes_nvlink_remote(std::string_view text) {
    return text.find("Remote Device ") != std::string_view::npos && text.find("GPU ") != std::string_view::npos;
}

Machine read_nvlink_remote(const Source& source) {
    auto const lines = plain_lines(source);
    Machine machine;
    std::map<std::string, Target> targets;
    std::map<std::pair<int, int>, int> seen;
    int current = -1;
    for (auto const& line : lines) {
        if (auto const gpu = gpu_line(line)) {
            device_of(source, line, *gpu, machine);
            current = gpu->id;
            continue;
        }
        auto const remote = remote_line(line.text);
        if (!remote) {
            if (current >= 0 && trimmed(line.text).substr(0, 5) == "Link " && contains_word(line.text, "remote")) {
                refuse(source, line.number, "a link without the address of its far end");
            }
            continue;
        }
        if (current < 0) {
            refuse(source, line.number, "a link before any GPU");
        }
        if (remote->link >= most_links || !seen.emplace(std::pair(current, remote->link), line.number).second) {
            refuse(source, line.number,
                   fmt::format("link {} of GPU {} comes twice, or is absurd", remote->link, current));
        }
        auto& device = machine.devices[static_cast<std::size_t>(current)];
        device.nvlinks = device.nvlinks.value_or(0) + 1;
        device.nvlink_state = "active";
        auto& target = targets[remote->bus];
        target.line = target.line == 0 ? line.number : target.line;
        ++target.links;
        target.highest_link = std::max(target.highest_link, remote->remote_link.value_or(0));
        ++target.by_device[current];
    }
    if (seen.empty()) {
        refuse(source, 0, "no link with a far end");
    }
    note_undescribed(source, machine);
    add_targets(source, targets, machine);
    note_wrapping(lines, 0, lines.size(), source, machine);
    complete_pairs(machine);
    classify_from_graph(machine);
    return machine;
}

}  // namespace peerlane::read
