// Lists of segments: what the copy engines take, what kernels take, and what goes through the host.

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "kernels/kernel.hpp"
#include "kernels/segments.hpp"
#include "move/list_mover.hpp"
#include "move/reach.hpp"

namespace peerlane::move {
namespace {

constexpr std::uint64_t piece_bytes = 16 * KiB;        ///< what a warp takes at a time
constexpr std::uint64_t engine_worth_bytes = 1 * MiB;  ///< a copy call costs less than what a kernel loses on it
constexpr std::size_t most_engine_copies = 64;         ///< of one list: the driver's queue is finite
constexpr std::uint64_t staged_chunk = most_staged_page;
constexpr int staged_buffers = 4;

std::uint64_t bytes_of(const std::vector<Segment>& segments) {
    return std::accumulate(segments.begin(), segments.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Segment& segment) { return sum + segment.bytes; });
}

}  // namespace

Route ListMover::staged_route(const Way& way, std::uint64_t bytes, std::uint64_t unit) const {
    auto const nodes = ready_.machine.devices[static_cast<std::size_t>(way.from.index)].numa;
    auto const middle = nodes ? host(*nodes) : host();
    auto chunk = std::min(staged_chunk, std::max(bytes / 8, 256 * KiB));
    chunk = std::max(chunk / unit, std::uint64_t{1}) * unit;
    return {1.0,
            {{way.from, middle, Engine::kernel, way.from}, {middle, way.to, Engine::kernel, way.to}},
            chunk,
            staged_buffers};
}

void ListMover::through_host(Lane& lane, StreamView stream, std::uint64_t chunks, const Side& source,
                             const Side& target) {
    auto& entry = resources_->entry(stream.device);
    auto const out = lane.streams[0].view(), in = lane.streams[1].view();
    driver_.record(entry.view(), stream);
    resources_->begin(lane, entry.view());
    try {
        source.begin(out);
        target.begin(in);
        for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
            auto const b = static_cast<std::size_t>(chunk % static_cast<std::uint64_t>(lane.buffers));
            auto const buffer = lane.rings[0]->address() + b * lane.chunk;
            if (chunk >= static_cast<std::uint64_t>(lane.buffers)) {
                driver_.wait(out, lane.drained[0][b].view());
            }
            source.chunk(chunk, out, buffer);
            driver_.record(lane.filled[0][b].view(), out);
            driver_.wait(in, lane.filled[0][b].view());
            target.chunk(chunk, in, buffer);
            driver_.record(lane.drained[0][b].view(), in);
        }
        source.end(out);
        target.end(in);
    } catch (...) {
        resources_->abandon(lane, stream);
        throw;
    }
    resources_->end(lane, stream);
}

Lane& ListMover::lane_for(const Route& route, std::uint64_t unit) {
    auto* const lane = resources_->take(route, unit);
    if (lane == nullptr) {
        throw Error({code::out_of_memory, "list", route.legs.front().issuer.index, -1,
                     fmt::format("no pinned memory for the list's way through {}: free some",
                                 to_string(route.legs.front().to))});
    }
    return *lane;
}

/// Three arrays in one slot: where to, where from, how many bytes.
Uploads::Slot& ListMover::upload(const std::vector<Segment>& pieces, StreamView stream) {
    std::vector<std::uint64_t> words(3 * pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        words[i] = static_cast<std::uint64_t>(pieces[i].to);
        words[pieces.size() + i] = static_cast<std::uint64_t>(pieces[i].from);
        words[2 * pieces.size() + i] = pieces[i].bytes;
    }
    auto& slot = uploads_.take(stream, words.size() * 8);
    driver_.write_host(slot.pinned.address(), words.data(), words.size() * 8);
    uploads_.send(slot, stream, words.size() * 8);
    return slot;
}

void ListMover::launch_pieces(const Uploads::Slot& slot, std::uint64_t all, std::uint64_t first, std::uint64_t count,
                              StreamView stream, unsigned ctas) {
    auto const array = [&](std::uint64_t which) { return slot.device.address() + (which * all + first) * 8; };
    SegmentsArguments const arguments{array(0), array(1), array(2), count, piece_bytes};
    driver_.launch(stream, segments_kernel, &arguments, {ctas, 512});
}

void ListMover::segment_list(const Way& way, const std::vector<Segment>& segments, StreamView stream,
                             const ListOptions& options) {
    if (segments.empty()) {
        return;
    }
    map_segments(way, segments);
    if (way.staged) {
        stage(way, segments, stream, options);
        return;
    }
    auto const peers = way.from.is_device() && way.to.is_device() && way.from != way.to;
    auto const by_engine = may_use(ready_, {way.from, way.to, Engine::copy, gpu(way.issuer)});
    auto const worth = [&](const Segment& segment) { return segment.bytes >= engine_worth_bytes; };
    auto const large = static_cast<std::size_t>(std::count_if(segments.begin(), segments.end(), worth));
    auto const split = by_engine && large <= most_engine_copies;
    std::vector<Segment> small;
    std::copy_if(segments.begin(), segments.end(), std::back_inserter(small),
                 [&](const Segment& segment) { return !(split && worth(segment)); });
    on_issuer(way, stream, [&](StreamView on) {
        if (!small.empty()) {
            auto const pieces = in_pieces(small, piece_bytes);
            auto& slot = upload(pieces, on);
            launch_pieces(slot, pieces.size(), 0, pieces.size(), on, ctas_for(way, bytes_of(small), options));
            uploads_.used(slot, on);
        }
        if (split) {
            auto const api = peers && !driver_.capturing(on) ? CopyApi::peer : CopyApi::automatic;
            for (auto const& segment : segments) {
                if (worth(segment)) {
                    driver_.copy(on, {{way.to, segment.to}, {way.from, segment.from}, segment.bytes, api});
                }
            }
        }
    });
}

void ListMover::stage(const Way& way, const std::vector<Segment>& segments, StreamView stream,
                      const ListOptions& options) {
    auto& lane = lane_for(staged_route(way, bytes_of(segments), piece_bytes), 4 * piece_bytes);
    auto const slots = static_cast<std::uint64_t>(lane.buffers);
    auto const room = lane.chunk - 2 * piece_bytes;  // one piece with its phase always fits
    struct Part {
        std::uint64_t first = 0, count = 0;
    };
    std::vector<Part> chunks(1);
    auto const pieces = in_pieces(segments, piece_bytes);
    std::vector<std::uint64_t> offsets;
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        auto const phase = static_cast<std::uint64_t>(pieces[i].from) % 16;  // wide reads of the source
        auto place = (at + 15) / 16 * 16 + phase;
        if (place + pieces[i].bytes > room && chunks.back().count > 0) {
            chunks.push_back({i, 0});
            place = phase;
        }
        offsets.push_back(place);
        at = place + pieces[i].bytes;
        ++chunks.back().count;
    }
    std::vector<Segment> out, in;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
        auto const buffer = lane.rings[0]->address() + c % slots * lane.chunk;
        for (auto i = chunks[c].first; i < chunks[c].first + chunks[c].count; ++i) {
            out.push_back({buffer + offsets[i], pieces[i].from, pieces[i].bytes});
            in.push_back({pieces[i].to, buffer + offsets[i], pieces[i].bytes});
        }
    }
    Uploads::Slot *gathers = nullptr, *scatters = nullptr;
    auto const ctas = ctas_for(way, lane.chunk, options);
    auto const side = [&](Uploads::Slot*& lists, const std::vector<Segment>& moved) {
        return Side{[&](StreamView on) { lists = &upload(moved, on); },
                    [&](std::uint64_t chunk, StreamView on, Address) {
                        launch_pieces(*lists, pieces.size(), chunks[chunk].first, chunks[chunk].count, on, ctas);
                    },
                    [&](StreamView on) { uploads_.used(*lists, on); }};
    };
    through_host(lane, stream, chunks.size(), side(gathers, out), side(scatters, in));
}

void ListMover::map_segments(const Way& way, const std::vector<Segment>& segments) {
    Known known_to, known_from;
    for (auto const& segment : segments) {
        if (known_to.fresh(driver_, segment.to)) {
            map(way.staged ? way.to.index : way.issuer, segment.to);
        }
        if (known_from.fresh(driver_, segment.from)) {
            map(way.issuer, segment.from);
        }
    }
}

std::optional<Place> Known::place_of(Driver& driver, Address at, std::uint64_t bytes) {
    fresh(driver, at);
    auto const& found = last_;
    if (found.bytes == 0 || found.kind == MemoryKind::pageable || bytes > found.bytes - (at - found.base)) {
        return std::nullopt;
    }
    return found.place;
}

bool Known::fresh(Driver& driver, Address at) {
    auto const inside = [&](const Provenance& block) { return at >= block.base && at - block.base < block.bytes; };
    if (inside(last_)) {
        return false;
    }
    auto const behind = blocks_.upper_bound(at);
    if (behind != blocks_.begin() && inside(std::prev(behind)->second)) {
        last_ = std::prev(behind)->second;
        return false;
    }
    last_ = driver.provenance(at);
    if (last_.bytes != 0) {
        blocks_[last_.base] = last_;
    }
    return true;
}

void ListMover::segments(const SegmentCopy& copy, StreamView stream, const ListOptions& options) {
    if (copy.count == 0) {
        set_flag(options, stream);
        return;
    }
    auto const lists = driver_.provenance(address_of(copy.bytes));
    if (lists.bytes != 0 && lists.place.is_device()) {
        if (!copy.dst_place || !copy.src_place) {
            throw std::invalid_argument("copy_segments: lists on a device need dst_place and src_place");
        }
        auto const way = way_of(*copy.src_place, *copy.dst_place, 0, lists.place.index);
        if (way.staged || way.issuer != lists.place.index) {
            throw std::invalid_argument(
                fmt::format("copy_segments: lists on {} but {} has to move: give them in host memory",
                            to_string(lists.place), way.staged ? "the host" : to_string(gpu(way.issuer))));
        }
        resources_->map(way.leg());
        SegmentsArguments const arguments{address_of(copy.dst), address_of(copy.src), address_of(copy.bytes),
                                          copy.count, copy.most_bytes};
        LaunchShape const shape{most_ctas(way, options), 512};
        on_issuer(way, stream, [&](StreamView on) { driver_.launch(on, segments_kernel, &arguments, shape); });
        set_flag(options, stream);
        return;
    }
    std::vector<Segment> segments;
    segments.reserve(copy.count);
    std::optional<Place> to, from;
    Known known_to, known_from;
    for (std::uint64_t i = 0; i < copy.count; ++i) {
        Segment const segment{address_of(copy.dst[i]), address_of(copy.src[i]), copy.bytes[i]};
        segments.push_back(segment);
        if (segment.bytes == 0) {
            continue;
        }
        auto const placed = [&](Known& known, Address at, std::optional<Place>& all, const char* side) {
            auto const place = known.place_of(driver_, at, copy.bytes[i]);
            if (!place || (all && *all != *place)) {
                throw std::invalid_argument(fmt::format("copy_segments: {}[{}] {}", side, i,
                                                        place ? "lies in another place than those before it"
                                                              : "is not inside memory that devices can reach"));
            }
            all = place;
        };
        placed(known_to, segment.to, to, "dst");
        placed(known_from, segment.from, from, "src");
    }
    if (auto const i = first_overlap(segments)) {
        throw std::invalid_argument(
            fmt::format("copy_segments: the destination of segment {} overlaps an earlier one", *i));
    }
    if (to && from) {
        auto const pieces = merged(segments);
        auto const bytes = std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0},
                                           [](std::uint64_t sum, const Segment& piece) { return sum + piece.bytes; });
        auto const way = way_of(*from, *to, bytes, stream.device);
        segment_list(way, pieces, stream, options);
    }
    set_flag(options, stream);
}

}  // namespace peerlane::move
