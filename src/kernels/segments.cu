#include "kernels/rows.cuh"
#include "kernels/segments.hpp"

namespace peerlane::cuda {
namespace {

constexpr std::uint64_t segment_piece = 16384;

struct Lists {
    const std::uint64_t *to, *from, *bytes;
};

__device__ void move_piece(Team team, const Lists& lists, std::uint64_t i, std::uint64_t at, std::uint64_t most) {
    auto const bytes = lists.bytes[i];
    if (at < bytes) {
        copy_range(team, reinterpret_cast<unsigned char*>(lists.to[i]) + at,
                   reinterpret_cast<const unsigned char*>(lists.from[i]) + at, bytes - at < most ? bytes - at : most,
                   16);
    }
}

__global__ void __launch_bounds__(most_row_threads, 1)
    move_segments(Lists lists, std::uint64_t count, std::uint64_t pieces) {
    if (pieces == 0) {
        for (std::uint64_t i = blockIdx.x; i < count; i += gridDim.x) {
            move_piece({threadIdx.x, blockDim.x}, lists, i, 0, ~std::uint64_t{0});
        }
        return;
    }
    std::uint64_t warp = 0, warps = 0;
    auto const team = warp_of_grid(warp, warps);
    for (auto item = warp; item < count * pieces; item += warps) {
        move_piece(team, lists, item / pieces, item % pieces * segment_piece, segment_piece);
    }
}

cudaError_t launch_segments(const LaunchSite& site, const SegmentsArguments& a) {
    if (a.count == 0) {
        return cudaSuccess;
    }
    auto const pieces = (a.most_bytes + segment_piece - 1) / segment_piece;
    auto const list = [](Address at) { return static_cast<const std::uint64_t*>(pointer_to(at)); };
    auto const threads = row_threads_of(site);
    auto const ctas = pieces == 0 ? ctas_of(site, a.count * threads, 1, most_list_ctas)
                                  : ctas_of(site, a.count * pieces * 32, 1, most_list_ctas);
    return launch(site, ctas, threads, move_segments, Lists{list(a.to), list(a.from), list(a.bytes)}, a.count, pieces);
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(segments, SegmentsArguments, launch_segments, &move_segments)
