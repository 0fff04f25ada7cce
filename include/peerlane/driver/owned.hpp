#pragma once
/// Owning handles: move-only, give back in their destructor, never throw there. `view()` lends, `release()` gives
/// ownership away.

#include <utility>

#include <peerlane/driver.hpp>

namespace peerlane {

class Stream {
  public:
    Stream() = default;
    Stream(Driver& driver, int device, StreamKind kind = StreamKind::nonblocking, ContextId context = {})
        : driver_(&driver), view_(driver.create_stream(device, kind, context)) {}
    Stream(Stream&& other) noexcept : driver_(std::exchange(other.driver_, nullptr)), view_(other.view_) {}
    Stream& operator=(Stream&& other) noexcept;
    ~Stream();
    [[nodiscard]] StreamView view() const { return view_; }
    [[nodiscard]] int device() const { return view_.device; }
    StreamView release() {
        driver_ = nullptr;
        return view_;
    }

  private:
    Driver* driver_ = nullptr;
    StreamView view_{};
};

class Event {
  public:
    Event() = default;
    Event(Driver& driver, int device, bool timing = false)
        : driver_(&driver), view_(driver.create_event(device, timing)) {}
    Event(Event&& other) noexcept : driver_(std::exchange(other.driver_, nullptr)), view_(other.view_) {}
    Event& operator=(Event&& other) noexcept;
    ~Event();
    [[nodiscard]] EventView view() const { return view_; }

  private:
    Driver* driver_ = nullptr;
    EventView view_{};
};

class Allocation {
  public:
    Allocation() = default;
    Allocation(Driver& driver, const AllocationRequest& request)
        : driver_(&driver), at_{request.place, driver.allocate(request)}, bytes_(request.bytes) {}
    Allocation(Allocation&& other) noexcept
        : driver_(std::exchange(other.driver_, nullptr)), at_(other.at_), bytes_(other.bytes_) {}
    Allocation& operator=(Allocation&& other) noexcept;
    ~Allocation();
    [[nodiscard]] Address address() const { return at_.address; }
    [[nodiscard]] Location location(std::uint64_t offset = 0) const { return {at_.place, at_.address + offset}; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    Address release() {
        driver_ = nullptr;
        return at_.address;
    }

  private:
    Driver* driver_ = nullptr;
    Location at_{};
    std::uint64_t bytes_ = 0;
};

}  // namespace peerlane
