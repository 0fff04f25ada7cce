#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "audit/deed.hpp"

namespace peerlane::audit {

/// One access as it is remembered.
struct Access {
    Chain chain = 0;
    Tick tick = 0;
    std::uint64_t line = 0;
    Id name = no_id, other = no_id, memory = no_id;
    What what = What::host;
    bool write = false;
    int device = trace::host_device;
    std::uint64_t begin = 0, end = 0;
    [[nodiscard]] bool before(const Clock& clock) const { return tick <= clock.ordered(chain); }
    [[nodiscard]] bool overlaps(const Access& with) const { return begin < with.end && with.begin < end; }
};

/// Accesses to one allocation that later ones may still conflict with: for each byte range the last write and the reads
/// since then, without those that another remembered access is ordered after.
class History {
  public:
    /// Notes an access made with the knowledge of `clock`. Calls `conflict(const Access&)` for each remembered access
    /// that overlaps, of which one of the two writes, and which is not ordered before.
    template <typename Conflict>
    void add(const Access& access, const Clock& clock, Conflict conflict);

    /// Calls `visit(const Access&)` for every remembered access.
    template <typename Visit>
    void each(Visit visit) const {
        for (const auto& entry : segments_) {
            if (entry.second.written) {
                visit(entry.second.write);
            }
            for (const Access& other : entry.second.open) {
                visit(other);
            }
        }
    }

    /// Forgets accesses of which `dead(const Access&)` says that all that can still come is ordered after them.
    template <typename Dead>
    void forget(Dead dead);

    [[nodiscard]] std::size_t segments() const { return segments_.size(); }
    void clear() { segments_.clear(); }

  private:
    struct Segment {
        std::uint64_t end = 0;
        bool written = false;
        Access write{};
        std::vector<Access> open{};
    };
    using Map = std::map<std::uint64_t, Segment>;

    /// Makes `at` a border: the segment that spans it becomes two.
    void split(std::uint64_t at) {
        auto it = segments_.lower_bound(at);
        if (it == segments_.begin()) {
            return;
        }
        --it;
        if (it->second.end > at && it->first < at) {
            Segment right = it->second;
            it->second.end = at;
            segments_.emplace(at, std::move(right));
        }
    }

    /// What races keep open is bounded: the oldest goes first.
    static constexpr std::size_t most_open = 32;
    static void keep_open(Segment& segment, const Access& access) {
        if (segment.open.size() >= most_open) {
            segment.open.erase(segment.open.begin());
        }
        segment.open.push_back(access);
    }

    template <typename Conflict>
    static void read(Segment& segment, const Access& access, const Clock& clock, Conflict& conflict) {
        if (segment.written && !segment.write.before(clock)) {
            conflict(segment.write);
        }
        std::erase_if(segment.open, [&](const Access& other) {
            if (other.before(clock)) {
                return !other.write;
            }
            if (other.write && other.overlaps(access)) {
                conflict(other);
            }
            return false;
        });
        keep_open(segment, access);
    }

    /// Leaves in `segment` what the write is not ordered after.
    template <typename Conflict>
    static void write(Segment& segment, const Access& access, const Clock& clock, Conflict& conflict) {
        std::erase_if(segment.open, [&](const Access& other) {
            if (other.before(clock)) {
                return true;
            }
            if (other.overlaps(access)) {  // it may stem from a wider segment
                conflict(other);
            }
            return false;
        });
        if (segment.written && !segment.write.before(clock)) {
            conflict(segment.write);
            keep_open(segment, segment.write);
        }
        segment.written = false;
    }

    Map segments_{};
};

template <typename Conflict>
void History::add(const Access& access, const Clock& clock, Conflict conflict) {
    if (access.begin >= access.end) {
        return;
    }
    auto it = segments_.lower_bound(access.begin);
    if (it == segments_.end() || it->first != access.begin || it->second.end != access.end) {
        split(access.begin);
        split(access.end);
        it = segments_.lower_bound(access.begin);
    }
    if (access.write) {
        std::vector<Access> racing;
        if (it == segments_.end() || it->first >= access.end) {
            it = segments_.emplace_hint(it, access.begin, Segment{});
        } else {
            auto last = it;
            for (; last != segments_.end() && last->first < access.end; ++last) {
                write(last->second, access, clock, conflict);
                if (last != it) {
                    racing.insert(racing.end(), last->second.open.begin(), last->second.open.end());
                }
            }
            segments_.erase(std::next(it), last);
            if (it->first != access.begin) {  // the bytes before the first segment were never touched
                racing.insert(racing.end(), it->second.open.begin(), it->second.open.end());
                segments_.erase(it);
                it = segments_.emplace(access.begin, Segment{}).first;
            }
        }
        it->second.end = access.end;
        it->second.written = true;
        it->second.write = access;
        for (const Access& other : racing) {
            keep_open(it->second, other);
        }
        return;
    }
    std::uint64_t at = access.begin;
    while (at < access.end) {
        if (it == segments_.end() || it->first > at) {
            Segment gap;
            gap.end = it == segments_.end() ? access.end : std::min(access.end, it->first);
            gap.open.push_back(access);
            const std::uint64_t next = gap.end;
            segments_.emplace_hint(it, at, std::move(gap));
            at = next;
        } else {
            read(it->second, access, clock, conflict);
            at = it->second.end;
            ++it;
        }
    }
}

template <typename Dead>
void History::forget(Dead dead) {
    for (auto it = segments_.begin(); it != segments_.end();) {
        Segment& segment = it->second;
        if (segment.written && dead(segment.write)) {
            segment.written = false;
        }
        std::erase_if(segment.open, dead);
        it = segment.written || !segment.open.empty() ? std::next(it) : segments_.erase(it);
    }
}

}  // namespace peerlane::audit
