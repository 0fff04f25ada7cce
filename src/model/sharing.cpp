#include "sharing.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

// Progressive filling: one level rises from zero for all flows together; the rate of a flow is share * level. A flow
// stops at its cap, or when a link that it uses is full; the others go on. What a flow gets depends only on the flows
// and links that are connected with it through shared links, so a change is solved for its connected component alone.

namespace peerlane::model {

namespace {

/// Levels and rates closer than this (relative) are the same: links that fill together are settled together, and a rate
/// that moved by rounding alone is not reported as changed.
constexpr double same = 1e-12;

/// Once the growth of a link has shrunk by this factor, its running value is mostly rounding: it is summed anew.
constexpr double stale_growth = 1e-4;

void require(bool condition, const char* what) {
    if (!condition)
        throw std::invalid_argument(std::string("Sharing: ") + what);
}

bool is_capacity(double value) {
    return std::isfinite(value) && value >= 0.0;
}
bool is_cap(double value) {
    return value >= 0.0;
}  // false for NaN

}  // namespace

Sharing::Sharing(std::vector<double> capacity) : links_(capacity.size()) {
    for (std::size_t i = 0; i < capacity.size(); ++i) {
        require(is_capacity(capacity[i]), "a capacity is a finite number, not negative");
        links_[i].capacity = capacity[i];
    }
}

const Sharing::FlowState& Sharing::alive(FlowId flow) const {
    require(flow < flows_.size() && flows_[flow].alive, "no such flow");
    return flows_[flow];
}

std::size_t Sharing::at(int link) const {
    require(link >= 0 && static_cast<std::size_t>(link) < links_.size(), "no such link");
    return static_cast<std::size_t>(link);
}

std::size_t Sharing::links() const {
    return links_.size();
}

double Sharing::rate(FlowId flow) const {
    return alive(flow).rate;
}

double Sharing::load(int link) const {
    return links_[at(link)].load;
}

FlowId Sharing::add(std::span<const Use> uses, double share, double cap) {
    require(std::isfinite(share) && share > 0.0, "a share is a finite number above zero");
    require(is_cap(cap), "a cap is a number, not negative");
    bool bounded = std::isfinite(cap);
    for (Use const& use : uses) {
        at(use.link);
        require(std::isfinite(use.weight) && use.weight >= 0.0, "a weight is a finite number, not negative");
        bounded = bounded || use.weight > 0.0;
    }
    require(bounded, "a flow needs a cap or a link that it uses");

    if (free_.empty()) {
        free_.push_back(static_cast<FlowId>(flows_.size()));
        flows_.emplace_back();
    }
    FlowId const id = free_.back();
    free_.pop_back();
    FlowState& flow = flows_[id];
    flow.uses.clear();
    flow.share = share;
    flow.cap = cap;
    flow.rate = 0.0;
    flow.alive = flow.fresh = true;
    for (Use const& use : uses) {
        if (use.weight == 0.0)
            continue;
        auto const twice =
            std::find_if(flow.uses.begin(), flow.uses.end(), [&](FlowUse const& u) { return u.link == use.link; });
        if (twice != flow.uses.end()) {
            twice->weight += use.weight;
            links_[static_cast<std::size_t>(use.link)].users[twice->place].weight = twice->weight;
            continue;
        }
        auto& users = links_[static_cast<std::size_t>(use.link)].users;
        flow.uses.push_back({use.link, use.weight, static_cast<std::uint32_t>(users.size())});
        users.push_back({id, static_cast<std::uint32_t>(flow.uses.size() - 1), use.weight});
    }
    dirty_flows_.push_back(id);
    return id;
}

void Sharing::remove(FlowId id) {
    alive(id);
    FlowState& flow = flows_[id];
    for (FlowUse const& use : flow.uses) {
        auto& users = links_[static_cast<std::size_t>(use.link)].users;
        User const last = users.back();
        users[use.place] = last;
        flows_[last.flow].uses[last.use].place = use.place;
        users.pop_back();
        dirty_links_.push_back(use.link);
    }
    flow.alive = flow.fresh = false;
    free_.push_back(id);
}

void Sharing::set_capacity(int index, double capacity) {
    require(is_capacity(capacity), "a capacity is a finite number, not negative");
    LinkState& changed = links_[at(index)];
    if (changed.capacity == capacity)
        return;
    changed.capacity = capacity;
    dirty_links_.push_back(index);
}

void Sharing::set_cap(FlowId id, double cap) {
    require(is_cap(cap), "a cap is a number, not negative");
    require(std::isfinite(cap) || !alive(id).uses.empty(), "a flow needs a cap or a link that it uses");
    alive(id);
    if (flows_[id].cap == cap)
        return;
    flows_[id].cap = cap;
    dirty_flows_.push_back(id);
}

std::span<const FlowId> Sharing::solve() {
    changed_.clear();
    if (dirty_flows_.empty() && dirty_links_.empty())
        return changed_;
    ++epoch_;
    auto const solve_component = [this] {
        if (flows_here_.empty() && links_here_.empty())
            return;
        collect_component();
        start_filling();
        fill();
        publish();
        flows_here_.clear();
        links_here_.clear();
    };
    for (FlowId const id : dirty_flows_) {
        if (!flows_[id].alive)
            continue;
        see_flow(id);
        solve_component();
    }
    for (int const index : dirty_links_) {
        see_link(index);
        solve_component();
    }
    dirty_flows_.clear();
    dirty_links_.clear();
    return changed_;
}

void Sharing::see_flow(FlowId id) {
    if (flows_[id].seen == epoch_)
        return;
    flows_[id].seen = epoch_;
    flows_here_.push_back(id);
}

void Sharing::see_link(int index) {
    LinkState& state = links_[static_cast<std::size_t>(index)];
    if (state.seen == epoch_)
        return;
    state.seen = epoch_;
    links_here_.push_back(index);
}

/// Widens what has been seen to everything that shares a link with it, near or far.
void Sharing::collect_component() {
    std::size_t flow = 0, link = 0;
    while (flow < flows_here_.size() || link < links_here_.size()) {
        if (flow < flows_here_.size()) {
            for (FlowUse const& use : flows_[flows_here_[flow]].uses)
                see_link(use.link);
            ++flow;
        } else {
            for (User const& user : links_[static_cast<std::size_t>(links_here_[link])].users)
                see_flow(user.flow);
            ++link;
        }
    }
}

void Sharing::refresh_growth(LinkState& link) {
    link.growth = 0.0;
    for (User const& user : link.users) {
        FlowState const& flow = flows_[user.flow];
        if (flow.growing)
            link.growth += user.weight * flow.share;
    }
}

void Sharing::start_filling() {
    capped_.clear();
    open_links_.clear();
    for (FlowId const id : flows_here_) {
        flows_[id].growing = true;
        if (flows_[id].cap != no_cap)
            capped_.push_back(id);
    }
    for (int const index : links_here_) {
        LinkState& link = links_[static_cast<std::size_t>(index)];
        link.left = link.capacity;
        link.growing = static_cast<std::uint32_t>(link.users.size());
        refresh_growth(link);
        link.first_growth = link.growth;
        open_links_.push_back(index);
    }
}

void Sharing::fill() {
    for (;;) {
        double level = no_cap;
        std::size_t kept = 0;
        for (int const index : open_links_) {
            LinkState& link = links_[static_cast<std::size_t>(index)];
            if (link.growing == 0)
                continue;
            open_links_[kept++] = index;
            link.full_at = std::max(link.left, 0.0) / link.growth;
            level = std::min(level, link.full_at);
        }
        open_links_.resize(kept);

        // A flow that stops at its cap only raises the level at which its links are full, so all caps below the lowest
        // of those can be settled in one pass, whatever their order.
        bool stopped_by_cap = false;
        kept = 0;
        for (FlowId const id : capped_) {
            FlowState& flow = flows_[id];
            if (!flow.growing)
                continue;
            if (flow.cap <= level * flow.share) {
                settle(flow, flow.cap);
                stopped_by_cap = true;
            } else {
                capped_[kept++] = id;
            }
        }
        capped_.resize(kept);
        if (stopped_by_cap)
            continue;
        if (open_links_.empty())
            return;

        double const full = level * (1.0 + same);
        for (int const index : open_links_) {
            LinkState const& link = links_[static_cast<std::size_t>(index)];
            if (link.full_at > full)
                continue;
            for (User const& user : link.users) {
                FlowState& flow = flows_[user.flow];
                if (flow.growing)
                    settle(flow, level * flow.share);
            }
        }
    }
}

void Sharing::settle(FlowState& flow, double rate) {
    flow.next = rate;
    flow.growing = false;
    for (FlowUse const& use : flow.uses) {
        LinkState& link = links_[static_cast<std::size_t>(use.link)];
        link.left -= use.weight * rate;
        link.growth -= use.weight * flow.share;
        if (--link.growing > 0 && link.growth < stale_growth * link.first_growth)
            refresh_growth(link);
    }
}

void Sharing::publish() {
    for (FlowId const id : flows_here_) {
        FlowState& flow = flows_[id];
        if (!flow.fresh && std::abs(flow.next - flow.rate) <= same * std::max(flow.next, flow.rate))
            continue;
        flow.rate = flow.next;
        flow.fresh = false;
        changed_.push_back(id);
    }
    for (int const index : links_here_) {
        LinkState& link = links_[static_cast<std::size_t>(index)];
        link.load = 0.0;
        for (User const& user : link.users)
            link.load += user.weight * flows_[user.flow].rate;
    }
}

}  // namespace peerlane::model
