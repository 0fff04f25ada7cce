#include "traffic/places.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace peerlane::traffic {

Words split(std::string_view text, char at) {
    Words parts;
    for (;;) {
        auto const end = text.find(at);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    auto const first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

Place place_of(std::string_view word, const Machine& machine, const std::vector<int>& devices) {
    auto const place = parse_place(word);
    if (!place) {
        throw std::invalid_argument(fmt::format("\"{}\" is no place; places are 0, gpu0, host, host:1", word));
    }
    if (place->is_device()) {
        if (machine.device(place->index) == nullptr) {
            throw std::invalid_argument(fmt::format("the machine has no {}: it has {} device{}, numbered from 0",
                                                    to_string(*place), machine.devices.size(),
                                                    machine.devices.size() == 1 ? "" : "s"));
        }
        if (std::find(devices.begin(), devices.end(), place->index) == devices.end()) {
            throw std::invalid_argument(fmt::format("{} is left out by -i", to_string(*place)));
        }
        return *place;
    }
    auto const known = place->index == Place::any || machine.graph.numa_node(place->index) >= 0 ||
                       std::any_of(machine.devices.begin(), machine.devices.end(),
                                   [&](const Device& device) { return device.numa == place->index; });
    if (!known) {
        throw std::invalid_argument(
            fmt::format("the machine has no {}: no such NUMA node is known", to_string(*place)));
    }
    return *place;
}

}  // namespace peerlane::traffic
