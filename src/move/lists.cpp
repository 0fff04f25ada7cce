#include "move/lists.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace peerlane::move {
namespace {

/// A bit a page is cheaper than sorting while the bits fit the caches.
constexpr std::uint64_t most_bits = std::uint64_t{1} << 23;

}  // namespace

unsigned unit_of(std::initializer_list<std::uint64_t> numbers) {
    std::uint64_t all = 16;
    for (auto const number : numbers) {
        all |= number;
    }
    return static_cast<unsigned>(all & (~all + 1));
}

std::vector<std::int64_t> numbers_of(PageIndices indices, std::uint64_t count) {
    std::vector<std::int64_t> numbers(count);
    if (indices.at == nullptr) {
        std::iota(numbers.begin(), numbers.end(), 0);
    } else if (indices.bytes == 8) {
        std::memcpy(numbers.data(), indices.at, count * 8);
    } else if (indices.bytes == 4) {
        auto const* const narrow = static_cast<const std::int32_t*>(indices.at);
        std::copy(narrow, narrow + count, numbers.begin());
    } else {
        throw std::invalid_argument("numbers of pages have 4 or 8 bytes");
    }
    return numbers;
}

std::optional<std::size_t> first_outside(std::span<const std::int64_t> pages, std::uint64_t page_bytes,
                                         std::uint64_t pitch, std::uint64_t room) {
    auto const fits = room < page_bytes ? 0 : (room - page_bytes) / pitch + 1;
    auto const found = std::find_if(pages.begin(), pages.end(), [&](std::int64_t page) {
        return page < 0 || static_cast<std::uint64_t>(page) >= fits;
    });
    return found == pages.end() ? std::nullopt : std::optional<std::size_t>(found - pages.begin());
}

std::optional<std::size_t> first_repeated(std::span<const std::int64_t> pages) {
    if (std::adjacent_find(pages.begin(), pages.end(), std::greater_equal<>()) == pages.end()) {
        return std::nullopt;
    }
    auto const [least, most] = std::minmax_element(pages.begin(), pages.end());
    auto const range = static_cast<std::uint64_t>(*most - *least) + 1;
    if (range <= most_bits) {
        std::vector<std::uint64_t> seen(range / 64 + 1, 0);
        for (std::size_t i = 0; i < pages.size(); ++i) {
            auto const bit = static_cast<std::uint64_t>(pages[i] - *least);
            auto const mask = std::uint64_t{1} << (bit % 64);
            if ((seen[bit / 64] & mask) != 0) {
                return i;
            }
            seen[bit / 64] |= mask;
        }
        return std::nullopt;
    }
    std::vector<std::size_t> order(pages.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return pages[a] < pages[b]; });
    std::optional<std::size_t> first;
    for (std::size_t k = 1; k < order.size(); ++k) {
        if (pages[order[k]] == pages[order[k - 1]]) {
            first = std::min(first.value_or(order[k]), order[k]);
        }
    }
    return first;
}

std::optional<std::size_t> first_overlap(std::span<const Segment> segments) {
    std::vector<std::size_t> order;
    order.reserve(segments.size());
    bool ascending = true;
    auto end = Address::null;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (segments[i].bytes != 0) {
            ascending = ascending && segments[i].to >= end;
            end = segments[i].to + segments[i].bytes;
            order.push_back(i);
        }
    }
    if (ascending) {
        return std::nullopt;
    }
    // The first in the order given: those before it are free of overlaps, so the longest free beginning is searched.
    auto const clean = [&](std::size_t count) {
        std::vector<std::size_t> some(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
        std::sort(some.begin(), some.end(),
                  [&](std::size_t a, std::size_t b) { return segments[a].to < segments[b].to; });
        return std::adjacent_find(some.begin(), some.end(), [&](std::size_t a, std::size_t b) {
                   return segments[a].to + segments[a].bytes > segments[b].to;
               }) == some.end();
    };
    if (clean(order.size())) {
        return std::nullopt;
    }
    std::size_t good = 1, bad = order.size();
    while (bad - good > 1) {
        auto const middle = good + (bad - good) / 2;
        (clean(middle) ? good : bad) = middle;
    }
    return order[bad - 1];
}

std::uint64_t runs_of(std::span<const std::int64_t> to, std::span<const std::int64_t> from) {
    std::uint64_t runs = to.empty() ? 0 : 1;
    for (std::size_t i = 1; i < to.size(); ++i) {
        runs += to[i] != to[i - 1] + 1 || from[i] != from[i - 1] + 1 ? 1 : 0;
    }
    return runs;
}

std::vector<Segment> merged(std::span<const Segment> segments) {
    std::vector<Segment> result;
    for (auto const& segment : segments) {
        if (segment.bytes == 0) {
            continue;
        }
        if (!result.empty() && result.back().to + result.back().bytes == segment.to &&
            result.back().from + result.back().bytes == segment.from) {
            result.back().bytes += segment.bytes;
        } else {
            result.push_back(segment);
        }
    }
    return result;
}

std::vector<Segment> in_pieces(std::span<const Segment> segments, std::uint64_t piece) {
    std::vector<Segment> result;
    result.reserve(segments.size());
    for (auto const& segment : segments) {
        for (std::uint64_t at = 0; at < segment.bytes; at += piece) {
            result.push_back({segment.to + at, segment.from + at, std::min(piece, segment.bytes - at)});
        }
    }
    return result;
}

}  // namespace peerlane::move
