#include <peerlane/discover.hpp>

#include "discover/nvml_api.hpp"
#include "discover/read_host.hpp"
#include "discover/read_nvml.hpp"

namespace peerlane {

Discovery discover(const DiscoverRoots& roots, const std::shared_ptr<const NvmlApi>& nvml, NvmlBounds bounds) {
    Discovery discovery;
    discovery.host = read_host(roots);
    discovery.nvml = read_nvml(nvml, bounds);
    discovery.machine = machine_from(discovery.host, discovery.nvml);
    return discovery;
}

Discovery discover() {
    return discover(DiscoverRoots{}, system_nvml());
}

}  // namespace peerlane
