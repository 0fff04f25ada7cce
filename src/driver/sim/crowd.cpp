#include "driver/sim/crowd.hpp"

#include <algorithm>
#include <set>

namespace peerlane::sim {
namespace {

constexpr double giga = 1e9;
constexpr double no_limit = 1e15;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

}  // namespace

Crowd::Crowd(const Truth& truth)
    : truth_(&truth), flows_(truth.network.twin.size()), peers_(truth.network.twin.size()) {}

void Crowd::start(std::span<const model::Use> uses, const std::optional<PeerFlow>& peer, model::Sharing& sharing) {
    if (peer) {
        auto const& net = truth_->network;
        if (!net.writes_out.empty() && net.peer[at(peer->source)][at(peer->destination)].port_out >= 0) {
            crossing_.push_back(*peer);
        }
        for (auto const port : {net.pcie_out[at(peer->source)], net.pcie_in[at(peer->destination)]}) {
            peers_[at(port)] += 1;
        }
    }
    count(uses, 1, sharing);
    if (peer) {
        peers_changed(*peer, sharing);
    }
}

void Crowd::end(std::span<const model::Use> uses, const std::optional<PeerFlow>& peer, model::Sharing& sharing) {
    if (peer) {
        if (auto const found = std::find(crossing_.begin(), crossing_.end(), *peer); found != crossing_.end()) {
            crossing_.erase(found);
        }
        auto const& net = truth_->network;
        for (auto const port : {net.pcie_out[at(peer->source)], net.pcie_in[at(peer->destination)]}) {
            peers_[at(port)] -= 1;
        }
    }
    count(uses, -1, sharing);
    if (peer) {
        peers_changed(*peer, sharing);
    }
}

void Crowd::clear(model::Sharing& sharing) {
    std::fill(flows_.begin(), flows_.end(), 0);
    std::fill(peers_.begin(), peers_.end(), 0);
    crossing_.clear();
    for (std::size_t link = 0; link < flows_.size(); ++link) {
        refresh_link(static_cast<int>(link), sharing);
    }
    refresh_rules(sharing);
}

void Crowd::count(std::span<const model::Use> uses, int change, model::Sharing& sharing) {
    auto const& twin = truth_->network.twin;
    for (auto const& use : uses) {
        if (at(use.link) < twin.size() && twin[at(use.link)] >= 0) {
            flows_[at(use.link)] += change;
            refresh_link(use.link, sharing);
            refresh_link(twin[at(use.link)], sharing);
        }
    }
}

void Crowd::peers_changed(const PeerFlow& flow, model::Sharing& sharing) {
    auto const& net = truth_->network;
    for (auto const port : {net.pcie_out[at(flow.source)], net.pcie_in[at(flow.destination)]}) {
        refresh_link(port, sharing);
    }
    refresh_rules(sharing);
}

void Crowd::refresh_link(int link, model::Sharing& sharing) {
    auto const& net = truth_->network;
    auto const twin = net.twin[at(link)];
    auto capacity = net.capacity[at(link)];
    if (twin < 0) {
        return;
    }
    if (flows_[at(link)] > 0 && flows_[at(twin)] > 0) {
        capacity *= net.duplex[at(link)];
    }
    if (peers_[at(link)] > 1) {
        capacity *= truth_->figures.busy_port_efficiency;
    }
    sharing.set_capacity(link, capacity);
}

double Crowd::allowed(int port, bool write) const {
    auto const& net = truth_->network;
    auto flows = 0;
    auto both_ways = false;
    std::set<int> devices, ports, busy;
    for (auto const& flow : crossing_) {
        if (flow.write != write) {
            continue;
        }
        auto const& way = net.peer[at(flow.source)][at(flow.destination)];
        auto const here = write ? way.port_out : way.port_in;
        auto const there = write ? way.port_in : way.port_out;
        busy.insert(here);
        both_ways = both_ways || there == port;
        if (here == port) {
            ++flows;
            devices.insert(write ? flow.source : flow.destination);
            ports.insert(there);
        }
    }
    auto limit = no_limit;
    auto const count = [](const std::set<int>& set) { return static_cast<int>(set.size()); };
    for (auto const& rule : *truth_->figures.interference) {
        if (rule.write == write && flows >= rule.flows && count(devices) >= rule.devices &&
            count(ports) >= rule.ports && count(busy) >= rule.busy_ports && (both_ways || !rule.both_ways)) {
            limit = rule.port_gbs * giga;
        }
    }
    return limit;
}

void Crowd::refresh_rules(model::Sharing& sharing) {
    // Nothing to do for most machines: they have no rules, so none of these limits.
    for (auto const& [port, link] : truth_->network.writes_out) {
        sharing.set_capacity(link, allowed(port, true));
    }
    for (auto const& [port, link] : truth_->network.reads_in) {
        sharing.set_capacity(link, allowed(port, false));
    }
}

}  // namespace peerlane::sim
