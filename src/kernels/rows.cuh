#pragma once
/// Rows of equal length moved from and to scattered addresses, in one or more layers of as many rows. The rows of a
/// layer are one sequence of units, dealt to the warps in tiles without regard to where a row ends: the shortest and
/// the longest rows keep every thread busy alike. A thread issues all loads of a tile, asks for the numbers of its next
/// tile, then stores, with no branch in between: a load that waits for the decision before it would cost a round trip
/// of the link each, and so would the numbers where they lie on the other device.

#include <cstdint>

#include "kernels/divisor.cuh"
#include "kernels/ranges.cuh"

namespace peerlane::cuda {

constexpr int units_under_way = 8;
constexpr unsigned warp_threads = 32;
constexpr unsigned most_row_threads = 512;
/// Part of a row that one warp takes where rows are aligned too badly for units.
constexpr std::uint64_t warp_piece = 4096;

/// Where a row lies on both sides.
struct Ends {
    unsigned char* to;
    const unsigned char* from;
};

/// Rows of `layers` layers, told in units. Launched with whole warps.
struct RowShape {
    std::uint64_t rows;  ///< of a layer
    std::uint64_t layers;
    std::uint64_t row_bytes;
    Divisor units_a_row;
    Divisor tiles_a_layer;
};

/// What a warp knows of one tile before it touches the rows.
template <class Rows>
struct Tile {
    typename Rows::Layer layer;
    typename Rows::Key key[units_under_way];
    std::uint32_t offset[units_under_way];  ///< units into the row
    std::uint64_t first;                    ///< unit of this thread's first load, in the layer
};

/// `Rows` has `Layer layer(std::uint64_t) const` and `Key find(std::uint64_t row) const`, whose loads nothing waits for
/// here, and `Ends locate(const Layer&, Key) const`.
template <class Unit, class Rows>
__device__ void look_up(Tile<Rows>& tile, const Rows& rows, const RowShape& shape, std::uint64_t number) {
    auto const layer = shape.tiles_a_layer.quotient(number);
    auto const last = shape.rows * shape.units_a_row.value - 1;
    tile.first =
        (number - layer * shape.tiles_a_layer.value) * (warp_threads * units_under_way) + threadIdx.x % warp_threads;
    tile.layer = rows.layer(layer);
    PEERLANE_UNROLL
    for (int k = 0; k < units_under_way; ++k) {
        auto const wanted = tile.first + k * warp_threads;
        auto const unit = wanted < last ? wanted : last;
        auto const row = shape.units_a_row.quotient(unit);
        tile.offset[k] = static_cast<std::uint32_t>(unit - row * shape.units_a_row.value);
        tile.key[k] = rows.find(row);
    }
}

template <class Unit, class Rows>
__device__ void move_units(const Rows& rows, const RowShape& shape) {
    auto const units = shape.rows * shape.units_a_row.value;
    auto const tiles = shape.tiles_a_layer.value * shape.layers;
    auto const warps = grid_stride() / warp_threads;
    auto number = first_index() / warp_threads;
    if (number >= tiles) {
        return;
    }
    Tile<Rows> tile;
    look_up<Unit>(tile, rows, shape, number);
    for (;;) {
        Unit value[units_under_way];
        Unit* to[units_under_way];
        PEERLANE_UNROLL
        for (int k = 0; k < units_under_way; ++k) {
            auto const ends = rows.locate(tile.layer, tile.key[k]);
            to[k] = reinterpret_cast<Unit*>(ends.to) + tile.offset[k];
            value[k] = __ldcs(reinterpret_cast<const Unit*>(ends.from) + tile.offset[k]);
        }
        auto const first = tile.first;
        number += warps;
        if (number < tiles) {
            look_up<Unit>(tile, rows, shape, number);
        }
        PEERLANE_UNROLL
        for (int k = 0; k < units_under_way; ++k) {
            if (first + k * warp_threads < units) {
                __stcs(to[k], value[k]);
            }
        }
        if (number >= tiles) {
            return;
        }
    }
}

/// The calling warp among all of the grid.
__device__ inline Team warp_of_grid(std::uint64_t& index, std::uint64_t& count) {
    index = first_index() / warp_threads;
    count = grid_stride() / warp_threads;
    return {threadIdx.x % warp_threads, warp_threads};
}

template <class Rows>
__device__ void move_by_warps(const Rows& rows, const RowShape& shape) {
    std::uint64_t warp = 0, warps = 0;
    auto const team = warp_of_grid(warp, warps);
    auto const pieces = (shape.row_bytes + warp_piece - 1) / warp_piece;
    for (auto item = warp; item < shape.layers * shape.rows * pieces; item += warps) {
        auto const row = item / pieces;
        auto const at = item % pieces * warp_piece;
        auto const ends = rows.locate(rows.layer(row / shape.rows), rows.find(row % shape.rows));
        copy_range(team, ends.to + at, ends.from + at,
                   shape.row_bytes - at < warp_piece ? shape.row_bytes - at : warp_piece, 16);
    }
}

template <class Rows>
__global__ void __launch_bounds__(most_row_threads, 1) move_rows(Rows rows, RowShape shape, unsigned unit) {
    switch (unit) {
        case 16:
            move_units<uint4>(rows, shape);
            break;
        case 8:
            move_units<unsigned long long>(rows, shape);
            break;
        case 4:
            move_units<unsigned>(rows, shape);
            break;
        default:
            move_by_warps(rows, shape);
    }
}

/// CTAs that a list gets where the caller names no number: what the fastest links need, and few enough to leave the
/// device to others.
constexpr int most_list_ctas = 32;

inline unsigned row_threads_of(const LaunchSite& site) {
    return std::clamp(threads_of(site) / warp_threads * warp_threads, warp_threads, most_row_threads);
}

template <class Rows>
cudaError_t launch_rows(const LaunchSite& site, const Rows& rows, std::uint64_t layers, std::uint64_t count,
                        std::uint64_t row_bytes, unsigned unit) {
    if (layers == 0 || count == 0 || row_bytes == 0) {
        return cudaSuccess;
    }
    constexpr std::uint64_t tile = warp_threads * units_under_way;
    if (row_bytes / unit >= std::uint64_t{1} << 32) {
        unit = 1;  // offsets are 32-bit; warps take pieces of any row
    }
    auto const units = row_bytes / unit;
    RowShape const shape{count, layers, row_bytes, Divisor(units), Divisor((count * units + tile - 1) / tile)};
    auto const ctas = ctas_of(site, layers * count * row_bytes, unit >= 4 ? unit * units_under_way : 8, most_list_ctas);
    return launch(site, ctas, row_threads_of(site), move_rows<Rows>, rows, shape, unit);
}

}  // namespace peerlane::cuda
