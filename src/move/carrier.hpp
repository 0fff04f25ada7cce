#pragma once
/// The host's side of a courier: posts in the ring, launches residences, knows what is done.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <peerlane/courier.hpp>
#include <peerlane/driver/owned.hpp>

#include "kernels/courier.hpp"

namespace peerlane::move {

/// What a post needs to know of its ends.
struct MessageEnds {
    Address to, from;
    std::uint64_t bytes;
};

class Carrier {
  public:
    Carrier(Driver& driver, Ready ready, int device, const CourierOptions& options);
    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;
    ~Carrier();

    /// Throws std::invalid_argument where the courier may not, and maps what it may.
    void check_range(Address at, std::uint64_t bytes, bool write);
    void check_flag(const Location& flag);
    /// Ends that were checked already.
    Message post(const MessageEnds& ends, const MessageOptions& options);
    Message post_in(StreamView stream, const MessageEnds& ends, const MessageOptions& options);
    void check_ends(const MessageEnds& ends) const;

    [[nodiscard]] bool done(const Message& message);
    [[nodiscard]] bool wait(const Message& message, double seconds);
    void wait_in(const Message& message, StreamView stream);
    void start();
    void leave();
    [[nodiscard]] DeviceRing* device_ring() const;
    [[nodiscard]] int device() const { return stream_.device(); }
    [[nodiscard]] Courier::Counters counters() const { return {posted_total_, residences_total_}; }

  private:
    [[nodiscard]] Address shared(std::size_t offset) const { return pinned_.address() + offset; }
    [[nodiscard]] Address done_word(const Message& message) const;
    [[nodiscard]] bool reached(const Message& message);
    [[nodiscard]] bool has_room(std::uint64_t bytes);
    template <class Met>
    void wait_for_room(std::unique_lock<std::mutex>& lock, const char* what, Met&& met);
    void write_slot(Address slot, std::uint32_t number, const MessageEnds& ends, const MessageOptions& options);
    [[nodiscard]] CourierArguments arguments() const;
    /// Launches a residence where the last one said that it leaves.
    void attend();
    /// Notices what polling cannot: a courier that left, a device that failed.
    void look_after();

    Driver& driver_;
    Ready ready_;
    CourierOptions options_;
    Stream stream_;
    Allocation pinned_, local_;
    Address ring_ = Address::null;
    std::mutex mutex_;
    std::uint32_t posted_ = 0;            ///< number of the last message
    std::uint32_t done_ = 0;              ///< as last seen
    std::uint32_t residence_ = 0;         ///< launched last
    std::vector<std::uint64_t> ends_at_;  ///< of each slot: bytes of all messages up to its latest
    std::uint64_t posted_bytes_ = 0, done_bytes_ = 0;
    std::uint32_t uses_[stream_entries] = {};
    std::atomic<std::uint64_t> posted_total_{0}, residences_total_{0};
    std::atomic<std::uint32_t> looks_{0};
};

}  // namespace peerlane::move
