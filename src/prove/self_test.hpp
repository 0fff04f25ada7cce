#pragma once
/// Those that look at memory under proof, looked at themselves: a proof whose verifier is blind proves nothing.

#include <cstdint>

#include <peerlane/verdicts.hpp>

#include "prove/bench.hpp"

namespace peerlane::prove {

/// Plants a wrong byte at the start, inside and at the end of a small and of a large range of the device's memory, and
/// lets the two kinds of verifiers look: the kernel that the owner runs, and the host's comparison of a copy. Ok when
/// each of them sees nothing wrong before, and exactly that byte after; wrong with the one that did not, and the
/// offset. Call Bench::allow first. Throws TimeUp, NotTried and Error.
CheckResult self_test(Bench& bench, int device, std::uint64_t seed);

}  // namespace peerlane::prove
