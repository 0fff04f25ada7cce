#include "machine/renumber.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace peerlane {
namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

bool same_device(const Device& a, const Device& b) {
    return a.bus && b.bus ? *a.bus == *b.bus : a.uuid && b.uuid && *a.uuid == *b.uuid;
}

/// The graph without the devices that `keep` refuses; links renumbered.
template <typename Keep>
Graph without_devices(const Graph& graph, Keep keep) {
    Graph result;
    std::vector<int> index(graph.nodes.size(), -1);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        auto const& node = graph.nodes[i];
        if (node.kind != NodeKind::device || keep(node.index)) {
            index[i] = static_cast<int>(result.nodes.size());
            result.nodes.push_back(node);
        }
    }
    for (auto link : graph.links) {
        link.from = index[at(link.from)];
        link.to = index[at(link.to)];
        if (link.from >= 0 && link.to >= 0) {
            result.links.push_back(link);
        }
    }
    return result;
}

}  // namespace

Machine renumbered(const Machine& machine, const std::vector<int>& numbers) {
    auto const number = [&](int device) { return numbers.at(at(device)); };
    Machine result = machine;
    result.devices.clear();
    result.pairs.clear();
    result.host.clear();
    std::vector<std::pair<int, std::size_t>> order;  // new number, old position
    for (std::size_t i = 0; i < machine.devices.size(); ++i) {
        auto device = machine.devices[i];
        device.id = number(device.id);
        if (device.id >= 0) {
            order.emplace_back(device.id, i);
            result.devices.push_back(std::move(device));
        }
    }
    std::sort(order.begin(), order.end());
    std::sort(result.devices.begin(), result.devices.end(), [](auto& a, auto& b) { return a.id < b.id; });
    for (auto pair : machine.pairs) {
        pair.accessor = number(pair.accessor);
        pair.owner = number(pair.owner);
        if (pair.accessor >= 0 && pair.owner >= 0) {
            result.pairs.push_back(std::move(pair));
        }
    }
    std::sort(result.pairs.begin(), result.pairs.end(),
              [](auto& a, auto& b) { return std::pair(a.accessor, a.owner) < std::pair(b.accessor, b.owner); });
    for (auto rates : machine.host) {
        rates.device = number(rates.device);
        if (rates.device >= 0) {
            result.host.push_back(rates);
        }
    }
    for (auto& nic : result.nics) {
        std::vector<PathClass> paths;
        for (auto const& entry : order) {
            paths.push_back(entry.second < nic.paths.size() ? nic.paths[entry.second] : PathClass::unknown);
        }
        nic.paths = std::move(paths);
    }
    result.graph = without_devices(machine.graph, [&](int device) { return number(device) >= 0; });
    for (auto& node : result.graph.nodes) {
        if (node.kind == NodeKind::device) {
            node.index = number(node.index);
            node.name = fmt::format("gpu{}", node.index);
        }
    }
    return result;
}

std::optional<std::vector<int>> numbers_in(const Machine& whole, const Machine& part) {
    std::vector<int> numbers;
    for (auto const& device : part.devices) {
        auto const found = std::find_if(whole.devices.begin(), whole.devices.end(),
                                        [&](const Device& other) { return same_device(other, device); });
        if (found == whole.devices.end() || std::find(numbers.begin(), numbers.end(), found->id) != numbers.end()) {
            return std::nullopt;
        }
        numbers.push_back(found->id);
    }
    return numbers;
}

std::optional<Machine> as_seen(const Machine& known, const Machine& seen) {
    auto const joined = numbers_in(known, seen);
    if (!joined) {
        return std::nullopt;
    }
    std::vector<int> numbers(known.devices.size(), -1);
    for (std::size_t i = 0; i < joined->size(); ++i) {
        numbers.at(at((*joined)[i])) = static_cast<int>(i);
    }
    auto machine = renumbered(known, numbers);
    for (auto& device : machine.devices) {
        auto const& told = seen.devices.at(at(device.id));
        device.model = device.model ? device.model : told.model;
        device.bus = device.bus ? device.bus : told.bus;
        device.uuid = device.uuid ? device.uuid : told.uuid;
        device.memory_bytes = told.memory_bytes ? told.memory_bytes : device.memory_bytes;
        device.compute_capability = told.compute_capability ? told.compute_capability : device.compute_capability;
    }
    for (auto& pair : machine.pairs) {
        if (auto const* const claimed = seen.pair(pair.accessor, pair.owner)) {
            pair.claim = claimed->claim;
        }
    }
    complete_pairs(machine);
    return machine;
}

}  // namespace peerlane
