#include "model/pipeline.hpp"

#include <algorithm>
#include <bit>

namespace peerlane::model {
namespace {

constexpr std::uint64_t granule = 4096;
constexpr std::uint64_t least_fit = 64 << 10;  ///< chunk, however little memory there is
constexpr std::uint64_t least_buffers = 2;     ///< one is filled while the other is read
constexpr std::uint64_t least_ramp = 512 << 10, ramp_part = 8;

std::uint64_t down(std::uint64_t bytes) {
    return std::max<std::uint64_t>(bytes / granule * granule, 1);
}

}  // namespace

std::vector<std::uint64_t> chunk_sizes(std::uint64_t bytes, std::uint64_t chunk, std::uint64_t most) {
    std::vector<std::uint64_t> sizes;
    if (bytes <= chunk) {
        sizes.assign(bytes == 0 ? 0 : 1, bytes);
        return sizes;
    }
    std::uint64_t ramp = 0;  // bytes of one of the two
    for (auto size = std::max(chunk / ramp_part, least_ramp); size < chunk && 2 * (ramp + size) <= bytes; size *= 2) {
        sizes.push_back(down(size));
        ramp += sizes.back();
    }
    auto const whole = [&] { return (bytes - 2 * ramp + chunk - 1) / chunk; };
    while (!sizes.empty() && whole() + 2 * sizes.size() > most) {
        ramp -= sizes.back();
        sizes.pop_back();
    }
    auto const steps = sizes;
    auto left = bytes - 2 * ramp;
    for (auto count = whole(); count > 0; --count) {
        auto const even = (left / count + granule - 1) / granule * granule;
        sizes.push_back(std::min({even, chunk, left}));
        left -= sizes.back();
    }
    if (left != 0) {
        sizes.push_back(left);
    }
    sizes.insert(sizes.end(), steps.rbegin(), steps.rend());
    sizes.erase(std::remove(sizes.begin(), sizes.end(), 0), sizes.end());
    return sizes;
}

double seconds(const Pipeline& pipeline, const std::vector<std::uint64_t>& chunks, int buffers) {
    auto const stages = pipeline.stages.size();
    auto const ring = static_cast<std::size_t>(std::max(buffers, 1));
    std::vector<double> free(stages, 0.0);            // of each stage: done with what it had
    std::vector<double> drained(stages * ring, 0.0);  // [stage][buffer]: the stage behind has read it
    std::vector<double> took(stages, 0.0);
    std::uint64_t last = 0;
    double issued = 0, end = 0;
    for (std::size_t j = 0; j < chunks.size(); ++j) {
        if (chunks[j] != last) {
            last = chunks[j];
            for (std::size_t i = 0; i < stages; ++i) {
                took[i] = pipeline.stages[i].seconds(static_cast<double>(last));
            }
        }
        auto ready = issued + pipeline.issue_s / static_cast<double>(std::max<std::size_t>(stages, 1));
        issued += pipeline.issue_s + pipeline.other_issue_s;
        auto const first = j == 0, final = j + 1 == chunks.size();
        for (std::size_t i = 0; i < stages; ++i) {
            auto start = std::max(ready, free[i]);
            if (i + 1 < stages && j >= ring) {
                start = std::max(start, drained[i * ring + j % ring] + pipeline.handoff_s);
            }
            auto const at_end =
                !pipeline.ends.empty() && ((first && i + 1 < stages) || (final && i > 0) || (first && final));
            auto const done = start + took[i] + (at_end ? pipeline.ends[i] * static_cast<double>(chunks[j]) : 0.0);
            free[i] = done;
            if (i > 0) {
                drained[(i - 1) * ring + j % ring] = done;
            }
            ready = done + pipeline.handoff_s;
            end = done;
        }
    }
    return end;
}

double s_per_byte(const Pipeline& pipeline, double chunk) {
    auto slowest = pipeline.issue_s + pipeline.other_issue_s;
    for (auto const& stage : pipeline.stages) {
        slowest = std::max(slowest, stage.seconds(chunk));
    }
    return slowest / chunk;
}

Chunking best_chunk(const Pipeline& pipeline, std::uint64_t bytes, const ChunkLimits& limits) {
    auto const most_buffers = static_cast<std::uint64_t>(limits.buffers);
    auto const fits = std::bit_floor(std::max<std::uint64_t>(limits.memory / least_buffers, least_fit));
    auto const fewest = std::bit_ceil((bytes + limits.chunks - 1) / limits.chunks);
    auto const first = std::min(std::clamp(fewest, limits.least, std::max(limits.least, limits.most)), fits);
    Chunking best;
    for (auto chunk = first;; chunk *= 2) {
        auto const buffers = std::clamp<std::uint64_t>(limits.memory / chunk, 1, most_buffers);
        auto const took = seconds(pipeline, chunk_sizes(bytes, chunk, limits.chunks), static_cast<int>(buffers));
        if (best.chunk == 0 || took < best.seconds * (1 - 1e-9)) {
            auto const count = (bytes + chunk - 1) / chunk;
            best = {std::min(chunk, std::max<std::uint64_t>(std::bit_ceil(bytes), 1)),
                    static_cast<int>(std::min(buffers, count)), took};
        }
        if (chunk * 2 > std::min(fits, limits.most) || chunk >= bytes) {
            return best;
        }
    }
}

}  // namespace peerlane::model
