#include "kernels/chase.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

KernelSteps meaning(ChaseArguments a) {
    std::uint64_t at = 0;
    for (std::uint32_t i = 0; i < a.loads; ++i) {
        co_yield step::load(a.from + at, 4);
        at += a.stride;
        at = at + 4 > a.bytes ? 0 : at;
    }
}

Footprint footprint(const ChaseArguments& a) {
    return {{{a.from, a.bytes}}, {}, {}};
}

}  // namespace

const Kernel chase_kernel = define_kernel<ChaseArguments, meaning, footprint>("chase");

}  // namespace peerlane
