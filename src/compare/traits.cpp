#include "compare/traits.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace peerlane {
namespace {

/// "18 18 17", or "18 each" where all are the same.
std::string each_text(const std::vector<std::string>& values) {
    if (values.size() > 1 && std::equal(values.begin() + 1, values.end(), values.begin())) {
        return values.front() + " each";
    }
    std::string text;
    for (auto const& value : values) {
        text += (text.empty() ? "" : " ") + value;
    }
    return text;
}

}  // namespace

std::map<std::string, std::string> traits_of(const Facts& facts) {
    std::map<std::string, std::string> traits;
    auto const add = [&](const char* name, const std::string& value) {
        if (!value.empty() && value != " ") {
            traits[name] = value;
        }
    };
    auto const& host = facts.host;
    add("driver", facts.nvml.driver_version.empty() ? host.module_version : facts.nvml.driver_version);
    add("kernel", host.kernel_release);
    add("system", host.sys_vendor + " " + host.product_name);
    add("processor", host.cpu_model);
    std::vector<std::string> lanes, up;
    for (auto const& device : facts.nvml.devices) {
        if (device.current.width) {
            lanes.push_back(fmt::format("x{}", *device.current.width));
        }
        if (!device.links.empty()) {
            up.push_back(fmt::format("{}", std::count_if(device.links.begin(), device.links.end(),
                                                         [](auto const& link) { return link.active; })));
        }
    }
    add("lanes to the host", each_text(lanes));
    add("NVLinks up", each_text(up));
    return traits;
}

}  // namespace peerlane
