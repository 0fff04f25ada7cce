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

    CheckOutcome seen_by_owner() {
        CheckOutcome found{0, bytes_, 0, 0};  // a kernel that never ran must not read as "all right"
        driver_.write_host(bench_.pinned(), &found, sizeof found);
        CheckArguments const arguments{at(0).address, bytes_, expected_, poison_, bench_.pinned()};
        driver_.launch(stream(), check_kernel, &arguments);
        bench_.wait(device_);
        driver_.read_host(bench_.pinned(), &found, sizeof found);
        return found;
    }

    CheckOutcome seen_by_host() {
        std::vector<std::uint8_t> contents(bytes_);
        driver_.copy(stream(), {{host(), bench_.pinned() + copy_at}, at(0), bytes_});
        bench_.wait(device_);
        driver_.read_host(bench_.pinned() + copy_at, contents.data(), bytes_);
        return check_pattern(contents.data(), bytes_, expected_, poison_);
    }

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

constexpr const char* owner = "the owner's kernel";
constexpr const char* on_host = "the host's comparison";

/// Right when the result says so.
CheckResult look_at(Range& range, const std::vector<std::uint64_t>& offsets) {
    range.fill();
    if (range.seen_by_owner().bad != 0) {
        return blind(owner, "sees wrong bytes where none is, in a range", range, 0);
    }
    if (range.fits_host() && range.seen_by_host().bad != 0) {
        return blind(on_host, "sees wrong bytes where none is, in a range", range, 0);
    }
    for (auto const offset : offsets) {
        range.fill();
        range.plant(offset);
        auto const missed = fmt::format("did not find a wrong byte planted at offset {}", offset);
        if (!sees_only(range.seen_by_owner(), offset)) {
            return blind(owner, missed, range, offset);
        }
        if (range.fits_host() && !sees_only(range.seen_by_host(), offset)) {
            return blind(on_host, missed, range, offset);
        }
    }
    CheckResult right;
    right.result = Result::ok;
    return right;
}

}  // namespace

CheckResult self_test(Bench& bench, int device, std::uint64_t seed) {
    bench.side(device, start + large_bytes);
    CheckResult result;
    for (auto const bytes : {small_bytes, large_bytes}) {
        Range range(bench, device, bytes, seed);
        auto sizes = std::move(result.sizes);
        result = look_at(range, {0, bytes / 2 + 1, bytes - 1});
        result.sizes = std::move(sizes);
        result.sizes.push_back(bytes);
        if (result.result != Result::ok) {
            return result;
        }
    }
    return result;
}

}  // namespace peerlane::prove
