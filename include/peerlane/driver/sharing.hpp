#pragma once
/// Memory of one process in another. A handle is a value that travels (the descriptor by SCM_RIGHTS); what an importer
/// gets is an address of its own, which it closes.

#include <array>
#include <cstdint>
#include <utility>

#include <peerlane/driver/memory.hpp>

namespace peerlane {

/// An open file of this process, closed with its holder.
class Descriptor {
  public:
    Descriptor() = default;
    /// Takes it over; -1 for none.
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor();
    [[nodiscard]] int number() const { return number_; }
    int release() { return std::exchange(number_, -1); }

  private:
    int number_ = -1;
};

/// What an importer must know of an exported address. Plain memory: the token, which names the whole allocation only,
/// so that the offset travels beside it. Virtual memory: the descriptor.
struct SharedHandle {
    MemoryKind kind = MemoryKind::plain;
    int process = 0;               ///< exporter
    int owner = 0;                 ///< device, by the exporter's ordinals
    Address base = Address::null;  ///< of the allocation, in the exporter
    std::uint64_t bytes = 0;       ///< of the allocation
    std::uint64_t offset = 0;      ///< of the exported address in it
    std::array<std::uint8_t, 64> token{};
    Descriptor descriptor{};  ///< none in simulations
};

/// Expected outcomes; the code is the driver's where it refused, 0 otherwise.
struct ExportOutcome {
    int code = 0;
    SharedHandle handle{};
    [[nodiscard]] bool usable() const { return code == 0; }
};
struct ImportOutcome {
    int code = 0;
    Address at = Address::null;  ///< of the exported address, not of its allocation
    [[nodiscard]] bool usable() const { return code == 0; }
};

/// An event that two processes can use. It is destroyed as any other, in each process.
struct SharedEventOutcome {
    int code = 0;
    EventView event{};
    std::array<std::uint8_t, 64> token{};  ///< what the other process needs
    [[nodiscard]] bool usable() const { return code == 0; }
};

/// Each call throws Error for a sticky failure, and std::invalid_argument for an unknown device.
class SharingOfDriver {
  public:
    virtual ~SharingOfDriver() = default;
    /// Any address inside plain memory of a primary context, inside virtual memory that was allocated `exportable`, or
    /// inside memory of a pool that create_pool made. Refused: code 801 for other kinds of memory, 1 for an address
    /// that is in none.
    [[nodiscard]] virtual ExportOutcome export_memory(Address at) = 0;
    /// Maps the exported allocation for kernels of `device` (its primary context), with nothing else to enable or to
    /// grant; the handle may be imported again (memory of a pool not before it is
    /// closed). Plain memory of the calling process itself is refused on real devices
    /// (code 201). Takes milliseconds.
    [[nodiscard]] virtual ImportOutcome import_memory(const SharedHandle& handle, int device) = 0;
    /// Takes an address that import_memory gave. Waits for work that uses it. Error code 1 when it is none, or closed.
    virtual void close_import(Address at) = 0;
    /// Code 801 where events cannot be shared, as on simulated machines.
    [[nodiscard]] virtual SharedEventOutcome create_shared_event(int device) {
        static_cast<void>(device);
        return {.code = 801};
    }
    /// The event of another process behind its token. Refused to the process that made it.
    [[nodiscard]] virtual SharedEventOutcome import_event(const std::array<std::uint8_t, 64>& token, int device) {
        static_cast<void>(token);
        static_cast<void>(device);
        return {.code = 801};
    }
};

}  // namespace peerlane
