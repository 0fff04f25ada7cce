#include "kernels/line.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

/// Reads of a batch wait side by side: one access for all of them.
KernelSteps meaning(LineArguments a) {
    for (std::uint32_t i = 0; i < a.batches; ++i) {
        co_yield step::load(a.word, 4);
    }
}

Footprint footprint(const LineArguments& a) {
    return {{{a.word, 4}}, {}, {}};
}

}  // namespace

const Kernel line_kernel = define_kernel<LineArguments, meaning, footprint>("line");

}  // namespace peerlane
