#pragma once
/// Those that look at memory under proof, looked at themselves: a proof whose verifier is blind proves nothing.

#include <cstdint>
#include <functional>

#include <peerlane/pattern.hpp>
#include <peerlane/verdicts.hpp>

#include "prove/bench.hpp"

namespace peerlane::prove {

/// Bytes of a device's memory under a verifier's eyes.
struct Watched {
    int device = 0;
    Location at{};
    std::uint64_t bytes = 0;
    Pattern expected{}, poison{};
};
using Verifier = std::function<CheckOutcome(Bench&, const Watched&)>;

/// The kernel that the owner runs.
CheckOutcome owner_looks(Bench& bench, const Watched& watched);
/// The host compares a copy; of ranges that fit into its pinned memory.
CheckOutcome host_looks(Bench& bench, const Watched& watched);

/// Plants a wrong byte at the start, inside and at the end of a small and of a large range of the device's memory, and
/// lets the two kinds of verifiers look: the kernel that the owner runs, and the host's comparison of a copy. Ok when
/// each of them sees nothing wrong before, and exactly that byte after; wrong with the one that did not, and the
/// offset. Call Bench::allow first. Throws TimeUp, NotTried and Error.
CheckResult self_test(Bench& bench, int device, std::uint64_t seed, const Verifier& owner = owner_looks,
                      const Verifier& host = host_looks);

}  // namespace peerlane::prove
