// Flows on many nodes. The engine of one node would be too much for all of them: its links stand here once for each
// node in one sharing model, and a flow is a few numbers.

#include <peerlane/cluster.hpp>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <stdexcept>

#include <fmt/format.h>

#include "machine/paths.hpp"
#include "model/sharing.hpp"
#include "traffic/run/carry.hpp"
#include "traffic/run/leg_book.hpp"

namespace peerlane {
namespace {

using traffic::LegBook;

constexpr int most_nodes = 1024;
constexpr int transfers_of_a_nic = 4;       ///< worked on at once for one device; more wait
constexpr double network_fixed_s = 5e-6;    ///< from the call to the first byte on the other side; usual of RDMA writes
constexpr std::size_t exact_flows = 5'000;  ///< up to so many, rates follow every change at once
constexpr double delay_of_rates = 0.001;    ///< of the least time that all can take, above that

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// What one flow takes: links of its own node, of the other node, and ports of the rail.
struct Path {
    std::vector<model::Use> here{}, there{};
    double rate = 0;  ///< alone, bytes/s
    int nic = -1;     ///< -1: inside a node
};

class Cluster {
  public:
    Cluster(const SimulatedMachine& node, int nodes, const std::vector<Flow>& flows)
        : flows_(flows),
          nodes_(nodes),
          per_node_(static_cast<int>(node.machine().devices.size())),
          book_(sim::make_truth(node.machine(), node.figures(), {})),
          capacity_(capacities()),
          sharing_(capacity_),
          used_(sharing_.links(), 0.0) {}

    Simulation run() {
        states_.resize(flows_.size());
        result_.flows.resize(flows_.size());
        result_.plans = {{{1.0, {}, 0, 0}}};
        queues_.resize(at(nodes_ * per_node_) * 2);
        for (auto& queue : queues_) {
            queue.free =
                &queue < &queues_[queues_.size() / 2] ? book_.truth().figures.copy_engines : transfers_of_a_nic;
        }
        choose_delay();
        std::vector<std::uint32_t> order(flows_.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(), [this](auto a, auto b) {
            return std::pair(flows_[a].phase, flows_[a].start_s) < std::pair(flows_[b].phase, flows_[b].start_s);
        });
        for (std::size_t first = 0; first < order.size();) {
            auto last = first;
            auto const begin = now_;
            for (; last < order.size() && flows_[order[last]].phase == flows_[order[first]].phase; ++last) {
                auto const f = order[last];
                result_.flows[f].flow = flows_[f];
                result_.flows[f].start_s = begin + flows_[f].start_s;
                schedule(result_.flows[f].start_s + book_.truth().figures.copy_call_s, f, What::submitted);
            }
            work_off();
            first = last;
        }
        finish();
        return std::move(result_);
    }

  private:
    enum class What : std::uint8_t { submitted, begins, ends, solve };
    struct Event {
        double time;
        std::uint64_t order;
        std::uint32_t flow, version;
        What what;
        bool operator>(const Event& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };
    struct State {
        double left = 0, rate = 0, since = 0;
        model::FlowId id = 0;
        std::uint32_t version = 0;
    };
    struct Queue {
        int free = 0;
        std::deque<std::uint32_t> waiting{};
    };

    [[nodiscard]] int links_of_node() const { return static_cast<int>(book_.truth().network.capacity.size()); }

    /// Links of node 0, 1, ...; then for each node and NIC its way out and its way in.
    std::vector<double> capacities() {
        auto const& graph = book_.truth().machine.graph;
        for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
            if (graph.nodes[n].kind == NodeKind::nic) {
                nics_.push_back(static_cast<int>(n));
            }
        }
        if (nics_.empty()) {
            throw std::invalid_argument("the machine has no network adapter in its graph: nothing joins its nodes");
        }
        std::vector<double> all;
        auto const& one = book_.truth().network.capacity;
        for (int node = 0; node < nodes_; ++node) {
            all.insert(all.end(), one.begin(), one.end());
        }
        std::vector<double> ports;
        for (auto const nic : nics_) {
            for (auto const out : {true, false}) {
                double rate = 0;
                for (std::size_t l = 0; l < graph.links.size(); ++l) {
                    if ((out ? graph.links[l].to : graph.links[l].from) == nic) {
                        rate = std::max(rate, one[l]);
                    }
                }
                ports.push_back(rate);
            }
        }
        for (int node = 0; node < nodes_; ++node) {
            all.insert(all.end(), ports.begin(), ports.end());
        }
        assign_nics();
        return all;
    }

    std::vector<int> way(int from, int to) const { return host_way(book_.truth().machine.graph, from, to); }

    /// To each device the nearest NIC; of several as near, the one that serves the fewest so far.
    void assign_nics() {
        auto const& graph = book_.truth().machine.graph;
        std::vector<int> served(nics_.size(), 0);
        for (int d = 0; d < per_node_; ++d) {
            int best = -1;
            std::pair<std::size_t, int> least{};
            for (std::size_t n = 0; n < nics_.size(); ++n) {
                auto const out = way(graph.device_node(d), nics_[n]);
                auto const key = std::pair(out.size(), served[n]);
                if (!out.empty() && (best < 0 || key < least)) {
                    least = key;
                    best = static_cast<int>(n);
                }
            }
            if (best < 0) {
                throw std::invalid_argument(fmt::format("no way joins gpu{} and a network adapter", d));
            }
            ++served[at(best)];
            nic_of_.push_back(best);
        }
    }

    /// Of devices a and b of one node, or of a here and b on another node.
    const Path& path(int a, int b, bool same_node) {
        auto const [found, added] = paths_.try_emplace({a, b, same_node});
        auto& made = found->second;
        if (!added) {
            return made;
        }
        if (same_node) {
            auto const* const leg = book_.leg(gpu(a), gpu(b));
            if (leg == nullptr) {
                throw std::invalid_argument(fmt::format("no way joins gpu{} and gpu{} of a node", a, b));
            }
            made.here = leg->uses;
            made.rate = 1.0 / leg->s_per_byte;
            return made;
        }
        auto const& graph = book_.truth().machine.graph;
        auto const& net = book_.truth().network;
        made.nic = nic_of_[at(a)];
        made.rate = std::numeric_limits<double>::infinity();
        auto const take = [&](std::vector<model::Use>& uses, const std::vector<int>& links, int memory) {
            for (auto const link : links) {
                uses.push_back({link, 1.0});
                made.rate = std::min(made.rate, net.capacity[at(link)]);
            }
            uses.push_back({memory, 1.0});
        };
        take(made.here, way(graph.device_node(a), nics_[at(made.nic)]), net.local[at(a)]);
        auto const in = way(nics_[at(made.nic)], graph.device_node(b));
        if (in.empty()) {
            throw std::invalid_argument(fmt::format("no way joins network adapter {} and gpu{}", made.nic, b));
        }
        take(made.there, in, net.local[at(b)]);
        return made;
    }

    const Path& path_of(const Flow& flow) {
        auto const a = flow.src.index, b = flow.dst.index;
        return path(a % per_node_, b % per_node_, a / per_node_ == b / per_node_);
    }

    std::vector<model::Use> uses_of(const Flow& flow, const Path& path) const {
        std::vector<model::Use> uses;
        auto const here = flow.src.index / per_node_, there = flow.dst.index / per_node_;
        for (auto const& use : path.here) {
            uses.push_back({here * links_of_node() + use.link, use.weight});
        }
        for (auto const& use : path.there) {
            uses.push_back({there * links_of_node() + use.link, use.weight});
        }
        if (path.nic >= 0) {
            uses.push_back({port(here, path.nic, true), 1.0});
            uses.push_back({port(there, path.nic, false), 1.0});
        }
        return uses;
    }

    [[nodiscard]] int port(int node, int nic, bool out) const {
        auto const nics = static_cast<int>(nics_.size());
        return nodes_ * links_of_node() + (node * nics + nic) * 2 + (out ? 0 : 1);
    }

    void choose_delay() {
        if (flows_.size() <= exact_flows) {
            return;
        }
        std::vector<double> bytes(used_.size(), 0.0);
        for (auto const& flow : flows_) {
            for (auto const& use : uses_of(flow, path_of(flow))) {
                bytes[at(use.link)] += use.weight * static_cast<double>(flow.bytes);
            }
        }
        double least = 0;  // time that the most loaded link needs
        for (std::size_t link = 0; link < bytes.size(); ++link) {
            least = bytes[link] > 0 ? std::max(least, bytes[link] / capacity_[link]) : least;
        }
        delay_ = delay_of_rates * least;
    }

    void schedule(double time, std::uint32_t flow, What what, std::uint32_t version = 0) {
        events_.push({std::max(time, now_), order_++, flow, version, what});
    }

    Queue& queue_of(std::uint32_t f) {
        auto const inside = path_of(flows_[f]).nic < 0;
        return queues_[at(flows_[f].src.index) + (inside ? 0 : queues_.size() / 2)];
    }

    void rates_are_old() {
        if (!solve_due_) {
            solve_due_ = true;
            schedule(std::max(now_, solved_at_ + delay_), 0, What::solve);
        }
    }

    void work_off() {
        while (!events_.empty()) {
            auto const event = events_.top();
            events_.pop();
            now_ = event.time;
            handle(event);
        }
    }

    void handle(const Event& event) {
        auto const f = event.flow;
        auto& state = states_[f];
        switch (event.what) {
            case What::submitted:
                if (auto& queue = queue_of(f); queue.free > 0) {
                    --queue.free;
                    begin_soon(f);
                } else {
                    queue.waiting.push_back(f);
                }
                break;
            case What::begins: {
                auto const& path = path_of(flows_[f]);
                auto const uses = uses_of(flows_[f], path);
                state.id = sharing_.add(uses, 1.0, path.rate);
                if (owner_.size() <= state.id) {
                    owner_.resize(state.id + 1, 0);
                }
                owner_[state.id] = f;
                state.left = static_cast<double>(flows_[f].bytes);
                state.since = now_;
                state.rate = 0;
                result_.flows[f].began_s = now_;
                for (auto const& use : uses) {
                    used_[at(use.link)] += use.weight * state.left;
                }
                rates_are_old();
                break;
            }
            case What::ends:
                if (event.version == state.version) {
                    end(f);
                }
                break;
            case What::solve:
                // Whatever else happens at this moment comes first, and is solved together.
                if (!events_.empty() && events_.top().time == now_ && events_.top().what != What::solve) {
                    schedule(now_, 0, What::solve);
                    break;
                }
                solve();
                break;
        }
    }

    void begin_soon(std::uint32_t f) {
        auto const& figures = book_.truth().figures;
        schedule(now_ + (path_of(flows_[f]).nic < 0 ? figures.start_latency_s + figures.push_fixed_s : network_fixed_s),
                 f, What::begins);
    }

    void end(std::uint32_t f) {
        ++states_[f].version;
        sharing_.remove(states_[f].id);
        result_.flows[f].end_s = now_;
        ++result_.events;
        auto& queue = queue_of(f);
        if (queue.waiting.empty()) {
            ++queue.free;
        } else {
            begin_soon(queue.waiting.front());
            queue.waiting.pop_front();
        }
        rates_are_old();
    }

    void solve() {
        solve_due_ = false;
        solved_at_ = now_;
        for (auto const id : sharing_.solve()) {
            auto const f = owner_[id];
            auto& state = states_[f];
            state.left = std::max(0.0, state.left - state.rate * (now_ - state.since));
            state.since = now_;
            state.rate = sharing_.rate(id);
            if (state.rate > 0) {
                schedule(now_ + state.left / state.rate, f, What::ends, ++state.version);
            }
        }
    }

    std::string name_of(std::size_t link, const std::vector<std::string>& names) const {
        auto const in_nodes = at(nodes_) * names.size();
        if (link < in_nodes) {
            return fmt::format("node{}/{}", link / names.size(), names[link % names.size()]);
        }
        auto const rest = link - in_nodes;
        auto const nic = nics_[rest / 2 % nics_.size()];
        return fmt::format("node{}/{} {}", rest / 2 / nics_.size(), book_.truth().machine.graph.nodes[at(nic)].name,
                           rest % 2 == 0 ? "sends" : "receives");
    }

    void finish() {
        auto first = std::numeric_limits<double>::infinity();
        for (auto const& flow : result_.flows) {
            first = std::min(first, flow.start_s);
            result_.bytes += static_cast<double>(flow.flow.bytes);
            result_.makespan_s = std::max(result_.makespan_s, flow.end_s.value_or(now_));
            if (!flow.end_s) {
                result_.failure = "a transfer never ends: a link that it needs carries nothing";
            }
        }
        result_.makespan_s -= result_.flows.empty() ? 0 : first;
        auto const names = traffic::link_names(book_.truth());
        double highest = 0;
        for (std::size_t link = 0; link < used_.size(); ++link) {
            if (used_[link] == 0) {
                continue;
            }
            LinkLoad load{name_of(link, names),
                          used_[link],
                          capacity_[link] / 1e9,
                          used_[link] / (capacity_[link] * result_.makespan_s),
                          {}};
            if (load.utilization > highest * (1 + 1e-9)) {
                highest = load.utilization;
                result_.bottleneck = load.name;
            }
            result_.links.push_back(std::move(load));
        }
    }

    const std::vector<Flow>& flows_;
    int nodes_, per_node_;
    LegBook book_;
    std::vector<int> nics_{};       ///< nodes of the graph
    std::vector<int> nic_of_{};     ///< [device of a node]: index into nics_
    std::vector<double> capacity_;  ///< of all links
    model::Sharing sharing_;
    std::vector<double> used_;  ///< bytes, of each link
    std::map<std::tuple<int, int, bool>, Path> paths_{};
    std::vector<State> states_{};
    std::vector<std::uint32_t> owner_{};  ///< by FlowId
    std::vector<Queue> queues_{};         ///< copy engines of each device, then its transfers over the network
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_{};
    std::uint64_t order_ = 0;
    double now_ = 0, delay_ = 0, solved_at_ = -1;
    bool solve_due_ = false;
    Simulation result_{};
};

}  // namespace

Machine cluster_devices(const Machine& node, int nodes) {
    if (nodes < 1 || nodes > most_nodes) {
        throw std::invalid_argument(fmt::format("1 to {} nodes, not {}", most_nodes, nodes));
    }
    Machine all;
    all.origin = node.origin;
    for (int n = 0; n < nodes; ++n) {
        for (auto const& device : node.devices) {
            Device copy;
            copy.id = n * static_cast<int>(node.devices.size()) + device.id;
            copy.model = device.model;
            copy.memory_bytes = device.memory_bytes;
            all.devices.push_back(std::move(copy));
        }
    }
    return all;
}

Simulation simulate_cluster(const SimulatedMachine& node, int nodes, const std::vector<Flow>& flows) {
    auto const devices = nodes * static_cast<int>(node.machine().devices.size());
    for (auto const& flow : flows) {
        for (auto const place : {flow.src, flow.dst}) {
            if (place.is_host()) {
                throw std::invalid_argument(
                    "flows between nodes join devices; places of the host have no number there");
            }
            if (place.index < 0 || place.index >= devices) {
                throw std::invalid_argument(fmt::format("no {}: there are {} devices", to_string(place), devices));
            }
        }
        if (flow.page != 0) {
            throw std::invalid_argument("lists of pages are simulated on one machine only");
        }
        if (flow.bytes == 0 || flow.src == flow.dst) {
            throw std::invalid_argument("a flow moves something from one device to another");
        }
    }
    auto simulation = Cluster(node, nodes, flows).run();
    auto const& origin = node.machine().origin;
    simulation.machine = fmt::format("{} nodes of {}", nodes,
                                     !origin.name.empty()   ? origin.name
                                     : origin.files.empty() ? std::string("a machine")
                                                            : origin.files.front());
    return simulation;
}

}  // namespace peerlane
