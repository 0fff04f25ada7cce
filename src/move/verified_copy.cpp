#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <peerlane/driver/owned.hpp>
#include <peerlane/error.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/units.hpp>

#include "kernels/check.hpp"
#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"
#include "prove/classify.hpp"

namespace peerlane {
namespace {

constexpr std::uint64_t window_bytes = 4096;

struct TimeUp {};

/// The two ends of the copy, filled and looked at by their owners.
class Ends {
  public:
    Ends(Driver& driver, Place from, Place to, std::uint64_t bytes, double limit)
        : driver_(driver),
          limit_(limit),
          from_(driver, {from, bytes, from.is_host() ? MemoryKind::pinned : MemoryKind::plain}),
          to_(driver, {to, bytes, to.is_host() ? MemoryKind::pinned : MemoryKind::plain}),
          result_(driver, {host(), sizeof(CheckOutcome), MemoryKind::pinned}),
          window_(driver, {host(), window_bytes, MemoryKind::pinned}) {}

    [[nodiscard]] const Allocation& from() const { return from_; }
    [[nodiscard]] const Allocation& to() const { return to_; }

    void fill(const Allocation& memory, Pattern pattern) {
        auto const place = memory.location().place;
        if (place.is_host()) {
            driver_.fill_host(memory.address(), memory.bytes(), pattern);
            return;
        }
        FillArguments const arguments{memory.address(), memory.bytes(), pattern, 16};
        on_owner(place.index, [&](StreamView stream) { driver_.launch(stream, fill_kernel, &arguments); });
    }

    CheckOutcome look(Pattern expected, Pattern poison) {
        auto const place = to_.location().place;
        if (place.is_host()) {
            return driver_.check_host(to_.address(), to_.bytes(), expected, poison);
        }
        CheckArguments const arguments{to_.address(), to_.bytes(), expected, poison, result_.address()};
        on_owner(place.index, [&](StreamView stream) { driver_.launch(stream, check_kernel, &arguments); });
        CheckOutcome outcome;
        driver_.read_host(result_.address(), &outcome, sizeof outcome);
        return outcome;
    }

    /// As `look`, page by page: page i of the list stands at to_index[i] and holds what page from_index[i] of the
    /// source held. Offsets are those of the destination.
    CheckOutcome look(Pattern expected, Pattern poison, std::uint64_t page, const std::vector<std::int64_t>& to_index,
                      const std::vector<std::int64_t>& from_index) {
        auto const place = to_.location().place;
        std::vector<CheckOutcome> outcomes(to_index.size());
        auto const pattern = [&](std::size_t i) {
            return Pattern{expected.key, expected.offset + static_cast<std::uint64_t>(from_index[i]) * page};
        };
        auto const old = [&](std::size_t i) {
            return Pattern{poison.key, poison.offset + static_cast<std::uint64_t>(to_index[i]) * page};
        };
        auto const at = [&](std::size_t i) { return to_.address() + static_cast<std::uint64_t>(to_index[i]) * page; };
        if (place.is_host()) {
            for (std::size_t i = 0; i < outcomes.size(); ++i) {
                outcomes[i] = driver_.check_host(at(i), page, pattern(i), old(i));
            }
        } else {
            auto const bytes = outcomes.size() * sizeof(CheckOutcome);
            Allocation const results(driver_, {host(), bytes, MemoryKind::pinned});
            on_owner(place.index, [&](StreamView stream) {
                for (std::size_t i = 0; i < outcomes.size(); ++i) {
                    CheckArguments const arguments{at(i), page, pattern(i), old(i),
                                                   results.address() + i * sizeof(CheckOutcome)};
                    driver_.launch(stream, check_kernel, &arguments);
                }
            });
            driver_.read_host(results.address(), outcomes.data(), bytes);
        }
        CheckOutcome sum;
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            if (outcomes[i].bad != 0) {
                add_outcome(sum, outcomes[i], static_cast<std::uint64_t>(to_index[i]) * page);
            }
        }
        return sum;
    }

    /// What the owner holds from `offset` on.
    prove::Window window(std::uint64_t offset) {
        auto const start = offset / 8 * 8;
        prove::Window window{static_cast<std::int64_t>(start),
                             std::vector<std::uint8_t>(std::min(window_bytes, to_.bytes() - start))};
        auto const place = to_.location().place;
        auto source = to_.address() + start;
        if (place.is_device()) {
            CopyRequest const request{window_.location(), to_.location(start), window.bytes.size(), CopyApi::automatic};
            on_owner(place.index, [&](StreamView stream) { driver_.copy(stream, request); });
            source = window_.address();
        }
        driver_.read_host(source, window.bytes.data(), window.bytes.size());
        return window;
    }

    template <class Work>
    void on_owner(int device, Work&& work) {
        Stream stream(driver_, device);
        Event done(driver_, device);
        work(stream.view());
        driver_.record(done.view(), stream.view());
        if (!driver_.wait_for(done.view(), limit_)) {
            throw TimeUp{};
        }
    }

    /// Memory that a hanging copy still uses cannot be given back: freeing would wait for it.
    void abandon() {
        from_.release();
        to_.release();
        result_.release();
        window_.release();
    }

  private:
    Driver& driver_;
    double limit_;
    Allocation from_, to_, result_, window_;
};

TransferReport::Wrong classified(Ends& ends, const CheckOutcome& outcome, Pattern expected, std::uint64_t bytes) {
    prove::Observation seen;
    seen.bytes = bytes;
    seen.expected = expected;
    seen.payload = outcome;
    seen.windows = {ends.window(outcome.first_bad)};
    auto const kind = prove::classify(seen);
    return {kind.value_or(WrongKind::flip), outcome.first_bad, outcome.bad};
}

/// Of pages the counts have to do: words of a pattern that stand elsewhere may be another page's.
TransferReport::Wrong counted(const CheckOutcome& outcome) {
    auto const kind = outcome.zero == outcome.bad  ? WrongKind::zero
                      : outcome.old == outcome.bad ? WrongKind::stale
                                                   : WrongKind::flip;
    return {kind, outcome.first_bad, outcome.bad};
}

/// For what must not be destroyed while work that will never end still uses it.
template <class T>
void keep_for_ever(std::unique_ptr<T> owned) {
    static auto& kept = *new std::vector<std::shared_ptr<T>>;
    static std::mutex mutex;
    std::lock_guard const lock(mutex);
    kept.push_back(std::move(owned));
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    auto const middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::uint64_t place_number(Place place) {
    return place.is_device() ? static_cast<std::uint64_t>(place.index)
                             : 1000 + static_cast<std::uint64_t>(place.index + 1);
}

/// Numbers of all pages in an order that the seed decides; none without pages.
std::vector<std::int64_t> shuffled_pages(std::uint64_t bytes, std::uint64_t page_bytes, std::uint64_t seed) {
    std::vector<std::int64_t> pages(page_bytes == 0 ? 0 : bytes / page_bytes);
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), std::mt19937_64(seed));
    return pages;
}

}  // namespace

TransferReport verified_copy(Driver& driver, const Ready& ready, const Choice& choice, Place from, Place to,
                             std::uint64_t seed, int repetitions, double seconds_limit, std::uint64_t page_bytes) {
    if (page_bytes != 0 && choice.bytes % page_bytes != 0) {
        throw std::invalid_argument(
            fmt::format("{} are no whole number of pages of {}", size_text(choice.bytes), size_text(page_bytes)));
    }
    TransferReport report;
    report.simulated = driver.simulated();
    report.machine = driver.description();
    report.bytes = choice.bytes;
    report.plan = choice;
    report.repetitions = std::max(1, repetitions);
    auto ends = std::make_unique<Ends>(driver, from, to, choice.bytes, seconds_limit);
    auto mover = std::make_unique<Mover>(driver, ready);
    auto const issuer = choice.routes.front().legs.back().issuer.index;
    std::optional<Stream> stream(std::in_place, driver, issuer);
    std::optional<Event> done(std::in_place, driver, issuer);
    // What hangs is left alone: every way of giving it back would wait for it.
    auto const abandon = [&](TransferReport::Outcome result, std::string message) {
        ends->abandon();
        stream->release();
        keep_for_ever(std::move(ends));
        keep_for_ever(std::move(mover));
        report.result = result;
        report.message = std::move(message);
    };
    std::vector<double> times;
    auto const to_index = shuffled_pages(choice.bytes, page_bytes, seed);
    auto const from_index = shuffled_pages(choice.bytes, page_bytes, seed + 1);
    auto const move = [&] {
        if (page_bytes == 0) {
            mover->carry_out(choice, ends->to().location(), ends->from().location(), stream->view());
            return;
        }
        PageCopy list;
        list.dst = pointer_to(ends->to().address());
        list.src = pointer_to(ends->from().address());
        list.page_bytes = page_bytes;
        list.dst_index = to_index.data();
        list.src_index = from_index.data();
        list.count = to_index.size();
        mover->copy_pages(list, stream->view());
    };
    try {
        if (page_bytes == 0) {
            mover->prepare(choice);
        }
        // The first round is checked like the others but not timed: first use of a mapping and engines that were asleep
        // are set-up.
        for (int round = -1; round < report.repetitions; ++round) {
            auto const number = static_cast<std::uint64_t>(round + 1);
            Pattern const expected{pattern_key(seed, place_number(from), place_number(to), 2 * number), 0};
            Pattern const poison{pattern_key(seed, place_number(from), place_number(to), 2 * number + 1), 0};
            ends->fill(ends->from(), expected);
            ends->fill(ends->to(), poison);
            auto const start = driver.now();
            move();
            driver.record(done->view(), stream->view());
            if (!driver.wait_for(done->view(), seconds_limit)) {
                throw TimeUp{};
            }
            if (round >= 0) {
                times.push_back(driver.now() - start);
            }
            auto const outcome = page_bytes == 0 ? ends->look(expected, poison)
                                                 : ends->look(expected, poison, page_bytes, to_index, from_index);
            if (outcome.bad != 0) {
                report.result = TransferReport::Outcome::wrong;
                report.wrong = page_bytes == 0 ? classified(*ends, outcome, expected, choice.bytes) : counted(outcome);
                break;
            }
            report.result = TransferReport::Outcome::ok;
            report.verified = round + 1 == report.repetitions;
        }
    } catch (const TimeUp&) {
        abandon(TransferReport::Outcome::hang,
                fmt::format("not done after {}: {}", seconds_text(seconds_limit), describe(choice.routes.front())));
    } catch (const Error& error) {
        report.code = error.code();
        if (error.info().sticky) {
            abandon(TransferReport::Outcome::error, error.what());
        } else {
            report.result = TransferReport::Outcome::error;
            report.message = error.what();
        }
        report.verified = false;
    }
    if (!times.empty()) {
        report.seconds = median(times);
        report.gbs = static_cast<double>(choice.bytes) / *report.seconds / 1e9;
    }
    return report;
}

}  // namespace peerlane
