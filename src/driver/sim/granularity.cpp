#include "driver/sim/granularity.hpp"

#include <algorithm>

namespace peerlane::sim {
namespace {

constexpr double sector = 32;  ///< bytes: least that is moved for one access
constexpr double line = 128;   ///< bytes that one packet over a link carries at most
constexpr double burst = 64;   ///< bytes: least that device memory itself delivers
constexpr double header = 16;  ///< bytes of a packet beside its load
constexpr double threads_of_multiprocessor = 2048;

}  // namespace

Granularity granularity(const MemoryStep& step, bool remote, double threads, const Figures& figures) {
    auto const stride = static_cast<double>(std::max<std::uint64_t>(step.stride, step.width));
    auto const accesses = static_cast<double>(step.bytes) / stride;
    auto moved = std::min(stride, std::max(sector, static_cast<double>(step.width)));
    if (stride >= line && remote) {
        // Packets with one sector each: the header weighs more. Rates are stated for full packets.
        moved *= (1 + header / sector) / (1 + header / line);
    } else if (stride >= burst && !remote && accesses * sector > figures.cache_bytes) {
        moved = std::max(moved, burst);
    }
    // Each thread has about one access under way, which takes a loaded memory's time.
    auto const resident = std::min(threads, figures.multiprocessors * threads_of_multiprocessor);
    return {accesses * moved, resident * moved / figures.loaded_load_s};
}

}  // namespace peerlane::sim
