#pragma once
/// What people write today in place of copy_pages, and work that goes on beside it. Only where nvcc built the library.

#include <cstdint>

#include <peerlane/driver/order_types.hpp>
#include <peerlane/place.hpp>

namespace peerlane::bench {

/// Row i of `out` becomes row index[i] of `in`, one thread an element of 4 bytes, as the kernels behind index_select
/// do.
void index_select(StreamView stream, Address out, Address in, Address index, std::uint64_t rows,
                  std::uint64_t row_bytes);
/// Row index[i] of `out` becomes row i of `in`, in the same style.
void index_put(StreamView stream, Address out, Address in, Address index, std::uint64_t rows, std::uint64_t row_bytes);
/// Multiplies and adds on every multiprocessor, `rounds` times.
void compute(StreamView stream, Address scratch, std::uint64_t rounds, unsigned ctas);

}  // namespace peerlane::bench
