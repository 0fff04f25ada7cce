#include "prove/self_test.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>

#include <peerlane/pattern.hpp>
#include <peerlane/units.hpp>

#include "kernels/check.hpp"
#include "kernels/fill.hpp"

namespace peerlane::prove {
namespace {

constexpr std::uint64_t small_bytes = 32 * KiB + 5;        ///< all of it fits into the pinned memory
constexpr std::uint64_t large_bytes = 4 * MiB + 36;        ///< more than one pass of a grid
constexpr std::uint64_t start = 3;                         ///< not aligned, as ranges under proof are
constexpr std::uint64_t planted_at = 512, copy_at = 1024;  ///< in the pinned memory, behind the outcome
static_assert(copy_at + small_bytes <= Bench::pinned_bytes);

/// A range of a device's memory that should hold a pattern.
class Range {
  public:
    Range(Bench& bench, int device, std::uint64_t bytes, std::uint64_t seed)
        : bench_(bench),
          driver_(bench.driver()),
          device_(device),
          bytes_(bytes),
          expected_{pattern_key(seed, static_cast<std::uint64_t>(device), bytes), 0},
          poison_{mix64(expected_.key), 0} {}

    void fill() {
        FillArguments const arguments{at(0).address, bytes_, expected_, 16};
        driver_.launch(stream(), fill_kernel, &arguments);
    }

    /// Any other byte than the one that belongs there.
    void plant(std::uint64_t offset) {
        auto const byte = static_cast<std::uint8_t>(~pattern_byte(expected_, offset));
        driver_.write_host(bench_.pinned() + planted_at, &byte, 1);
        driver_.copy(stream(), {at(offset), {host(), bench_.pinned() + planted_at}, 1});
    }

    [[nodiscard]] Watched watched() const { return {device_, at(0), bytes_, expected_, poison_}; }
    [[nodiscard]] bool fits_host() const { return bytes_ <= small_bytes; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  private:
    [[nodiscard]] StreamView stream() const { return bench_.side(device_).stream.view(); }
    [[nodiscard]] Location at(std::uint64_t offset) const {
        return bench_.side(device_).memory.location(start + offset);
    }

    Bench& bench_;
    Driver& driver_;
    int device_;
    std::uint64_t bytes_;
    Pattern expected_, poison_;
};

bool sees_only(const CheckOutcome& seen, std::uint64_t offset) {
    return seen.bad == 1 && seen.first_bad == offset;
}

CheckResult blind(const char* who, const std::string& what, const Range& range, std::uint64_t offset) {
    CheckResult result;
    result.result = Result::wrong;
    result.at_bytes = range.bytes();
    result.first_bad_offset = offset;
    result.reason = fmt::format("{} {} of {} bytes", who, what, range.bytes());
    return result;
}

struct Looker {
    const char* name;
    const Verifier& look;
};

/// Right when the result says so.
CheckResult look_at(Bench& bench, Range& range, const std::vector<Looker>& lookers,
                    const std::vector<std::uint64_t>& offsets) {
    range.fill();
    for (auto const& looker : lookers) {
        if (looker.look(bench, range.watched()).bad != 0) {
            return blind(looker.name, "sees wrong bytes where none is, in a range", range, 0);
        }
    }
    for (auto const offset : offsets) {
        range.fill();
        range.plant(offset);
        for (auto const& looker : lookers) {
            if (!sees_only(looker.look(bench, range.watched()), offset)) {
                return blind(looker.name, fmt::format("did not find a wrong byte planted at offset {}", offset), range,
                             offset);
            }
        }
    }
    CheckResult right;
    right.result = Result::ok;
    return right;
}

}  // namespace

CheckOutcome owner_looks(Bench& bench, const Watched& watched) {
    auto& driver = bench.driver();
    CheckOutcome found{0, watched.bytes, 0, 0};  // a kernel that never ran must not read as "all right"
    driver.write_host(bench.pinned(), &found, sizeof found);
    CheckArguments const arguments{watched.at.address, watched.bytes, watched.expected, watched.poison, bench.pinned()};
    driver.launch(bench.side(watched.device).stream.view(), check_kernel, &arguments);
    bench.wait(watched.device);
    driver.read_host(bench.pinned(), &found, sizeof found);
    return found;
}

CheckOutcome host_looks(Bench& bench, const Watched& watched) {
    auto& driver = bench.driver();
    std::vector<std::uint8_t> contents(watched.bytes);
    driver.copy(bench.side(watched.device).stream.view(),
                {{host(), bench.pinned() + copy_at}, watched.at, watched.bytes});
    bench.wait(watched.device);
    driver.read_host(bench.pinned() + copy_at, contents.data(), watched.bytes);
    return check_pattern(contents.data(), watched.bytes, watched.expected, watched.poison);
}

CheckResult self_test(Bench& bench, int device, std::uint64_t seed, const Verifier& owner, const Verifier& host) {
    std::vector<std::uint64_t> sizes_that_fit{small_bytes, large_bytes};
    try {
        bench.side(device, start + large_bytes);
    } catch (const NotTried&) {  // a device that is nearly full is still looked at
        bench.side(device, start + small_bytes);
        sizes_that_fit.pop_back();
    }
    CheckResult result;
    for (auto const bytes : sizes_that_fit) {
        Range range(bench, device, bytes, seed);
        auto sizes = std::move(result.sizes);
        std::vector<Looker> lookers{{"the owner's kernel", owner}};
        if (range.fits_host()) {
            lookers.push_back({"the host's comparison", host});
        }
        result = look_at(bench, range, lookers, {0, bytes / 2 + 1, bytes - 1});
        result.sizes = std::move(sizes);
        result.sizes.push_back(bytes);
        if (result.result != Result::ok) {
            return result;
        }
    }
    return result;
}

}  // namespace peerlane::prove
