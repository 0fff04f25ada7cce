#include "move/list_mover.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "kernels/kernel.hpp"
#include "kernels/strided.hpp"
#include "move/reach.hpp"

namespace peerlane::move {
namespace {

/// Runs at least this long on average are told as segments: fewer and longer than the pages they are made of.
constexpr std::uint64_t run_worth_bytes = 64 * KiB;

/// Where both sides may move a list, loads fill the link better than stores (two H200, 32 CTAs, pages of 16 KiB: 370 of
/// 397 GB/s against 351). A stream of the source has to be ordered with one of the destination for that, there and
/// back, which costs about 18 us: worth it from here on.
constexpr std::uint64_t pull_worth_bytes = 128 * MiB;

std::string pages_word(std::size_t i, std::int64_t number, const char* side, std::uint64_t room) {
    return fmt::format("copy_pages: {}_index[{}] is {}, outside its allocation ({} bytes from the base on)", side, i,
                       number, room);
}

}  // namespace

unsigned most_ctas(const Way& way, const ListOptions& options) {
    constexpr unsigned few = 32, for_stores = 64;
    if (options.max_ctas != 0) {
        return options.max_ctas;
    }
    auto const here = gpu(way.issuer);
    return !way.staged && way.from == here && way.to.is_device() ? for_stores : few;
}

unsigned ctas_for(const Way& way, std::uint64_t bytes, const ListOptions& options) {
    auto const wanted = (bytes + 64 * KiB - 1) / (64 * KiB);
    return static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 1, most_ctas(way, options)));
}

ListMover::ListMover(Driver& driver, const Ready& ready, Resources& resources)
    : driver_(driver), ready_(ready), resources_(&resources), uploads_(driver) {}

ListMover::Found ListMover::find(const void* at, const char* side) const {
    auto found = driver_.provenance(address_of(at));
    if (found.bytes == 0 || found.kind == MemoryKind::pageable) {
        throw std::invalid_argument(fmt::format(
            "the {} of a list is not memory that devices can reach: allocate it on a device, or pin or register it",
            side));
    }
    auto const room = found.bytes - (address_of(at) - found.base);
    return {found.place, room, address_of(at), std::move(found)};
}

Way ListMover::way_of(Place from, Place to, std::uint64_t bytes, std::optional<int> stream) const {
    if (from.is_host() && to.is_host()) {
        throw std::invalid_argument("a list has at least one end on a device");
    }
    if (from == to || from.is_host() || to.is_host()) {
        return {from, to, from.is_device() ? from.index : to.index, false};
    }
    auto const push = may_use(ready_, {from, to, Engine::kernel, from});
    auto const pull = may_use(ready_, {from, to, Engine::kernel, to});
    if (pull && (!push || stream != from.index || bytes >= pull_worth_bytes)) {
        return {from, to, to.index, false};
    }
    if (push) {
        return {from, to, from.index, false};
    }
    auto const* const control = ready_.verdicts.control_of(from.index, to.index);
    if (control != nullptr && control->staged.result != Result::ok && control->staged.result != Result::skipped) {
        throw std::invalid_argument(
            fmt::format("no way for a list from {} to {}: neither kernel access nor the host "
                        "delivers right bytes",
                        to_string(from), to_string(to)));
    }
    return {from, to, from.index, true};
}

void ListMover::map(int issuer, Address at) {
    make_reachable(driver_, *resources_, issuer, at);
}

void ListMover::on_issuer(const Way& way, StreamView stream, const Submit& submit) {
    if (stream.device == way.issuer) {
        submit(stream);
        return;
    }
    auto& lane = lane_for({1.0, {way.leg()}, 0, 0}, granule);
    auto& entry = resources_->entry(stream.device);
    driver_.record(entry.view(), stream);
    resources_->begin(lane, entry.view());
    try {
        submit(lane.streams[0].view());
    } catch (...) {
        resources_->abandon(lane, stream);
        throw;
    }
    resources_->end(lane, stream);
}

void ListMover::set_flag(const CopyOptions& options, StreamView stream) {
    if (!options.then_set) {
        return;
    }
    auto const& at = *options.then_set;
    auto const write = [&](StreamView on) { driver_.write_value(on, at.address, options.value); };
    if (at.place.is_host()) {
        write(stream);
    } else {
        on_issuer({at.place, at.place, at.place.index, false}, stream, write);
    }
}

void ListMover::page_list(const Way& way, const PagesArguments& common, const Numbers& to, const Numbers& from,
                          StreamView stream, const ListOptions& options) {
    auto arguments = common;
    LaunchShape const shape{ctas_for(way, common.pages * common.layers * common.page_bytes, options), 512};
    if (!way.staged) {
        on_issuer(way, stream, [&](StreamView on) {
            auto const lists = readable(to, from, common.pages, on);
            arguments.to_index = lists.to_index;
            arguments.from_index = lists.from_index;
            arguments.index_bytes = lists.index_bytes;
            driver_.launch(on, pages_kernel, &arguments, shape);
            release(lists, on);
        });
        return;
    }
    auto const route = staged_route(way, common.pages * common.page_bytes, common.page_bytes);
    auto& lane = lane_for(route, common.page_bytes);
    auto const pages_a_chunk = lane.chunk / common.page_bytes;
    auto const none = Numbers{};
    // Gathering and scattering differ in which end the buffer stands for.
    auto const launch = [&](bool gathers, const Readable& lists, std::uint64_t chunk, StreamView on, Address buffer) {
        auto part = common;
        auto const first = chunk * pages_a_chunk;
        (gathers ? part.to : part.from) = buffer;
        (gathers ? part.to_pitch : part.from_pitch) = common.page_bytes;
        auto const list = gathers ? lists.from_index : lists.to_index;
        if (list == Address::null) {  // without numbers page i is i itself: the base moves on instead
            auto& base = gathers ? part.from : part.to;
            base = base + first * (gathers ? common.from_pitch : common.to_pitch);
        } else {
            (gathers ? part.from_index : part.to_index) = list + first * lists.index_bytes;
        }
        part.index_bytes = lists.index_bytes;
        part.pages = std::min(pages_a_chunk, common.pages - first);
        driver_.launch(on, pages_kernel, &part, shape);
    };
    auto const side = [&](bool gathers, Readable& lists) {
        return Side{[&, gathers](StreamView on) {
                        lists = gathers ? readable(none, from, common.pages, on) : readable(to, none, common.pages, on);
                    },
                    [&, gathers](std::uint64_t chunk, StreamView on, Address buffer) {
                        launch(gathers, lists, chunk, on, buffer);
                    },
                    [&](StreamView on) { release(lists, on); }};
    };
    Readable gathered, scattered;
    auto const out = side(true, gathered), in = side(false, scattered);
    through_host(lane, stream, (common.pages + pages_a_chunk - 1) / pages_a_chunk, out, in);
}

void ListMover::pages(const PageCopy& copy, StreamView stream, const ListOptions& options) {
    if (copy.count == 0 || copy.page_bytes == 0) {
        set_flag(options, stream);
        return;
    }
    auto const to_pitch = copy.dst_pitch == 0 ? copy.page_bytes : copy.dst_pitch;
    auto const from_pitch = copy.src_pitch == 0 ? copy.page_bytes : copy.src_pitch;
    if (to_pitch < copy.page_bytes) {
        throw std::invalid_argument("copy_pages: the destination's pitch is less than a page, so pages overlap");
    }
    auto const target = find(copy.dst, "destination");
    auto const source = find(copy.src, "source");
    auto const to = read(copy.dst_index, copy.count);
    auto const from = read(copy.src_index, copy.count);
    check_numbers(to, copy.page_bytes, to_pitch, target.room, "dst");
    check_numbers(from, copy.page_bytes, from_pitch, source.room, "src");
    if (to.on_host()) {
        if (auto const i = first_repeated(to.values, pages_inside(copy.page_bytes, to_pitch, target.room))) {
            throw std::invalid_argument(
                fmt::format("copy_pages: dst_index[{}] names page {} a second time", *i, to.values[*i]));
        }
    }
    auto const way = way_of(source.place, target.place, copy.count * copy.page_bytes, stream.device);
    auto const base_to = address_of(copy.dst), base_from = address_of(copy.src);
    if (to.on_host() && from.on_host() && to_pitch == copy.page_bytes && from_pitch == copy.page_bytes) {
        auto const enough = copy.count * copy.page_bytes / run_worth_bytes;
        if (runs_of(to.values, from.values, enough) <= enough) {
            std::vector<Segment> segments;
            segments.reserve(copy.count);
            for (std::uint64_t i = 0; i < copy.count; ++i) {
                segments.push_back({base_to + static_cast<std::uint64_t>(to.values[i]) * to_pitch,
                                    base_from + static_cast<std::uint64_t>(from.values[i]) * from_pitch,
                                    copy.page_bytes});
            }
            segment_list(way, merged(segments), stream, options);
            set_flag(options, stream);
            return;
        }
    }
    if (way.staged && copy.page_bytes > most_staged_page) {
        throw std::invalid_argument(fmt::format(
            "copy_pages: nothing is mapped and a page of {} is more than the staging buffer takes: give the "
            "numbers of pages in host memory",
            size_text(copy.page_bytes)));
    }
    map_ends(way, target, source);
    PagesArguments const arguments{base_to,
                                   base_from,
                                   Address::null,
                                   Address::null,
                                   copy.count,
                                   1,
                                   copy.page_bytes,
                                   to_pitch,
                                   from_pitch,
                                   8,
                                   unit_of({static_cast<std::uint64_t>(base_to), static_cast<std::uint64_t>(base_from),
                                            copy.page_bytes, to_pitch, from_pitch}),
                                   false};
    page_list(way, arguments, to, from, stream, options);
    set_flag(options, stream);
}

void ListMover::check_numbers(const Numbers& numbers, std::uint64_t page_bytes, std::uint64_t pitch, std::uint64_t room,
                              const char* side) {
    if (numbers.on_host()) {
        if (auto const i = first_outside(numbers.values, page_bytes, pitch, room)) {
            throw std::invalid_argument(pages_word(*i, numbers.values[*i], side, room));
        }
    }
}

void ListMover::map_ends(const Way& way, const Found& to, const Found& from) {
    make_reachable(driver_, *resources_, way.issuer, from.at, from.memory);
    make_reachable(driver_, *resources_, way.staged ? way.to.index : way.issuer, to.at, to.memory);
}

void ListMover::strided(const StridedCopy& copy, StreamView stream, const ListOptions& options) {
    auto const rows = copy.counts[0] * copy.counts[1];
    if (rows == 0 || copy.row_bytes == 0) {
        set_flag(options, stream);
        return;
    }
    auto const target = find(copy.dst, "destination");
    auto const source = find(copy.src, "source");
    auto const span = [&](const std::array<std::uint64_t, 2>& pitch) {
        return (copy.counts[1] - 1) * pitch[1] + (copy.counts[0] - 1) * pitch[0] + copy.row_bytes;
    };
    if (span(copy.dst_pitch) > target.room || span(copy.src_pitch) > source.room) {
        throw std::invalid_argument(fmt::format("copy_strided: the rows of the {} reach outside its allocation",
                                                span(copy.dst_pitch) > target.room ? "destination" : "source"));
    }
    auto const inner = copy.counts[0] > 1 ? copy.dst_pitch[0] : copy.row_bytes;
    auto const group = (copy.counts[0] - 1) * copy.dst_pitch[0] + copy.row_bytes;
    auto const nested = inner >= copy.row_bytes && (copy.counts[1] == 1 || copy.dst_pitch[1] >= group);
    // Groups may also lie inside the gaps of each other's rows: heads of a page, told the other way round.
    auto const woven =
        copy.dst_pitch[1] >= copy.row_bytes && inner >= (copy.counts[1] - 1) * copy.dst_pitch[1] + copy.row_bytes;
    if (!nested && !woven) {
        throw std::invalid_argument("copy_strided: rows of the destination overlap");
    }
    auto const way = way_of(source.place, target.place, rows * copy.row_bytes, stream.device);
    auto const base_to = address_of(copy.dst), base_from = address_of(copy.src);
    if (way.staged) {
        std::vector<Segment> segments;
        segments.reserve(rows);
        for (std::uint64_t i = 0; i < copy.counts[1]; ++i) {
            for (std::uint64_t j = 0; j < copy.counts[0]; ++j) {
                segments.push_back({base_to + i * copy.dst_pitch[1] + j * copy.dst_pitch[0],
                                    base_from + i * copy.src_pitch[1] + j * copy.src_pitch[0], copy.row_bytes});
            }
        }
        segment_list(way, merged(segments), stream, options);
        set_flag(options, stream);
        return;
    }
    map_ends(way, target, source);
    StridedArguments const arguments{
        base_to,
        base_from,
        copy.row_bytes,
        copy.counts,
        copy.dst_pitch,
        copy.src_pitch,
        unit_of({static_cast<std::uint64_t>(base_to), static_cast<std::uint64_t>(base_from), copy.row_bytes,
                 copy.dst_pitch[0], copy.dst_pitch[1], copy.src_pitch[0], copy.src_pitch[1]})};
    LaunchShape const shape{ctas_for(way, rows * copy.row_bytes, options), 512};
    on_issuer(way, stream, [&](StreamView on) { driver_.launch(on, strided_kernel, &arguments, shape); });
    set_flag(options, stream);
}

}  // namespace peerlane::move
