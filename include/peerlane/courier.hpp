#pragma once
/// One small copy in microseconds: a kernel of one CTA stays on a device for a while, polls a ring in pinned memory,
/// copies what is posted there and sets flags. See docs/messages.md.

#include <cstdint>
#include <memory>
#include <optional>

#include <peerlane/copy_options.hpp>
#include <peerlane/driver.hpp>
#include <peerlane/message_slot.hpp>
#include <peerlane/mover.hpp>

namespace peerlane {

namespace move {
class Carrier;
}

struct CourierOptions {
    double idle_s = 1e-3;  ///< leaves when nothing came for so long
    /// Leaves after so long even under load, with nothing queued behind it; a third of it is kept for what is posted
    /// but not carried yet.
    double stay_s = 5e-3;
    unsigned slots = 256;                               ///< messages posted at once; a power of two up to 4096
    unsigned threads = 512;                             ///< of the CTA; a multiple of 32 up to 512
    std::uint64_t most_bytes = std::uint64_t{1} << 20;  ///< of one message; a copy engine is faster from there on
    std::uint64_t most_queued_bytes = std::uint64_t{8} << 20;  ///< of all messages posted at once
    double give_up_s = 10;  ///< a post that finds no room for so long throws Error 702
    /// A fence between order and bytes, as the language's memory model wants it: 0.6 us a message on two H200.
    bool strict = false;
};

using MessageOptions = CopyOptions;

/// One posted message. A value; must not outlive its courier.
class Message {
  public:
    Message() = default;
    /// True when its bytes (and its flag) are visible. Never blocks. Launches the courier again where it left. Throws
    /// Error of the device.
    [[nodiscard]] bool done() const;
    /// Polls until it is done, at most so long. An expired wait is told to the driver (Driver::expired).
    [[nodiscard]] bool wait(double seconds) const;
    /// The stream, of any device, waits until it is done.
    void wait_in(StreamView stream) const;

  private:
    friend class move::Carrier;
    move::Carrier* carrier_ = nullptr;
    std::uint32_t number_ = 0;
    std::uint32_t entry_ = 0;  ///< 0: of the host's ring; else 1 + the entry of a stream's message
};

/// Two ranges checked once, for posts that cost no look-up. The allocations must outlive it, and so must the courier.
class Channel {
  public:
    /// Throws std::invalid_argument when it leaves the ranges, and as Courier::post does.
    Message post(std::uint64_t to_offset, std::uint64_t from_offset, std::uint64_t bytes,
                 const MessageOptions& options = {});

  private:
    friend class Courier;
    move::Carrier* carrier_ = nullptr;
    Address to_ = Address::null, from_ = Address::null;
    std::uint64_t to_bytes_ = 0, from_bytes_ = 0;
    std::optional<Location> flag_{};  ///< checked last
};

/// Carries messages by kernels of one device: between its own memory, pinned memory, and memory of peers that its
/// kernels are proven to reach (stores to a destination, loads from a source). Messages of the host are carried in the
/// order of their posts. Safe to use from several threads. The destructor waits for what was posted, asks the courier
/// to leave and waits for that. Opt-in: while it is resident it holds one multiprocessor, and whoever synchronises with
/// the device waits for it, at most `stay_s`.
class Courier {
  public:
    Courier(Driver& driver, const Ready& ready, int device, const CourierOptions& options = {});
    Courier(Courier&&) noexcept;
    Courier& operator=(Courier&&) noexcept;
    ~Courier();

    /// Posts a copy. Blocks only while the ring is full. Throws std::invalid_argument for a range that is not inside an
    /// allocation, that the device is not proven to reach, for ranges that overlap, more than `most_bytes`, and a flag
    /// that is not four aligned bytes; Error when the device failed or no room came.
    Message post(void* to, const void* from, std::uint64_t bytes, const MessageOptions& options = {});
    /// The same when the stream, one of the courier's device, gets there. Carried by the courier if it is there, else
    /// by a kernel in the stream. At most 16 such messages are under way at once; not while the stream is captured.
    Message post(StreamView stream, void* to, const void* from, std::uint64_t bytes,
                 const MessageOptions& options = {});
    /// Both ranges checked, and mapped where that is needed.
    [[nodiscard]] Channel channel(void* to, std::uint64_t to_bytes, const void* from, std::uint64_t from_bytes);
    /// Launches the courier unless it is there. Kernels that post (peerlane/device.cuh) need it; the host's posts do it
    /// by themselves.
    void start();
    /// Asks it to leave once it has carried what is posted. Does not wait; the next post launches it again.
    void leave();
    /// For kernels of the same device, peerlane/device.cuh. What they name is not checked.
    [[nodiscard]] DeviceRing* device_ring() const;
    [[nodiscard]] int device() const;

    struct Counters {
        std::uint64_t posted = 0, residences = 0;
    };
    [[nodiscard]] Counters counters() const;

  private:
    std::unique_ptr<move::Carrier> carrier_;
};

}  // namespace peerlane
