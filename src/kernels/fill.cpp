#include "kernels/fill.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

KernelSteps meaning(FillArguments a) {
    co_yield step::fill(a.to, a.bytes, a.pattern, a.width);
}

Footprint footprint(const FillArguments& a) {
    return {{}, {{a.to, a.bytes}}, {}};
}

}  // namespace

const Kernel fill_kernel = define_kernel<FillArguments, meaning, footprint>("fill");

}  // namespace peerlane
