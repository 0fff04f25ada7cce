#include "model/split.hpp"

#include <stdexcept>

namespace peerlane::model {

EqualFinish equal_finish(std::span<const Finisher> ways, double bytes) {
    if (ways.empty()) {
        throw std::invalid_argument("equal finish: no way");
    }
    std::vector<bool> in(ways.size(), true);
    EqualFinish result;
    result.bytes.assign(ways.size(), 0.0);
    for (;;) {
        // sum over the ways of (T - fixed) * rate = bytes
        double rates = 0, head = 0;
        for (std::size_t i = 0; i < ways.size(); ++i) {
            if (in[i]) {
                rates += 1 / ways[i].s_per_byte;
                head += ways[i].fixed_s / ways[i].s_per_byte;
            }
        }
        result.seconds = (bytes + head) / rates;
        auto late = false;
        for (std::size_t i = 0; i < ways.size(); ++i) {
            auto const part = in[i] ? (result.seconds - ways[i].fixed_s) / ways[i].s_per_byte : 0.0;
            late |= in[i] && part <= 0;
            result.bytes[i] = part > 0 ? part : 0.0;
            in[i] = in[i] && part > 0;
        }
        // Without those that could not even begin in time the others need longer, so it is looked at again.
        if (!late) {
            return result;
        }
    }
}

}  // namespace peerlane::model
