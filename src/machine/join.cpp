#include "machine/join.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/error.hpp>

namespace peerlane {
namespace {

/// Index of the only device of `machine` with this value, -1 when there is none or more than one (erased UUIDs are all
/// alike).
template <typename Field>
int only_match(const Machine& machine, Field Device::*field, const Field& value) {
    if (!value) {
        return -1;
    }
    int found = -1;
    for (auto const& device : machine.devices) {
        if (device.*field == value) {
            if (found >= 0) {
                return -1;
            }
            found = device.id;
        }
    }
    return found;
}

int match(const Machine& base, const Machine& part, const Device& device) {
    auto const by_uuid =
        only_match(part, &Device::uuid, device.uuid) >= 0 ? only_match(base, &Device::uuid, device.uuid) : -1;
    auto const by_bus =
        only_match(part, &Device::bus, device.bus) >= 0 ? only_match(base, &Device::bus, device.bus) : -1;
    if (by_uuid >= 0 && by_bus >= 0 && by_uuid != by_bus) {
        throw InputError(
            file_of(part), 0,
            fmt::format("the UUID of device {} is that of device {} elsewhere, its address that of device {}",
                        device.id, by_uuid, by_bus));
    }
    return by_uuid >= 0 ? by_uuid : by_bus;
}

std::string words_for(const Device& device) {
    return device.bus ? *device.bus : device.uuid ? *device.uuid : fmt::format("device {}", device.id);
}

/// Both tell the same kind of identity, and tell it differently.
bool conflicts(const Device& a, const Device& b) {
    return (a.bus && b.bus && a.bus != b.bus) || (a.uuid && b.uuid && a.uuid != b.uuid);
}

/// Devices of the base that are not taken and may be this one.
std::vector<int> candidates(const Machine& base, const std::vector<int>& taken, const Device& device) {
    std::vector<int> free;
    for (auto const& candidate : base.devices) {
        if (std::find(taken.begin(), taken.end(), candidate.id) == taken.end() && !conflicts(candidate, device)) {
            free.push_back(candidate.id);
        }
    }
    return free;
}

}  // namespace

bool Joining::renumbers() const {
    for (std::size_t i = 0; i < base_id.size(); ++i) {
        if (base_id[i] != static_cast<int>(i)) {
            return true;
        }
    }
    return false;
}

std::string file_of(const Machine& part) {
    return part.origin.files.empty() ? part.origin.name : part.origin.files.front();
}

bool says_pairs(const Machine& part) {
    return std::any_of(part.pairs.begin(), part.pairs.end(), [](const Pair& p) {
        return p.path != PathClass::unknown || p.claim || !(p.claims == Claims{}) || !p.measured.empty();
    });
}

bool has_common_identity(const Machine& base, const Machine& part) {
    return std::any_of(part.devices.begin(), part.devices.end(),
                       [&](const Device& d) { return match(base, part, d) >= 0; });
}

Joining join_devices(const Machine& base, const Machine& part) {
    Joining joining;
    for (auto const& device : part.devices) {
        joining.base_id.push_back(match(base, part, device));
    }
    auto& matched = joining.base_id;
    auto const common = std::count_if(matched.begin(), matched.end(), [](int id) { return id >= 0; });
    joining.by_identity = common > 0;
    // Devices without identity in common keep their numbers, or are the only ones that are left over.
    for (auto const& device : part.devices) {
        auto& place = matched[static_cast<std::size_t>(device.id)];
        if (place >= 0) {
            continue;
        }
        auto const free = candidates(base, matched, device);
        if (free.empty()) {
            throw InputError(
                file_of(part), 0,
                fmt::format("{} is no device of the other files: they describe another machine", words_for(device)));
        }
        bool const own_is_free = std::find(free.begin(), free.end(), device.id) != free.end();
        if (!own_is_free && free.size() > 1) {
            throw InputError(file_of(part), 0,
                             fmt::format("device {} has no address or UUID to join it by", device.id));
        }
        place = own_is_free ? device.id : free.front();
    }
    if (common == 0 && part.devices.size() != base.devices.size() && says_pairs(part)) {
        throw InputError(file_of(part), 0,
                         fmt::format("{} devices here, {} elsewhere, and no address or UUID to join them by",
                                     part.devices.size(), base.devices.size()));
    }
    return joining;
}

}  // namespace peerlane
