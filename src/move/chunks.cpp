#include "move/chunks.hpp"

#include <algorithm>
#include <numeric>

#include <peerlane/units.hpp>

namespace peerlane::move {
namespace {

/// A smaller chunk costs more in calls (8 us for two legs) than it saves in waiting.
constexpr std::uint64_t least_ramp = 512 * KiB;
constexpr std::uint64_t ramp_part = 8;

constexpr std::uint64_t down(std::uint64_t bytes, std::uint64_t unit) {
    return bytes / unit * unit;
}

}  // namespace

std::vector<std::uint64_t> parts_of(const std::vector<double>& shares, std::uint64_t bytes) {
    std::vector<std::uint64_t> parts(shares.size(), 0);
    if (shares.empty()) {
        return parts;
    }
    auto const all = std::accumulate(shares.begin(), shares.end(), 0.0);
    auto const largest =
        static_cast<std::size_t>(std::distance(shares.begin(), std::max_element(shares.begin(), shares.end())));
    auto left = bytes;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i != largest) {
            auto const wanted = static_cast<std::uint64_t>(shares[i] / all * static_cast<double>(bytes));
            parts[i] = std::min(down(wanted, granule), left);
            left -= parts[i];
        }
    }
    parts[largest] = left;
    return parts;
}

std::vector<std::uint64_t> chunk_sizes(std::uint64_t bytes, std::uint64_t chunk, std::uint64_t most) {
    if (bytes <= chunk) {
        return bytes == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{bytes};
    }
    std::vector<std::uint64_t> ramp;
    std::uint64_t ramp_bytes = 0;
    for (auto size = std::max(chunk / ramp_part, least_ramp); size < chunk; size *= 2) {
        if (2 * (ramp_bytes + size) > bytes) {
            break;
        }
        ramp.push_back(down(size, granule));
        ramp_bytes += ramp.back();
    }
    auto const middle_chunks = [&] { return (bytes - 2 * ramp_bytes + chunk - 1) / chunk; };
    while (!ramp.empty() && middle_chunks() + 2 * ramp.size() > most) {
        ramp_bytes -= ramp.back();
        ramp.pop_back();
    }
    auto sizes = ramp;
    auto left = bytes - 2 * ramp_bytes;
    for (auto chunks = middle_chunks(); chunks > 0; --chunks) {
        auto const even = (left / chunks + granule - 1) / granule * granule;
        auto const size = std::min({even, chunk, left});
        sizes.push_back(size);
        left -= size;
    }
    if (left != 0) {  // rounding of chunks that are no multiple of the granule
        sizes.push_back(left);
    }
    sizes.insert(sizes.end(), ramp.rbegin(), ramp.rend());
    return sizes;
}

Slots fit(std::uint64_t ring_bytes, std::uint64_t chunk, int buffers, std::uint64_t unit) {
    auto const fitting = static_cast<int>(std::min<std::uint64_t>(ring_bytes / chunk, static_cast<unsigned>(buffers)));
    if (fitting >= std::min(buffers, 2)) {
        return {chunk, fitting};
    }
    for (auto wanted = std::min(buffers, 2); wanted > 0; --wanted) {
        auto const smaller = down(ring_bytes / static_cast<unsigned>(wanted), unit);
        if (smaller != 0) {
            return {std::min(smaller, chunk), wanted};
        }
    }
    return {};
}

}  // namespace peerlane::move
