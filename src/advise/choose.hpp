#pragma once
/// Which devices, and in which order.

#include <vector>

#include <peerlane/advise.hpp>

namespace peerlane::advising {

/// Looks pairs up by the places of their devices in the machine's list (which are not their numbers where some are left
/// out), either way round. All below is in places.
class Matrix {
  public:
    Matrix(std::vector<Neighbours> pairs, int devices);
    [[nodiscard]] const Neighbours& of(int a, int b) const;
    [[nodiscard]] int devices() const { return devices_; }

  private:
    std::vector<Neighbours> pairs_;
    int devices_;
};

/// `count` devices, ascending: those with the fewest bad pairs, the worst kinds weighing most; among those the fastest
/// slowest pair, then the fastest sum, then the lowest numbers. Rates within a tenth are the same. Every set is looked
/// at where there are at most some ten thousand, else sets are grown from each device.
std::vector<int> choose_devices(const Matrix& matrix, int count);

/// The same devices so that neighbours in the ring are fast; ascending where that makes no difference. The lowest comes
/// first.
std::vector<int> order_devices(const Matrix& matrix, std::vector<int> devices);

/// Most devices without a pair that is less than it claims, found as above.
int most_without_trouble(const Matrix& matrix, int at_most);

}  // namespace peerlane::advising
