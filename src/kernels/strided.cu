#include "kernels/rows.cuh"
#include "kernels/strided.hpp"

namespace peerlane::cuda {
namespace {

struct StridedRows {
    std::uint64_t to, from, inner;
    std::uint64_t to_pitch[2], from_pitch[2];

    template <class Number>
    __device__ void locate(Number row, unsigned char*& out, const unsigned char*& in) const {
        auto const i = row / static_cast<Number>(inner);
        auto const j = row - i * static_cast<Number>(inner);
        out = reinterpret_cast<unsigned char*>(to + i * to_pitch[1] + j * to_pitch[0]);
        in = reinterpret_cast<const unsigned char*>(from + i * from_pitch[1] + j * from_pitch[0]);
    }
};

cudaError_t launch_strided(const LaunchSite& site, const StridedArguments& a) {
    StridedRows const rows{static_cast<std::uint64_t>(a.to),
                           static_cast<std::uint64_t>(a.from),
                           a.counts[0],
                           {a.to_pitch[0], a.to_pitch[1]},
                           {a.from_pitch[0], a.from_pitch[1]}};
    return launch_rows(site, rows, a.counts[0] * a.counts[1], a.row_bytes, a.unit);
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(strided, StridedArguments, launch_strided, &move_rows<StridedRows>)
