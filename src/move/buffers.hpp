#pragma once
/// Where the bytes of a copy lie: ranges that the caller registered, else what the driver says. Safe to use from
/// several threads.

#include <atomic>
#include <cstdint>
#include <shared_mutex>
#include <vector>

#include <peerlane/driver.hpp>

namespace peerlane::move {

/// One end of a copy.
struct End {
    Place place;
    MemoryKind kind = MemoryKind::plain;
    /// Kernels of devices that enabled access reach it, without a grant of its own.
    bool open_to_kernels = true;
    std::uint64_t room = 0;  ///< bytes from the address to the end of its allocation
};

class Buffers {
  public:
    explicit Buffers(Driver& driver) : driver_(driver), generation_(next_generation()) {}

    /// std::invalid_argument when the driver does not know these bytes, or others are registered there.
    void add(Address base, std::uint64_t bytes);
    /// The range that begins here; std::invalid_argument when there is none.
    void remove(Address base);
    /// std::invalid_argument, naming `side`, for bytes that lie in no memory or reach out of theirs. Host memory that
    /// the driver does not know is pageable.
    [[nodiscard]] End find(Address at, std::uint64_t bytes, const char* side) const;

  private:
    struct Range {
        Address base = Address::null;
        std::uint64_t bytes = 0;
        End end{};
    };
    /// Ranges that the calling thread met last: copies name the same ones again and again, and a lock that threads
    /// share costs each of them 25 ns, and more when they meet.
    struct Recent {
        std::uint64_t generation = 0;
        Range range{};
    };
    static constexpr unsigned recent_count = 4;
    static Recent* recent();
    /// A number that no other set of ranges has, or had.
    static std::uint64_t next_generation();
    [[nodiscard]] End ask(Address at, std::uint64_t bytes, const char* side) const;
    static End part_of(const Range& range, Address at, std::uint64_t bytes, const char* side);

    Driver& driver_;
    mutable std::shared_mutex mutex_;
    std::atomic<std::uint64_t> generation_;  ///< of the ranges as they are
    std::vector<Range> ranges_;              ///< ascending
};

}  // namespace peerlane::move
