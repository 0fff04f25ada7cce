#include "traffic/run/page_lists.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include <peerlane/units.hpp>

#include "kernels/kernel.hpp"
#include "kernels/pages.hpp"

namespace peerlane::traffic {
namespace {

constexpr std::uint64_t bytes_a_cta = 64 * KiB;
constexpr std::uint64_t most_ctas = 32;

}  // namespace

sim::Op list_op(int device, Address to, Address to_list, Address from, Address from_list, std::uint64_t pages,
                std::uint64_t page_bytes) {
    auto const unit = static_cast<unsigned>(std::min<std::uint64_t>(16, page_bytes & (~page_bytes + 1)));
    PagesArguments const arguments{to,         from,       to_list,    from_list,    pages, 1,
                                   page_bytes, page_bytes, page_bytes, number_bytes, unit,  false};
    sim::Op op;
    op.kind = sim::Op::Kind::kernel;
    op.device = device;
    op.kernel = &pages_kernel;
    op.arguments.resize(sizeof arguments);
    std::memcpy(op.arguments.data(), &arguments, sizeof arguments);
    auto const ctas = (pages * page_bytes + bytes_a_cta - 1) / bytes_a_cta;
    op.shape = {static_cast<unsigned>(std::clamp<std::uint64_t>(ctas, 1, most_ctas)), 512};
    return op;
}

Route list_route(const sim::Truth& truth, const Flow& flow) {
    auto const direct = [&](int issuer) {
        return Route{1.0, {{flow.src, flow.dst, Engine::kernel, gpu(issuer)}}, 0, 0};
    };
    if (flow.src.is_host() || flow.dst.is_host()) {
        return direct(flow.src.is_device() ? flow.src.index : flow.dst.index);
    }
    auto const source = flow.src.index, target = flow.dst.index;
    if (source == target || truth.claims(source, target)) {
        return direct(source);
    }
    if (truth.claims(target, source)) {
        return direct(target);
    }
    auto const middle = host(truth.network.numa[static_cast<std::size_t>(source)]);
    constexpr std::uint64_t most = 4 * MiB, least = 256 * KiB;
    auto const chunk = std::min(most, std::max(flow.bytes / 8, least));
    return {1.0,
            {{flow.src, middle, Engine::kernel, flow.src}, {middle, flow.dst, Engine::kernel, flow.dst}},
            std::max(chunk / flow.page, std::uint64_t{1}) * flow.page,
            4};
}

Plans with_lists(Plans plans, const sim::Truth& truth, const std::vector<Flow>& flows) {
    std::map<std::tuple<Place, Place, std::uint64_t, std::uint64_t>, int> known;
    for (std::size_t f = 0; f < flows.size(); ++f) {
        auto const& flow = flows[f];
        if (flow.page == 0) {
            continue;
        }
        auto const [found, added] =
            known.try_emplace({flow.src, flow.dst, flow.bytes, flow.page}, static_cast<int>(plans.plans.size()));
        if (added) {
            plans.plans.push_back({list_route(truth, flow)});
        }
        plans.of_flow[f] = found->second;
    }
    return plans;
}

}  // namespace peerlane::traffic
