#pragma once
/// What it costs a kernel to read words that lie apart: memory and links move whole sectors.

#include "driver/sim/figures.hpp"
#include "kernels/kernel.hpp"

namespace peerlane::sim {

struct Granularity {
    double moved_bytes = 0;  ///< over the memory or the link, for the whole step
    double most = 0;         ///< bytes/s of them that the threads can ask for
};

/// `step` reads a range; `remote`: from another device; `threads`: of the launch.
Granularity granularity(const MemoryStep& step, bool remote, double threads, const Figures& figures);

}  // namespace peerlane::sim
