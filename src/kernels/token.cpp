#include "kernels/token.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

KernelSteps meaning(TokenArguments a) {
    TokenOutcome outcome;
    for (; outcome.met < a.rounds; ++outcome.met) {
        auto const token = a.first + outcome.met;
        if (a.starts != 0) {
            co_yield step::signal(a.signalled, token);
        }
        auto const came = co_yield step::wait(a.waited_for, token, a.budget_s);
        outcome.seen = static_cast<std::uint32_t>(came.value);
        if (!came.met || outcome.seen != token) {
            break;
        }
        if (a.starts == 0) {
            co_yield step::signal(a.signalled, token);
        }
    }
    co_yield step::store(a.result, outcome.met, 4);
    co_yield step::store(a.result + 4, outcome.seen, 4);
}

Footprint footprint(const TokenArguments& a) {
    return {{}, {{a.result, sizeof(TokenOutcome)}}, {{a.waited_for, 4}, {a.signalled, 4}}};
}

}  // namespace

const Kernel token_kernel = define_kernel<TokenArguments, meaning, footprint>("token");

}  // namespace peerlane
