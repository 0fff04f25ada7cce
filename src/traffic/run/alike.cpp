#include "traffic/run/alike.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace peerlane::traffic {
namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// Devices by their position in the set; empty where a flow names memory of the host by its number.
std::string words_of(const std::vector<int>& devices, const std::vector<Flow>& flows) {
    std::string words;
    for (auto const& flow : flows) {
        for (auto const place : {flow.src, flow.dst}) {
            if (place.is_host() && place.index != Place::any) {
                return {};
            }
            auto const position = std::find(devices.begin(), devices.end(), place.index) - devices.begin();
            words += place.is_host() ? "host " : fmt::format("{} ", position);
        }
        words += fmt::format("{} {} {} {};", flow.bytes, flow.start_s, flow.phase, flow.page);
    }
    return words;
}

}  // namespace

SetShape SetShapes::of(const std::vector<int>& devices, const std::vector<Flow>& flows) {
    auto const& net = book_.truth().network;
    auto const& nodes = book_.truth().machine.graph.nodes;
    SetShape shape{words_of(devices, flows), std::vector<std::string>(net.capacity.size())};
    if (shape.key.empty()) {
        return shape;
    }
    std::map<int, std::string> ports;
    auto const note = [&](Place from, Place to, const std::string& label) {
        if (auto const* const leg = book_.leg(from, to)) {
            for (auto const& use : leg->uses) {
                shape.links[at(use.link)] += fmt::format("{}*{:.6g};", label, use.weight);
            }
            shape.key += fmt::format("{} {:.6g};", label, leg->s_per_byte);
        }
    };
    for (std::size_t i = 0; i < devices.size(); ++i) {
        for (std::size_t j = 0; j < devices.size(); ++j) {
            auto const a = at(devices[i]), b = at(devices[j]);
            note(host(net.numa[a]), gpu(devices[j]), fmt::format("h{}>{}", i, j));
            note(gpu(devices[i]), host(net.numa[b]), fmt::format("{}>h{}", i, j));
            if (i == j) {
                continue;
            }
            auto const label = fmt::format("{}>{}", i, j);
            note(gpu(devices[i]), gpu(devices[j]), label);
            auto const& way = net.peer[a][b];
            shape.key += fmt::format("{:.6g} {:.6g} {} {};", way.share, way.limit, way.over_pcie,
                                     book_.truth().claims(devices[i], devices[j]));
            for (auto const link : way.requests) {
                shape.links[at(link)] += "r" + label + ";";
            }
            for (auto const link : way.write_limits) {
                shape.links[at(link)] += "w" + label + ";";
            }
            if (way.port_out >= 0 && way.port_in >= 0) {
                ports[way.port_out] += "o" + label + ";";
                ports[way.port_in] += "i" + label + ";";
                shape.key += nodes[at(way.port_out)].socket == nodes[at(way.port_in)].socket ? "=" : "!";
            }
        }
        shape.key += fmt::format("{:.6g} {:.6g};", net.staged_to[at(devices[i])], net.staged_from[at(devices[i])]);
        for (auto const link : {net.pcie_out[at(devices[i])], net.pcie_in[at(devices[i])]}) {
            if (link >= 0) {
                shape.links[at(link)] += fmt::format("p{};", i);
            }
        }
    }
    for (auto const& [port, words] : ports) {
        for (auto const* limits : {&net.writes_out, &net.reads_in}) {
            if (auto const limit = limits->find(port); limit != limits->end()) {
                shape.links[at(limit->second)] += "port " + words;
            }
        }
    }
    std::vector<std::string> all;
    auto const plain = shape.links;
    for (std::size_t link = 0; link < plain.size(); ++link) {
        if (plain[link].empty()) {
            continue;
        }
        auto const twin = link < net.twin.size() ? net.twin[link] : -1;
        shape.links[link] = fmt::format("{:.6g}[{}]{}", net.capacity[link], plain[link],
                                        twin < 0 ? "" : fmt::format("~{}{}", plain[at(twin)], net.duplex[link]));
        all.push_back(shape.links[link]);
    }
    for (auto const& [port, words] : ports) {
        all.push_back(words);
    }
    std::sort(all.begin(), all.end());
    shape.key += fmt::format("{}", fmt::join(all, "\n"));
    return shape;
}

}  // namespace peerlane::traffic
