#include "kernels/scribble.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

KernelSteps meaning(ScribbleArguments a) {
    for (std::uint32_t i = 0; i < a.stores; ++i) {
        co_yield step::store(a.word, i, 4);
    }
}

Footprint footprint(const ScribbleArguments& a) {
    return {{}, {{a.word, 4}}, {}};
}

}  // namespace

const Kernel scribble_kernel = define_kernel<ScribbleArguments, meaning, footprint>("scribble");

}  // namespace peerlane
