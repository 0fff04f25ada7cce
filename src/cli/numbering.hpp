#pragma once
/// People number devices in bus order, as nvidia-smi does; a driver numbers those that its process sees. This file is
/// the only place where one becomes the other.

#include <optional>
#include <string>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/plan.hpp>
#include <peerlane/profile.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane::cli {

class Numbering {
  public:
    /// Every number is the ordinal.
    static Numbering same(int devices);
    /// Joins by bus address, else by UUID. `people`: in bus order. Empty when a device of the driver is not among them.
    static std::optional<Numbering> join(const Machine& people, const Machine& driver);

    /// -1: this process does not see the device.
    [[nodiscard]] int ordinal(int number) const { return ordinals_.at(static_cast<std::size_t>(number)); }
    /// -1: no such ordinal.
    [[nodiscard]] int number(int ordinal) const;
    [[nodiscard]] const std::vector<int>& ordinals() const { return ordinals_; }

    [[nodiscard]] Place to_driver(Place place) const;
    [[nodiscard]] Choice to_driver(Choice choice) const;
    [[nodiscard]] Verdicts to_people(Verdicts verdicts) const;
    [[nodiscard]] Verdicts to_driver(Verdicts verdicts) const;
    [[nodiscard]] Profile to_people(Profile profile) const;
    /// "gpu1" in a text, wherever it stands as a word.
    [[nodiscard]] std::string to_people(const std::string& text) const;
    /// The machine that the driver sees, in its order.
    [[nodiscard]] Machine to_driver(const Machine& machine) const;

  private:
    std::vector<int> ordinals_;  ///< by number
};

/// Only these devices, under the numbers that they have. Links of the others and what lies only under them are left
/// out. Throws std::out_of_range for a device that the machine does not have.
Machine limited_to(const Machine& machine, const std::vector<int>& devices);

}  // namespace peerlane::cli
