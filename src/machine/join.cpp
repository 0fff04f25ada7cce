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

/// The same kind of identity is told on both sides, so a device that matches nothing is another device.
bool comparable(const Machine& base, const Device& device) {
    return std::any_of(base.devices.begin(), base.devices.end(),
                       [&](const Device& d) { return (d.bus && device.bus) || (d.uuid && device.uuid); });
}

Joining by_number(const Machine& base, const Machine& part) {
    if (part.devices.size() != base.devices.size() && says_pairs(part)) {
        throw InputError(file_of(part), 0,
                         fmt::format("{} devices here, {} elsewhere, and no address or UUID to join them by",
                                     part.devices.size(), base.devices.size()));
    }
    Joining joining;
    joining.by_identity = false;
    for (auto const& device : part.devices) {
        joining.base_id.push_back(device.id);
    }
    return joining;
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
    std::vector<int> matched;
    std::vector<const Device*> strangers, nameless;
    for (auto const& device : part.devices) {
        auto const id = match(base, part, device);
        matched.push_back(id);
        if (id < 0) {
            (comparable(base, device) ? strangers : nameless).push_back(&device);
        }
    }
    auto const common = std::count_if(matched.begin(), matched.end(), [](int id) { return id >= 0; });
    if (!strangers.empty()) {
        throw InputError(file_of(part), 0,
                         fmt::format("{} is no device of the other files: they describe another machine",
                                     words_for(*strangers.front())));
    }
    if (common == 0) {
        return by_number(base, part);
    }
    // Devices that one side leaves without identity: they can only be those that are left over, when that is one, or
    // keep their numbers.
    for (auto const* device : nameless) {
        std::vector<int> free;
        for (auto const& candidate : base.devices) {
            if (std::find(matched.begin(), matched.end(), candidate.id) == matched.end()) {
                free.push_back(candidate.id);
            }
        }
        bool const own_is_free = std::find(free.begin(), free.end(), device->id) != free.end();
        if (free.size() != 1 && !own_is_free) {
            throw InputError(file_of(part), 0,
                             fmt::format("device {} has no address or UUID to join it by", device->id));
        }
        matched[static_cast<std::size_t>(device->id)] = own_is_free ? device->id : free.front();
    }
    return {matched, true};
}

}  // namespace peerlane
