#pragma once
/// Sets of devices between which flows take equally long, told by what their transfers share.

#include <string>
#include <vector>

#include <peerlane/traffic.hpp>

#include "traffic/run/leg_book.hpp"

namespace peerlane::traffic {

/// Of two sets with the same key, device i of one stands where device i of the other does: each link of one that a
/// copy between them can take has an image with the same capacity that the same copies take.
struct SetShape {
    std::string key;                 ///< empty: not known, so like no other
    std::vector<std::string> links;  ///< as Network numbers them; a link and its image have the same words
};

class SetShapes {
  public:
    explicit SetShapes(const sim::Truth& truth) : book_(truth) {}
    SetShape of(const std::vector<int>& devices, const std::vector<Flow>& flows);

  private:
    LegBook book_;
};

}  // namespace peerlane::traffic
