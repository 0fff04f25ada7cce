#include <algorithm>

#include <peerlane/profile.hpp>

namespace peerlane {

const char* to_string(Basis basis) {
    switch (basis) {
        case Basis::measured:
            return "measured";
        case Basis::nominal:
            return "nominal";
        case Basis::assumed:
            return "assumed";
    }
    return "";
}

const LegCurve* Profile::leg(const Leg& wanted) const {
    auto const found =
        std::find_if(legs.begin(), legs.end(), [&](const LegCurve& curve) { return curve.leg == wanted; });
    return found == legs.end() ? nullptr : &*found;
}

const AccessCosts* Profile::access_of(int accessor, Place place) const {
    auto const found = std::find_if(access.begin(), access.end(), [&](const AccessCosts& costs) {
        return costs.accessor == accessor && costs.place == place;
    });
    return found == access.end() ? nullptr : &*found;
}

}  // namespace peerlane
