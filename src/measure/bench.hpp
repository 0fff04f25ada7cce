#pragma once
/// What measuring keeps on a driver: memory at each place, streams and timing events of each device, and the mappings
/// that it made. Gives all of it back in its destructor, unless the devices can no longer be used.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <peerlane/driver/owned.hpp>
#include <peerlane/plan.hpp>

#include "measure/stop.hpp"

namespace peerlane {
struct Kernel;
}

namespace peerlane::measuring {

/// Thrown between samples: somebody asked to stop.
struct Stopped {};
/// Thrown when work did not end in its time: the devices are lost to this process.
struct Lost {
    std::string what;
};

class Bench {
  public:
    Bench(Driver& driver, std::uint64_t most_bytes, std::function<bool()> stopped);
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;
    ~Bench();

    [[nodiscard]] Driver& driver() const { return driver_; }
    /// The one piece of memory at this place, as large as most_bytes or as much as can be had; made when first asked
    /// for. Throws Error when not even a MiB can be had.
    const Allocation& memory(Place place);
    /// `lane`: streams of one device that run at the same time.
    StreamView stream(int device, std::size_t lane = 0);
    /// A timing event of the device.
    EventView timer(int device, std::size_t index);

    /// Makes kernels of the accessor reach the owner's memory. False when the driver refuses.
    bool map(int accessor, int owner);
    /// Maps what the leg needs: of a copy between devices either direction, of a kernel its own. False when that is
    /// refused.
    bool map(const Leg& leg);

    /// As the executor issues it.
    void issue(const Leg& leg, StreamView stream, Location to, Location from, std::uint64_t bytes);

    /// Until all of the stream is done, within a time that fits so many bytes. Throws Lost.
    void finish(StreamView stream, std::uint64_t bytes);
    /// Throws Stopped.
    void look() const;

    /// Samples until there are enough. `sample` gives one, in seconds.
    std::vector<double> sampled(const StopRule& rule, const std::function<double()>& sample) const;

    /// After Lost or a sticky error: nothing may be given back, for that would wait for the work that hangs.
    void abandon();

  private:
    void unmap_all();
    Driver& driver_;
    std::uint64_t most_bytes_;
    std::function<bool()> stopped_;
    std::map<Place, Allocation> memory_;
    std::map<std::pair<int, std::size_t>, Stream> streams_;
    std::map<std::pair<int, std::size_t>, Event> timers_;
    std::map<int, Event> done_;
    std::set<std::pair<int, int>> ours_, reached_;
    bool usable_ = true;
};

}  // namespace peerlane::measuring
