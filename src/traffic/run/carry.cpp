#include "traffic/run/carry.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "driver/sim/engine.hpp"
#include "traffic/run/leg_book.hpp"
#include "traffic/run/page_lists.hpp"
#include "traffic/run/timeline.hpp"

namespace peerlane::traffic {
namespace {

using sim::OpId;

/// Operations are handed to the engine as there is room, so that a million flows do not stand in memory at once. Their
/// order is that of their submission all the same.
constexpr std::size_t window = 64;
constexpr std::size_t most_samples = 4'000'000;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// Room for what goes out of, comes into and passes through a place. Contents do not matter here.
struct Memory {
    std::uint64_t out_bytes = 0, in_bytes = 0, through_bytes = 0, list_bytes = 0;
    Address out = Address::null, in = Address::null, through = Address::null;
    Address list = Address::null;  ///< numbers of pages
};

/// Pages that the driver copies one by one, in a stream of their own. The calls are all made one after the other; what
/// has to stand in the engine's memory is the next few.
struct Loop {
    std::uint64_t next = 0, count = 0;
    double calls_from = 0;
    OpId before = 0;
};
constexpr std::uint32_t pages_ahead = 32;

/// Operations of one device's host thread, in the order of its calls.
struct Issuer {
    std::vector<std::uint32_t> flows;  ///< of this phase, by time of submission
    std::size_t next = 0;
    std::size_t open = 0;  ///< flows handed over and not done
    double free_at = 0;    ///< when its thread has made the calls so far
};

class Carrier {
  public:
    Carrier(const sim::Truth& truth, const std::vector<Flow>& flows, const Plans& plans, Kept kept)
        : flows_(flows), plans_(plans), kept_(kept), engine_(roomy(truth)) {}

    Simulation run() {
        check_sizes();
        result_.plans = plans_.plans;
        result_.flows.resize(flows_.size());
        for (std::size_t f = 0; f < flows_.size(); ++f) {
            result_.flows[f].flow = flows_[f];
            result_.flows[f].plan = plans_.of_flow[f];
        }
        link_bytes_.assign(engine_.truth().network.capacity.size(), 0.0);
        samples_from_.assign(link_bytes_.size(), 0.0);
        over_time_.resize(kept_.over_time ? link_bytes_.size() : 0);
        operations_.assign(flows_.size(), 0);
        issuers_.resize(engine_.truth().machine.devices.size());
        map_pairs();
        allocate();
        engine_.observe(
            [this](const sim::Engine::Ended& ended) { note(ended); },
            kept_.samples || kept_.over_time ? std::function<void()>([this] { sample(); }) : std::function<void()>());
        for (std::size_t first = 0; first < order().size() && result_.failure.empty();) {
            first = run_phase(first);
        }
        finish();
        return std::move(result_);
    }

  private:
    /// By phase, then by time of submission, then as given.
    const std::vector<std::uint32_t>& order() {
        if (order_.empty()) {
            order_.resize(flows_.size());
            std::iota(order_.begin(), order_.end(), 0U);
            std::stable_sort(order_.begin(), order_.end(), [this](auto a, auto b) {
                return std::pair(flows_[a].phase, flows_[a].start_s) < std::pair(flows_[b].phase, flows_[b].start_s);
            });
        }
        return order_;
    }

    void check_sizes() const {
        for (auto const& flow : flows_) {
            if (flow.bytes > std::uint64_t{400} * GiB) {
                throw std::invalid_argument(
                    fmt::format("{}: more than one transfer can have (400 GiB)", size_text(flow.bytes)));
            }
        }
    }

    Place settled(Place place, int device) const {
        if (place.is_device() || place.index != Place::any) {
            return place;
        }
        return host(engine_.truth().network.numa[at(device)]);
    }

    /// Of the device at the other end, for a place "host".
    static int device_near(const std::vector<Leg>& legs, std::size_t leg) {
        return legs[leg].from.is_device() ? legs[leg].from.index : legs[leg].to.index;
    }

    Place start_of(const Route& route, std::size_t leg) const {
        auto const near = leg == 0 ? leg : leg - 1;  // the buffer between two legs lies near the first of them
        return settled(route.legs[leg].from, device_near(route.legs, near));
    }

    Place end_of(const Route& route, std::size_t leg) const {
        return settled(route.legs[leg].to, device_near(route.legs, leg));
    }

    void map_pairs() {
        auto const& truth = engine_.truth();
        for (auto const& ways : plans_.plans) {
            for (auto const& route : ways) {
                for (auto const& leg : route.legs) {
                    if (!leg.from.is_device() || !leg.to.is_device() || leg.from == leg.to) {
                        continue;
                    }
                    for (auto const& [accessor, owner] :
                         {std::pair(leg.from.index, leg.to.index), std::pair(leg.to.index, leg.from.index)}) {
                        if (truth.claims(accessor, owner)) {
                            (void)engine_.memory().enable({accessor, owner});
                        }
                    }
                }
            }
        }
    }

    void allocate() {
        for (std::size_t f = 0; f < flows_.size(); ++f) {
            for (auto const& route : plans_.plans[at(plans_.of_flow[f])]) {
                for (std::size_t leg = 0; leg < route.legs.size(); ++leg) {
                    auto const whole = leg == 0 ? flows_[f].bytes : route.chunk * at(route.buffers);
                    auto& from = memory_[start_of(route, leg)];
                    auto& from_bytes = leg == 0 ? from.out_bytes : from.through_bytes;
                    from_bytes = std::max(from_bytes, whole);
                    auto const last = leg + 1 == route.legs.size();
                    auto& to = memory_[end_of(route, leg)];
                    auto& to_bytes = last ? to.in_bytes : to.through_bytes;
                    to_bytes = std::max(to_bytes, last ? flows_[f].bytes : route.chunk * at(route.buffers));
                    if (route.legs[leg].engine == Engine::kernel) {
                        auto const numbers = flows_[f].bytes / flows_[f].page * number_bytes;
                        for (auto const place : {gpu(kernel_device(route.legs[leg])), list_place(route.legs[leg])}) {
                            auto& bytes = memory_[place].list_bytes;
                            bytes = std::max(bytes, numbers);
                        }
                    }
                }
            }
        }
        for (auto& [place, memory] : memory_) {
            auto const kind = place.is_device() ? MemoryKind::plain : MemoryKind::pinned;
            auto const block = [&, where = place](std::uint64_t bytes) {
                return bytes == 0 ? Address::null : engine_.memory().allocate({where, bytes, kind}).base;
            };
            memory.out = block(memory.out_bytes);
            memory.in = block(memory.in_bytes);
            memory.through = block(memory.through_bytes);
            memory.list = block(memory.list_bytes);
            if (memory.list_bytes != 0) {  // page 0 again and again: which ones they are does not matter here
                engine_.memory()
                    .find(memory.list)
                    ->stored->contents.write(0, memory.list_bytes, sim::Content::repeat(0));
            }
        }
    }

    static int kernel_device(const Leg& leg) {
        return leg.issuer.is_device() ? leg.issuer.index : device_near({leg}, 0);
    }
    /// Where the host writes numbers of pages for it.
    Place list_place(const Leg& leg) const { return host(engine_.truth().network.numa[at(kernel_device(leg))]); }

    /// Runs the phase whose first flow is order()[first]; returns where the next one begins.
    std::size_t run_phase(std::size_t first) {
        auto const phase = flows_[order_[first]].phase;
        auto last = first;
        for (auto& issuer : issuers_) {
            issuer = {};
            issuer.free_at = engine_.now();
        }
        phase_start_ = engine_.now();
        for (; last < order_.size() && flows_[order_[last]].phase == phase; ++last) {
            auto const flow = order_[last];
            result_.flows[flow].start_s = phase_start_ + flows_[flow].start_s;
            issuers_[at(issuer_of(flow))].flows.push_back(flow);
        }
        left_ = last - first;
        hungry_.resize(issuers_.size());
        std::iota(hungry_.begin(), hungry_.end(), 0);
        auto const met = engine_.advance([this] {
            feed();
            return left_ == 0 || engine_.fault();
        });
        if (left_ != 0) {
            explain_failure(met);
        }
        return last;
    }

    void explain_failure(bool met) {
        auto error = engine_.fault() ? engine_.fault() : engine_.take_error(0);
        result_.failure = error ? fmt::format("a transfer failed ({}): {}", code_text(error->code), error->cure)
                          : met ? "a transfer failed"
                                : "a transfer never ends: nothing can happen any more";
    }

    int issuer_of(std::uint32_t flow) const {
        auto const& leg = plans_.plans[at(plans_.of_flow[flow])].front().legs.front();
        return leg.issuer.is_device() ? leg.issuer.index : device_near({leg}, 0);
    }

    void feed() {
        for (; !waiting_loops_.empty(); waiting_loops_.pop_back()) {
            continue_loop(waiting_loops_.back());
        }
        while (!hungry_.empty()) {
            auto& issuer = issuers_[at(hungry_.back())];
            hungry_.pop_back();
            while (issuer.open < window && issuer.next < issuer.flows.size()) {
                ++issuer.open;
                submit(issuer, issuer.flows[issuer.next++]);
            }
        }
    }

    void submit(Issuer& issuer, std::uint32_t index) {
        auto const& flow = flows_[index];
        auto const& ways = plans_.plans[at(plans_.of_flow[index])];
        issuer.free_at = std::max(issuer.free_at, phase_start_ + flow.start_s);
        if (flow.page != 0 && ways.front().legs.front().engine == Engine::copy) {
            auto& loop = loops_[index];
            loop = {0, flow.bytes / flow.page, issuer.free_at, 0};
            issuer.free_at += static_cast<double>(loop.count) * engine_.truth().figures.copy_call_s;
            continue_loop(index);
            return;
        }
        std::uint64_t offset = 0;
        for (std::size_t r = 0; r < ways.size(); ++r) {
            auto const rest = flow.bytes - offset;
            auto const share = static_cast<std::uint64_t>(ways[r].share * static_cast<double>(flow.bytes));
            auto const bytes = r + 1 == ways.size() ? rest : std::min(rest, share);
            if (bytes != 0) {
                submit_route(issuer, index, ways[r], offset, bytes);
            }
            offset += bytes;
        }
    }

    void continue_loop(std::uint32_t index) {
        auto const found = loops_.find(index);
        if (found == loops_.end()) {
            return;
        }
        auto& loop = found->second;
        auto const& figures = engine_.truth().figures;
        auto const& route = plans_.plans[at(plans_.of_flow[index])].front();
        auto const from = start_of(route, 0), to = end_of(route, 0);
        auto const page = flows_[index].page;
        for (; loop.next < loop.count && operations_[index] < pages_ahead; ++loop.next) {
            sim::Op op;
            op.kind = sim::Op::Kind::copy;
            op.device = kernel_device(route.legs.front());
            op.copy.bytes = page;
            op.copy.from = {from, memory_.at(from).out + loop.next * page};
            op.copy.to = {to, memory_.at(to).in + loop.next * page};
            auto const called = loop.calls_from + static_cast<double>(loop.next + 1) * figures.copy_call_s;
            loop.before = engine_.submit(std::move(op), {loop.before}, called + figures.start_latency_s);
            belongs(loop.before, index);
        }
        if (loop.next == loop.count) {
            loops_.erase(found);
        }
    }

    /// Sends the numbers of pages to the device whose kernel reads them; the last of the operations.
    OpId send_lists(Issuer& issuer, std::uint32_t index, const Leg& leg, int lists) {
        auto const& figures = engine_.truth().figures;
        OpId before = 0;
        for (int list = 0; list < lists; ++list) {
            sim::Op op;
            op.kind = sim::Op::Kind::copy;
            op.device = kernel_device(leg);
            op.copy.bytes = flows_[index].bytes / flows_[index].page * number_bytes;
            op.copy.from = {list_place(leg), memory_.at(list_place(leg)).list};
            op.copy.to = {gpu(op.device), memory_.at(gpu(op.device)).list};
            issuer.free_at += figures.plain_copy_call_s + figures.small_call_s;
            before = engine_.submit(std::move(op), {before}, issuer.free_at + figures.start_latency_s);
            belongs(before, index);
        }
        return before;
    }

    sim::Op part_of_list(std::uint32_t index, const Leg& leg, const CopyRequest& part, bool gathers, bool scatters) {
        auto const list = memory_.at(gpu(kernel_device(leg))).list;
        return list_op(kernel_device(leg), part.to.address, scatters ? list : Address::null, part.from.address,
                       gathers ? list : Address::null, part.bytes / flows_[index].page, flows_[index].page);
    }

    void submit_route(Issuer& issuer, std::uint32_t index, const Route& route, std::uint64_t offset,
                      std::uint64_t bytes) {
        auto const legs = route.legs.size();
        auto const chunk = route.chunk == 0 ? bytes : std::min(route.chunk, bytes);
        auto const chunks = (bytes + chunk - 1) / chunk;
        auto const buffers = static_cast<std::uint64_t>(std::max(route.buffers, 1));
        std::vector<std::vector<OpId>> done(legs, std::vector<OpId>(chunks, 0));
        std::vector<OpId> after, lists(legs, 0);
        for (std::size_t l = 0; l < legs; ++l) {
            if (route.legs[l].engine == Engine::kernel) {
                lists[l] = send_lists(issuer, index, route.legs[l], legs == 1 ? 2 : 1);
            }
        }
        for (std::uint64_t c = 0; c < chunks; ++c) {
            for (std::size_t l = 0; l < legs; ++l) {
                after.clear();
                if (c > 0) {
                    after.push_back(done[l][c - 1]);
                } else if (lists[l] != 0) {
                    after.push_back(lists[l]);
                }
                if (l > 0) {
                    after.push_back(done[l - 1][c]);
                }
                if (l + 1 < legs && c >= buffers) {
                    after.push_back(done[l + 1][c - buffers]);  // the slot is empty again
                }
                auto const begin = c * chunk;
                auto const slot = (c % buffers) * route.chunk;
                auto const from = start_of(route, l);
                auto const to = end_of(route, l);
                auto const& source = memory_.at(from);
                auto const& target = memory_.at(to);
                sim::Op op;
                op.kind = sim::Op::Kind::copy;
                op.device = route.legs[l].issuer.is_device() ? route.legs[l].issuer.index : device_near(route.legs, l);
                op.copy.bytes = std::min(chunk, bytes - begin);
                op.copy.from = {from, l == 0 ? source.out + offset + begin : source.through + slot};
                op.copy.to = {to, l + 1 == legs ? target.in + offset + begin : target.through + slot};
                if (lists[l] != 0) {
                    op = part_of_list(index, route.legs[l], op.copy, l == 0, l + 1 == legs);
                }
                done[l][c] = hand_over(issuer, index, std::move(op), after);
            }
        }
    }

    OpId hand_over(Issuer& issuer, std::uint32_t flow, sim::Op op, const std::vector<OpId>& after) {
        auto const& figures = engine_.truth().figures;
        auto const launch = op.kind == sim::Op::Kind::kernel;
        issuer.free_at +=
            (launch ? figures.launch_call_s : figures.copy_call_s) + (after.empty() ? 0.0 : figures.small_call_s);
        auto const starts = issuer.free_at + (launch ? figures.kernel_start_s : figures.start_latency_s);
        auto const id = engine_.submit(std::move(op), after, starts);
        belongs(id, flow);
        return id;
    }

    void belongs(OpId id, std::uint32_t flow) {
        if (flow_of_.size() <= id) {
            flow_of_.resize(std::max<std::size_t>(id + 1, flow_of_.size() * 2), 0);
        }
        flow_of_[id] = flow;
        ++operations_[flow];
    }

    void note(const sim::Engine::Ended& ended) {
        ++result_.events;
        auto const index = flow_of_[ended.op];
        auto& flow = result_.flows[index];
        flow.began_s = flow.began_s ? std::min(*flow.began_s, ended.began) : ended.began;
        for (auto const& use : ended.uses) {
            link_bytes_[at(use.link)] += use.weight * static_cast<double>(ended.bytes);
        }
        if (!ended.last) {
            return;
        }
        --operations_[index];
        if (operations_[index] < pages_ahead / 2 && loops_.count(index) != 0) {
            waiting_loops_.push_back(index);
            return;
        }
        if (operations_[index] == 0) {
            flow.end_s = engine_.now();
            --left_;
            auto const by = issuer_of(index);
            --issuers_[at(by)].open;
            hungry_.push_back(by);
        }
    }

    void sample() {
        for (std::size_t link = 0; link < link_bytes_.size(); ++link) {
            auto const load = engine_.load(static_cast<int>(link));
            if (load != samples_from_[link]) {
                samples_from_[link] = load;
                if (kept_.samples && result_.loads.size() < most_samples) {
                    result_.loads.push_back({engine_.now(), static_cast<int>(link), load / 1e9});
                }
                if (kept_.over_time) {
                    over_time_[link].set(engine_.now(), load / engine_.truth().network.capacity[link]);
                }
            }
        }
    }

    void finish() {
        auto first = std::numeric_limits<double>::infinity();
        auto last = 0.0;
        for (auto const& flow : result_.flows) {
            first = std::min(first, flow.start_s);
            last = std::max(last, flow.end_s.value_or(engine_.now()));
            result_.bytes += static_cast<double>(flow.flow.bytes);
        }
        result_.makespan_s = result_.flows.empty() ? 0 : last - first;
        auto const names = link_names(engine_.truth());
        auto const& capacity = engine_.truth().network.capacity;
        std::vector<int> kept(names.size(), -1);
        double highest = 0;
        for (std::size_t link = 0; link < names.size(); ++link) {
            if (link_bytes_[link] == 0) {
                continue;
            }
            kept[link] = static_cast<int>(result_.links.size());
            auto const carried = capacity[link] * result_.makespan_s;
            LinkLoad load{names[link],
                          link_bytes_[link],
                          capacity[link] / 1e9,
                          carried > 0 ? link_bytes_[link] / carried : 0,
                          {}};
            if (kept_.over_time) {
                load.over_time = over_time_[link].steps();
            }
            if (load.utilization > highest * (1 + 1e-9)) {
                highest = load.utilization;
                result_.bottleneck = load.name;
            }
            result_.links.push_back(std::move(load));
        }
        for (auto& sample : result_.loads) {
            sample.link = kept[at(sample.link)];
        }
        result_.loads.erase(std::remove_if(result_.loads.begin(), result_.loads.end(),
                                           [](const LoadSample& sample) { return sample.link < 0; }),
                            result_.loads.end());
    }

    const std::vector<Flow>& flows_;
    const Plans& plans_;
    Kept kept_;
    sim::Engine engine_;
    Simulation result_{};
    std::map<Place, Memory> memory_{};
    std::vector<std::uint32_t> order_{};
    std::vector<Issuer> issuers_{};
    std::vector<int> hungry_{};                ///< issuers that may have room
    std::vector<std::uint32_t> flow_of_{};     ///< by operation
    std::vector<std::uint32_t> operations_{};  ///< of each flow, not done
    std::vector<double> link_bytes_{}, samples_from_{};
    std::map<std::uint32_t, Loop> loops_{};  ///< by flow: those with pages that the engine has not seen
    std::vector<std::uint32_t> waiting_loops_{};
    std::vector<Timeline> over_time_{};
    std::size_t left_ = 0;  ///< flows of this phase that are not done
    double phase_start_ = 0;
};

}  // namespace

std::vector<std::string> link_names(const sim::Truth& truth) {
    auto const& net = truth.network;
    auto const& graph = truth.machine.graph;
    std::vector<std::string> names(net.capacity.size());
    for (std::size_t i = 0; i < graph.links.size() && i < names.size(); ++i) {
        auto const& link = graph.links[i];
        names[i] = fmt::format("{}>{}", graph.nodes[at(link.from)].name, graph.nodes[at(link.to)].name);
    }
    for (auto const& [limit, name] : net.limit_names) {
        names[at(limit)] = name;
    }
    std::set<std::string> taken;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].empty()) {
            names[i] = fmt::format("limit {}", i);
        } else if (taken.count(names[i]) != 0 && i < graph.links.size()) {
            names[i] += fmt::format(" ({})", to_string(graph.links[i].kind));
        }
        auto const plain = names[i];
        for (int again = 2; !taken.insert(names[i]).second; ++again) {
            names[i] = fmt::format("{} #{}", plain, again);
        }
    }
    return names;
}

Simulation carry(const sim::Truth& truth, const std::vector<Flow>& flows, const Plans& plans, Kept kept) {
    return Carrier(truth, flows, plans, kept).run();
}

}  // namespace peerlane::traffic
