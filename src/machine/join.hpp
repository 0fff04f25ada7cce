#pragma once
/// Which device of one description is which device of another.

#include <vector>

#include <peerlane/machine.hpp>

namespace peerlane {

struct Joining {
    std::vector<int> base_id;  ///< by the part's device id
    bool by_identity = true;   ///< UUID or address, not number
    [[nodiscard]] bool renumbers() const;
};

/// True when every device of the part has an identity that the base can answer to: one in common, or devices of the
/// base without any.
bool has_common_identity(const Machine& base, const Machine& part);

/// Throws InputError (file of the part) when the part cannot be the same machine.
Joining join_devices(const Machine& base, const Machine& part);

/// The part says something about a pair: class, claim or rate.
bool says_pairs(const Machine& part);

/// First file of a part, for messages.
std::string file_of(const Machine& part);

}  // namespace peerlane
