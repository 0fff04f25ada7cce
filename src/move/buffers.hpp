#pragma once
/// Where the bytes of a copy lie: ranges that the caller registered, else what the driver says. Safe to use from
/// several threads.

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
    explicit Buffers(Driver& driver) : driver_(driver) {}

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
    [[nodiscard]] End ask(Address at, std::uint64_t bytes, const char* side) const;

    Driver& driver_;
    mutable std::shared_mutex mutex_;
    std::vector<Range> ranges_;  ///< ascending
};

}  // namespace peerlane::move
