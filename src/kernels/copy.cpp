#include "kernels/copy.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

KernelSteps meaning(CopyArguments a) {
    co_yield step::copy(a.to, a.from, a.bytes, a.width);
}

Footprint footprint(const CopyArguments& a) {
    return {{{a.from, a.bytes}}, {{a.to, a.bytes}}, {}};
}

}  // namespace

const Kernel copy_kernel = define_kernel<CopyArguments, meaning, footprint>("copy");

}  // namespace peerlane
