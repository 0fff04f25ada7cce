#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "prove/run.hpp"
#include "prove/transfer.hpp"

namespace peerlane::prove {
namespace {

/// Below this a rate says more about the call than about the path.
constexpr std::uint64_t rated_from_bytes = 64 * KiB;

/// Ways in which one size is tried: starts that are aligned and that are not; kernels access in several widths.
struct Variant {
    unsigned width;
    std::uint64_t from_start, to_start;
};

std::span<const Variant> variants_of(Way way, std::uint64_t bytes) {
    static constexpr std::array<Variant, 4> all{{{16, 0, 0}, {16, 3, 5}, {8, 0, 8}, {4, 12, 4}}};
    switch (way) {
        case Way::through_host:
            return std::span(all).first(1);
        case Way::copy_engine:
            return std::span(all).first(2);
        case Way::kernel:
            break;
    }
    return std::span(all).first(bytes <= MiB ? all.size() : 2);
}

/// True when something is wrong, which the result then tells.
bool wrong(CheckResult& result, const Observation& seen) {
    result.kind = classify(seen);
    if (!result.kind) {
        return false;
    }
    result.result = Result::wrong;
    result.first_bad_offset = first_bad_offset(seen);
    result.bad_bytes = seen.payload.bad + seen.before.bad + seen.after.bad;
    return true;
}

/// `number`: of the variant. Its pattern is named by check and variant, beside pair and size.
Transfer transfer_of(const Run& run, Way way, bool pull, std::uint64_t bytes, const Variant& variant,
                     std::uint64_t number) {
    auto const& step = run.step;
    auto const check = static_cast<std::uint64_t>(step.kind) << 8 | static_cast<std::uint64_t>(step.check);
    return {.from = pull ? step.owner : step.accessor,
            .to = pull ? step.accessor : step.owner,
            .issuer = step.accessor,
            .way = way,
            .bytes = bytes,
            .width = variant.width,
            .from_start = variant.from_start,
            .to_start = variant.to_start,
            .name = check << 8 | number,
            .seed = step.seed};
}

void rate(CheckResult& result, std::uint64_t bytes, std::optional<double> seconds) {
    if (!seconds || *seconds <= 0) {
        return;
    }
    result.seconds = seconds;
    if (!result.small_seconds) {  // sizes come smallest first
        result.small_seconds = seconds;
    }
    result.gbs.reset();
    if (bytes >= rated_from_bytes) {
        result.gbs = static_cast<double>(bytes) / *seconds / 1e9;
    }
}

/// True when what was seen is right; else the result says what is wrong.
bool right(Run& run, const Transfer& transfer, const Observation& seen) {
    if (!wrong(run.result, seen)) {
        return true;
    }
    auto const reads = transfer.way != Way::through_host && transfer.issuer == transfer.to;
    if (reads && run.limits.decoy && run.bench.usable()) {
        auto const behind = read_behind_decoy(run.bench, transfer);
        if (behind && behind->own_bytes_back) {
            wrong(run.result, *behind);
        }
    }
    return false;
}

/// True when every variant of this size is right.
bool send_size(Run& run, Way way, bool pull, std::uint64_t bytes) {
    run.bench.allow(run.limits.seconds_per_size);
    std::uint64_t number = 0;
    for (auto const& variant : variants_of(way, bytes)) {
        auto const transfer = transfer_of(run, way, pull, bytes, variant, number);
        auto const seen = send_and_look(run.bench, transfer);
        if (!right(run, transfer, seen.what)) {
            return false;
        }
        if (number++ == 0) {
            auto seconds = seen.seconds;
            // The first one of a size pays for what is set up once: mappings, caches, clocks.
            if (bytes >= rated_from_bytes || !run.result.small_seconds) {
                auto const again = send_and_look(run.bench, transfer);
                if (!right(run, transfer, again.what)) {
                    return false;
                }
                seconds = std::min(seconds, again.seconds);
            }
            rate(run.result, bytes, seconds);
        }
    }
    return true;
}

/// True when no size brings back a decoy. Last of all, for a decoy that hangs ends the use of the bench.
bool no_decoy_comes_back(Run& run, Way way) {
    for (auto const bytes : run.result.sizes) {
        run.bench.allow(run.limits.seconds_per_size);
        auto const behind = read_behind_decoy(run.bench, transfer_of(run, way, true, bytes, {16, 0, 0}, 0));
        if (!run.bench.usable()) {
            return true;
        }
        if (behind && wrong(run.result, *behind)) {
            run.result.at_bytes = bytes;
            return false;
        }
    }
    return true;
}

/// The step's sizes that both devices have room for; what was left out, and why, is told. Throws NotTried when none
/// fits.
std::vector<std::uint64_t> make_room(Run& run) {
    auto sizes = run.step.sizes;
    for (;;) {
        try {
            for (auto const device : {run.step.accessor, run.step.owner}) {
                run.bench.side(device, room_for(sizes.empty() ? 0 : sizes.back()));
            }
            return sizes;
        } catch (const NotTried& full) {
            if (sizes.size() < 2) {
                throw;
            }
            sizes.pop_back();
            run.result.reason = fmt::format("{}: nothing above {} was tried", full.reason, size_text(sizes.back()));
        }
    }
}

/// Sends every size, smallest first, until one is not right.
void send_sizes(Run& run, Way way, bool pull) {
    auto const sizes = make_room(run);
    for (auto const bytes : sizes) {
        run.result.sizes.push_back(bytes);
        run.result.at_bytes = bytes;  // should it throw
        if (!send_size(run, way, pull, bytes)) {
            return;
        }
    }
    if (pull && run.limits.decoy && !no_decoy_comes_back(run, way)) {
        return;
    }
    run.result.at_bytes.reset();
    run.result.result = Result::ok;
}

}  // namespace

void check_push(Run& run) {
    if (copies_go_direct(run)) {
        send_sizes(run, Way::copy_engine, false);
    }
}

void check_pull(Run& run) {
    if (copies_go_direct(run)) {
        send_sizes(run, Way::copy_engine, true);
    }
}

void check_store(Run& run) {
    if (kernels_may_reach(run)) {
        send_sizes(run, Way::kernel, false);
    }
}

void check_load(Run& run) {
    if (kernels_may_reach(run)) {
        send_sizes(run, Way::kernel, true);
    }
}

void check_control(Run& run) {
    send_sizes(run, Way::through_host, false);
}

}  // namespace peerlane::prove
