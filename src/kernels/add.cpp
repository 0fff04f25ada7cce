#include "kernels/add.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

/// One round is one access here: lanes that add 1 each leave the same sum in whatever order they come.
KernelSteps meaning(AddArguments a) {
    for (std::uint32_t round = 0; round < a.rounds && a.lanes != 0; ++round) {
        co_yield step::fetch_add(a.counter, a.lanes);
    }
}

Footprint footprint(const AddArguments& a) {
    return {{{a.counter, 4}}, {{a.counter, 4}}, {}};
}

}  // namespace

const Kernel add_kernel = define_kernel<AddArguments, meaning, footprint>("add");

}  // namespace peerlane
