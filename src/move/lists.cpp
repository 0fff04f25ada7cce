#include "move/lists.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>

namespace peerlane::move {
namespace {

/// A bit a page is cheaper than sorting while the bits fit the caches.
constexpr std::uint64_t most_bits = std::uint64_t{1} << 23;

/// 0, 1, 2, …
struct Counting {
    std::uint64_t count;
    [[nodiscard]] std::uint64_t size() const { return count; }
    std::int64_t operator[](std::uint64_t i) const { return static_cast<std::int64_t>(i); }
};

/// `use` with the numbers in their own width, so that its loops are over plain arrays.
template <class Use>
auto with_numbers(const PageNumbers& pages, const Use& use) {
    if (pages.counting()) {
        return use(Counting{pages.size()});
    }
    return pages.width() == 4 ? use(std::span(static_cast<const std::int32_t*>(pages.at()), pages.size()))
                              : use(std::span(static_cast<const std::int64_t*>(pages.at()), pages.size()));
}

/// First i whose bit is set already; numbers minus `least` are below `range`.
template <class Numbers>
std::optional<std::size_t> first_marked_twice(const Numbers& pages, std::int64_t least, std::uint64_t range) {
    thread_local std::vector<std::uint64_t> seen;
    seen.assign(range / 64 + 1, 0);
    for (std::size_t i = 0; i < pages.size(); ++i) {
        auto const bit = static_cast<std::uint64_t>(pages[i] - least);
        auto& word = seen[bit / 64];
        auto const mask = std::uint64_t{1} << (bit % 64);
        if ((word & mask) != 0) {
            return i;
        }
        word |= mask;
    }
    return std::nullopt;
}

template <class Numbers>
std::optional<std::size_t> first_repeated_in(const Numbers& pages, std::uint64_t below) {
    if (below != 0 && below <= most_bits && below / 64 <= pages.size()) {
        return first_marked_twice(pages, 0, below);
    }
    auto ascending = true;
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
    for (std::size_t i = 0; i < pages.size(); ++i) {
        ascending = ascending && (i == 0 || pages[i] > pages[i - 1]);
        least = std::min<std::int64_t>(least, pages[i]);
        most = std::max<std::int64_t>(most, pages[i]);
    }
    if (ascending) {
        return std::nullopt;
    }
    auto const range = static_cast<std::uint64_t>(most - least) + 1;
    if (range <= most_bits) {
        return first_marked_twice(pages, least, range);
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

}  // namespace

unsigned unit_of(std::initializer_list<std::uint64_t> numbers) {
    std::uint64_t all = 16;
    for (auto const number : numbers) {
        all |= number;
    }
    return static_cast<unsigned>(all & (~all + 1));
}

PageNumbers::PageNumbers(PageIndices given, std::uint64_t count) : at_(given.at), count_(count), width_(given.bytes) {
    if (width_ != 4 && width_ != 8) {
        throw std::invalid_argument("numbers of pages have 4 or 8 bytes");
    }
}

PageNumbers::PageNumbers(std::vector<unsigned char> own, unsigned width)
    : PageNumbers(PageIndices{}, width == 0 ? 0 : own.size() / width) {
    width_ = width;
    own_ = std::move(own);
}

std::int64_t PageNumbers::operator[](std::uint64_t i) const {
    return with_numbers(*this, [&](const auto& pages) { return static_cast<std::int64_t>(pages[i]); });
}

std::int64_t PageNumbers::most() const {
    return with_numbers(*this, [](const auto& pages) {
        std::int64_t most = 0;
        for (std::size_t i = 0; i < pages.size(); ++i) {
            most = std::max<std::int64_t>(most, pages[i]);
        }
        return most;
    });
}

std::vector<unsigned char> PageNumbers::in_width(unsigned bytes) const {
    return with_numbers(*this, [&](const auto& pages) {
        std::vector<unsigned char> all(count_ * bytes);
        auto const write = [&](auto* to) {
            for (std::size_t i = 0; i < pages.size(); ++i) {
                auto const number = static_cast<std::remove_pointer_t<decltype(to)>>(pages[i]);
                std::memcpy(all.data() + i * sizeof number, &number, sizeof number);
            }
        };
        bytes == 4 ? write(static_cast<std::int32_t*>(nullptr)) : write(static_cast<std::int64_t*>(nullptr));
        return all;
    });
}

std::optional<std::size_t> first_outside(const PageNumbers& pages, std::uint64_t page_bytes, std::uint64_t pitch,
                                         std::uint64_t room) {
    auto const fits = pages_inside(page_bytes, pitch, room);
    return with_numbers(pages, [&](const auto& numbers) -> std::optional<std::size_t> {
        constexpr std::size_t block = 512;  // looked at as a whole, in chains that do not wait for each other
        // A negative number is a huge one without its sign.
        auto const at = [&](std::size_t i) { return static_cast<std::uint64_t>(std::int64_t{numbers[i]}); };
        std::size_t i = 0;
        for (; i + block <= numbers.size(); i += block) {
            std::array<std::uint64_t, 4> most{};
            for (std::size_t k = i; k < i + block; k += most.size()) {
                for (std::size_t chain = 0; chain < most.size(); ++chain) {
                    most[chain] = std::max(most[chain], at(k + chain));
                }
            }
            if (*std::max_element(most.begin(), most.end()) >= fits) {
                break;
            }
        }
        while (i < numbers.size() && at(i) < fits) {
            ++i;
        }
        return i < numbers.size() ? std::optional(i) : std::nullopt;
    });
}

std::uint64_t pages_inside(std::uint64_t page_bytes, std::uint64_t pitch, std::uint64_t room) {
    return room < page_bytes ? 0 : (room - page_bytes) / pitch + 1;
}

std::optional<std::size_t> first_repeated(const PageNumbers& pages, std::uint64_t below) {
    return pages.counting()
               ? std::nullopt
               : with_numbers(pages, [&](const auto& numbers) { return first_repeated_in(numbers, below); });
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

std::uint64_t runs_of(const PageNumbers& to, const PageNumbers& from, std::uint64_t enough) {
    return with_numbers(to, [&](const auto& target) {
        return with_numbers(from, [&](const auto& source) {
            std::uint64_t runs = target.size() == 0 ? 0 : 1;
            for (std::size_t i = 1; i < target.size() && runs <= enough; ++i) {
                runs += target[i] - target[i - 1] != 1 || source[i] - source[i - 1] != 1 ? 1 : 0;
            }
            return runs;
        });
    });
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
