#include <peerlane/discover.hpp>

#include <algorithm>

#include "discover/nvml_api.hpp"
#include "discover/read_host.hpp"
#include "discover/read_nvml.hpp"

namespace peerlane {

Discovery discover(const DiscoverRoots& roots, const std::shared_ptr<const NvmlApi>& nvml, NvmlBounds bounds) {
    Discovery discovery;
    discovery.host = read_host(roots);
    discovery.nvml = read_nvml(nvml, bounds);
    discovery.process = read_process(roots, discovery.nvml, discovery.unread);
    note_unread(discovery);
    discovery.machine = machine_from(discovery.host, discovery.nvml);
    return discovery;
}

Facts facts_of(const Discovery& discovery) {
    Facts facts;
    facts.host = discovery.host;
    facts.nvml = discovery.nvml;
    facts.process = discovery.process;
    facts.unread = discovery.unread;
    return facts;
}

std::vector<DeviceActivity> read_activity(const std::shared_ptr<const NvmlApi>& nvml, double seconds_after,
                                          NvmlBounds bounds) {
    std::vector<DeviceActivity> activity;
    for (auto const& device : read_nvml(nvml, bounds, NvmlQuestions::activity).devices) {
        if (!device.busy_percent) {
            continue;
        }
        DeviceActivity one;
        one.bus = device.bus;
        one.busy_percent = *device.busy_percent;
        one.watts = device.watts;
        one.seconds_after = seconds_after;
        if (device.users) {
            auto const own = own_process();
            one.processes = static_cast<int>(std::count_if(device.users->begin(), device.users->end(),
                                                           [&](const NvmlUser& user) { return user.process != own; }));
        }
        activity.push_back(std::move(one));
    }
    return activity;
}

std::vector<DeviceCounters> read_counters(const std::shared_ptr<const NvmlApi>& nvml, NvmlBounds bounds) {
    return read_nvml(nvml, bounds, NvmlQuestions::counters).counters;
}

Discovery discover() {
    return discover(DiscoverRoots{}, system_nvml());
}

}  // namespace peerlane
