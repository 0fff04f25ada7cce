// Devices of two processes, joined by what they are and never by their ordinals.

#include <algorithm>
#include <cctype>

#include <peerlane/share.hpp>

namespace peerlane {
namespace {

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// "00000000:3B:00.0" and "0000:3b:00.0" are one address.
std::string plain_bus(const std::string& bus) {
    auto text = lower(bus);
    auto const colon = text.find(':');
    while (colon != std::string::npos && text.find(':') > 4 && text.front() == '0') {
        text.erase(0, 1);
    }
    return text;
}

bool same(const DeviceName& a, const DeviceName& b) {
    if (!a.uuid.empty() && !b.uuid.empty()) {
        return lower(a.uuid) == lower(b.uuid);
    }
    return !a.bus.empty() && !b.bus.empty() && plain_bus(a.bus) == plain_bus(b.bus);
}

}  // namespace

DeviceName device_name(const Machine& machine, int device) {
    auto const* const found = machine.device(device);
    return found == nullptr ? DeviceName{} : DeviceName{found->uuid.value_or(""), found->bus.value_or("")};
}

std::optional<int> find_device(const Machine& machine, const DeviceName& name) {
    std::optional<int> found;
    for (auto const& device : machine.devices) {
        if (same(device_name(machine, device.id), name)) {
            if (found) {
                return std::nullopt;  // instances of one device share its address: the name does not tell them apart
            }
            found = device.id;
        }
    }
    return found;
}

std::vector<std::optional<int>> join_devices(const Machine& machine, const std::vector<DeviceName>& theirs) {
    std::vector<std::optional<int>> joined;
    joined.reserve(theirs.size());
    for (auto const& name : theirs) {
        joined.push_back(find_device(machine, name));
    }
    return joined;
}

}  // namespace peerlane
