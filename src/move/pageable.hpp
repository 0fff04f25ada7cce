#pragma once
/// Host memory that no device knows, to and from one device: pinned buffers between, filled or emptied by one thread of
/// the host. The whole copy is submitted at the call, with waits for counters in pinned memory; the thread only looks
/// at counters and moves bytes, and never calls what could wait for a device: it works on while the caller waits in any
/// call, and its progress depends on earlier submissions alone.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <peerlane/driver/owned.hpp>

#include "move/resources.hpp"

namespace peerlane::move {

class Pageable {
  public:
    explicit Pageable(Driver& driver) : driver_(driver) {}
    Pageable(const Pageable&) = delete;
    Pageable& operator=(const Pageable&) = delete;
    /// Waits for its jobs, unless the devices are gone.
    ~Pageable();

    /// Stream-ordered: the host's bytes are read after what `stream` holds, and written before what follows in it.
    /// `ends` are a device's and a pageable one, in either order. False, and nothing submitted, where the device cannot
    /// wait for counters or no buffer can be had. The mover's lock is held.
    [[nodiscard]] bool copy(Location to, Location from, std::uint64_t bytes, StreamView stream, Place staging,
                            Resources& resources);
    /// Waits until all of it is done.
    void drain();

  private:
    struct Job {
        std::uint32_t number = 0;  ///< of its channel, from 1
        bool to_device = false;
        Address host = Address::null, ring = Address::null;
        std::uint64_t slot_bytes = 0;
        std::size_t buffers = 0;
        std::vector<std::uint64_t> chunks{};
        std::uint32_t first = 0;  ///< chunks of the channel before it
        std::size_t next = 0;
        std::uint64_t offset = 0;
    };
    /// One after the other through one stream. Counters only grow, modulo 2^32.
    struct Channel {
        Stream stream;
        Event last;
        Allocation counters;  ///< pinned
        std::uint32_t jobs = 0, chunks = 0;
        std::deque<Job> waiting{};                                                   ///< under mutex_
        [[nodiscard]] Address started() const { return counters.address(); }         ///< by the device: jobs
        [[nodiscard]] Address by_device() const { return counters.address() + 64; }  ///< chunks
        [[nodiscard]] Address by_host() const { return counters.address() + 128; }   ///< chunks
    };
    Channel& channel_of(int device, Place staging);
    void start_thread();
    void work();
    /// True when something could be done.
    bool advance(Channel& channel);
    bool move_chunk(Channel& channel, Job& job);

    static constexpr std::size_t most_channels = 8;
    Driver& driver_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Channel> channels_;  ///< they stay where they are
    std::thread thread_;
    bool running_ = false, stop_ = false;
    std::size_t turn_ = 0;
};

}  // namespace peerlane::move
