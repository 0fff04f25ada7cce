#pragma once
/// Rows of equal length moved from and to scattered addresses. All rows together are one sequence of units, dealt to
/// the threads without regard to where a row ends: the shortest and the longest rows keep every thread busy alike, and
/// each thread has several loads under way before its first store waits for one.

#include <cstdint>

#include "kernels/ranges.cuh"

namespace peerlane::cuda {

constexpr int units_under_way = 8;
constexpr unsigned most_row_threads = 512;
/// Part of a row that one warp takes where rows are aligned too badly for units.
constexpr std::uint64_t warp_piece = 4096;

/// `Rows` has `void locate(Number row, unsigned char*& to, const unsigned char*& from) const`. `Number` holds four
/// times rows * units_a_row.
template <class Unit, class Number, class Rows>
__device__ void move_units(const Rows& rows, Number units_a_row, Number total) {
    Number const tile = static_cast<Number>(blockDim.x) * units_under_way;
    for (auto base = static_cast<Number>(blockIdx.x) * tile; base < total;
         base += static_cast<Number>(gridDim.x) * tile) {
        Unit value[units_under_way];
        Unit* out[units_under_way];
        for (int k = 0; k < units_under_way; ++k) {
            auto const unit = base + static_cast<Number>(k) * blockDim.x + threadIdx.x;
            out[k] = nullptr;
            if (unit < total) {
                auto const row = unit / units_a_row;
                auto const offset = unit - row * units_a_row;
                unsigned char* to = nullptr;
                const unsigned char* from = nullptr;
                rows.locate(row, to, from);
                out[k] = reinterpret_cast<Unit*>(to) + offset;
                value[k] = reinterpret_cast<const Unit*>(from)[offset];
            }
        }
        for (int k = 0; k < units_under_way; ++k) {
            if (out[k] != nullptr) {
                *out[k] = value[k];
            }
        }
    }
}

/// The threads of a warp, or of the whole CTA where it is no number of warps.
__device__ inline Team warp_of_cta(std::uint64_t& index, std::uint64_t& count) {
    auto const size = blockDim.x % 32 == 0 ? 32u : blockDim.x;
    auto const a_cta = blockDim.x / size;
    index = std::uint64_t{blockIdx.x} * a_cta + threadIdx.x / size;
    count = std::uint64_t{gridDim.x} * a_cta;
    return {threadIdx.x % size, size};
}

template <class Rows>
__device__ void move_by_warps(const Rows& rows, std::uint64_t count, std::uint64_t row_bytes) {
    std::uint64_t warp = 0, warps = 0;
    auto const team = warp_of_cta(warp, warps);
    auto const pieces = (row_bytes + warp_piece - 1) / warp_piece;
    for (auto item = warp; item < count * pieces; item += warps) {
        auto const row = item / pieces;
        auto const at = item % pieces * warp_piece;
        unsigned char* to = nullptr;
        const unsigned char* from = nullptr;
        rows.locate(row, to, from);
        copy_range(team, to + at, from + at, row_bytes - at < warp_piece ? row_bytes - at : warp_piece, 16);
    }
}

template <class Unit, class Rows>
__device__ void move_in_units(const Rows& rows, std::uint64_t count, std::uint64_t row_bytes) {
    auto const units = row_bytes / sizeof(Unit);
    if (count * units < (1u << 30)) {
        move_units<Unit, std::uint32_t>(rows, static_cast<std::uint32_t>(units),
                                        static_cast<std::uint32_t>(count * units));
    } else {
        move_units<Unit, std::uint64_t>(rows, units, count * units);
    }
}

template <class Rows>
__global__ void __launch_bounds__(most_row_threads, 1)
    move_rows(Rows rows, std::uint64_t count, std::uint64_t row_bytes, unsigned unit) {
    switch (unit) {
        case 16:
            move_in_units<uint4>(rows, count, row_bytes);
            break;
        case 8:
            move_in_units<std::uint64_t>(rows, count, row_bytes);
            break;
        case 4:
            move_in_units<unsigned>(rows, count, row_bytes);
            break;
        default:
            move_by_warps(rows, count, row_bytes);
    }
}

/// CTAs that a list gets where the caller names no number: what the fastest links need, and few enough to leave the
/// device to others.
constexpr int most_list_ctas = 32;

template <class Rows>
cudaError_t launch_rows(const LaunchSite& site, const Rows& rows, std::uint64_t count, std::uint64_t row_bytes,
                        unsigned unit) {
    if (count == 0 || row_bytes == 0) {
        return cudaSuccess;
    }
    auto const threads = std::min(threads_of(site), most_row_threads);
    auto const ctas = ctas_of(site, count * row_bytes, unit >= 4 ? unit * units_under_way : 8, most_list_ctas);
    return launch(site, ctas, threads, move_rows<Rows>, rows, count, row_bytes, unit);
}

}  // namespace peerlane::cuda
