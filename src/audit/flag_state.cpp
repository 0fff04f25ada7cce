#include "audit/flag_state.hpp"

#include <algorithm>

namespace peerlane::audit {

namespace {
/// A lane is trimmed when it reaches this size. Stores that are dropped although an unknown waiter might still see them
/// can hide a race of that waiter, never invent one.
constexpr std::size_t trim_at = 256;

/// Number of stores at the lane's start that come before `tick` of its chain or at it.
std::size_t known(const std::vector<Sent>& sent, Tick tick) {
    if (sent.empty() || sent.front().tick > tick) {
        return 0;
    }
    if (sent.back().tick <= tick) {
        return sent.size();
    }
    const auto it = std::partition_point(sent.begin(), sent.end(), [tick](const Sent& s) { return s.tick <= tick; });
    return static_cast<std::size_t>(it - sent.begin());
}
}  // namespace

void FlagState::add(Sent sent) {
    highest_ = std::max(highest_, sent.value);
    auto lane = std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& l) { return l.chain == sent.chain; });
    if (lane == lanes_.end()) {
        lanes_.push_back({sent.chain, true, true, {}, 0});
        lane = lanes_.end() - 1;
    }
    lane->rising = lane->rising && (lane->sent.empty() || lane->sent.back().value <= sent.value);
    lane->alike = lane->alike && (lane->sent.empty() ||
                                  (lane->sent.back().order == sent.order && lane->sent.back().scope == sent.scope));
    lane->sent.push_back(std::move(sent));
    if (lane->sent.size() >= trim_at) {
        trim(*lane);
    }
}

void FlagState::trim(Lane& lane) {
    std::size_t drop = lane.sent.size();
    for (const Waiter& waiter : waiters_) {
        // The last store that the waiter knows may still be the one it sees.
        const std::size_t count = known(lane.sent, waiter.clock.caused(lane.chain));
        drop = std::min(drop, count == 0 ? 0 : count - 1);
    }
    if (drop < lane.sent.size() / 2 || waiters_.empty()) {
        drop = lane.sent.size() / 2;
    }
    drop = std::min(drop, lane.sent.size() - 1);
    if (drop == 0) {
        return;
    }
    lane.dropped = lane.sent[drop - 1].tick;
    lane.sent.erase(lane.sent.begin(), lane.sent.begin() + static_cast<std::ptrdiff_t>(drop));
    lane.rising = std::is_sorted(lane.sent.begin(), lane.sent.end(),
                                 [](const Sent& a, const Sent& b) { return a.value < b.value; });
}

std::size_t FlagState::first_open(const Lane& lane, const Clock& clock) const {
    const std::size_t count = known(lane.sent, clock.caused(lane.chain));
    if (count == 0) {
        return 0;
    }
    // Of the known ones only the last can be current, unless another chain's known store replaced it as well.
    const Sent& last = lane.sent[count - 1];
    for (const Lane& other : lanes_) {
        if (other.chain == lane.chain) {
            continue;
        }
        const std::size_t theirs = known(other.sent, clock.caused(other.chain));
        if (theirs > 0 && other.sent[theirs - 1].clock->caused(lane.chain) >= last.tick) {
            return count;
        }
    }
    return count - 1;
}

FlagState::Answer FlagState::ask(const Deed& wait, const Clock& clock) const {
    Answer answer;
    answer.initial = wait.satisfied_by(0) && std::none_of(waiters_.begin(), waiters_.end(), [&](const Waiter& w) {
                         return w.seen > 0 && clock.caused(w.chain) >= w.seen;
                     });
    for (const Lane& lane : lanes_) {
        const std::size_t open = first_open(lane, clock);
        const Tick first = lane.dropped > 0 ? lane.dropped : lane.sent.front().tick;
        if (clock.caused(lane.chain) >= first) {
            answer.initial = false;
        }
        const auto from = lane.sent.begin() + static_cast<std::ptrdiff_t>(open);
        const auto it =
            lane.rising && !wait.equals
                ? std::partition_point(from, lane.sent.end(),
                                       [&](const Sent& s) { return !wait.satisfied_by(s.value); })
                : std::find_if(from, lane.sent.end(), [&](const Sent& s) { return wait.satisfied_by(s.value); });
        if (it == lane.sent.end()) {
            continue;
        }
        answer.seen.push_back(&*it);
        // A later store comes with all that came before the first, but it may hand over less of it.
        for (auto later = it + 1; !lane.alike && later != lane.sent.end(); ++later) {
            if (wait.satisfied_by(later->value)) {
                answer.seen.push_back(&*later);
            }
        }
    }
    return answer;
}

const Sent* FlagState::may_hide(const Deed& wait) const {
    for (const Lane& lane : lanes_) {
        const Sent& last = lane.sent.back();
        if (wait.satisfied_by(last.value)) {
            continue;
        }
        const bool followed = std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& other) {
            return other.chain != lane.chain && other.sent.back().clock->caused(lane.chain) >= last.tick;
        });
        if (!followed) {
            return &last;
        }
    }
    return nullptr;
}

const Sent* FlagState::last_meeting(const Deed& wait) const {
    const Sent* found = nullptr;
    for (const Lane& lane : lanes_) {
        for (const Sent& sent : lane.sent) {
            if (wait.satisfied_by(sent.value) && (found == nullptr || sent.doing.line > found->doing.line)) {
                found = &sent;
            }
        }
    }
    return found;
}

const Sent* FlagState::next(const Sent& sent) const {
    for (const Lane& lane : lanes_) {
        if (lane.chain == sent.chain) {
            const std::size_t count = known(lane.sent, sent.tick);
            return count < lane.sent.size() ? &lane.sent[count] : nullptr;
        }
    }
    return nullptr;
}

bool FlagState::holds(const Deed& wait, Chain chain) const {
    const auto lane = std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& l) { return l.chain == chain; });
    return lane != lanes_.end() && wait.satisfied_by(lane->sent.back().value);
}

bool FlagState::saw_store(Chain chain) const {
    return std::any_of(waiters_.begin(), waiters_.end(),
                       [&](const Waiter& w) { return w.chain == chain && w.seen > 0; });
}

void FlagState::learned(Chain chain, const Clock& clock, Tick seen) {
    auto it = std::find_if(waiters_.begin(), waiters_.end(), [&](const Waiter& w) { return w.chain == chain; });
    if (it == waiters_.end()) {
        waiters_.push_back({chain, clock, seen});
        return;
    }
    it->clock = clock;
    it->seen = it->seen == 0 ? seen : it->seen;
}

}  // namespace peerlane::audit
