// Which links, engines and rates one transfer takes, and which fault lies on it.

#include <algorithm>
#include <cmath>

#include "driver/sim/live.hpp"

namespace peerlane::sim {
namespace {

constexpr double giga = 1e9;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

constexpr double pull_ramp_bytes = 1 << 20;

/// Over NVLink a request of 16 bytes goes back for every 128 bytes that threads read. A copy engine asks for more at a
/// time: 389.3 GB/s both ways at once of 393.8 (H200), 170.5 of 172.2 (H800; both nvbandwidth).
constexpr double request_part = 0.125;
constexpr double engine_request_part = 0.016;

double factor_of(const Fault* fault) {
    return fault != nullptr && fault->effect == Fault::Effect::scale ? fault->number : 1.0;
}

}  // namespace

void Engine::add_uses(std::vector<model::Use>& uses, const std::vector<int>& links, double weight) const {
    for (auto const link : links) {
        uses.push_back({link, weight});
    }
}

void Engine::host_uses(Way& way, int device, Place place, bool to_host) const {
    auto const& net = truth_.network;
    auto const numa = place.index == Place::any ? net.numa[at(device)] : place.index;
    auto const& ways = to_host ? net.to_numa : net.from_numa;
    auto const found = ways.find({device, numa});
    add_uses(way.uses, found != ways.end() ? found->second
                       : to_host           ? net.to_host[at(device)]
                                           : net.from_host[at(device)]);
    auto const& figure = to_host ? truth_.figures.from_device_gbs : truth_.figures.to_device_gbs;
    if (figure) {
        way.cap = std::min(way.cap, *figure * giga);
    }
}

void Engine::peer_uses(Way& way, int source, int destination, bool write, bool threads) const {
    auto const& net = truth_.network;
    auto const& peer = net.peer[at(source)][at(destination)];
    add_uses(way.uses, peer.links, peer.share);
    way.uses.push_back({net.local[at(source)], 1.0});
    way.uses.push_back({net.local[at(destination)], 1.0});
    if (write) {
        add_uses(way.uses, peer.write_limits, peer.share);
    } else {
        add_uses(way.uses, peer.requests, peer.share * (threads ? request_part : engine_request_part));
    }
    if (!peer.over_pcie) {
        return;
    }
    way.peer = PeerFlow{source, destination, write};
    auto const& ports = write ? net.writes_out : net.reads_in;
    if (auto const found = ports.find(write ? peer.port_out : peer.port_in); found != ports.end()) {
        way.uses.push_back({found->second, 1.0});
    }
}

void Engine::staged_uses(Way& way, int source, int destination) const {
    auto const& net = truth_.network;
    host_uses(way, source, host(), true);
    host_uses(way, destination, host(), false);
    way.cap = std::min({way.cap, net.staged_to[at(source)], net.staged_from[at(destination)]});
    if (!net.staged_total) {
        way.uses.push_back({net.staged_here[at(source)], 1.0});
        way.uses.push_back({net.staged_here[at(destination)], 1.0});
        return;
    }
    // Beyond the memory of the host, the two legs have a limit in common only where they take one cable.
    auto const& out = net.to_host[at(source)];
    auto const& in = net.from_host[at(destination)];
    auto const memory = net.numa_memory.at(net.numa[at(source)]);
    auto const one_cable = std::any_of(out.begin(), out.end(), [&](int link) {
        return link != memory && link != net.host_duplex.value_or(-1) &&
               std::find(in.begin(), in.end(), link) != in.end();
    });
    way.uses.push_back({*net.staged_total, one_cable ? 1.0 / truth_.figures.staged_shared_uplink : 1.0});
}

double Engine::peer_cap(int source, int destination, double cap) const {
    return truth_.limited_rate(source, destination, cap);
}

bool Engine::goes_direct(const Block& to, const Block& from) const {
    if (!to.place.is_device() || !from.place.is_device() || to.place == from.place) {
        return false;
    }
    // Where neither device reaches the other's memory, the driver stages. Memory of a pool, virtual memory and managed
    // memory have mappings of their own: enabling does not reach them (two H200: 38 of 392 GB/s from pool to pool).
    auto const source = from.place.index;
    auto const destination = to.place.index;
    if (to.kind == MemoryKind::plain && from.kind == MemoryKind::plain && memory_.copies_direct(source, destination)) {
        return true;
    }
    return memory_.kernel_may(source, {}, to, true) || memory_.kernel_may(destination, {}, from, false);
}

Lanes::Taken Engine::lanes_of(const Op& op) const {
    auto const* const to = memory_.find(op.copy.to.address);
    auto const* const from = memory_.find(op.copy.from.address);
    if (to == nullptr || from == nullptr) {
        return {};
    }
    if (to->place.is_host()) {
        return {from->place.is_host() ? Lanes::Lane{0} : lanes_.to_host(op.device)};
    }
    if (from->place.is_host()) {
        return {lanes_.from_host(op.device)};
    }
    auto const source = from->place.index;
    auto const destination = to->place.index;
    if (source == destination) {
        return {lanes_.local(op.device)};
    }
    if (!goes_direct(*to, *from)) {  // through the host in pieces, between which other copies find room
        return {lanes_.pair(source, destination)};
    }
    auto const peer = op.device == source ? destination : source;
    auto const switched = truth_.network.peer[at(source)][at(destination)].switched;
    return {lanes_.peers(op.device, peer, switched, op.device == destination), lanes_.pair(source, destination)};
}

Engine::Way Engine::copy_way(const Live& live, const Block& to, const Block& from) const {
    auto const& figures = truth_.figures;
    auto const& net = truth_.network;
    auto const bytes = live.op.copy.bytes;
    Way way;
    if (to.place.is_host() && from.place.is_host()) {
        way.uses.push_back({net.numa_memory.begin()->second, 2.0});
        way.fixed_s = figures.local_fixed_s;
        way.cap = net.capacity[at(net.numa_memory.begin()->second)] / 4;
        return way;
    }
    if (to.place.is_host() || from.place.is_host()) {
        auto const to_host = to.place.is_host();
        auto const& side = to_host ? to : from;
        host_uses(way, to_host ? from.place.index : to.place.index, side.place, to_host);
        way.share = to_host ? figures.to_host_share : 1.0;
        way.fixed_s = figures.host_leg_fixed_s;
        if (side.kind == MemoryKind::pageable) {
            way.cap = std::min(way.cap, figures.pageable_gbs * giga);
        }
        return way;
    }
    auto const source = from.place.index;
    auto const destination = to.place.index;
    if (source == destination) {
        way.uses.push_back({net.local[at(source)], 2.0});
        way.fixed_s = figures.local_fixed_s;
        return way;
    }
    auto const* const pair = truth_.machine.pair(source, destination);
    if (!goes_direct(to, from) || net.peer[at(source)][at(destination)].links.empty()) {
        staged_uses(way, source, destination);
        way.fixed_s = figures.staged_fixed_s;
        auto const stated =
            pair != nullptr && pair->measured.staged_gbs ? pair->measured.staged_gbs : figures.staged_by_driver_gbs;
        way.cap = stated ? *stated * giga : way.cap;
        way.fault = truth_.fault(Fault::What::host, source, destination, bytes);
        way.cap *= factor_of(way.fault);
        return way;
    }
    auto const issuer = live.op.device;
    auto const pushed = issuer == source || issuer != destination;
    peer_uses(way, source, destination, pushed, false);
    auto const figure = pushed || !figures.peer_pull_gbs ? figures.peer_copy_gbs : figures.peer_pull_gbs;
    if (figure) {
        way.cap = *figure * giga;
    }
    if (pair != nullptr) {
        auto const& measured =
            pushed ? pair->measured.write_gbs : truth_.machine.pair(destination, source)->measured.read_gbs;
        auto const& other =
            pushed ? truth_.machine.pair(destination, source)->measured.read_gbs : pair->measured.write_gbs;
        if (measured || other) {
            way.cap = std::min(way.cap, (measured ? *measured : *other) * giga);
        }
    }
    // A cap of its own in any case, so that a `rate` factor has something to scale.
    way.cap = std::min(way.cap, net.peer[at(source)][at(destination)].limit);
    way.cap = peer_cap(source, destination, way.cap);
    way.fixed_s = (pushed ? figures.push_fixed_s : figures.pull_fixed_s) + truth_.extra_latency(source, destination);
    if (!pushed && figures.pull_ramp_gbs && !net.peer[at(source)][at(destination)].over_pcie) {
        // The requests of a pull come one behind the other before the answers fill the links.
        auto const first = std::min(static_cast<double>(bytes), pull_ramp_bytes);
        way.fixed_s += std::max(0.0, first / (*figures.pull_ramp_gbs * giga) - first / way.cap);
    }
    auto const accessor = pushed ? (issuer == source ? source : issuer) : issuer;
    auto const owner = pushed ? destination : source;
    way.fault = truth_.fault(pushed ? Fault::What::push : Fault::What::pull, accessor, owner, bytes);
    way.mirror_accessor = truth_.keeps_mirror(accessor, owner) ? accessor : -1;
    way.write = pushed;
    way.cap *= factor_of(way.fault);
    return way;
}

Engine::Way Engine::kernel_way(const Live& live, const MemoryStep& step, const Block* to, const Block* from) const {
    auto const& figures = truth_.figures;
    auto const& net = truth_.network;
    auto const device = live.op.device;
    auto const local = net.local[at(device)];
    auto const ctas = live.op.shape.ctas == 0 ? figures.multiprocessors : static_cast<int>(live.op.shape.ctas);
    Way way;
    auto const reach = [&](const Block& block, bool write) {
        if (block.place.is_host()) {
            host_uses(way, device, block.place, write);
            way.cap =
                std::min(way.cap, 0.9 * (write ? figures.from_device_gbs : figures.to_device_gbs).value_or(1e9) * giga);
            return;
        }
        auto const owner = block.place.index;
        if (owner == device) {
            way.uses.push_back({local, 1.0});
            return;
        }
        auto const source = write ? device : owner;
        auto const destination = write ? owner : device;
        auto const& peer = net.peer[at(source)][at(destination)];
        auto rate = std::min(figures.peer_copy_gbs.value_or(1e9) * giga, peer.limit);
        auto const xgmi = !peer.links.empty() && at(peer.links.front()) < truth_.machine.graph.links.size() &&
                          truth_.machine.graph.links[at(peer.links.front())].kind == LinkKind::xgmi;
        if (!xgmi) {  // measured rates of xGMI are those of kernels
            rate *= write ? figures.kernel_store_efficiency : figures.kernel_load_efficiency;
        }
        rate =
            std::min(rate, ctas * (write ? figures.kernel_store_gbs_per_cta : figures.kernel_load_gbs_per_cta) * giga);
        auto const* const pair = truth_.machine.pair(device, owner);
        auto const& measured = write ? pair->measured.write_sm_gbs : pair->measured.read_sm_gbs;
        rate = measured ? std::min(rate, *measured * giga) : rate;
        peer_uses(way, source, destination, write, true);
        way.cap = std::min(way.cap, peer_cap(source, destination, rate));
        way.fixed_s = std::max(way.fixed_s, truth_.extra_latency(source, destination));
        auto const kind = step.kind == MemoryStep::Kind::fetch_add ? Fault::What::atomic
                          : step.kind == MemoryStep::Kind::signal || step.kind == MemoryStep::Kind::wait
                              ? Fault::What::flag
                          : write ? Fault::What::store
                                  : Fault::What::load;
        if (auto const* fault = truth_.fault(kind, device, owner, step.bytes)) {
            way.fault = fault;
            way.write = write;
            way.cap *= factor_of(fault);
        }
        if (truth_.keeps_mirror(device, owner)) {
            way.mirror_accessor = device;
            way.write = write;
        }
    };
    if (to != nullptr) {
        reach(*to, true);
    }
    if (from != nullptr) {
        reach(*from, false);
    }
    return way;
}

}  // namespace peerlane::sim
