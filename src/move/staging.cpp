#include "move/staging.hpp"

#include <algorithm>

#include <peerlane/error.hpp>

#include "move/chunks.hpp"

namespace peerlane::move {

Staging::Staging(Driver& driver, std::uint64_t bound) : driver_(driver), bound_(std::max(bound, least_bound)) {}

Staging::Classes& Staging::classes_of(Place place) {
    auto const found = places_.find(place);
    if (found != places_.end()) {
        return found->second;
    }
    auto& classes = places_[place];
    auto const part = [&](std::uint64_t of) { return bound_ / of / granule * granule; };
    classes[0].bytes = part(64);
    classes[0].most = 4;
    classes[1].bytes = part(16);
    classes[1].most = 3;
    classes[2].bytes = part(4);
    classes[2].most = 3;
    classes[3].most = 1;
    return classes;
}

Ring* Staging::idle(Class& of) {
    for (auto& ring : of.rings) {
        if (ring.taken_) {
            continue;
        }
        auto done = !ring.released_;
        try {
            done = done || driver_.query(*ring.released_);
        } catch (const Error& error) {
            if (error.info().sticky) {
                throw;
            }
            done = true;  // of work that failed and is over; whoever submitted it is told by check()
        }
        if (done) {
            return &ring;
        }
    }
    return nullptr;
}

Ring* Staging::made(Class& of, Place place) {
    if (of.rings.size() >= of.most || of.bytes == 0) {
        return nullptr;
    }
    try {
        return &of.rings.emplace_back(driver_, place, of.bytes);
    } catch (const Error& error) {
        if (error.code() != code::out_of_memory) {
            throw;
        }
        of.most = of.rings.size();  // what there is has to do
        return nullptr;
    }
}

Ring* Staging::busy(Class& of) {
    for (std::size_t i = 0; i < of.rings.size(); ++i) {
        of.next = (of.next + 1) % of.rings.size();
        if (!of.rings[of.next].taken_) {
            return &of.rings[of.next];
        }
    }
    return nullptr;
}

Ring* Staging::take(Place place, std::uint64_t wanted, std::uint64_t least) {
    auto& classes = classes_of(place);
    auto const taken = [](Ring* ring) {
        ring->taken_ = true;
        return ring;
    };
    if (least > classes[2].bytes) {
        classes[3].bytes = std::max(classes[3].bytes, least);
        auto* ring = classes[3].rings.empty() ? made(classes[3], place) : busy(classes[3]);
        return ring != nullptr && ring->bytes() >= least ? taken(ring) : nullptr;
    }
    std::size_t best = 0;
    while (best < 2 && classes[best].bytes < wanted) {
        ++best;
    }
    // The size that fits, larger ones that are there already, then smaller ones.
    for (auto i = best; i < 3; ++i) {
        if (auto* const ring = idle(classes[i])) {
            return taken(ring);
        }
        if (i == best) {
            if (auto* const ring = made(classes[i], place)) {
                return taken(ring);
            }
        }
    }
    for (auto i = best; i < 3; ++i) {
        if (auto* const ring = busy(classes[i])) {
            return taken(ring);
        }
    }
    for (auto i = best; i-- > 0 && classes[i].bytes >= least;) {
        auto* ring = idle(classes[i]);
        ring = ring != nullptr ? ring : made(classes[i], place);
        ring = ring != nullptr ? ring : busy(classes[i]);
        if (ring != nullptr) {
            return taken(ring);
        }
    }
    return nullptr;
}

void Staging::release(Ring& ring, StreamView reader) {
    auto found = ring.events_.find(reader.device);
    if (found == ring.events_.end()) {
        found = ring.events_.emplace(reader.device, Event(driver_, reader.device)).first;
    }
    driver_.record(found->second.view(), reader);
    ring.released_ = found->second.view();
    ring.taken_ = false;
}

std::uint64_t Staging::held(Place place) const {
    std::uint64_t bytes = 0;
    if (auto const found = places_.find(place); found != places_.end()) {
        for (auto const& of : found->second) {
            for (auto const& ring : of.rings) {
                bytes += ring.bytes();
            }
        }
    }
    return bytes;
}

}  // namespace peerlane::move
