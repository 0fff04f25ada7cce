#pragma once
/// Chunks through stages: what the first needs to fill them, and then the pace of the slowest.

#include <cstdint>
#include <vector>

#include "model/cost.hpp"

namespace peerlane::model {

struct Pipeline {
    std::vector<Cost> stages{};  ///< time of one chunk behind others, in order
    double issue_s = 0;          ///< of the host for one chunk, all stages: chunks are issued one after the other
    double handoff_s = 0;        ///< from the end of a stage to what waits for it in another one
    double other_issue_s = 0;    ///< of the host for what it issues elsewhere between two chunks
    /// s/byte that each stage takes longer (less than 0: shorter) while the pipeline fills, of the first chunk, and
    /// while it drains, of the last one: other stages idle, and pipelines beside this one do the same as it does.
    /// Empty: 0.
    std::vector<double> ends{};
};

/// Sizes of the chunks of a transfer, none larger than `chunk`, at most `most` of them unless that is too few to keep
/// below `chunk`. They grow at the start and shrink at the end, because the first and the last chunk pass while other
/// stages idle: from an eighth of `chunk`, but no less than 512 KiB (a chunk costs some 8 us of calls, what 256 KiB
/// take over PCIe 4), twice as much each. Multiples of 4 KiB but for the last.
std::vector<std::uint64_t> chunk_sizes(std::uint64_t bytes, std::uint64_t chunk, std::uint64_t most = 64);

/// When the last chunk has left the last stage. A chunk enters a stage when the host has issued it, the stage before is
/// done with it, the stage itself with the one before it, and a buffer is free: the stage behind is done with the chunk
/// that is `buffers` earlier.
double seconds(const Pipeline& pipeline, const std::vector<std::uint64_t>& chunks, int buffers);
/// Further time of a further byte while the pipeline is full.
double s_per_byte(const Pipeline& pipeline, double chunk);

struct Chunking {
    std::uint64_t chunk = 0;
    int buffers = 0;
    double seconds = 0;
};

struct ChunkLimits {
    std::uint64_t least = std::uint64_t{128} << 10, most = std::uint64_t{64} << 20;
    std::uint64_t chunks = 64;                       ///< one copy never fills the driver's queue
    int buffers = 4;                                 ///< more gained nothing (h200-pair, chunks of 256 KiB to 16 MiB)
    std::uint64_t memory = std::uint64_t{64} << 20;  ///< of all buffers between two stages
};

/// The fastest chunk, a power of two; of equals the smaller one, which needs less memory. Where memory allows none that
/// makes few enough chunks, the largest that fits: memory is bounded first. Chunks grow with the bytes.
Chunking best_chunk(const Pipeline& pipeline, std::uint64_t bytes, const ChunkLimits& limits = {});

}  // namespace peerlane::model
