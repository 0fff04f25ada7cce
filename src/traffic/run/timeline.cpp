#include "traffic/run/timeline.hpp"

#include <utility>

namespace peerlane::traffic {

void Timeline::set(double time_s, double fraction) {
    if (steps_.back().time_s == time_s) {
        steps_.back().fraction = fraction;
        return;
    }
    steps_.push_back({time_s, fraction});
    if (steps_.size() > most_steps) {
        coarsen();
    }
}

void Timeline::coarsen() {
    // Steps as long as this stay as they are, shorter neighbours are joined until they are as long: fewer than three
    // quarters of the room is then in use, whatever the lengths are.
    auto const enough = (steps_.back().time_s - steps_.front().time_s) / (most_steps / 4.0);
    std::vector<LoadStep> kept;
    double begin = 0, length = 0, area = 0;
    auto const join = [&] {
        if (length > 0) {
            kept.push_back({begin, area / length});
        }
        length = area = 0;
    };
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
        auto const lasts = steps_[i + 1].time_s - steps_[i].time_s;
        if (lasts >= enough) {
            join();
        }
        begin = length == 0 ? steps_[i].time_s : begin;
        length += lasts;
        area += lasts * steps_[i].fraction;
        if (length >= enough) {
            join();
        }
    }
    join();
    kept.push_back(steps_.back());
    steps_ = std::move(kept);
}

}  // namespace peerlane::traffic
