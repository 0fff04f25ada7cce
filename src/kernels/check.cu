#include "kernels/check.hpp"
#include "kernels/device.cuh"

namespace peerlane::cuda {
namespace {

using Count = unsigned long long;  // what the atomics take

/// CheckOutcome as the device counts it.
struct Counts {
    Count first_bad, bad, zero, old;
};
static_assert(sizeof(Counts) == sizeof(CheckOutcome));

__device__ Counts nothing_bad() {
    return {CheckOutcome::none, 0, 0, 0};
}

__device__ void count_byte(Counts& counts, std::uint64_t i, unsigned found, Pattern expected, Pattern poison) {
    if (found == pattern_byte(expected, i)) {
        return;
    }
    counts.first_bad = counts.first_bad < i ? counts.first_bad : i;
    ++counts.bad;
    counts.zero += found == 0;
    counts.old += found == pattern_byte(poison, i);
}

__device__ void count_8(Counts& counts, std::uint64_t i, std::uint64_t found, Pattern expected, Pattern poison) {
    if (found == pattern_8(expected, i)) {
        return;
    }
    for (unsigned k = 0; k < 8; ++k) {
        count_byte(counts, i + k, static_cast<unsigned>(found >> (8 * k)) & 0xff, expected, poison);
    }
}

__device__ void add(Counts* sum, const Counts& counts) {
    atomicMin(&sum->first_bad, counts.first_bad);
    atomicAdd(&sum->bad, counts.bad);
    if (counts.zero != 0) {
        atomicAdd(&sum->zero, counts.zero);
    }
    if (counts.old != 0) {
        atomicAdd(&sum->old, counts.old);
    }
}

__global__ void reset_outcome(Counts* result) {
    *result = nothing_bad();
    __threadfence_system();
}

/// Loads bypass the first-level cache (ld.cv): what is checked is what lies in memory. The result may be host memory,
/// where an atomic takes a microsecond: one CTA adds once, and only when it found something.
__global__ void __launch_bounds__(1024)
    check_range(const unsigned char* from, std::uint64_t bytes, Pattern expected, Pattern poison, Counts* result) {
    __shared__ Counts of_block;
    if (threadIdx.x == 0) {
        of_block = nothing_bad();
    }
    __syncthreads();

    auto counts = nothing_bad();
    auto const parts = split(reinterpret_cast<std::uint64_t>(from), bytes, 16);
    auto const* const body = reinterpret_cast<const uint4*>(from + parts.head);
    auto const stride = grid_stride();
    for (auto i = first_index(); i < parts.units; i += stride) {
        auto const found = __ldcv(body + i);
        auto const at = parts.head + i * 16;
        count_8(counts, at, found.x | (std::uint64_t{found.y} << 32), expected, poison);
        count_8(counts, at + 8, found.z | (std::uint64_t{found.w} << 32), expected, poison);
    }
    for (auto i = first_index(); i < parts.head; i += stride) {
        count_byte(counts, i, __ldcv(from + i), expected, poison);
    }
    for (auto i = parts.tail_at + first_index(); i < bytes; i += stride) {
        count_byte(counts, i, __ldcv(from + i), expected, poison);
    }

    if (counts.bad != 0) {
        add(&of_block, counts);
    }
    __syncthreads();
    if (threadIdx.x == 0 && of_block.bad != 0) {
        add(result, of_block);
        __threadfence_system();
    }
}

cudaError_t launch_check(const LaunchSite& site, const CheckArguments& a) {
    auto* const result = static_cast<Counts*>(pointer_to(a.result));
    auto const reset = launch(site, 1, 1, reset_outcome, result);
    if (reset != cudaSuccess || a.bytes == 0) {
        return reset;
    }
    return launch(site, ctas_of(site, a.bytes, 64, 4 * site.multiprocessors), threads_of(site), check_range,
                  static_cast<const unsigned char*>(pointer_to(a.from)), a.bytes, a.expected, a.poison, result);
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(check, CheckArguments, launch_check, &check_range, &reset_outcome)
