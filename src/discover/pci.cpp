/// The PCI tree as sysfs shows it.

#include <algorithm>
#include <array>
#include <tuple>

#include "discover/files.hpp"
#include "discover/read_host.hpp"
#include "machine/nominal.hpp"
#include "machine/read/text.hpp"

namespace peerlane {
namespace {

/// A device that does not answer reads as all ones, which the kernel prints as 63 or 255 lanes.
std::optional<int> lanes_of(std::optional<std::int64_t> width) {
    constexpr std::array possible{1, 2, 4, 8, 12, 16, 32};
    return width && std::find(possible.begin(), possible.end(), *width) != possible.end()
               ? std::optional(static_cast<int>(*width))
               : std::nullopt;
}

std::optional<int> at_least_zero(std::optional<std::int64_t> value) {
    return value && *value >= 0 && *value < 1'000'000 ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<unsigned> as_unsigned(std::optional<std::int64_t> value) {
    return value && *value >= 0 && *value <= 0xffffffffLL ? std::optional(static_cast<unsigned>(*value)) : std::nullopt;
}

/// A few registers of the configuration space; little endian, as on the bus.
class ConfigSpace {
  public:
    explicit ConfigSpace(std::string_view bytes) : bytes_(bytes) {}
    [[nodiscard]] unsigned byte(std::size_t at) const {
        return at < bytes_.size() ? static_cast<unsigned char>(bytes_[at]) : 0;
    }
    [[nodiscard]] unsigned word(std::size_t at) const { return byte(at) | byte(at + 1) << 8U; }

    [[nodiscard]] std::optional<unsigned> port_type() const {
        constexpr unsigned express = 0x10;
        unsigned at = (byte(6) & 0x10U) != 0 ? byte(0x34) & ~3U : 0;
        // 48 capabilities fill the space: more steps than that are a loop.
        for (int steps = 0; at >= 0x40 && at + 4 <= bytes_.size() && steps < 48; ++steps) {
            if (byte(at) == express) {
                return word(at + 2) >> 4U & 0xfU;
            }
            at = byte(at + 1) & ~3U;
        }
        return std::nullopt;
    }

    [[nodiscard]] std::optional<unsigned> acs_control() const {
        constexpr unsigned access_control = 0x0d;
        std::size_t at = 0x100;
        for (int steps = 0; at >= 0x100 && at + 8 <= bytes_.size() && steps < 960; ++steps) {
            if (word(at) == access_control) {
                return word(at + 6);
            }
            at = word(at + 2) >> 4U & ~std::size_t{3};
        }
        return std::nullopt;
    }

  private:
    std::string_view bytes_;
};

/// Lines "first last flags" of the file `resource`: the largest memory window.
std::optional<std::uint64_t> largest_window(const std::string& resource) {
    constexpr std::uint64_t memory_flag = 0x200;
    std::optional<std::uint64_t> largest;
    int windows = 0;
    for (auto const line : read::cells(resource, '\n')) {
        auto const words = read::words(line);
        if (words.size() != 3 || ++windows > 6) {  // the seventh is the option ROM, later ones belong to bridges
            break;
        }
        std::array<std::uint64_t, 3> value{};
        for (std::size_t i = 0; i < 3; ++i) {
            value[i] = std::strtoull(std::string(words[i]).c_str(), nullptr, 16);
        }
        if ((value[2] & memory_flag) != 0 && value[1] > value[0]) {
            largest = std::max(largest.value_or(0), value[1] - value[0] + 1);
        }
    }
    return largest;
}

bool is_root_name(const std::string& part) {
    return part.size() > 3 && part.compare(0, 3, "pci") == 0 && part.find(':') != std::string::npos;
}

/// Fills in root and bridges from the folder that the entry leads to, ".../pci0000:00/0000:00:01.0/0000:01:00.0". The
/// last root counts: a volume controller or a hypervisor's bus nests one tree in another's folder.
void place_in_tree(PciFunction& function, const std::vector<std::string>& parts) {
    auto const root = std::find_if(parts.rbegin(), parts.rend(), is_root_name);
    if (root == parts.rend()) {
        return;
    }
    function.root = *root;
    for (auto part = parts.rbegin(); part != root; ++part) {
        auto const bus = read::bus_address(*part);
        if (bus && *bus != function.bus) {
            function.above.push_back(*bus);
        }
    }
}

/// Whether more than its identity is wanted: displays, accelerators, bridges, networks.
bool matters(unsigned class_code) {
    auto const base = class_code >> 16U;
    return base == 0x02 || base == 0x03 || base == 0x06 || base == 0x12;
}

void read_details(PciFunction& function, const std::string& folder) {
    function.numa = at_least_zero(files::number(folder + "/numa_node"));
    function.local_cpus = files::text(folder + "/local_cpulist");
    function.current = {pcie_generation(files::text(folder + "/current_link_speed")),
                        lanes_of(files::number(folder + "/current_link_width"))};
    function.most = {pcie_generation(files::text(folder + "/max_link_speed")),
                     lanes_of(files::number(folder + "/max_link_width"))};
    function.driver = files::link_name(folder + "/driver");
    for (auto const* kind : {"/infiniband", "/net"}) {
        auto const found = files::names(folder + kind);
        function.interfaces.insert(function.interfaces.end(), found.begin(), found.end());
    }
    function.virtual_function = !files::link_name(folder + "/physfn").empty();
    if (auto const boot = files::number(folder + "/boot_vga")) {
        function.boot_display = *boot != 0;
    }
    if (auto const group = files::link_name(folder + "/iommu_group"); !group.empty()) {
        function.iommu_group = read::small_number(group);
        function.iommu_type = files::text(folder + "/iommu_group/type");
    }
    if (auto const config = files::bytes(folder + "/config", 4096)) {
        ConfigSpace const space(*config);
        function.config_bytes = config->size();
        function.port_type = space.port_type();
        function.acs_control = space.acs_control();
    }
    function.largest_window_bytes = largest_window(files::text(folder + "/resource"));
}

}  // namespace

bool bus_less(const std::string& a, const std::string& b) {
    auto const key = [](const std::string& text) {
        std::array<unsigned long, 4> part{};
        auto const bus = read::bus_address(text);
        char* at = const_cast<char*>(bus ? bus->c_str() : "");
        for (auto& value : part) {
            value = std::strtoul(at, &at, 16);
            at += *at != '\0' ? 1 : 0;
        }
        return std::tuple(!bus, part, bus ? std::string() : text);
    };
    return key(a) < key(b);
}

std::vector<PciFunction> read_pci(const DiscoverRoots& roots, bool& found) {
    auto const folder = roots.sysfs + "/bus/pci/devices";
    found = files::exists(folder);
    std::vector<PciFunction> functions;
    for (auto const& name : files::names(folder)) {
        auto const bus = read::bus_address(name);
        if (!bus) {
            continue;
        }
        PciFunction function;
        function.bus = *bus;
        auto const own = folder + "/" + name;
        function.vendor = as_unsigned(files::number(own + "/vendor"));
        function.device = as_unsigned(files::number(own + "/device"));
        function.class_code = as_unsigned(files::number(own + "/class"));
        place_in_tree(function, files::real_parts(own));
        if (function.class_code && matters(*function.class_code)) {
            read_details(function, own);
        }
        functions.push_back(std::move(function));
    }
    std::sort(functions.begin(), functions.end(), [](auto const& a, auto const& b) { return bus_less(a.bus, b.bus); });
    return functions;
}

}  // namespace peerlane
