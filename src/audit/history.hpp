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
            for (const Access& read : entry.second.reads) {
                visit(read);
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
        std::vector<Access> reads{};
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

    template <typename Conflict>
    static void read(Segment& segment, const Access& access, const Clock& clock, Conflict& conflict) {
        if (segment.written && !segment.write.before(clock)) {
            conflict(segment.write);
        }
        std::erase_if(segment.reads, [&](const Access& r) { return r.before(clock); });
        segment.reads.push_back(access);
    }

    template <typename Conflict>
    static void check_write(const Segment& segment, const Clock& clock, Conflict& conflict) {
        if (segment.written && !segment.write.before(clock)) {
            conflict(segment.write);
        }
        for (const Access& r : segment.reads) {
            if (!r.before(clock)) {
                conflict(r);
            }
        }
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
        if (it == segments_.end() || it->first >= access.end) {
            it = segments_.emplace_hint(it, access.begin, Segment{});
        } else {
            auto last = it;
            while (last != segments_.end() && last->first < access.end) {
                check_write(last->second, clock, conflict);
                ++last;
            }
            segments_.erase(std::next(it), last);
            if (it->first != access.begin) {  // the bytes before the first segment were never touched
                segments_.erase(it);
                it = segments_.emplace(access.begin, Segment{}).first;
            }
        }
        it->second.end = access.end;
        it->second.written = true;
        it->second.write = access;
        it->second.reads.clear();
        return;
    }
    std::uint64_t at = access.begin;
    while (at < access.end) {
        if (it == segments_.end() || it->first > at) {
            Segment gap;
            gap.end = it == segments_.end() ? access.end : std::min(access.end, it->first);
            gap.reads.push_back(access);
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
        std::erase_if(segment.reads, dead);
        it = segment.written || !segment.reads.empty() ? std::next(it) : segments_.erase(it);
    }
}

}  // namespace peerlane::audit
