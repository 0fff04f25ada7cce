#pragma once
/// A set of devices, a mover over them, and memory on all of them and on the host: what cases of many_devices run on,
/// real or simulated.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <peerlane/driver/owned.hpp>
#include <peerlane/mover.hpp>

namespace peerlane::bench {

/// Bytes that go from the `out` memory of one place into the `in` memory of another.
struct Job {
    Place from, to;
    std::uint64_t from_offset = 0, to_offset = 0;
    std::uint64_t bytes = 0;
};

class Rig {
  public:
    static constexpr std::uint64_t host_bytes = std::uint64_t{1} << 30;
    static constexpr std::uint64_t page_bytes = 16384;

    /// `device_bytes`: of `out` and of `in` of each device. Fills all `out` memory with patterns of their own.
    /// `home`: where the host's memory lies; empty: near to device 0, as far as the machine says what is.
    Rig(Driver& driver, const Ready& ready, std::uint64_t device_bytes, std::optional<Place> home = {});
    [[nodiscard]] Driver& driver() const { return driver_; }
    [[nodiscard]] Mover& mover() { return mover_; }
    [[nodiscard]] const Planner& planner() const { return planner_; }
    [[nodiscard]] int devices() const { return driver_.device_count(); }
    [[nodiscard]] Place home() const { return host_.location().place; }
    [[nodiscard]] Location from(const Job& job) const;
    [[nodiscard]] Location to(const Job& job) const;
    /// One that is kept, `number` of several.
    StreamView stream(int device, int number = 0);
    /// Every pair that can be; for what is copied without the mover.
    void enable_all();
    /// Seconds until the devices have done what `submit` gives them, by the host's clock.
    template <class Submit>
    double timed(Submit&& submit) {
        auto const start = driver_.now();
        submit();
        for (int device = 0; device < devices(); ++device) {
            driver_.synchronize_device(device);
        }
        return driver_.now() - start;
    }
    /// Pages that both sides use in the same order, scattered: numbers in memory of the device.
    [[nodiscard]] PageIndices page_numbers(int device, std::uint64_t count);
    /// Those numbers.
    [[nodiscard]] static std::vector<std::int32_t> shuffled(std::uint64_t count);

    void poison(const std::vector<Job>& jobs);
    /// How many of the jobs left other bytes than theirs at the destination, as its owner sees it.
    [[nodiscard]] int wrong(const std::vector<Job>& jobs);

  private:
    [[nodiscard]] const Allocation& memory(Place place, bool out) const;
    [[nodiscard]] static Pattern pattern_of(Place place) { return {place.is_device() ? 2 + place.index : 1U, 0}; }
    void fill(Location at, std::uint64_t bytes, Pattern pattern);
    Driver& driver_;
    Mover mover_;
    Planner planner_;
    std::vector<Allocation> out_, in_;
    Allocation host_, host_in_, outcome_;
    std::map<std::pair<int, int>, Stream> streams_;
    std::map<std::pair<int, std::uint64_t>, Allocation> page_numbers_;
};

}  // namespace peerlane::bench
