#include "kernels/strided.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

KernelSteps meaning(StridedArguments a) {
    std::vector<MemoryPiece> pieces;
    pieces.reserve(a.counts[0] * a.counts[1]);
    for (std::uint64_t i = 0; i < a.counts[1]; ++i) {
        for (std::uint64_t j = 0; j < a.counts[0]; ++j) {
            pieces.push_back({a.to + i * a.to_pitch[1] + j * a.to_pitch[0],
                              a.from + i * a.from_pitch[1] + j * a.from_pitch[0], a.row_bytes});
        }
    }
    co_yield step::copies(pieces, a.unit);
}

/// Row by row while they are few; the rows and what lies between them when they are many.
Footprint footprint(const StridedArguments& a) {
    constexpr std::uint64_t few = 1024;
    Footprint touched;
    auto const add = [&](std::vector<Footprint::Range>& ranges, Address base, const auto& pitch) {
        auto const [inner, outer] = a.counts;
        if (inner == 0 || outer == 0) {
            return;
        }
        if (inner * outer > few) {
            ranges.push_back({base, (outer - 1) * pitch[1] + (inner - 1) * pitch[0] + a.row_bytes});
            return;
        }
        for (std::uint64_t row = 0; row < inner * outer; ++row) {
            ranges.push_back({base + row / inner * pitch[1] + row % inner * pitch[0], a.row_bytes});
        }
    };
    add(touched.reads, a.from, a.from_pitch);
    add(touched.writes, a.to, a.to_pitch);
    return touched;
}

}  // namespace

const Kernel strided_kernel = define_kernel<StridedArguments, meaning, footprint>("strided");

}  // namespace peerlane
