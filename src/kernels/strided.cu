#include "kernels/rows.cuh"
#include "kernels/strided.hpp"

namespace peerlane::cuda {
namespace {

struct StridedRows {
    std::uint64_t to, from;
    Divisor inner;
    std::uint64_t to_pitch[2], from_pitch[2];

    struct Layer {};
    using Key = Ends;
    __device__ static Layer layer(std::uint64_t) { return {}; }
    __device__ Ends find(std::uint64_t row) const {
        auto const i = inner.quotient(row);
        auto const j = row - i * inner.value;
        return {reinterpret_cast<unsigned char*>(to + i * to_pitch[1] + j * to_pitch[0]),
                reinterpret_cast<const unsigned char*>(from + i * from_pitch[1] + j * from_pitch[0])};
    }
    __device__ static Ends locate(const Layer&, Ends ends) { return ends; }
};

cudaError_t launch_strided(const LaunchSite& site, const StridedArguments& a) {
    StridedRows const rows{static_cast<std::uint64_t>(a.to),
                           static_cast<std::uint64_t>(a.from),
                           Divisor(std::max<std::uint64_t>(a.counts[0], 1)),
                           {a.to_pitch[0], a.to_pitch[1]},
                           {a.from_pitch[0], a.from_pitch[1]}};
    return launch_rows(site, rows, 1, a.counts[0] * a.counts[1], a.row_bytes, a.unit);
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(strided, StridedArguments, launch_strided, &move_rows<StridedRows>)
