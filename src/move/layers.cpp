// Pages of many layers, prepared once; and the check of lists that lie on a device.

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/units.hpp>

#include "kernels/kernel.hpp"
#include "model/pipeline.hpp"
#include "move/list_mover.hpp"
#include "plan/leg_costs.hpp"

namespace peerlane::move {
namespace {

/// What a page costs beside its bytes, as bytes: packets that are not full, and the look-up of its number (512-byte
/// pages reach 0.7 of the rate of large ones, docs/performance.md).
constexpr double page_overhead_bytes = 200;

}  // namespace

LayerTable ListMover::prepare(const LayeredPages& layers) {
    if (layers.layers == 0 || layers.page_bytes == 0) {
        throw std::invalid_argument("prepare_pages: no layer, or pages of 0 bytes");
    }
    LayerTable table;
    table.layers = layers.layers;
    table.page_bytes = layers.page_bytes;
    table.dst_pitch = layers.dst_pitch == 0 ? layers.page_bytes : layers.dst_pitch;
    table.src_pitch = layers.src_pitch == 0 ? layers.page_bytes : layers.src_pitch;
    if (table.dst_pitch < table.page_bytes) {
        throw std::invalid_argument("prepare_pages: the destination's pitch is less than a page, so pages overlap");
    }
    auto const fits = [&](std::uint64_t room, std::uint64_t pitch) {
        return room < layers.page_bytes ? 0 : (room - layers.page_bytes) / pitch + 1;
    };
    table.dst_fits = table.src_fits = ~std::uint64_t{0};
    table.bases.resize(2 * layers.layers);
    std::optional<Place> to, from;
    for (std::uint64_t i = 0; i < layers.layers; ++i) {
        auto const target = find(layers.dst_bases[i], "destination");
        auto const source = find(layers.src_bases[i], "source");
        if ((to && *to != target.place) || (from && *from != source.place)) {
            throw std::invalid_argument(
                fmt::format("prepare_pages: layer {} lies in another place than those before it", i));
        }
        to = target.place;
        from = source.place;
        table.dst_fits = std::min(table.dst_fits, fits(target.room, table.dst_pitch));
        table.src_fits = std::min(table.src_fits, fits(source.room, table.src_pitch));
        table.bases[i] = static_cast<std::uint64_t>(address_of(layers.dst_bases[i]));
        table.bases[layers.layers + i] = static_cast<std::uint64_t>(address_of(layers.src_bases[i]));
    }
    // Neither the stream nor the number of pages of a post is known yet.
    table.way = way_of(*from, *to, 0, std::nullopt);
    for (std::uint64_t i = 0; i < layers.layers; ++i) {
        map(table.way.staged ? table.way.to.index : table.way.issuer, Address{table.bases[i]});
        map(table.way.issuer, Address{table.bases[layers.layers + i]});
    }
    table.unit = unit_of({table.page_bytes, table.dst_pitch, table.src_pitch});
    for (auto const base : table.bases) {
        table.unit = unit_of({table.unit, base});
    }
    if (!table.way.staged) {
        auto const bytes = table.bases.size() * 8;
        table.on_issuer = Allocation(driver_, {gpu(table.way.issuer), bytes});
        Allocation const pinned(driver_, {host(), bytes, MemoryKind::pinned});
        driver_.write_host(pinned.address(), table.bases.data(), bytes);
        Stream stream(driver_, table.way.issuer);
        driver_.copy(stream.view(), {table.on_issuer.location(), pinned.location(), bytes, CopyApi::automatic});
        driver_.synchronize(stream.view());
    }
    return table;
}

void ListMover::post(const LayerTable& table, PageIndices to_index, PageIndices from_index, std::uint64_t count,
                     StreamView stream, const ListOptions& options) {
    if (count == 0) {
        set_flag(options, stream);
        return;
    }
    auto const to = read(to_index, count);
    auto const from = read(from_index, count);
    auto const check = [&](const Numbers& numbers, std::uint64_t fit, const char* side) {
        if (numbers.on_host()) {
            if (auto const i = first_outside(numbers.values, 1, 1, fit)) {
                throw std::invalid_argument(fmt::format("post: {}_index[{}] is {}, but the smallest layer has {} pages",
                                                        side, *i, numbers.values[*i], fit));
            }
        }
    };
    check(to, table.dst_fits, "dst");
    check(from, table.src_fits, "src");
    if (to.on_host()) {
        if (auto const i = first_repeated(to.values, table.dst_fits)) {
            throw std::invalid_argument(
                fmt::format("post: dst_index[{}] names page {} a second time", *i, to.values[*i]));
        }
    }
    PagesArguments arguments{table.on_issuer.address(),
                             table.on_issuer.address() + table.layers * 8,
                             Address::null,
                             Address::null,
                             count,
                             table.layers,
                             table.page_bytes,
                             table.dst_pitch,
                             table.src_pitch,
                             8,
                             table.unit,
                             true};
    if (!table.way.staged) {
        page_list(table.way, arguments, to, from, stream, options);
    } else {
        arguments.layers = 1;
        arguments.many_layers = false;
        for (std::uint64_t layer = 0; layer < table.layers; ++layer) {
            arguments.to = Address{table.bases[layer]};
            arguments.from = Address{table.bases[table.layers + layer]};
            page_list(table.way, arguments, to, from, stream, options);
        }
    }
    set_flag(options, stream);
}

Choice ListMover::choose(Place from, Place to, std::uint64_t bytes, std::uint64_t page_bytes) const {
    Choice choice;
    choice.bytes = bytes;
    Way way;
    try {
        way = way_of(from, to, bytes, std::nullopt);
    } catch (const std::invalid_argument& none) {
        choice.why = {none.what()};
        return choice;
    }
    plan::LegCosts const costs(ready_.machine, ready_.profile);
    auto const route = way.staged ? staged_route(way, bytes, page_bytes) : Route{1.0, {way.leg()}, 0, 0};
    model::Pipeline pipeline;
    for (auto const& leg : route.legs) {
        if (auto const cost = costs.leg(leg)) {
            pipeline.stages.push_back(way.staged ? cost->queued : cost->once);
        }
    }
    choice.routes = {route};
    if (pipeline.stages.size() == route.legs.size()) {
        auto const size = static_cast<double>(bytes) * (1 + page_overhead_bytes / static_cast<double>(page_bytes));
        choice.predicted_s =
            way.staged ? model::seconds(pipeline, model::chunk_sizes(static_cast<std::uint64_t>(size), route.chunk),
                                        route.buffers)
                       : pipeline.stages.front().seconds(size);
        choice.predicted_gbs = static_cast<double>(bytes) / choice.predicted_s / 1e9;
    }
    auto const pages = bytes / page_bytes;
    choice.why = {way.staged ? fmt::format("{} pages of {}: no kernel access is proven, so {} gathers them into pinned "
                                           "memory and {} scatters them",
                                           pages, size_text(page_bytes), to_string(from), to_string(to))
                             : fmt::format("{} pages of {}: one kernel on {} moves them all, for a copy call costs "
                                           "microseconds a page",
                                           pages, size_text(page_bytes), to_string(gpu(way.issuer)))};
    return choice;
}

std::optional<std::size_t> ListMover::first_bad(const PageCopy& copy, StreamView stream) {
    auto const fetched = [&](PageIndices given) {
        auto numbers = read(given, copy.count);
        if (numbers.device) {
            auto const bytes = copy.count * given.bytes;
            Allocation const pinned(driver_, {host(), bytes, MemoryKind::pinned});
            auto const fetch = [&](StreamView on) {
                driver_.copy(on,
                             {pinned.location(), {*numbers.device, address_of(given.at)}, bytes, CopyApi::automatic});
            };
            on_issuer({*numbers.device, *numbers.device, numbers.device->index, false}, stream, fetch);
            driver_.synchronize(stream);
            std::vector<unsigned char> raw(bytes);
            driver_.read_host(pinned.address(), raw.data(), bytes);
            numbers.values = PageNumbers(std::move(raw), given.bytes);
        }
        return numbers.values;
    };
    auto const pitch = [&](std::uint64_t given) { return given == 0 ? copy.page_bytes : given; };
    auto const to = fetched(copy.dst_index);
    auto const from = fetched(copy.src_index);
    std::optional<std::size_t> first;
    for (auto const& bad :
         {first_outside(to, copy.page_bytes, pitch(copy.dst_pitch), find(copy.dst, "destination").room),
          first_outside(from, copy.page_bytes, pitch(copy.src_pitch), find(copy.src, "source").room),
          first_repeated(to)}) {
        if (bad) {
            first = std::min(first.value_or(*bad), *bad);
        }
    }
    return first;
}

}  // namespace peerlane::move
