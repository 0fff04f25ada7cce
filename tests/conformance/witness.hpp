#pragma once
/// The owner's eye: fills and checks memory only by the device (or host) that owns it, so that no accessor can vouch
/// for itself. Not thread-safe; every thread has its own.

#include <cstdint>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include <peerlane/driver.hpp>
#include <peerlane/driver/owned.hpp>

#include "conformance/buffer.hpp"

namespace peerlane::conformance {

/// What one check or copy expects: `data` is what was sent, `poison` is what lay there before.
struct Content {
    Pattern data, poison;
    /// Different for every number, so that an earlier case's bytes never pass for this one's.
    explicit Content(std::uint64_t number) : data{pattern_key(number, 1, 0), 0}, poison{pattern_key(number, 2, 0), 0} {}
};

class Witness {
  public:
    explicit Witness(Driver& driver);

    /// By the owner, done on return. `by`: a stream of the owner's other context, where the memory belongs to that.
    void fill(Location at, std::uint64_t bytes, Pattern pattern, std::optional<StreamView> by = std::nullopt);
    [[nodiscard]] CheckOutcome find(Location at, std::uint64_t bytes, Pattern expected, Pattern poison,
                                    std::optional<StreamView> by = std::nullopt);
    /// Whether the owner finds exactly `expected`; says what it found otherwise.
    [[nodiscard]] testing::AssertionResult holds(Location at, std::uint64_t bytes, Pattern expected, Pattern poison,
                                                 std::optional<StreamView> by = std::nullopt);

    /// A copy that must arrive: source filled, whole destination poisoned, copied on `stream`, waited for; the owner
    /// must find the data and, around it, untouched poison. The source must still hold what it held.
    [[nodiscard]] testing::AssertionResult copies(StreamView stream, const Buffer& to, const Buffer& from,
                                                  CopyApi api = CopyApi::automatic);
    [[nodiscard]] testing::AssertionResult copies(StreamView stream, const Buffer& to, std::uint64_t to_offset,
                                                  const Buffer& from, std::uint64_t from_offset, std::uint64_t bytes,
                                                  CopyApi api);
    /// Kernels of `accessor` store into the memory and load from it, at full length.
    [[nodiscard]] testing::AssertionResult reached(const Buffer& memory, int accessor,
                                                   std::optional<StreamView> owner_stream = std::nullopt);

    /// A nonblocking stream of the device that the witness works in.
    [[nodiscard]] StreamView stream(int device);

  private:
    Driver& driver_;
    std::map<int, Stream> streams_;
    Allocation report_;  ///< pinned, where check kernels leave what they found
    std::uint64_t content_number_ = 0;
};

}  // namespace peerlane::conformance
