#include "kernels/segments.hpp"

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

KernelSteps meaning(SegmentsArguments a) {
    std::vector<std::uint64_t> to(a.count), from(a.count), bytes(a.count);
    co_yield step::fetch(a.to, a.count * 8, to.data());
    co_yield step::fetch(a.from, a.count * 8, from.data());
    co_yield step::fetch(a.bytes, a.count * 8, bytes.data());
    std::vector<MemoryPiece> pieces;
    pieces.reserve(a.count);
    for (std::uint64_t i = 0; i < a.count; ++i) {
        if (bytes[i] != 0) {
            pieces.push_back({Address{to[i]}, Address{from[i]}, bytes[i]});
        }
    }
    co_yield step::copies(pieces);
}

/// The segments themselves are named by lists in memory and not known here.
Footprint footprint(const SegmentsArguments& a) {
    return {{{a.to, a.count * 8}, {a.from, a.count * 8}, {a.bytes, a.count * 8}}, {}, {}};
}

}  // namespace

const Kernel segments_kernel = define_kernel<SegmentsArguments, meaning, footprint>("segments");

}  // namespace peerlane
