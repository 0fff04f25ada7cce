#include "fixture.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace peerlane::testing_discover {
namespace {

namespace fs = std::filesystem;
using Attributes = std::map<std::string, std::string>;

class Builder {
  public:
    explicit Builder(fs::path folder) : folder_(std::move(folder)) {}

    void line(const std::string& text) {
        auto const content = text.find_first_not_of(' ');
        if (content == std::string::npos || text[content] == '#') {
            return;
        }
        std::istringstream words(text);
        std::string word;
        words >> word;
        if (word == "|") {
            append(file_, text.size() > content + 2 ? text.substr(content + 2) : "");
        } else if (word == "root") {
            words >> word;
            chain_ = {"devices", word};
            fs::create_directories(folder_ / "sys" / "bus" / "pci" / "devices");
        } else if (word == "node") {
            words >> word;
            numa_node(word, attributes(words));
        } else if (word == "xgmi") {
            std::string bus;
            words >> word >> bus;
            compute_node(word, bus, attributes(words));
        } else if (word == "file") {
            words >> file_;
            std::string rest;
            std::getline(words >> std::ws, rest);
            write(file_, rest);
        } else {
            function(word, content / 2, attributes(words));
        }
    }

  private:
    static Attributes attributes(std::istringstream& words) {
        Attributes found;
        std::string word;
        while (words >> word) {
            auto const equals = word.find('=');
            if (equals == std::string::npos) {
                throw std::runtime_error("fixture: " + word + " is no key=value");
            }
            found[word.substr(0, equals)] = word.substr(equals + 1);
        }
        return found;
    }

    void write(const fs::path& name, const std::string& text) {
        auto const path = folder_ / name;
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text << (text.empty() ? "" : "\n");
    }
    void append(const fs::path& name, const std::string& text) {
        std::ofstream(folder_ / name, std::ios::binary | std::ios::app) << text << "\n";
    }

    void rate(const fs::path& at, const std::string& prefix, const std::string& value) {
        auto const slash = value.find('/');
        auto const speed = value.substr(0, slash);
        write(at / (prefix + "_link_speed"), speed == "Unknown" ? speed : speed + " GT/s PCIe");
        write(at / (prefix + "_link_width"), value.substr(slash + 1));
    }

    /// Configuration space with a PCI Express capability of a port type and an access control capability.
    void config(const fs::path& at, const std::string& value) {
        std::string bytes(4096, '\0');
        bytes[0x06] = 0x10;  // has capabilities
        bytes[0x34] = 0x40;
        bytes[0x40] = 0x01;  // power management first, so that the list is walked
        bytes[0x41] = 0x50;
        bytes[0x50] = 0x10;
        bytes[0x52] = static_cast<char>(std::stoi(value.substr(0, value.find(':')), nullptr, 16) << 4);
        bytes[0x100] = 0x01;  // error reporting first
        bytes[0x102] = 0x01;
        bytes[0x103] = 0x14;  // next at 0x140
        bytes[0x140] = 0x0d;
        bytes[0x142] = 0x01;
        bytes[0x146] = static_cast<char>(std::stoi(value.substr(value.find(':') + 1), nullptr, 16));
        fs::create_directories(folder_ / at);
        std::ofstream(folder_ / at / "config", std::ios::binary) << bytes;
    }

    void function(const std::string& bus, std::size_t level, const Attributes& given) {
        chain_.resize(level + 1);
        chain_.push_back(bus);
        fs::path at = "sys";
        for (auto const& part : chain_) {
            at /= part;
        }
        fs::create_directories(folder_ / at);
        fs::create_directory_symlink(fs::path("../../..") / at.lexically_relative("sys"),
                                     folder_ / "sys/bus/pci/devices" / bus);
        for (auto const& [key, value] : given) {
            if (key == "now") {
                rate(at, "current", value);
            } else if (key == "best") {
                rate(at, "max", value);
            } else if (key == "numa") {
                write(at / "numa_node", value);
            } else if (key == "cpus") {
                write(at / "local_cpulist", value);
            } else if (key == "driver" || key == "physfn") {
                fs::create_directory_symlink("/nowhere/" + value, folder_ / at / key);
            } else if (key == "net" || key == "ib") {
                fs::create_directories(folder_ / at / (key == "net" ? "net" : "infiniband") / value);
            } else if (key == "config") {
                config(at, value);
            } else if (key == "iommu") {
                auto const colon = value.find(':');
                auto const group = fs::path("sys/kernel/iommu_groups") / value.substr(0, colon);
                write(group / "type", value.substr(colon + 1));
                fs::create_directory_symlink(folder_ / group, folder_ / at / "iommu_group");
            } else {
                write(at / key, value);
            }
        }
    }

    void numa_node(const std::string& number, const Attributes& given) {
        auto const at = fs::path("sys/devices/system/node") / ("node" + number);
        for (auto const& [key, value] : given) {
            if (key == "kb") {
                write(at / "meminfo", "Node " + number + " MemTotal:       " + value + " kB");
            } else if (key == "cpus") {
                write(at / "cpulist", value == "none" ? "" : value);
            } else if (key == "distance") {
                auto text = value;
                std::replace(text.begin(), text.end(), ',', ' ');
                write(at / "distance", text);
            } else if (key == "socket") {
                auto const cpu = std::to_string(std::stoi(given.at("cpus")));
                write("sys/devices/system/cpu/cpu" + cpu + "/topology/physical_package_id", value);
            }
        }
    }

    void compute_node(const std::string& number, const std::string& bus, const Attributes& given) {
        auto const at = fs::path("sys/class/kfd/kfd/topology/nodes") / number;
        auto const location = std::stoi(bus.substr(5, 2), nullptr, 16) << 8;
        write(at / "properties", "cpu_cores_count 0\nsimd_count 1216\nlocation_id " + std::to_string(location) +
                                     "\ndomain " + std::to_string(std::stoi(bus.substr(0, 4), nullptr, 16)));
        std::istringstream to(given.at("to"));
        std::string far;
        for (int index = 0; std::getline(to, far, ','); ++index) {
            write(at / "io_links" / std::to_string(index) / "properties",
                  "type 11\nnode_from " + number + "\nnode_to " + far + "\nmax_bandwidth " + given.at("mbs"));
        }
        // Every device also has a link to the host, which is no fabric.
        write(at / "io_links/99/properties", "type 2\nnode_from " + number + "\nnode_to 0\nmax_bandwidth 32000");
    }

    fs::path folder_;
    fs::path file_;
    std::vector<std::string> chain_;
};

}  // namespace

Fixture::Fixture(const std::string& name) {
    auto pattern = (fs::temp_directory_path() / "peerlane-machine-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error("no temporary folder");
    }
    folder_ = pattern;
    std::ifstream text(std::string(PEERLANE_SOURCE_DIR) + "/tests/unit/discover/fixtures/" + name + ".txt");
    if (!text) {
        throw std::runtime_error("no fixture " + name);
    }
    Builder builder(folder_);
    for (std::string line; std::getline(text, line);) {
        builder.line(line);
    }
}

Fixture::~Fixture() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

DiscoverRoots Fixture::roots() const {
    return {folder_ + "/sys", folder_ + "/proc", folder_ + "/dev", folder_ + "/packages"};
}

}  // namespace peerlane::testing_discover
