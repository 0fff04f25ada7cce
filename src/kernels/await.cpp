#include "kernels/await.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

KernelSteps meaning(AwaitArguments a) {
    auto const came = co_yield step::wait(a.flag, a.at_least, a.budget_s);
    co_yield step::store(a.result + 4, static_cast<std::uint32_t>(came.value), 4);
    co_yield step::signal(a.result, came.met ? a.met : a.expired);
}

Footprint footprint(const AwaitArguments& a) {
    return {{}, {{a.result, 8}}, {{a.flag, 4}}};
}

}  // namespace

const Kernel await_kernel = define_kernel<AwaitArguments, meaning, footprint>("await");

}  // namespace peerlane
