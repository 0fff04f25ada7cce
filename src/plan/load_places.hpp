#pragma once
/// When legs and streams of two sources are the same. Internal to the files of Load.

#include <algorithm>

#include "plan/load.hpp"

namespace peerlane::plan {

/// Any node of the host stands for each: a machine whose nodes are not known is measured so.
inline bool same(Place a, Place b) {
    return a == b || (a.is_host() && b.is_host() && (a == host() || b == host()));
}

inline bool joins_same(const Leg& a, const Leg& b) {
    return same(a.from, b.from) && same(a.to, b.to) && a.engine == b.engine;
}

inline bool same_stream(const Stream& a, const Stream& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const LoadedUse& x, const LoadedUse& y) {
        return joins_same(x.leg, y.leg) && x.leg.issuer == y.leg.issuer;
    });
}

inline bool same_ends(const Stream& a, const Stream& b) {
    return same(a.front().leg.from, b.front().leg.from) && same(a.back().leg.to, b.back().leg.to);
}

/// Index of the same stream; -1: it is none of them.
inline int place_of(const Stream& stream, const std::vector<Stream>& streams) {
    auto const found =
        std::find_if(streams.begin(), streams.end(), [&](const Stream& other) { return same_stream(stream, other); });
    return found == streams.end() ? -1 : static_cast<int>(found - streams.begin());
}

}  // namespace peerlane::plan
