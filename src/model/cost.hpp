#pragma once
/// Time over size: straight pieces between knots, so that sums, multiples, maxima and minima of costs are costs of the
/// same kind, and exact. Knots of measured curves lie about evenly over the logarithm of the size; between two of them
/// time is straight in bytes, which a fixed cost plus bytes over a rate is everywhere.

#include <vector>

#include <peerlane/profile.hpp>

namespace peerlane::model {

class Cost {
  public:
    struct Knot {
        double bytes = 0;
        double seconds = 0;
        friend bool operator==(const Knot&, const Knot&) = default;
    };

    Cost() = default;  ///< 0 for every size
    /// fixed_s + bytes * s_per_byte.
    static Cost linear(double fixed_s, double s_per_byte);
    /// Through the points of the curve. Below the first: the time of the first. Above the last: on at the slope of the
    /// last two octaves, at least zero. An empty curve costs nothing.
    static Cost of(const Curve& curve);
    /// First knot at 0 bytes, ascending; `tail` in s/byte from the last knot on. Throws std::invalid_argument
    /// otherwise.
    static Cost of(std::vector<Knot> knots, double tail);

    [[nodiscard]] double seconds(double bytes) const;
    /// Of the piece that begins at or before `bytes`, s/byte.
    [[nodiscard]] double slope(double bytes) const;
    [[nodiscard]] const std::vector<Knot>& knots() const { return knots_; }
    [[nodiscard]] double tail() const { return tail_; }

    Cost& operator+=(const Cost& other);
    friend Cost operator+(Cost a, const Cost& b) { return a += b; }
    friend Cost operator*(double factor, Cost cost);
    friend Cost max(const Cost& a, const Cost& b);
    friend Cost min(const Cost& a, const Cost& b);
    friend bool operator==(const Cost&, const Cost&) = default;

  private:
    [[nodiscard]] std::size_t piece(double bytes) const;
    std::vector<Knot> knots_{{0, 0}};
    double tail_ = 0;
};

}  // namespace peerlane::model
