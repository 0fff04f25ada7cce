#pragma once
/// What a prober keeps on a driver between steps: for the pair in work its mappings, and on both devices a stream,
/// events and one buffer; pinned memory for what the owner found.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <peerlane/driver/owned.hpp>
#include <peerlane/pattern.hpp>

namespace peerlane::prove {

/// Thrown inside a step: work did not end in its time.
struct TimeUp {};
/// Thrown inside a step: it cannot be tried here, with the reason.
struct NotTried {
    std::string reason;
};

/// One device's part of a bench.
struct Side {
    Stream stream;
    Event done;        ///< latest work of the stream
    Event start, end;  ///< timing, around one transfer
    Allocation memory;
};

/// Pinned chunks between two devices.
struct Ring {
    static constexpr std::uint64_t chunk = 1024 * 1024;
    static constexpr int slots = 4;
    Allocation memory;
    std::vector<Event> filled, drained;  ///< of the source, of the destination
};

class Bench {
  public:
    explicit Bench(Driver& driver) : driver_(driver) {}
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;
    ~Bench();

    [[nodiscard]] Driver& driver() const { return driver_; }
    /// Makes these two the pair in work: mappings of another pair are taken back, for a machine may have few slots, and
    /// buffers of other devices are freed.
    void focus(int accessor, int owner) { focus(std::set<int>{accessor, owner}); }
    /// The same of more devices than two.
    void focus(const std::set<int>& devices);
    /// Enables accessor:owner, once while the pair is in work; what the driver answered.
    const MappingOutcome& map(int accessor, int owner);
    /// Stream, events and at least this much memory. Throws NotTried when the device has no room for it.
    Side& side(int device, std::uint64_t bytes);
    [[nodiscard]] Side& side(int device) { return sides_.at(device); }
    Ring& ring(int source, int destination);
    /// Pinned bytes: outcomes first, then windows.
    Address pinned();
    static constexpr std::uint64_t pinned_bytes = 64 * 1024;

    /// Starts the clock of one size.
    void allow(double seconds) { deadline_ = driver_.now() + seconds; }
    /// Until all that was submitted to the device's stream is done. Throws TimeUp.
    void wait(int device);

    /// After a hang or a sticky error: nothing may be given back any more, for that would wait for the work that hangs.
    void abandon();
    [[nodiscard]] bool usable() const { return usable_; }
    /// When the clock of this size runs out, in the driver's time.
    [[nodiscard]] double deadline() const { return deadline_; }

  private:
    void unmap();

    Driver& driver_;
    std::set<int> devices_;
    std::map<std::pair<int, int>, MappingOutcome> mapped_;  ///< of the pair in work: accessor, owner
    std::map<int, Side> sides_;
    Allocation pinned_;
    Ring ring_;
    std::pair<int, int> ring_of_{-1, -1};
    double deadline_ = 0;
    bool usable_ = true;
};

}  // namespace peerlane::prove
