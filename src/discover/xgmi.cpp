/// AMD's fabric between devices. PCI does not show it; the compute driver lists it under `<sysfs>/class/kfd`.

#include <map>

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "discover/files.hpp"
#include "discover/read_host.hpp"
#include "machine/read/text.hpp"

namespace peerlane {
namespace {

constexpr int xgmi_type = 11;  // of the kernel's list of link kinds, where 2 is PCI Express

std::optional<std::int64_t> property(const std::string& text, const char* key) {
    return parse_integer(files::value_of(text, key));
}

/// Bus address of a topology node that is a device; empty for CPUs.
std::string bus_of_node(const std::string& properties) {
    auto const location = property(properties, "location_id").value_or(0);
    auto const domain = property(properties, "domain").value_or(0);
    if (property(properties, "simd_count").value_or(0) <= 0 || location <= 0 || location > 0xffff) {
        return {};
    }
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
}

}  // namespace

std::vector<XgmiLink> read_xgmi(const DiscoverRoots& roots) {
    auto const folder = roots.sysfs + "/class/kfd/kfd/topology/nodes";
    std::map<std::int64_t, std::string> bus_of;
    for (auto const& name : files::names(folder)) {
        auto const node = read::small_number(name);
        if (auto bus = bus_of_node(files::text(folder + "/" + name + "/properties")); node && !bus.empty()) {
            bus_of[*node] = std::move(bus);
        }
    }
    std::map<std::pair<std::string, std::string>, XgmiLink> links;  // several parts of one device share an address
    for (auto const& [node, bus] : bus_of) {
        auto const lists = folder + "/" + std::to_string(node) + "/io_links";
        for (auto const& name : files::names(lists)) {
            auto const properties = files::text(lists + "/" + name + "/properties");
            auto const far = bus_of.find(property(properties, "node_to").value_or(-1));
            if (property(properties, "type") != xgmi_type || far == bus_of.end() || far->second == bus) {
                continue;
            }
            XgmiLink link{bus, far->second, std::nullopt};
            if (auto const megabytes = property(properties, "max_bandwidth"); megabytes && *megabytes > 0) {
                link.gbs = static_cast<double>(*megabytes) / 1000;
            }
            links.insert({{link.from, link.to}, link});
        }
    }
    std::vector<XgmiLink> list;
    list.reserve(links.size());
    for (auto const& [ends, link] : links) {
        list.push_back(link);
    }
    return list;
}

}  // namespace peerlane
