#include "prove/transfer.hpp"

#include <algorithm>
#include <array>

#include <peerlane/error.hpp>

#include "kernels/check.hpp"
#include "kernels/copy.hpp"
#include "kernels/fill.hpp"

namespace peerlane::prove {
namespace {

constexpr std::uint64_t window_bytes = 8 * 1024;
constexpr std::uint64_t outcome_bytes = sizeof(CheckOutcome);
constexpr int outcomes = 3;
constexpr std::uint64_t windows_at = 1024;  ///< in the pinned memory, behind the outcomes
constexpr std::uint64_t most_windows = 4;
static_assert(windows_at + most_windows * window_bytes <= Bench::pinned_bytes);
static_assert(outcomes * outcome_bytes <= windows_at);

/// A part of a device's buffer.
struct Range {
    int device = 0;
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
};

/// The steps that transfers are made of, each submitted to the stream of the device that does it.
class Table {
  public:
    explicit Table(Bench& bench) : bench_(bench), driver_(bench.driver()) {}

    [[nodiscard]] Location location(Range range) const { return bench_.side(range.device).memory.location(range.at); }

    void fill(Range range, Pattern pattern) {
        FillArguments const arguments{location(range).address, range.bytes, pattern, 16};
        driver_.launch(stream(range.device), fill_kernel, &arguments);
    }

    /// What the device submits next comes after what the other submitted so far.
    void follow(int device, int other) {
        if (device != other) {
            auto& before = bench_.side(other);
            driver_.record(before.done.view(), before.stream.view());
            driver_.wait(stream(device), before.done.view());
        }
    }

    void move(const Transfer& transfer, Range from, Range to) {
        if (transfer.way == Way::through_host) {
            move_through_host(from, to);
            return;
        }
        auto& issuer = bench_.side(transfer.issuer);
        driver_.record(issuer.start.view(), issuer.stream.view());
        if (transfer.way == Way::copy_engine) {
            driver_.copy(issuer.stream.view(), {location(to), location(from), from.bytes, CopyApi::peer});
        } else {
            CopyArguments const arguments{location(to).address, location(from).address, from.bytes, transfer.width};
            driver_.launch(issuer.stream.view(), copy_kernel, &arguments);
        }
        driver_.record(issuer.end.view(), issuer.stream.view());
    }

    /// The device looks at its own memory; the answer is in `outcome(slot)` once its stream is waited for.
    void look(Range range, Pattern expected, Pattern poison, int slot) {
        auto const at = bench_.pinned() + static_cast<std::uint64_t>(slot) * outcome_bytes;
        CheckOutcome const unanswered{0, range.bytes, 0, 0};  // a kernel that never ran must not read as "all right"
        driver_.write_host(at, &unanswered, outcome_bytes);
        CheckArguments const arguments{location(range).address, range.bytes, expected, poison, at};
        driver_.launch(stream(range.device), check_kernel, &arguments);
    }

    [[nodiscard]] CheckOutcome outcome(int slot) const {
        CheckOutcome found;
        driver_.read_host(bench_.pinned() + static_cast<std::uint64_t>(slot) * outcome_bytes, &found, outcome_bytes);
        return found;
    }

    /// Bytes of some ranges, copied out by the device that owns them.
    std::vector<std::vector<std::uint8_t>> read(const std::vector<Range>& ranges) {
        auto const pinned = bench_.pinned() + windows_at;
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            driver_.copy(stream(ranges[i].device),
                         {{host(), pinned + i * window_bytes}, location(ranges[i]), ranges[i].bytes});
        }
        std::vector<std::vector<std::uint8_t>> contents;
        if (!ranges.empty()) {
            bench_.wait(ranges.front().device);
        }
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            contents.emplace_back(ranges[i].bytes);
            driver_.read_host(pinned + i * window_bytes, contents.back().data(), ranges[i].bytes);
        }
        return contents;
    }

  private:
    [[nodiscard]] StreamView stream(int device) const { return bench_.side(device).stream.view(); }

    void move_through_host(Range from, Range to) {
        auto& ring = bench_.ring(from.device, to.device);
        auto const source = stream(from.device);
        auto const destination = stream(to.device);
        auto& timed = bench_.side(to.device);
        driver_.record(timed.start.view(), destination);
        follow(from.device, to.device);
        int slot = 0;
        bool first_round = true;
        for (std::uint64_t done = 0; done < from.bytes; done += Ring::chunk) {
            auto const bytes = std::min(Ring::chunk, from.bytes - done);
            Location const chunk{host(), ring.memory.address() + static_cast<std::uint64_t>(slot) * Ring::chunk};
            auto const filled = ring.filled[static_cast<std::size_t>(slot)].view();
            auto const drained = ring.drained[static_cast<std::size_t>(slot)].view();
            if (!first_round) {
                driver_.wait(source, drained);
            }
            driver_.copy(source, {chunk, location({from.device, from.at + done}), bytes});
            driver_.record(filled, source);
            driver_.wait(destination, filled);
            driver_.copy(destination, {location({to.device, to.at + done}), chunk, bytes});
            driver_.record(drained, destination);
            if (++slot == Ring::slots) {
                slot = 0;
                first_round = false;
            }
        }
        driver_.record(timed.end.view(), destination);
    }

    Bench& bench_;
    Driver& driver_;
};

Range payload_of(int device, std::uint64_t start, std::uint64_t bytes) {
    return {device, guard_bytes + start, bytes};
}

/// Places worth seeing: all of a small range with its guards; of a large one its ends, its middle and where it begins
/// to be bad.
std::vector<Range> windows_of(Range payload, std::uint64_t first_bad) {
    auto const begin = payload.at - guard_bytes;
    auto const end = payload.at + payload.bytes + guard_bytes;
    std::vector<Range> windows;
    if (end - begin <= most_windows * window_bytes) {
        for (auto at = begin; at < end; at += window_bytes - 8) {  // overlapping: a word may lie across
            windows.push_back({payload.device, at, std::min(window_bytes, end - at)});
            if (at + window_bytes >= end) {
                break;
            }
        }
        if (windows.size() <= most_windows) {
            return windows;
        }
        windows.clear();
    }
    for (auto const at : {begin, payload.at + std::min(first_bad, payload.bytes - window_bytes),
                          payload.at + payload.bytes / 2 / 8 * 8, end - window_bytes}) {
        windows.push_back({payload.device, at, window_bytes});
    }
    return windows;
}

/// Does the accessor read back over the same path what it sent and the owner does not see?
bool reads_own_bytes_back(Bench& bench, const Transfer& sent, const Patterns& patterns) {
    Table table(bench);
    auto const at_owner = payload_of(sent.to, sent.to_start, sent.bytes);
    auto const at_accessor = payload_of(sent.from, sent.from_start, sent.bytes);
    Pattern const poison{mix64(patterns.poison_key), 0};
    table.fill(at_accessor, poison);
    table.move(sent, at_owner, at_accessor);
    table.look(at_accessor, patterns.expected, poison, 0);
    bench.wait(sent.issuer);
    return table.outcome(0).bad == 0;
}

/// Runs what is only told beside a verdict that stands already: a failure in here leaves less to say, and perhaps a
/// bench that is of no more use.
template <class F>
void beside_the_verdict(Bench& bench, F&& tell) {
    try {
        tell();
    } catch (const TimeUp&) {
        bench.abandon();
    } catch (const Error& error) {
        if (error.info().sticky) {
            bench.abandon();
        }
    }
}

int issuer_of(const Transfer& transfer) {
    return transfer.way == Way::through_host ? transfer.to : transfer.issuer;
}

/// Finds out more about what is wrong.
void look_closer(Bench& bench, const Transfer& transfer, const Patterns& patterns, Observation& what) {
    beside_the_verdict(bench, [&] {
        Table table(bench);
        auto const payload = payload_of(transfer.to, transfer.to_start, transfer.bytes);
        auto const ranges = windows_of(payload, what.payload.bad != 0 ? what.payload.first_bad : 0);
        auto contents = table.read(ranges);
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            what.windows.push_back({static_cast<std::int64_t>(ranges[i].at) - static_cast<std::int64_t>(payload.at),
                                    std::move(contents[i])});
        }
        auto const never_seen = what.payload.zero == what.payload.bad || what.payload.old == what.payload.bad;
        auto const sent = transfer.way != Way::through_host && transfer.issuer == transfer.from;
        if (sent && never_seen && classify(what) != WrongKind::offset) {
            what.own_bytes_back = reads_own_bytes_back(bench, transfer, patterns);
        }
    });
}

/// Poisons, sends and looks; what the owner found, without a closer look.
Observation send(Bench& bench, const Transfer& transfer, const Patterns& patterns) {
    auto const from = payload_of(transfer.from, transfer.from_start, transfer.bytes);
    auto const to = payload_of(transfer.to, transfer.to_start, transfer.bytes);
    Range const before{to.device, 0, to.at};
    Range const after{to.device, to.at + to.bytes, guard_bytes};
    Pattern const poison_before{patterns.poison_key, 0}, poison_in{patterns.poison_key, to.at},
        poison_after{patterns.poison_key, after.at};

    Table table(bench);
    table.fill({to.device, 0, after.at + after.bytes}, poison_before);
    table.fill(from, patterns.expected);
    auto const issuer = issuer_of(transfer);
    table.follow(issuer, issuer == transfer.to ? transfer.from : transfer.to);
    table.move(transfer, from, to);
    table.follow(to.device, issuer);
    table.look(to, patterns.expected, poison_in, 0);
    table.look(before, poison_before, patterns.expected, 1);
    table.look(after, poison_after, patterns.expected, 2);
    bench.wait(to.device);
    // An error stays with the stream that issued the work: others only saw that it ended.
    static_cast<void>(bench.driver().query(bench.side(issuer).stream.view()));
    static_cast<void>(bench.driver().query(bench.side(from.device).stream.view()));
    return {transfer.bytes, patterns.expected, table.outcome(0), table.outcome(1), table.outcome(2)};
}

}  // namespace

Patterns patterns_of(const Transfer& transfer) {
    auto const pair = (static_cast<std::uint64_t>(transfer.from) << 32) | static_cast<std::uint64_t>(transfer.to);
    Patterns patterns;
    patterns.poison_key = mix64(pattern_key(transfer.seed, pair, transfer.name, transfer.bytes));
    Pattern const poison{patterns.poison_key, guard_bytes + transfer.to_start};
    for (std::uint64_t nonce = 0;; ++nonce) {
        patterns.expected = {pattern_key(transfer.seed + nonce, pair, transfer.name, transfer.bytes), 0};
        bool distinct = true;
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(8, transfer.bytes); ++i) {
            auto const byte = pattern_byte(patterns.expected, i);
            distinct = distinct && byte != 0 && byte != pattern_byte(poison, i);
        }
        if (distinct) {
            return patterns;
        }
    }
}

Seen send_and_look(Bench& bench, const Transfer& transfer) {
    auto const patterns = patterns_of(transfer);
    Seen seen{send(bench, transfer, patterns)};
    auto& timed = bench.side(issuer_of(transfer));
    seen.seconds = bench.driver().elapsed(timed.start.view(), timed.end.view());
    if (!seen.what.right()) {
        look_closer(bench, transfer, patterns, seen.what);
    }
    return seen;
}

std::optional<Observation> read_behind_decoy(Bench& bench, const Transfer& transfer) {
    std::optional<Observation> what;
    beside_the_verdict(bench, [&] {
        auto const patterns = patterns_of(transfer);
        auto const accessor = payload_of(transfer.to, transfer.to_start, transfer.bytes);
        auto const owner = payload_of(transfer.from, transfer.from_start, transfer.bytes);
        Pattern const decoy{mix64(patterns.expected.key), 0};
        Table table(bench);
        table.fill(accessor, decoy);
        table.follow(transfer.to, transfer.from);
        table.move(transfer, accessor, owner);
        bench.wait(transfer.to);

        auto found = send(bench, transfer, patterns);
        if (!found.right()) {
            table.look(accessor, decoy, {patterns.poison_key, accessor.at}, 0);
            bench.wait(transfer.to);
            found.own_bytes_back = table.outcome(0).bad == 0;
        }
        what = std::move(found);
    });
    return what;
}

}  // namespace peerlane::prove
