#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "kernels/check.hpp"
#include "kernels/fill.hpp"
#include "prove/run.hpp"
#include "prove/transfer.hpp"

namespace peerlane::prove {
namespace {

constexpr std::uint64_t gate_at = Bench::pinned_bytes - 64;  ///< behind the outcomes
constexpr std::uint64_t most_pairs = gate_at / sizeof(CheckOutcome);

/// Copies of a pair that its rate is taken over, back to back. One alone says more about its start than about the path.
/// Where many pairs share a device, each copy is slow enough for fewer of them to do.
constexpr std::uint32_t most_rounds = 16, least_rounds = 2, copies_in_all = 256;
/// What the slowest pair may need for them: a collapsed group would take seconds.
constexpr double seconds_to_rate = 0.05;

/// One pair of the group, with what it needs of its own.
struct Mover {
    int source = 0, destination = 0, issuer = 0;
    std::uint64_t from = 0, to = 0;  ///< in the buffers of source and destination
    Pattern expected{};
    std::uint64_t poison_key = 0;
    Stream stream{};
    Event start{}, end{};
};

class Together {
  public:
    explicit Together(Run& run)
        : run_(run), bench_(run.bench), driver_(run.bench.driver()), bytes_(run.step.sizes.front()) {}

    void run() {
        if (run_.step.pairs.size() > most_pairs) {
            throw NotTried{fmt::format("{} pairs are more than the prober holds", run_.step.pairs.size())};
        }
        place();
        for (auto const& pair : run_.step.pairs) {
            connect(pair.first, pair.second);
        }
        bench_.allow(run_.limits.seconds_per_size);
        try {
            // The first copies pay for what is set up once, and tell how many a rate may be taken over.
            if (!moved_right(1)) {
                return;
            }
            auto const pairs = static_cast<std::uint32_t>(movers_.size());
            auto const most = std::clamp(copies_in_all / pairs, least_rounds, most_rounds);
            auto const rounds = rounds_within(seconds_to_rate, slowest(), most);
            if (rounds > 1 && !moved_right(rounds)) {
                return;
            }
            rate(rounds);
            keep_moving(rounds);
        } catch (const TimeUp&) {
            leave();
            throw;
        } catch (const Error& error) {
            if (error.info().sticky) {
                leave();
            }
            if (run_.step.seconds > 0) {
                tell_when(error);
                return;
            }
            throw;
        }
    }

  private:
    /// Poisons, moves the bytes of each pair `rounds` times, and looks; the result tells what is wrong.
    bool moved_right(std::uint32_t rounds) {
        fill();
        move(rounds);
        return look();
    }

    /// Seconds of one pair between its events.
    [[nodiscard]] double seconds_of(const Mover& mover) const {
        return driver_.elapsed(mover.start.view(), mover.end.view());
    }

    [[nodiscard]] double slowest() const {
        double seconds = 0;
        for (auto const& mover : movers_) {
            seconds = std::max(seconds, seconds_of(mover));
        }
        return seconds;
    }

    void rate(std::uint32_t rounds) {
        auto& result = run_.result;
        for (auto const& mover : movers_) {
            result.rates.push_back(static_cast<double>(bytes_) * rounds / seconds_of(mover) / 1e9);
        }
        result.result = Result::ok;
        result.gbs = *std::min_element(result.rates.begin(), result.rates.end());
        result.seconds = static_cast<double>(bytes_) / *result.gbs / 1e9;
    }

    /// Over and over, as long as the step wants; the rate becomes the slowest that any pair had in any of it.
    void keep_moving(std::uint32_t rounds) {
        auto slowest_rates = run_.result.rates;
        while (driver_.now() - began_ < run_.step.seconds) {
            bench_.allow(run_.limits.seconds_per_size);
            run_.result.rates.clear();
            if (!moved_right(rounds)) {
                run_.result.reason += fmt::format(", after {} of load", seconds_text(driver_.now() - began_));
                return;
            }
            rate(rounds);
            for (std::size_t i = 0; i < slowest_rates.size(); ++i) {
                slowest_rates[i] = std::min(slowest_rates[i], run_.result.rates[i]);
            }
        }
        if (run_.step.seconds > 0) {
            run_.result.rates = slowest_rates;
            run_.result.gbs = *std::min_element(slowest_rates.begin(), slowest_rates.end());
        }
    }

    /// An error under load says when, too.
    void tell_when(const Error& error) {
        auto& result = run_.result;
        result.rates.clear();
        result.gbs.reset();
        result.result = Result::error;
        result.code = error.code();
        result.reason = fmt::format("{}, after {} of load", error.what(), seconds_text(driver_.now() - began_));
    }

    [[nodiscard]] std::uint64_t room() const { return room_for(bytes_) / 512 * 512 + 512; }

    void place() {
        std::map<int, std::uint64_t> used;
        auto const pull = run_.step.check == Check::pull;
        for (auto const& [accessor, owner] : run_.step.pairs) {
            Mover mover;
            mover.source = pull ? owner : accessor;
            mover.destination = pull ? accessor : owner;
            mover.issuer = accessor;
            mover.from = used[mover.source];
            used[mover.source] += room();
            mover.to = used[mover.destination] + guard_bytes;
            used[mover.destination] += room();
            Transfer const named{mover.source, mover.destination, accessor, Way::copy_engine, bytes_, 16, 0, 0,
                                 name(),       run_.step.seed};
            auto const patterns = patterns_of(named);
            mover.expected = patterns.expected;
            mover.poison_key = patterns.poison_key;
            movers_.push_back(std::move(mover));
        }
        for (auto const& [device, bytes] : used) {
            bench_.side(device, bytes);
        }
        for (auto& mover : movers_) {
            mover.stream = Stream(driver_, mover.issuer);
            mover.start = Event(driver_, mover.issuer, true);
            mover.end = Event(driver_, mover.issuer, true);
        }
    }

    [[nodiscard]] std::uint64_t name() const {
        return static_cast<std::uint64_t>(run_.step.kind) << 16 | static_cast<std::uint64_t>(run_.step.check) << 8;
    }

    /// One direction of two devices is enough for copies to go direct, and a machine may have few mapping slots: each
    /// device maps those that follow it, half of the others.
    void connect(int accessor, int owner) {
        auto const count = driver_.device_count();
        auto const ahead = (owner - accessor + count) % count;
        auto const first = 2 * ahead < count || (2 * ahead == count && accessor < owner);
        auto const [a, b] = first ? std::pair(accessor, owner) : std::pair(owner, accessor);
        auto const maps = [&](int from, int to) {
            return driver_.can_access(from, to) && bench_.map(from, to).usable();
        };
        if (!maps(a, b) && !maps(b, a)) {
            throw NotTried{fmt::format("devices {} and {} cannot be mapped beside the others", accessor, owner)};
        }
    }

    void launch_fill(int device, std::uint64_t at, std::uint64_t bytes, Pattern pattern) {
        auto& side = bench_.side(device);
        FillArguments const arguments{side.memory.location(at).address, bytes, pattern, 16};
        driver_.launch(side.stream.view(), fill_kernel, &arguments);
    }

    void fill() {
        for (auto const& mover : movers_) {
            launch_fill(mover.source, mover.from, bytes_, mover.expected);
            launch_fill(mover.destination, mover.to - guard_bytes, bytes_ + 2 * guard_bytes, {mover.poison_key, 0});
        }
        for (auto const device : devices()) {
            bench_.wait(device);
        }
    }

    [[nodiscard]] std::set<int> devices() const {
        std::set<int> all;
        for (auto const& mover : movers_) {
            all.insert({mover.source, mover.destination});
        }
        return all;
    }

    /// All wait at a gate, so that they start at one moment however long submitting takes.
    void move(std::uint32_t rounds) {
        auto const all = devices();
        auto const gated = std::all_of(
            all.begin(), all.end(), [&](int device) { return driver_.capabilities(device).stream_memory_operations; });
        auto const gate = bench_.pinned() + gate_at;
        std::uint32_t value = 0;
        driver_.write_host(gate, &value, sizeof value);
        for (auto& mover : movers_) {
            auto const stream = mover.stream.view();
            if (gated) {
                driver_.wait_value(stream, gate, 1);
            }
            driver_.record(mover.start.view(), stream);
            for (std::uint32_t round = 0; round < rounds; ++round) {
                driver_.copy(stream, {bench_.side(mover.destination).memory.location(mover.to),
                                      bench_.side(mover.source).memory.location(mover.from), bytes_, CopyApi::peer});
            }
            driver_.record(mover.end.view(), stream);
        }
        value = 1;
        driver_.write_host(gate, &value, sizeof value);
        for (auto& mover : movers_) {
            if (!driver_.wait_for(mover.end.view(), std::max(0.0, bench_.deadline() - driver_.now()))) {
                throw TimeUp{};
            }
            static_cast<void>(driver_.query(mover.stream.view()));
        }
    }

    /// What the owners see; where it is wrong, the result says so.
    bool look() {
        auto const slot = [&](std::size_t i) { return bench_.pinned() + i * sizeof(CheckOutcome); };
        for (std::size_t i = 0; i < movers_.size(); ++i) {
            auto const& mover = movers_[i];
            auto& side = bench_.side(mover.destination);
            CheckOutcome const unanswered{0, bytes_, 0, 0};
            driver_.write_host(slot(i), &unanswered, sizeof unanswered);
            CheckArguments const arguments{side.memory.location(mover.to).address,
                                           bytes_,
                                           mover.expected,
                                           {mover.poison_key, guard_bytes},
                                           slot(i)};
            driver_.launch(side.stream.view(), check_kernel, &arguments);
        }
        for (auto const device : devices()) {
            bench_.wait(device);
        }
        auto& result = run_.result;
        result.sizes = {bytes_};
        for (std::size_t i = 0; i < movers_.size(); ++i) {
            auto const& mover = movers_[i];
            Observation seen{bytes_, mover.expected, {}, {}, {}};
            driver_.read_host(slot(i), &seen.payload, sizeof seen.payload);
            if (auto const kind = classify(seen)) {
                result.result = Result::wrong;
                result.kind = kind;
                result.first_bad_offset = first_bad_offset(seen);
                result.bad_bytes = seen.payload.bad;
                result.at_bytes = bytes_;
                result.reason = fmt::format("from {} to {}: {} of {} bytes are wrong", mover.source, mover.destination,
                                            seen.payload.bad, bytes_);
                return false;
            }
        }
        return true;
    }

    /// What still runs may not be waited for.
    void leave() {
        for (auto& mover : movers_) {
            mover.stream.release();
        }
        bench_.abandon();
    }

    Run& run_;
    Bench& bench_;
    Driver& driver_;
    std::uint64_t bytes_;
    double began_ = driver_.now();
    std::vector<Mover> movers_{};
};

}  // namespace

void check_group(Run& run) {
    Together(run).run();
}

}  // namespace peerlane::prove
