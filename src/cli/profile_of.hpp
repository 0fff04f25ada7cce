#pragma once
/// The measured profile of a target: the stored one while it still holds, else measured now.

#include <optional>
#include <string>
#include <vector>

#include <peerlane/profile.hpp>
#include <peerlane/verdicts.hpp>

#include "cli/command.hpp"
#include "cli/target.hpp"

namespace peerlane::cli {

struct ProfileAsked {
    bool quick = false;   ///< a stored one that is quick will do
    bool fresh = false;   ///< not the stored one
    bool show = false;    ///< the stored one or none
    std::string cache{};  ///< a file; empty: the user's cache, and none for a simulated machine
};

/// All in people's numbers.
struct ProfileFound {
    Profile profile{};
    std::optional<Verdicts> verdicts{};  ///< of this run, or stored ones that still hold
    bool from_cache = false;
    double seconds = 0;                  ///< of measuring, on the driver's clock
    int stopped_by = 0;                  ///< a signal
    bool lost = false;                   ///< devices that hang: nothing may be given back any more
    std::vector<std::string> notices{};  ///< about our own files
};

/// Proves the pairs first, unless the doctor's stored verdicts still hold. Throws NothingRuns when nothing could be
/// proven, or nothing is stored and only that was asked for. A whole profile of all devices is stored.
ProfileFound profile_of(Context& context, Target& target, const ProfileAsked& asked);

/// A profile that is stored and still holds, a quick one too; nothing is proven or measured. Empty, with the reason in
/// `notices` where one was there, when there is none.
struct ProfileKept {
    std::optional<Profile> profile{};  ///< in people's numbers
    std::vector<std::string> notices{};
};
ProfileKept kept_profile(Context& context, const Target& target);

}  // namespace peerlane::cli
