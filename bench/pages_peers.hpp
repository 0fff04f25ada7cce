#pragma once
/// What people write today in place of copy_pages, and work that goes on beside it. Only where nvcc built the library.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <peerlane/driver/order_types.hpp>
#include <peerlane/place.hpp>

namespace peerlane::bench {

/// Row i of `out` becomes row index[i] of `in`, one thread an element of 2 or 4 bytes, as the kernels behind
/// index_select do.
void index_select(StreamView stream, Address out, Address in, Address index, std::uint64_t rows,
                  std::uint64_t row_bytes, unsigned element);
/// Row index[i] of `out` becomes row i of `in`, in the same style.
void index_put(StreamView stream, Address out, Address in, Address index, std::uint64_t rows, std::uint64_t row_bytes,
               unsigned element);
/// The batch call of the driver with the signature of CUDA 12.8 (a failing index) and of CUDA 13 (none); false where
/// the driver lacks it. Sizes and addresses are read before the call returns.
bool batch_12_8(StreamView stream, std::vector<void*>& to, std::vector<const void*>& from,
                std::vector<std::size_t>& sizes);
bool batch_13(StreamView stream, std::vector<void*>& to, std::vector<const void*>& from,
              std::vector<std::size_t>& sizes);
/// Multiplies and adds on every multiprocessor, `rounds` times.
void compute(StreamView stream, Address scratch, std::uint64_t rounds, unsigned ctas);

}  // namespace peerlane::bench
