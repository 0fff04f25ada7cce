#include "move/chunks.hpp"

#include <algorithm>
#include <numeric>

namespace peerlane::move {
namespace {

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
