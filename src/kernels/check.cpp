#include "kernels/check.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

KernelSteps meaning(CheckArguments a) {
    auto const outcome = (co_yield step::check(a.from, a.bytes, a.expected, a.poison)).check;
    co_yield step::store(a.result, outcome.first_bad, 8);
    co_yield step::store(a.result + 8, outcome.bad, 8);
    co_yield step::store(a.result + 16, outcome.zero, 8);
    co_yield step::store(a.result + 24, outcome.old, 8);
}

Footprint footprint(const CheckArguments& a) {
    return {{{a.from, a.bytes}}, {{a.result, sizeof(CheckOutcome)}}, {}};
}

}  // namespace

const Kernel check_kernel = define_kernel<CheckArguments, meaning, footprint>("check");

}  // namespace peerlane
