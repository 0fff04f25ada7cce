#pragma once
/// What was measured on a pair, as programs over any driver. Data goes from device 0 to device 1 unless said otherwise.
/// Access is enabled before, where the table says so.

#include "play.hpp"

namespace peerlane::validation {

/// GB/s of one kernel that copies 1 GiB; `issuer` 0 pushes, 1 pulls.
double kernel_rate(Driver& driver, int issuer, unsigned ctas);
/// GB/s of copies of that size queued one behind the other.
double back_to_back(Driver& driver, int issuer, std::uint64_t bytes);
/// Seconds of one pushed copy, or of one kernel that does the same, and of waiting for it.
double copy_and_wait(Driver& driver, std::uint64_t bytes);
double kernel_and_wait(Driver& driver, std::uint64_t bytes);

/// Seconds of a pipeline through pinned memory: device to host, host to device, chunk by chunk. One chunk: the host
/// joins the two.
double staged(Driver& driver, std::uint64_t bytes, std::uint64_t chunk, std::size_t slots);
/// Rate of a copy of which `share` goes through such a pipeline (issued second), to that of the plain copy.
double split_ratio(Driver& driver, std::uint64_t bytes, std::uint64_t chunk, double share);
/// GB/s from host memory into device 0 (and out of it), half of it over device 1 and on over the fabric.
double helped_in(Driver& driver, std::uint64_t bytes, std::uint64_t chunk);
double helped_out(Driver& driver, std::uint64_t bytes, std::uint64_t chunk);

/// GB/s of many blocks, a copy each or all in one call.
double page_loop(Driver& driver, std::uint64_t block);
double page_batch(Driver& driver, std::uint64_t block);
/// The same by one kernel with index arrays in device memory, pushed, launches one behind the other.
double page_kernel(Driver& driver, std::uint64_t block, unsigned ctas);

/// GB/s of each of these, each on a stream of its own: from the first submission until the host sees it done.
std::vector<double> rates_from_start(Driver& driver, const std::vector<Transfer>& transfers);

/// Useful GB/s of 4-byte reads by device 1 in memory of `owner`.
double useful_reads(Driver& driver, int owner, std::uint64_t stride);
/// Seconds in which device 1 reads 256 MiB of `owner` so many times; `copied`: from local memory, the copy included.
double touched(Driver& driver, int owner, unsigned times, bool copied);

}  // namespace peerlane::validation
