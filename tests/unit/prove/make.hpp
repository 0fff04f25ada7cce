#pragma once
/// Verdicts to start from.

#include <peerlane/verdicts.hpp>

namespace peerlane::test {

inline CheckResult right(double gbs) {
    CheckResult check{Result::ok};
    check.sizes = {4096, 16777252};
    check.gbs = gbs;
    check.seconds = 16777252 / gbs / 1e9;
    return check;
}

inline CheckResult wrong(WrongKind kind) {
    CheckResult check{Result::wrong, kind, 0, 4077, 4096};
    check.sizes = {4096};
    return check;
}

inline void deny(PairVerdict& pair) {
    pair[Check::claim] = {Result::no};
    for (auto const check : {Check::map, Check::store, Check::load}) {
        pair[check] = {};
    }
    pair[Check::push] = pair[Check::pull] = {Result::no};
}

/// Two devices, everything right both ways, not judged yet.
inline Verdicts healthy_pair() {
    Verdicts verdicts;
    verdicts.simulated = true;
    verdicts.seed = 7;
    for (int accessor = 0; accessor < 2; ++accessor) {
        PairVerdict pair{accessor, 1 - accessor};
        pair[Check::claim] = pair[Check::map] = {Result::ok};
        pair[Check::push] = pair[Check::pull] = right(396);
        pair[Check::store] = pair[Check::load] = right(370);
        verdicts.pairs.push_back(pair);
        verdicts.control.push_back({accessor, 1 - accessor, right(37)});
    }
    return verdicts;
}

}  // namespace peerlane::test
