#include "kernels/touch.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

KernelSteps meaning(TouchArguments a) {
    for (std::uint32_t round = 0; round < a.rounds && a.bytes != 0; ++round) {
        co_yield step::read(a.from, a.bytes, a.stride, a.width);
    }
}

Footprint footprint(const TouchArguments& a) {
    return {{{a.from, a.bytes}}, {}, {}};
}

}  // namespace

const Kernel touch_kernel = define_kernel<TouchArguments, meaning, footprint>("touch");

}  // namespace peerlane
